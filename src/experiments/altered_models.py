"""Models altered to be timed: without one of its parts, or with translations of a given length.

CTranslate2 builds the layers that it finds weights for (its layers/transformer.cc and models/transformer.cc). Without
the weights of encoder-decoder attention, its decoder works like that of a language model; with the specification of an
encoder, it builds the encoder alone. The output of such a model is useless, but the remaining layers run the same code
on the same shapes.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.errors import UserError
from decode import engines
from decode.engines import Batch
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from formats import ctranslate2_model, native_model
from formats.ctranslate2_model import Model
from formats.native_model import Vocabulary

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


def converted(text: Path, folder: Path, path: Path) -> Path:
    """Write a map in CTranslate2's format as the engine's own, for the model in a folder. Returns the path."""
    vocabulary = Vocabulary.read(folder)
    native_model.convert_map(text, vocabulary.source_numbers, vocabulary.target_numbers, path)
    return path


class ForcedLength:
    """A worker of the native engine on one thread. Raises UserError for a folder of another engine.

    candidates: a vocabulary map of the engine that restricts the pieces of each sentence.
    """

    def __init__(self, folder: Path, candidates: Path | None = None):
        engines.describe_for(folder, Native)
        import nmt_frontier_engine as engine  # inside: it is not installed everywhere

        self._vocabulary = Vocabulary.read(folder)
        self._worker = engine.Worker(engine.Model(folder / Native.weights, candidates))
        self._options, self._mapped = engine.Options, "sentence" if candidates else "all"

    def decode(self, batch: Batch, pieces: int, beam_size: int, **options: Any) -> Batch:
        """Translate a batch into as many pieces each; options: others of nmt_frontier_engine.Options."""
        told = {"shortest": pieces, "longest": pieces, "beam_size": beam_size, "candidates": self._mapped, **options}
        sources = [self._vocabulary.numbers(sentence) for sentence in batch]
        found = self._worker.translate(sources, self._options(**told))
        return [self._vocabulary.pieces(hypotheses[0].pieces) for hypotheses in found]
