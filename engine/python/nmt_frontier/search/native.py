"""The engine of this project (engine/): workers on the CPU share memory-mapped weights."""

import contextlib
import functools
import itertools
import os
import queue
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nmt_frontier import limits
from nmt_frontier.errors import UserError
from nmt_frontier.model import model_folder, native_files, native_vocabulary, safetensors_header
from nmt_frontier.model.model_folder import Description
from nmt_frontier.model.native_files import LIBRARY, PANEL
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import switches, tuned
from nmt_frontier.search.engine import Batch, Coder, Engine, Looped, Search, TextCoder, in_one_line
from nmt_frontier.search.sampling import Sampling
from nmt_frontier.text.numbered import Numbered
from nmt_frontier.text.tokenizers import mark

if TYPE_CHECKING:
    from nmt_frontier.bindings import InputScales

ISA = "NMT_ISA"  # environment variable of the instruction set
SMALLER = "give it smaller batches"  # if memory runs out


class Native(Engine):
    """Decodes Transformers and recurrent models; a translation does not depend on batches and workers."""

    name = "native"
    label = "native"
    packages = ("nmt_frontier",)
    types = native_files.TYPES
    weights = native_files.WEIGHTS
    map_file = native_files.MAP
    isa_variable = ISA
    prefixes = True
    ensembles = True
    aligns = True
    samples = True
    of_batch = False
    files: ClassVar = {
        native_files.WEIGHTS: "weights, packed as the engine uses them",
        native_vocabulary.NAME: "the pieces, by number",
        native_files.MAP: "vocabulary map: the target pieces that a source n-gram may bring",
    }

    @classmethod
    def supported(cls) -> list[str]:
        """All types on every CPU, if the engine was built."""
        return [*cls.types] if LIBRARY.exists() else []

    @classmethod
    def lacks(cls, shape: Mapping[str, Any]) -> str | None:
        """Widths must be multiples of 16, per direction in a bidirectional encoder, and within limits."""
        if shape.get("model") or not shape.get("units"):
            return "needs the numbers of a shape, not the name of a model"
        both = 2 * PANEL if shape.get("bidirectional") else PANEL
        panels = {"units": both, "embedding_units": PANEL, "fully_connected_units": PANEL}
        for name, panel in panels.items():
            if (width := shape.get(name) or 0) % panel:
                directions = f", {PANEL} for each direction" if panel > PANEL else ""
                return f"needs {name} in multiples of {panel}{directions}, not {width}"
        attends_inside = shape.get("decoder_transitions") or shape.get("fully_connected_layers")
        most = native_files.MOST_UNITS
        widest = {**dict.fromkeys(panels, most // 4 if attends_inside else most), "ffn_units": 4 * most}
        for name, limit in widest.items():
            if (width := shape.get(name) or 0) > limit:
                return f"needs {name} of at most {limit:,}, not {width:,}"
        return None

    @classmethod
    def write_map(cls, source: Path, folder: Path) -> None:
        """source: of export.vocabulary_map, in CTranslate2's own format."""
        from nmt_frontier.model import native_map  # inside: to decode needs no NumPy

        vocabulary = Vocabulary.read(folder)
        native_map.convert(source, vocabulary.source_numbers, vocabulary.target_numbers, folder / cls.map_file)

    @classmethod
    def read_map(cls, folder: Path, sources: Iterable[Sequence[str]]) -> VocabularyMap:
        from nmt_frontier.model import native_map

        return native_map.read(folder / cls.map_file, Vocabulary.read(folder), [*sources])

    def __init__(self, folder: Path, description: Description, search: Search):
        try:
            engine = library()
        except UserError as error:
            raise UserError(f"{folder}: {error}, or decode a model folder of CTranslate2") from None
        if engine.isa() is None:
            raise UserError(f"{ISA}={os.environ[ISA]}: this CPU has {', '.join(engine.available_sets())}")
        self._error = engine.EngineError
        self._vocabulary = _vocabulary(folder, search)
        languages = (description.languages or {}).items()
        self._marks = {mark(code): piece for code, piece in languages if mark(code) != piece}
        try:
            models = [*self._models(engine, folder, description, search)]
            self._workers = [engine.Worker(models, search.threads) for _ in range(search.workers)]
        except engine.EngineError as error:
            raise UserError(str(error)) from None
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        if search.alignment and self._marks:
            raise UserError(f"{folder}: the attention of a model of many languages is not told; leave out --html")
        layer, head = _aligned_head(folder, description) if search.alignment else (-1, -1)
        self._samples = search.samples
        self.effective_compute_type = description.quantization
        self.isa = engine.isa()
        frame = max(len(self._vocabulary.prefix), 1 if self._marks else 0) + len(self._vocabulary.suffix)
        self.longest_input = min(self.longest_input, *(model.positions - frame for model in models))
        self._options = engine.Options(
            beam_size=search.beam_size,
            length_penalty=search.length_penalty,
            longest=limits.longest_output(description),
            vocabulary_map=search.vocabulary_map,
            blocked_ngram=search.blocked_ngram,
            without=_without(engine, search),
            attention_layer=layer,
            attention_head=head,
            **sampled(search.sampling, search.samples),
        )
        try:
            self._workers[0].translate([], self._options)  # reports invalid options now
        except engine.EngineError as error:
            raise UserError(f"{folder}: {error}") from None

    def _models(self, engine: Any, folder: Path, description: Description, search: Search) -> Iterator[Any]:
        """The model of the folder, with its map, and the others of an ensemble."""
        texts = self._vocabulary.texts() if search.end_loops else None
        yield _opened(engine, search, folder, description, search.vocabulary_map, texts)
        for other in search.others:
            _require_same(self._vocabulary, folder, _vocabulary(other, search), other)
            yield _opened(engine, search, other, self._describe(other), vocabulary_map=False)

    def _describe(self, folder: Path) -> Description:
        return model_folder.describe(folder)

    def decode(self, batch: Batch) -> Batch:
        found, pieces = self._translate(*self._framed(batch)), self._vocabulary.pieces
        return [[*map(pieces, samples)] for samples in found] if self._samples > 1 else [*map(pieces, found)]

    def coded(self, tokenizer: TextCoder) -> tuple[Coder, Callable[[Batch], Batch]]:
        if self._marks:  # sentences may begin with languages, which are text
            return super().coded(tokenizer)
        numbered = Numbered(tokenizer, tokenizer.processors, self._vocabulary)
        return numbered, functools.partial(self.reported, self._decode)

    def _decode(self, batch: list[list[int]]) -> Batch:
        """Translate a batch in numbers without prefix and suffix."""
        own = self._vocabulary.beginning
        sources = [self._vocabulary.framed(sentence) for sentence in batch]
        return self._translate(sources, [own] * len(batch) if own else None)

    def _translate(self, sources: list[list[int]], prefixes: list[list[int]] | None) -> Batch:
        """The best translations in numbers, or lists of samples."""
        with self._worker() as worker:
            found = worker.translate(sources, self._options, prefixes)
        if (samples := self._samples) == 1:
            return self._texts([first for first, *_ in found], prefixes)
        of_samples = [prefix for prefix in prefixes for _ in range(samples)] if prefixes else None
        texts = self._texts([*itertools.chain.from_iterable(found)], of_samples)
        return [texts[start : start + samples] for start in range(0, len(texts), samples)]

    def _texts(self, best: list[Any], prefixes: list[list[int]] | None) -> list[list[int]]:
        """Hypotheses in numbers, without what they had to begin with and what is no text."""
        found = [hypothesis.pieces for hypothesis in best]
        if prefixes:
            found = [pieces[len(prefix) :] for pieces, prefix in zip(found, prefixes, strict=True)]
        found = [*map(self._vocabulary.without_hidden, found)]
        if self._options.attention_layer < 0:
            return [Looped(pieces) if of.loop else pieces for pieces, of in zip(found, best, strict=True)]
        return [
            self._attended(pieces, of, len(own or ()))
            for pieces, of, own in zip(found, best, prefixes or itertools.repeat(None), strict=False)
        ]

    def _attended(self, pieces: list[int], hypothesis: Any, prefix: int) -> list[int]:
        """The pieces of a hypothesis with their attention; prefix: pieces that it had to begin with."""
        from nmt_frontier.text.attention import Attended  # inside: without attention nothing needs NumPy

        before, after = len(self._vocabulary.prefix), len(self._vocabulary.suffix)
        columns = slice(before, hypothesis.attention.shape[1] - after)
        own = hypothesis.pieces[prefix:]
        kept = [row for row, piece in enumerate(own, prefix) if self._vocabulary.without_hidden([piece])]
        attention = hypothesis.attention[kept[: len(pieces)], columns]
        return Attended(pieces, self._vocabulary.pieces(pieces), attention, hypothesis.loop > 0)

    def _framed(self, batch: Batch) -> tuple[list[list[int]], list[list[int]] | None]:
        """Sources in numbers, and what their translations begin with, if anything.

        A source may begin with its languages (nmt_frontier.text.tokenizers), which replace the model's.
        """
        own = self._vocabulary.beginning
        if not self._marks:
            return [*map(self._vocabulary.numbers, batch)], [own] * len(batch) if own else None
        sources, prefixes = [], []
        for sentence in batch:
            marks = [*itertools.takewhile(self._marks.__contains__, sentence[:2])]
            languages = [self._marks[mark] for mark in marks]
            sources.append(self._vocabulary.numbers(sentence[len(marks) :], languages[:-1] or None))
            prefixes.append([self._vocabulary.target_numbers[languages[-1]]] if languages else own)
        return sources, prefixes

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def components(self, batches: Iterable[Batch]) -> dict[str, float]:
        """The share of each component in the engine's time for these batches, by its own clock."""
        with in_one_line(f"{self.label} failed", SMALLER), self._worker() as worker:
            before = worker.ticks()
            worker.measure()
            try:
                for batch in batches:
                    sources, prefixes = self._framed(batch)
                    worker.translate(sources, self._options, prefixes)
            finally:
                worker.measure(False)
            spent = {name: ticks - before[name] for name, ticks in worker.ticks().items()}
        total = sum(spent.values()) or 1
        return {name: ticks / total for name, ticks in spent.items()}

    def operations(self) -> int:
        """The multiplications and additions of all products so far."""
        return sum(worker.operations() for worker in self._workers)

    def input_scales(self, batches: Iterable[Batch]) -> dict[str, "InputScales"]:
        """The input scales of each product over these batches."""
        with in_one_line(f"{self.label} failed", SMALLER), self._worker() as worker:
            worker.calibrate()
            try:
                for batch in batches:
                    sources, prefixes = self._framed(batch)
                    worker.translate(sources, self._options, prefixes)
            finally:
                worker.calibrate(False)
            scales: dict[str, InputScales] = worker.input_scales()
            return scales

    @contextlib.contextmanager
    def _worker(self) -> Iterator[Any]:
        """An idle worker."""
        worker = self._free.get()
        try:
            yield worker
        finally:
            self._free.put(worker)


def _vocabulary(folder: Path, search: Search) -> Vocabulary:
    """The vocabulary of a folder, with the prefixes of a search. Raises UserError for a piece that it does not have."""
    vocabulary = Vocabulary.read(folder)
    vocabulary.require_sizes(folder)
    given = {"prefix": search.source_prefix, "target_prefix": search.target_prefix}
    vocabulary.reframe(folder, {name: pieces for name, pieces in given.items() if pieces is not None})
    return vocabulary


def _aligned_head(folder: Path, description: Description) -> tuple[int, int]:
    """Layer and head of the attention to go by: the one that learned an alignment, or all of the last layer (-1)."""
    if found := description.alignment:
        return found.layer, found.head
    return int(safetensors_header.metadata(folder / Native.weights).get("decoder_layers", 1)) - 1, -1


def _require_same(first: Vocabulary, folder: Path, other: Vocabulary, path: Path) -> None:
    """Raises UserError for models that cannot be one ensemble."""
    for name in ("source", "target", "unknown", "prefix", "suffix", "target_prefix"):
        if getattr(first, name) != getattr(other, name):
            what = f"{name} in {native_vocabulary.NAME}"
            raise UserError(f"{path}: has another {what} than {folder}; models of an ensemble have one vocabulary")


def _opened(
    engine: Any,
    search: Search,
    folder: Path,
    description: Description,
    vocabulary_map: bool,
    texts: tuple[list[bytes], list[bytes]] | None = None,
) -> Any:
    """The model of a folder, with its tuned tiles."""
    path = folder / Native.map_file if vocabulary_map else None
    cut = tuned.tiles(folder, description.quantization, search.beam_size, engine.TILES)
    rows = tuned.tiled_rows(folder, search.beam_size)
    return engine.Model(folder / Native.weights, path, cut, _without(engine, search), rows, texts)


def sampled(sampling: Sampling | None, samples: int) -> dict[str, object]:
    """The engine's options that draw so many translations of each sentence; none for a search."""
    return {"samples": samples, **sampling.options} if sampling else {}


def _without(engine: Any, search: Search) -> frozenset[str]:
    """The engine's own switches that a search does without."""
    return search.without.intersection(engine.SWITCHES)


def library() -> Any:
    """The engine's package. Raises UserError if it is missing, or was built from another version's sources."""
    try:
        import nmt_frontier.bindings as engine
    except (ImportError, OSError) as error:
        missing = isinstance(error, ModuleNotFoundError) or not LIBRARY.exists()
        state = "is not installed" if missing else "cannot be loaded"
        raise UserError(f"the native engine {state} ({error}); install nmt-frontier again") from None
    named = {name for name in switches.of_engine(Native.name) if name in switches.flags()}
    if different := named.symmetric_difference(getattr(engine, "SWITCHES", ())):
        names = ", ".join(sorted(different))
        raise UserError(
            f"the native engine is of another version, with other switches ({names}); install nmt-frontier again"
        )
    return engine
