"""A CTranslate2 model without one of its parts, to time what is left.

CTranslate2 builds the layers that it finds weights for (its layers/transformer.cc and models/transformer.cc). Without
the weights of encoder-decoder attention, its decoder works like that of a language model; with the specification of an
encoder, it builds the encoder alone. The output of such a model is useless, but the remaining layers run the same code
on the same shapes.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from common.errors import UserError
from decode.engines.ctranslate2 import CTranslate2
from formats import ctranslate2_model
from formats.ctranslate2_model import Model

ATTENTION = "/attention/"  # in names of weights: between decoder and encoder; self-attention is /self_attention/
ENCODER = ("TransformerEncoderSpec", 1)  # name and revision of the specification of a model that is only an encoder


def without_attention(model: Model) -> Model:
    """Remove the attention between decoder and encoder. Raises UserError for a model that has none."""
    variables = {name: variable for name, variable in model.variables.items() if ATTENTION not in name}
    if len(variables) == len(model.variables):
        raise UserError(_no_attention(model))
    aliases = {name: target for name, target in model.aliases.items() if ATTENTION not in name}
    for name, target in list(aliases.items()):
        if ATTENTION in target:  # a layer that stays needs the weights that it shared with a removed one
            variables[name] = model.variables[aliases.pop(name)]
    return model._replace(variables=variables, aliases=aliases)


def encoder(model: Model) -> Model:
    """Make the encoder alone; the weights of the decoder stay in the file, unused."""
    return model._replace(specification=ENCODER[0], revision=ENCODER[1])


def whole(model: Model) -> Model:
    """The model as it is."""
    return model


def decoder_layers(model: Model) -> tuple[int, int]:
    """The number of decoder layers, and their units. Raises UserError for a model without attention."""
    norms = [name for name in (*model.variables, *model.aliases) if name.endswith(f"{ATTENTION}layer_norm/gamma")]
    if not norms:
        raise UserError(_no_attention(model))
    return len(norms), model.variables[model.aliases.get(norms[0], norms[0])].shape[0]


def _no_attention(model: Model) -> str:
    return f"a {model.specification} without attention between decoder and encoder; a Transformer is needed"


@contextmanager
def linked(source: Path, replaced: Mapping[str, Path | None]) -> Iterator[Path]:
    """A temporary model folder with links to the files of ``source``, some of them replaced or, if None, left out."""
    files: dict[str, Path | None] = {file.name: file for file in source.iterdir()}
    with tempfile.TemporaryDirectory() as scratch:
        for name, file in (files | dict(replaced)).items():
            if file:
                (Path(scratch) / name).symlink_to(file.resolve())
        yield Path(scratch)


@contextmanager
def folder(source: Path, operation: Callable[[Model], Model] = whole, vmap: Path | None = None) -> Iterator[Path]:
    """A temporary model folder with the model of ``source`` after ``operation``.

    All other files are those of ``source``, except for the vocabulary map if ``vmap`` is given.
    """
    replaced = {ctranslate2_model.NAME: None, **({CTranslate2.map_file: vmap} if vmap else {})}
    with linked(source, replaced) as variant:
        if not (variant / "vocabulary.json").exists():  # the name that CTranslate2 looks for in an encoder
            (variant / "vocabulary.json").symlink_to((source / "shared_vocabulary.json").resolve())
        ctranslate2_model.write(variant, operation(ctranslate2_model.read(source)))
        yield variant
