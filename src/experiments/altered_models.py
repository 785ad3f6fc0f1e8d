"""Models without one of their parts, and engines that translate to a given length, for timing.

CTranslate2 builds the layers that it finds weights for (layers/transformer.cc and models/transformer.cc): without the
weights of encoder-decoder attention, a decoder like that of a language model; with the specification of an encoder, the
encoder alone. The remaining layers run the same code on the same shapes.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decode.engines.ctranslate2 import CTranslate2
from formats import ctranslate2_loading
from formats.ctranslate2_loading import compute_type
from formats.experiments import FEW
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_text
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.ctranslate2_model import ModelBin
from nmt_frontier.model import native_map
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search import loading, native
from nmt_frontier.search.engine import Batch
from nmt_frontier.search.native import Native

ATTENTION = "/attention/"  # in names of weights: between decoder and encoder; self-attention is /self_attention/
ENCODER = ("TransformerEncoderSpec", 1)  # name and revision of the specification of an encoder


def without_attention(model: ModelBin) -> ModelBin:
    """Remove the attention between decoder and encoder. Raises UserError for a model without it."""
    variables = {name: variable for name, variable in model.variables.items() if ATTENTION not in name}
    if len(variables) == len(model.variables):
        raise UserError(_no_attention(model))
    aliases = {name: target for name, target in model.aliases.items() if ATTENTION not in name}
    for name, target in list(aliases.items()):
        if ATTENTION in target:  # a layer that stays needs the weights that it shared with a removed one
            variables[name] = model.variables[aliases.pop(name)]
    return model._replace(variables=variables, aliases=aliases)


def encoder(model: ModelBin) -> ModelBin:
    """The encoder alone; the weights of the decoder stay in the file, unused."""
    return model._replace(specification=ENCODER[0], revision=ENCODER[1])


def decoder_layers(model: ModelBin) -> tuple[int, int]:
    """The number of decoder layers and their units. Raises UserError for a model without attention."""
    norms = [name for name in (*model.variables, *model.aliases) if name.endswith(f"{ATTENTION}layer_norm/gamma")]
    if not norms:
        raise UserError(_no_attention(model))
    return len(norms), model.variables[model.aliases.get(norms[0], norms[0])].shape[0]


def _no_attention(model: ModelBin) -> str:
    return f"a {model.specification} without attention between decoder and encoder; a Transformer is needed"


@contextmanager
def linked(source: Path, replaced: Mapping[str, Path | None]) -> Iterator[Path]:
    """A temporary model folder with links to the files of ``source``; ``replaced`` has others, or None to omit one."""
    files: dict[str, Path | None] = {file.name: file for file in source.iterdir()}
    with tempfile.TemporaryDirectory() as scratch:
        for name, file in (files | dict(replaced)).items():
            if file:
                (Path(scratch) / name).symlink_to(file.resolve())
        yield Path(scratch)


@contextmanager
def folder(
    source: Path, operation: Callable[[ModelBin], ModelBin] | None = None, vmap: Path | None = None
) -> Iterator[Path]:
    """A temporary model folder with the model of ``source`` after ``operation``, and the vocabulary map ``vmap``."""
    replaced = {ctranslate2_model.NAME: None, **({CTranslate2.map_file: vmap} if vmap else {})}
    with linked(source, replaced) as variant:
        if not (variant / "vocabulary.json").exists():  # CTranslate2's name for the vocabulary of an encoder
            (variant / "vocabulary.json").symlink_to((source / "shared_vocabulary.json").resolve())
        model = ctranslate2_model.read(source)
        ctranslate2_model.write(variant, operation(model) if operation else model)
        yield variant


def loaded(folder: Path, load: Callable[..., Any] = ctranslate2_loading.translator) -> Any:
    """Load a model of CTranslate2 on one thread. Raises UserError for a folder of another engine."""
    kind = compute_type(loading.describe_for(folder, CTranslate2).quantization)
    return load(folder, device="cpu", compute_type=kind, intra_threads=1)


def exactly(pieces: int) -> dict[str, int]:
    """CTranslate2's options to decode every sentence to this number of pieces."""
    return {"min_decoding_length": pieces, "max_decoding_length": pieces, "max_input_length": 0}


def converted(text: Path, folder: Path, path: Path) -> Path:
    """Write a map of CTranslate2 in the native engine's format, for the model in a folder. Returns the path."""
    vocabulary = Vocabulary.read(folder)
    native_map.convert(text, vocabulary.source_numbers, vocabulary.target_numbers, path)
    return path


class ForcedLength:
    """The native engine on one thread. candidates: map of each sentence. Raises UserError for another engine."""

    def __init__(self, folder: Path, candidates: Path | None = None):
        loading.describe_for(folder, Native)
        engine = native.library()
        self._vocabulary = Vocabulary.read(folder)
        self._worker = engine.Worker(engine.Model(folder / Native.weights, candidates))
        self._options, self._mapped = engine.Options, candidates is not None

    def decode(self, batch: Batch, pieces: int, beam_size: int, **options: Any) -> Batch:
        """Translate each sentence of a batch into this number of pieces; options: of nmt_frontier.bindings.Options."""
        usual = {"shortest": pieces, "longest": pieces, "beam_size": beam_size, "vocabulary_map": self._mapped}
        sources = [self._vocabulary.numbers(sentence) for sentence in batch]
        found = self._worker.translate(sources, self._options(**usual | options))
        return [self._vocabulary.pieces(hypotheses[0].pieces) for hypotheses in found]


def write_few(pieces: list[str], path: Path) -> None:
    """Write a vocabulary map of the first FEW pieces of a vocabulary after its control tokens."""
    write_text(path, "\t" + " ".join(pieces[3 : 3 + FEW]) + "\n")
