"""The native engine with translations of a given length, whatever the model says: every way takes the same steps."""

from pathlib import Path
from typing import Any

from decode.engines import Batch
from decode.engines.native import Native
from formats import native_map
from formats.native_model import Vocabulary
from measure import in_process


class ForcedLength:
    """A worker of the native engine on one thread. Raises UserError for a folder of another engine.

    candidates: a vocabulary map in CTranslate2's format that restricts the pieces; the engine's own is written beside.
    """

    def __init__(self, folder: Path, candidates: Path | None = None):
        in_process.of_engine(folder, Native)
        import nmt_frontier_engine as engine  # inside: it is not installed everywhere

        self._vocabulary, path = Vocabulary.read(folder), None
        if candidates:
            path = candidates.with_name(native_map.NAME)
            native_map.convert(candidates, self._vocabulary.source_numbers, self._vocabulary.target_numbers, path)
        self._worker = engine.Worker(engine.Model(folder / Native.weights, path))
        self._options, self._mapped = engine.Options, "sentence" if candidates else "all"

    def decode(self, batch: Batch, pieces: int, beam_size: int, **options: Any) -> None:
        """Translate a batch into as many pieces each; options: others of nmt_frontier_engine.Options."""
        told = {"shortest": pieces, "longest": pieces, "beam_size": beam_size, "candidates": self._mapped, **options}
        self._worker.translate([self._vocabulary.numbers(sentence) for sentence in batch], self._options(**told))
