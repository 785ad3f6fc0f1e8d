"""The native engine from Python: a loaded model, and workers that decode with it.

The library is called through its C interface (engine/bindings/nmt_frontier.h, which other programs call, too, and
c_api.h). A call takes a whole batch and releases
Python's lock, so that several threads, each with a worker, decode at the same time and share the weights.
"""

from __future__ import annotations

import ctypes
import functools
import os
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_frontier.model.native_files import LIBRARY

if TYPE_CHECKING:  # NumPy is imported where it is used: to translate text needs none
    from numpy.typing import NDArray

__version__ = "0.9.0"
ERROR_BYTES = 1000

Pieces = Sequence[int]


class EngineError(RuntimeError):
    """An error of the engine, in one line."""


@dataclass(frozen=True)
class Options:
    """How a batch is decoded; the defaults are greedy search among all pieces.

    Score of a hypothesis: log probability / length^length_penalty or, with ``wu``, / ((5 + length) / 6)^length_penalty
    (Wu et al. 2016); the length includes the end piece. shortest, longest: length limits in pieces, without prefix and
    end. blocked_ngram: no n-gram of this size occurs more than once; 0 is off. vocabulary_map: score only the pieces
    that the map allows for each sentence or, without ``map_per_sentence``, for any sentence of the batch.
    stop: a sentence is done with ``beam_size`` finished hypotheses (1), or not before no live one would beat the worst
    of them at its own length (2) or the longest (3); 0 is 1, but without a length penalty ends earlier, when n_best are
    known, as CTranslate2 does. as_transformers: probabilities are those among all pieces, not among those that are not
    blocked, and n-grams count the decoder's first input. forced_end: the last piece that ``longest`` allows is the end.
    samples: draw so many translations of each sentence instead of searching (0), as search.sampling.Sampling says; they
    come in the order of their numbers, equal ones among them.
    attention_layer: decoder layer whose attention is returned; attention_head: -1 averages. without: names of SWITCHES
    to turn off.
    """

    beam_size: int = 1
    n_best: int = 1
    length_penalty: float = 1.0
    wu: bool = False
    shortest: int = 0
    longest: int = 150
    blocked_ngram: int = 0
    vocabulary_map: bool = False
    scores: bool = False
    attention_layer: int = -1
    attention_head: int = -1
    stop: int = 0
    as_transformers: bool = False
    forced_end: bool = False
    samples: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    epsilon: float = 0.0
    seed: int = 0
    without: frozenset[str] = frozenset()


class InputScales(NamedTuple):
    """Number of input rows of a product, and statistics of the rows' scales."""

    rows: int
    mean: float
    deviation: float
    largest: float


class Hypothesis(NamedTuple):
    """pieces: without the end. attention: float32 [pieces, plus the end if reached; source pieces], on request. loop:
    number of pieces that were cut off, as they repeated those before."""

    pieces: list[int]
    score: float
    attention: NDArray[Any] | None = None
    loop: int = 0


INTERFACE = 8  # kInterface of engine/bindings/c_api.h
TILES = ("usual", "tall", "square", "amx")
_INTS, _FLOATS = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_float)
_BYTES = ctypes.POINTER(ctypes.c_char)
_C: dict[Any, Any] = {
    "int": ctypes.c_int32,
    "bool": ctypes.c_int32,
    "float": ctypes.c_float,
    "frozenset[str]": ctypes.c_uint32,
}


_FIELDS = [(field.name, _C[field.type]) for field in fields(Options)]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int32), *_FIELDS]


class _Batch(ctypes.Structure):
    _fields_ = [
        ("sentences", ctypes.c_int32), ("source_lengths", ctypes.c_void_p), ("sources", ctypes.c_void_p),
        ("prefix_lengths", ctypes.c_void_p), ("prefixes", ctypes.c_void_p),
    ]  # fmt: skip


class _Results(ctypes.Structure):
    _fields_ = [
        ("hypotheses", ctypes.c_int64), ("total_pieces", ctypes.c_int64), ("total_attention", ctypes.c_int64),
        ("counts", _INTS), ("lengths", _INTS), ("pieces", _INTS), ("scores", _FLOATS), ("attention_lengths", _INTS),
        ("attention", _FLOATS), ("loops", _INTS), ("piece_scores", _FLOATS),
    ]  # fmt: skip


_INT, _FLOAT, _TEXT, _HANDLE = ctypes.c_int32, ctypes.c_float, ctypes.c_char_p, ctypes.c_void_p
_NEW = ctypes.POINTER(_HANDLE)  # to the handle of what a function opens
_SEARCH = [_HANDLE, *map(ctypes.POINTER, (_Batch, _Options)), ctypes.POINTER(ctypes.POINTER(_Results))]
# The functions of the interface that are called here, by name without ``nmt_``: the type of what they return, and of
# their arguments. Those that return an error have two more arguments, for its text.
_RETURN: dict[str, tuple[Any, list[Any]]] = {
    "own_interface": (_INT, []), "options_size": (_INT, []), "switches": (_INT, []), "switch_name": (_TEXT, [_INT]),
    "isa": (_TEXT, []), "available_sets": (_TEXT, []), "components": (ctypes.c_int, []),
    "component_name": (_TEXT, [ctypes.c_int]), "close": (None, [_HANDLE]), "close_worker": (None, [_HANDLE]),
    "positions": (_INT, [_HANDLE]), "stop": (None, [_HANDLE]), "measure": (None, [_HANDLE, ctypes.c_int]),
    "ticks": (None, [_HANDLE, ctypes.POINTER(ctypes.c_uint64)]), "operations": (ctypes.c_uint64, [_HANDLE]),
    "products": (ctypes.c_int, [_HANDLE]),
    "product_name": (_TEXT, [_HANDLE, ctypes.c_int]), "calibrate": (None, [_HANDLE, ctypes.c_int]),
    "input_scales": (None, [_HANDLE, ctypes.c_int, ctypes.POINTER(ctypes.c_double)]),
    "read": (None, [_BYTES, ctypes.c_int64, _INT]),
}  # fmt: skip
_FAIL: dict[str, list[Any]] = {
    "open": [_TEXT, _TEXT, ctypes.c_uint32, _NEW],
    "choose_tile": [_HANDLE, _INT, _INT, _INT],
    "choose_tiled_rows": [_HANDLE, _INT, _INT, _INT],
    "end_loops": [_HANDLE, _TEXT, ctypes.c_int64, _TEXT, ctypes.c_int64],
    "open_worker": [_NEW, _INT, _INT, _NEW],
    "translate": _SEARCH,
    "score": [*_SEARCH[:3], _INT, _SEARCH[3]],
    "product": [*[_INT] * 3, *[_BYTES] * 2, _FLOATS, _INTS, _FLOATS, _INT, _BYTES, _FLOATS, _INT, _INT, _FLOATS, _INT],
    "quantise": [_INT, _INT, _INT, _FLOATS, _BYTES, _FLOATS, _INT, _FLOAT],
    "activate": [_INT, _INT, _INT, _INT, _FLOATS],
    "cell": [_INT, _INT, _FLOATS, _FLOATS, _FLOATS],
}


def _load(path: Path) -> ctypes.CDLL:
    """Load the library. Raises ImportError if its interface is another one than this package's."""
    library, own = ctypes.CDLL(str(path)), (INTERFACE, ctypes.sizeof(_Options))
    try:
        found = library.nmt_own_interface(), library.nmt_options_size()
    except AttributeError:
        found = None  # older than the number
    if found != own:
        raise ImportError(f"{path.name} is of another version than its package (interface {found}, not {own})")
    for name, (returned, arguments) in {**_RETURN, **{name: (ctypes.c_int, _FAIL[name]) for name in _FAIL}}.items():
        function = getattr(library, f"nmt_{name}")
        function.restype = returned
        function.argtypes = [*arguments, *([_TEXT, ctypes.c_size_t] if name in _FAIL else [])]
    return library


_library = _load(LIBRARY)
# Parts of decoding that can be turned off, in the order of their bits (engine/model/switches.h).
SWITCHES = tuple(_library.nmt_switch_name(bit).decode() for bit in range(_library.nmt_switches()))


def _call(function: str, *arguments: object) -> None:
    """Call a function of the library. Raises EngineError with its message."""
    message = ctypes.create_string_buffer(ERROR_BYTES)
    if getattr(_library, function)(*arguments, message, ERROR_BYTES):
        raise EngineError(message.value.decode(errors="replace"))


def isa() -> str | None:
    """The instruction set in use: the CPU's widest, or that of NMT_ISA; None if the CPU lacks what NMT_ISA names."""
    name: bytes | None = _library.nmt_isa()
    return name.decode() if name else None


def available_sets() -> list[str]:
    """The instruction sets that this CPU has, narrowest first."""
    names: bytes = _library.nmt_available_sets()
    return names.decode().split()


def components() -> list[str]:
    """The names of the components whose time a worker measures."""
    return [_library.nmt_component_name(number).decode() for number in range(_library.nmt_components())]


class Model:
    """Memory-mapped weights and map, shared by any number of workers. Raises EngineError for a damaged file.

    tiles: one of TILES by (inputs, outputs) of a product of many rows; changes only the speed. The output layer counts
    as having one output per target piece. tiled_rows: the fewest rows for which such a product uses the tiles of AMX,
    if the CPU has them. without: names of SWITCHES to turn off; a model has one, ``packed``. texts: of all source
    and all target pieces, as loops are sought in them (model.native_vocabulary.Vocabulary.texts); with them,
    translations that repeat themselves are ended.
    """

    def __init__(
        self,
        weights: str | Path,
        vocabulary_map: str | Path | None = None,
        tiles: Mapping[tuple[int, int], str] | None = None,
        without: Collection[str] = (),
        tiled_rows: Mapping[tuple[int, int], int] | None = None,
        texts: tuple[Sequence[bytes], Sequence[bytes]] | None = None,
    ):
        self._handle = ctypes.c_void_p()
        path = None if vocabulary_map is None else os.fsencode(vocabulary_map)
        _call("nmt_open", os.fsencode(weights), path, _mask(without), ctypes.byref(self._handle))
        for (inputs, outputs), tile in (tiles or {}).items():
            _call("nmt_choose_tile", self._handle, inputs, outputs, _number("a tile", TILES, tile))
        for (inputs, outputs), rows in (tiled_rows or {}).items():
            _call("nmt_choose_tiled_rows", self._handle, inputs, outputs, rows)
        if texts is not None:
            sides = [b"".join(text + b"\0" for text in side) for side in texts]
            _call("nmt_end_loops", self._handle, sides[0], len(sides[0]), sides[1], len(sides[1]))

    @property
    def positions(self) -> int:
        """Maximum length in pieces of a source with prefix and suffix, and of a translation with its prefix."""
        positions: int = _library.nmt_positions(self._handle)
        return positions

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _library.nmt_close(self._handle)


class Worker:
    """Decodes batches; at most one call at a time. threads: how many share a batch.

    model: or an ensemble of several with one vocabulary, whose probabilities are averaged at every step. The vocabulary
    map, the attention and what ``calibrate`` records are those of the first. Raises EngineError for other vocabularies.
    """

    def __init__(self, model: Model | Sequence[Model], threads: int = 1):
        self._models, self._handle = [model] if isinstance(model, Model) else [*model], ctypes.c_void_p()
        self._process = os.getpid()
        handles = (_HANDLE * len(self._models))(*(each._handle for each in self._models))
        _call("nmt_open_worker", handles, len(handles), threads, ctypes.byref(self._handle))

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and self._process == os.getpid():  # a forked process lacks its threads
            _library.nmt_close_worker(self._handle)

    def translate(
        self, sources: Sequence[Pieces], options: Options, prefixes: Sequence[Pieces] | None = None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first, or its samples. prefixes: how translations must start; they
        count in lengths, not in log probabilities.

        Raises EngineError for invalid options or pieces, and after a call of ``stop``.
        """
        results = self._results("nmt_translate", sources, prefixes, options)
        return _hypotheses(results, sources, options.attention_layer >= 0)

    def score(
        self, sources: Sequence[Pieces], targets: Sequence[Pieces], options: Options | None = None
    ) -> list[NDArray[Any]]:
        """The log probabilities of the pieces of each target and of its end, float32 [pieces + 1].

        options: those of the vocabulary map count.
        """
        results = self._results("nmt_score", sources, targets, options or Options(), 0)
        return _split(_array(results.scores, results.hypotheses), targets)

    def best_pieces(
        self, sources: Sequence[Pieces], targets: Sequence[Pieces], most: int, options: Options | None = None
    ) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """The ``most`` most probable pieces at each piece of each target and at its end, best first.

        Returns their numbers, int32 [pieces + 1, most], and their log probabilities, float32 of the same shape; where
        there are fewer candidates, the number is -1. options: those of the vocabulary map count.
        """
        results = self._results("nmt_score", sources, targets, options or Options(), most)
        found = (
            _array(each, results.total_pieces).reshape(-1, most) for each in (results.pieces, results.piece_scores)
        )
        return [*zip(*(_split(each, targets) for each in found), strict=True)]

    def _results(
        self,
        function: str,
        sources: Sequence[Pieces],
        prefixes: Sequence[Pieces] | None,
        options: Options,
        *most: int,
    ) -> _Results:
        """What a function gives, which the library keeps for this thread until its next call."""
        results = ctypes.POINTER(_Results)()
        batch, kept = _batch(sources, prefixes)
        given = ctypes.byref(batch), ctypes.byref(_options(options)), *most
        _call(function, self._handle, *given, ctypes.byref(results))
        del kept
        found: _Results = results.contents
        return found

    def stop(self) -> None:
        """End the call that runs in another thread, or the next one, with an EngineError."""
        _library.nmt_stop(self._handle)

    def measure(self, on: bool = True) -> None:
        """Turn the timing of components on or off. It slows small models a little."""
        _library.nmt_measure(self._handle, int(on))

    def ticks(self) -> dict[str, int]:
        """Ticks of the CPU's clock spent in each component while they were timed.

        Threads that share the sentences of a batch are all counted; of those that share its products, one is.
        """
        names = components()
        counts = (ctypes.c_uint64 * len(names))()
        _library.nmt_ticks(self._handle, counts)
        return dict(zip(names, counts, strict=True))

    def operations(self) -> int:
        """The multiplications and additions of all products so far."""
        count: int = _library.nmt_operations(self._handle)
        return count

    def calibrate(self, on: bool = True) -> None:
        """Turn the recording of input scales on or off, for all products."""
        _library.nmt_calibrate(self._handle, int(on))

    def input_scales(self) -> dict[str, InputScales]:
        """The recorded scales by the name of the product in the file; none for float32 products."""
        found, model = {}, self._models[0]._handle
        for number in range(_library.nmt_products(model)):
            scales = (ctypes.c_double * 4)()
            _library.nmt_input_scales(self._handle, number, scales)
            rows, total, squares, largest = scales
            if rows:
                variance = max(squares / rows - (total / rows) ** 2, 0)
                name = _library.nmt_product_name(model, number).decode()
                found[name] = InputScales(int(rows), total / rows, variance**0.5, largest)
        return found


@functools.lru_cache(maxsize=64)
def _options(options: Options) -> _Options:
    values = {name: getattr(options, name) for name, _ in _FIELDS}
    values["without"] = _mask(options.without)
    made = _Options(ctypes.sizeof(_Options), **values)
    for name, kind in _FIELDS:
        if kind is ctypes.c_int32 and getattr(made, name) != values[name]:  # ctypes truncates silently
            raise EngineError(f"{name}: {values[name]} is no number of 32 bits")
    return made


def _mask(without: Collection[str]) -> int:
    """The bits of switches to turn off. Raises EngineError for an unknown name."""
    return sum(1 << _number("without", SWITCHES, name) for name in set(without))


def _number(what: str, names: Sequence[str], name: str) -> int:
    """The library's number for a name. Raises EngineError for an unknown name."""
    if name not in names:
        raise EngineError(f"{what}: one of {', '.join(names)}, not {name!r}")
    return names.index(name)


def _batch(sources: Sequence[Pieces], prefixes: Sequence[Pieces] | None) -> tuple[_Batch, list[array[int]]]:
    """A batch for the library, and the arrays it points to."""
    if prefixes is not None and len(prefixes) != len(sources):
        raise EngineError("there must be one prefix for each sentence")
    arrays = [*_flat(sources), *(_flat(prefixes) if prefixes is not None else [])]
    return _Batch(len(sources), *(numbers.buffer_info()[0] for numbers in arrays)), arrays


def _flat(sentences: Sequence[Pieces]) -> list[array[int]]:
    """The lengths of sentences, and their concatenated pieces."""
    try:
        # From lists, whose size is known: twice as fast as from iterators.
        return [array("i", [*map(len, sentences)]), array("i", [*chain.from_iterable(sentences)])]
    except (OverflowError, TypeError):
        raise EngineError("a piece is no number of 32 bits") from None


def _array(pointer: Any, size: int) -> NDArray[Any]:
    import numpy as np

    return np.ctypeslib.as_array(pointer, (size,)).copy() if size else np.zeros(0, np.float32)


def _split(rows: NDArray[Any], targets: Sequence[Pieces]) -> list[NDArray[Any]]:
    """The rows of each target, one for each of its pieces and one for its end."""
    import numpy as np

    return np.split(rows, np.cumsum([len(target) + 1 for target in targets])[:-1]) if targets else []


def _hypotheses(results: _Results, sources: Sequence[Pieces], attention: bool) -> list[list[Hypothesis]]:
    total, counts = results.hypotheses, results.counts[: len(sources)]
    pieces, lengths, scores = results.pieces[: results.total_pieces], results.lengths[:total], results.scores[:total]
    weights = _attention(results, sources, counts) if attention else repeat(None)
    parts = zip(accumulate(lengths), lengths, scores, weights, results.loops[:total])  # noqa: B905 (``repeat`` has no end)
    every = (Hypothesis(pieces[end - length : end], score, matrix, loop) for end, length, score, matrix, loop in parts)
    return [[*islice(every, count)] for count in counts]


def _attention(results: _Results, sources: Sequence[Pieces], counts: Sequence[int]) -> list[NDArray[Any]]:
    """The weights of each hypothesis, [pieces, source pieces]."""
    import numpy as np

    ends = np.cumsum(results.attention_lengths[: results.hypotheses])
    columns = chain.from_iterable(repeat(len(source), count) for source, count in zip(sources, counts, strict=True))
    parts = np.split(_array(results.attention, results.total_attention), ends[:-1])
    return [part.reshape(-1, size) for part, size in zip(parts, columns, strict=True)] if ends.size else []
