"""Convert OpenNMT-tf models to CTranslate2, and converted models to other types."""

from typing import Any

import ctranslate2
from ctranslate2.specs import model_spec

from nmt_frontier.importers import ctranslate2_model

# Keras' default epsilon of layer normalisation, which OpenNMT-tf 2.32 uses.
EPSILON = 1e-3


class Converter(ctranslate2.converters.OpenNMTTFConverter):
    """CTranslate2's converter with OpenNMT-tf's epsilon of layer normalisation instead of 1e-5.

    Log probabilities of the demo's translations then differ by 0.00004 instead of 0.003 (median).
    """

    def _load(self) -> Any:
        """Raises ValueError of one line for a model that CTranslate2 has no layers for."""
        try:
            spec = super()._load()
        except (AttributeError, ValueError) as error:  # AttributeError: one of our layers instead of a known one
            reason = str(error).rstrip().splitlines()[-1].removeprefix("- ")
            remedy = "python -m export.native reads such checkpoints for the native engine"
            raise ValueError(f"CTranslate2 has no such model ({reason}); {remedy}") from None
        spec.config.layer_norm_epsilon = EPSILON
        return spec


class Stored(model_spec.ModelSpec):
    """A stored model as a specification that ``optimize`` and ``save`` convert. Raises ValueError if not in float32."""

    def __init__(self, model: ctranslate2_model.ModelBin):
        super().__init__()
        self._model = model
        for name, stored in [*zip(model.variables, model.variables, strict=True), *model.aliases.items()]:
            array = model.variables[stored].array()
            *layers, attribute = name.split("/")
            matrix = attribute == "weight" and array.ndim == 2
            if matrix and array.dtype != "float32":
                raise ValueError(f"its {name} is {array.dtype}; convert a model with float32 weights")
            layer: Any = self
            for part in layers:
                layer = vars(layer).setdefault(part, model_spec.LayerSpec())
            vars(layer)[attribute] = model_spec.NumpyVariable(array.copy())  # quantisation multiplies in place
            if matrix:
                vars(layer)["weight_scale"] = model_spec.OPTIONAL

    @property
    def name(self) -> str:
        return self._model.specification

    @property
    def revision(self) -> int:
        return self._model.revision
