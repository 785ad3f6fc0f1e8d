"""The variables of a CTranslate2 model of any version, in float32 and by today's names."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.float_model import Product, finite

NO_ATTRIBUTE = object()
HEADS = {"": 8, "TransformerBase": 8, "TransformerBig": 16}  # of specifications before TransformerSpec
OF_BOTH = ("num_heads", "pre_norm", "activation", "embeddings_merge", "alignment_layer", "alignment_heads")
INT16_SCALE = 1000
OUTPUT_BIAS = "decoder/projection/bias"
# The configuration of versions before 6 is in the variables.
STRINGS = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
FLAGS = {
    "with_source_bos": False,
    "with_source_eos": False,
    "with_target_bos": True,
    "user_decoder_start_tokens": False,
}
# Variables of revision 1 had OpenNMT-tf's names.
OLD_NAMES = (
    ("transformer/", ""), (":0", ""), ("w_embs", "embeddings/weight"), ("kernel", "weight"),
    ("LayerNorm", "layer_norm"), ("dense", "projection"), ("conv1d_", "linear_"), ("conv1d", "linear_0"),
)  # fmt: skip
# Attributes without meaning for a model whose ABSENT ones are 0.
IGNORED = {"decoder/alignment_heads", "decoder/alignment_layer", "decoder/alibi_use_positive_positions",
           "decoder/scale_alibi", "encoder/embeddings_merge"}  # fmt: skip


class CTranslate2Weights:
    """The variables of a CTranslate2 model, each taken once, so that none is forgotten."""

    def __init__(self, folder: Path):
        model = ctranslate2_model.read(folder)
        if model.specification not in ("TransformerSpec", *HEADS):
            raise UserError(f"{folder}: the native engine has no {model.specification}")
        self.folder, self.version = folder, model.version
        rename = _of_opennmt_tf if model.revision == 1 and model.specification in HEADS else str
        self.variables = {rename(name): variable.array() for name, variable in model.variables.items()}
        self.aliases = dict(model.aliases)
        if model.specification in HEADS:
            self.variables.setdefault("num_heads", np.array(HEADS[model.specification], np.int32))
        for name in OF_BOTH:
            if name in self.variables:  # of revisions before 5
                self.aliases |= {f"{side}/{name}": name for side in ("encoder", "decoder")}
        scales = {f"{name}_scale" for name in self.variables}
        self.integers = any(array.dtype == np.int8 and array.ndim > 1 for array in self.variables.values())
        self.left = {*self.variables} - scales - {*STRINGS, *FLAGS}

    def __contains__(self, name: str) -> bool:
        return self.name(name) in self.variables

    def name(self, name: str) -> str:
        """The name under which a variable is stored: layers may share weights."""
        return self.aliases.get(name, name)

    def take(self, name: str) -> NDArray[Any]:
        stored = self.name(name)
        if stored not in self.variables:
            raise UserError(f"{self.folder}: has no variable {name}; the native engine needs it")
        self.left.discard(stored)
        array = self.variables[stored]
        if array.dtype in (np.int8, np.int16) and array.ndim > 1:
            return self._restored(stored, array)
        if np.issubdtype(array.dtype, np.floating):
            return finite(self.folder, stored, array, masks=name == OUTPUT_BIAS)
        return array

    def _restored(self, name: str, array: NDArray[Any]) -> NDArray[np.float32]:
        """Integers as float32: divided by the scale of each row or of all. Old int16 models have none in the file."""
        scale = self.variables.get(f"{name}_scale", np.float32(INT16_SCALE) if array.dtype == np.int16 else None)
        if scale is None or scale.size not in (1, len(array)):
            raise UserError(f"{self.folder}: {name} has no scale that fits; a file is damaged")
        scale = finite(self.folder, f"{name}_scale", scale).reshape(-1, *[1] * scale.ndim)
        with np.errstate(all="ignore"):
            return finite(self.folder, name, array / scale)

    def dense(self, name: str) -> Product:
        matrix, bias = self.take(f"{name}/weight"), f"{name}/bias"
        return matrix, self.take(bias) if bias in self else np.zeros(len(matrix), np.float32)

    def attribute(self, name: str, default: Any = NO_ATTRIBUTE) -> Any:
        """A number that is stored as a variable."""
        if name not in self and default is not NO_ATTRIBUTE:
            return default
        return self.take(name).item()

    def check_all_taken(self) -> None:
        """Raises UserError for a variable that nobody asked for: a part of the model that would be left out."""
        if left := sorted(self.left - IGNORED):
            raise UserError(f"{self.folder}: the native engine does not know {', '.join(left[:5])}")


def _of_opennmt_tf(name: str) -> str:
    """Today's name of a variable of revision 1."""
    for old, new in OLD_NAMES:
        name = name.replace(old, new, 1)
    if name.startswith("encoder"):
        return name.replace("multi_head", "self_attention", 1)
    return name.replace("masked_multi_head", "self_attention", 1).replace("multi_head", "attention", 1)
