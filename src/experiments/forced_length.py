"""The native engine with translations of a given length, whatever the model says: every way takes the same steps."""

from pathlib import Path
from typing import Any

from decode import engines
from decode.engines import Batch
from decode.engines.native import Native
from formats import native_map
from formats.native_model import Vocabulary


def converted(text: Path, folder: Path, path: Path) -> Path:
    """Write a map in CTranslate2's format as the engine's own, for the model in a folder. Returns the path."""
    vocabulary = Vocabulary.read(folder)
    native_map.convert(text, vocabulary.source_numbers, vocabulary.target_numbers, path)
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
