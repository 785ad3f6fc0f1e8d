"""The files of the native engine, read by engine/model: how weights are quantised, packed and stored, and its map.

Files are safetensors files, which the engine maps into memory and uses unchanged on every CPU. Matrices of products
are stored in panels of 16 channels, ``[outputs / 16, inputs / g, 16, g]``, where g elements have 4 bytes; embeddings
and the output layer's matrix in rows. All dimensions are padded with zeros to multiples of 16.

Tensors of a map, all int32: ``ngrams`` [entries, longest], padded with -1; ``starts`` [entries + 1] and ``pieces``: the
target pieces of each entry; ``slots`` [a power of two]: an entry or -1, by the hash of its n-gram and linear probing;
``always``: the target pieces of every sentence. Pieces are numbers in the model's vocabularies.
"""

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from common.errors import UserError
from common.files import read_json, write_json
from formats import safetensors, vocabulary_map
from formats.safetensors import Array
from formats.vocabulary_map import VocabularyMap

VOCABULARY = "vocabulary.json"
NAME = "weights.safetensors"
FORMAT = "nmt-frontier-native-1"
TYPES = ("float32", "int16", "int8", "int4")
ROWS = {"int4": "int8"}  # the type of embeddings and output layer, where it is another
PANEL = 16

# The widest model that the engine takes (kMostUnits in engine/kernels/kernels.h). A product has up to four times as
# many inputs: feed-forward layers, and recurrent models with additive attention, whose units are a quarter at most.
MOST_UNITS = 8192

# Bounds that keep every sum exact (engine/kernels/dots.h).
MULTIPLES = 16  # of its step that the smallest weight of a row of integers has, at most
INT8_LANE = 128  # largest sum of the weights of one sign in a 16-bit lane: 255 x 128 < 2^15
INT16_INPUT = 4095  # magnitude of an int16 input
INT4_INPUTS = 32  # inputs of an int4 channel that share a step
INT4_STEPS = 2**31 // (255 * 8 * INT4_INPUTS)  # sum of the magnitudes of a channel's steps
INT4_DIVISORS = (*np.arange(-9, -5, 0.25), *np.arange(5.5, 8, 0.25))  # a step: the largest weight by one of these
INT32 = 2**31 - 1

MAP_NAME = "map.safetensors"
MAP_FORMAT = "nmt-frontier-map-1"
LONGEST = 64  # n-gram that the engine looks up


def kind(folder: Path) -> str:
    """The type at the end of a folder's name, after a hyphen. Raises UserError for another name."""
    if (name := folder.name.rpartition("-")[2]) not in TYPES:
        raise UserError(f"{folder}: its name must end in -{', -'.join(TYPES)}")
    return name


def padded(count: int) -> int:
    return -(-count // PANEL) * PANEL


def quantized(weights: Array, kind: str, bounded: bool = True, keep: bool = False) -> tuple[Array, Array]:
    """Rows of float32 weights as integers and the scale of each row: weight = integer x scale.

    bounded: choose scales with which no product can overflow; otherwise, for embeddings, by the largest weight.
    keep: in 8 bits, take the steps that weights have that were 8-bit integers before.
    """
    largest = np.maximum(np.abs(weights).max(axis=1, initial=0), 1e-9)
    if kind == "int16":
        scale = largest / 32767
        if bounded:
            rounding = weights.shape[1] * INT16_INPUT / 2  # integers are at most 1/2 above the exact quotient
            magnitudes = np.abs(weights.astype(np.float64)).sum(axis=1)
            scale = np.maximum(scale, magnitudes * INT16_INPUT / (INT32 - rounding))
        scale = scale.astype(np.float32)
        return np.rint(weights / scale[:, None]).astype(np.int16), scale
    scale = (largest / 127).astype(np.float32)
    if keep:
        found = steps(weights)
        scale = np.where(found > 0, found, scale)
    integers = np.rint(weights / scale[:, None])
    if bounded:
        over = lane_sum(integers) > INT8_LANE
        while over.any():
            # At least 0.1 % a round: rounding up may keep a sum above its bound although the quotient fits.
            factor = np.maximum(lane_sum(integers[over]) / INT8_LANE * 0.998, 1.001).astype(np.float32)
            scale[over] *= factor
            integers[over] = np.rint(weights[over] / scale[over, None])
            over[over] = lane_sum(integers[over]) > INT8_LANE
    return np.clip(integers, -127, 127).astype(np.int8), scale


def steps(weights: Array) -> Array:
    """For each row the largest number of which all its weights are at most 127 multiples, or 0 if there is none."""
    magnitudes = np.abs(weights.astype(np.float32))
    smallest = np.where(magnitudes > 0, magnitudes, np.inf).min(axis=1, initial=np.inf)
    found, left = np.zeros(len(weights), np.float32), np.flatnonzero(np.isfinite(smallest))
    for multiple in range(1, MULTIPLES + 1):
        step = smallest[left] / np.float32(multiple)
        quotients = magnitudes[left] / step[:, None]
        fits = (np.abs(quotients - np.rint(quotients)).max(axis=1, initial=0) < 1e-3) & (quotients.max(axis=1) < 127.5)
        # From the largest weight, whose quotient is known best.
        found[left[fits]] = magnitudes[left[fits]].max(axis=1) / np.rint(quotients[fits].max(axis=1))
        left = left[~fits]
    return found


def lane_sum(integers: Array) -> Array:
    """For each row, the largest sum of weights of one sign in a 16-bit lane of the products.

    Of eight inputs, 0, 1, 4, 5 share one lane and 2, 3, 6, 7 the other.
    """
    rows = integers.reshape(len(integers), -1, 2, 2, 2)  # step, group of four, lane, input of the lane
    positive, negative = (np.maximum(sign * rows, 0).sum(axis=(2, 4)).max(axis=(1, 2)) for sign in (1, -1))
    largest: Array = np.maximum(positive, negative)
    return largest


def panels(matrix: Array) -> Array:
    """[outputs, inputs] to [outputs / 16, inputs / g, 16, g]; both dimensions are multiples of 16."""
    group = 4 // matrix.itemsize
    outputs, inputs = matrix.shape
    return np.ascontiguousarray(matrix.reshape(outputs // PANEL, PANEL, inputs // group, group).transpose(0, 2, 1, 3))


def halved(weights: Array) -> tuple[Array, Array, Array]:
    """Rows of float32 weights in 4 bits: weight = nibble x step x scale.

    Returns nibbles [rows, inputs], -8 to 7, steps [rows, inputs / 32], -127 to 127, and the scale of each row. Of all
    steps that a group of inputs may have, it gets the one with the least squared error. Inputs: a multiple of 32.
    """
    groups = weights.astype(np.float32).reshape(len(weights), -1, INT4_INPUTS)
    places = np.abs(groups).argmax(axis=2)
    extremes = np.take_along_axis(groups, places[:, :, None], axis=2)[:, :, 0]
    most = min(127, INT4_STEPS // groups.shape[1])
    scale = np.maximum(np.abs(extremes).max(axis=1), 1e-9) / 7 / most
    best = np.zeros(extremes.shape, np.int8)
    least = np.full(extremes.shape, np.inf, np.float32)
    for divisor in INT4_DIVISORS:  # negative: the extreme has the sign of -8
        found = np.rint(extremes / scale[:, None] / divisor).clip(-most, most)
        step = found * scale[:, None]
        error = np.square(groups - nibbles(groups, step) * step[:, :, None]).sum(axis=2)
        best, least = np.where(error < least, found, best).astype(np.int8), np.minimum(least, error)
    return nibbles(groups, best * scale[:, None]).reshape(weights.shape).astype(np.int8), best, scale.astype(np.float32)


def nibbles(groups: Array, step: Array) -> Array:
    """The nearest multiples of each group's step that 4 bits have."""
    found: Array = np.rint(groups / np.where(step == 0, np.inf, step)[:, :, None]).clip(-8, 7)
    return found


def half_bytes(integers: Array) -> Array:
    """Panels of 8-bit integers, each group of inputs with the next: its own in the lower halves of the bytes."""
    lower, upper = integers[:, ::2] & 15, integers[:, 1::2] << 4
    packed: Array = lower | upper
    return packed


def of_product(kind: str, inputs: int) -> str:
    """The type of a product with these inputs in a model of a type."""
    return "int8" if kind == "int4" and inputs % INT4_INPUTS else kind


def linear(name: str, weights: Array, bias: Array, kind: str, keep: bool = False) -> dict[str, Array]:
    """The tensors of a product. weights: float32 [outputs, inputs], multiples of 16. keep: as for ``quantized``."""
    kind = of_product(kind, weights.shape[1])
    tensors = {f"{name}.bias": bias.astype(np.float32)}
    if kind == "int4":
        integers, step, scale = halved(weights)
        wide = integers * np.repeat(step.astype(np.int64), INT4_INPUTS, axis=1)
        return {
            f"{name}.weight": half_bytes(panels(integers)),
            f"{name}.steps": np.ascontiguousarray(step.reshape(-1, PANEL, step.shape[1]).transpose(0, 2, 1)),
            f"{name}.scale": scale,
            f"{name}.offset": offset(wide),
            **tensors,
        }
    if kind == "float32":
        return {f"{name}.weight": panels(weights.astype(np.float32)), **tensors}
    integers, scale = quantized(weights, kind, keep=keep)
    tensors |= {f"{name}.weight": panels(integers), f"{name}.scale": scale}
    if kind == "int8":
        tensors[f"{name}.offset"] = offset(integers)
    return tensors


def rows(name: str, weights: Array, kind: str, bounded: bool, keep: bool = False) -> dict[str, Array]:
    """The tensors of a lookup table: [entries, units], entries padded with zeros."""
    weights = pad(weights.astype(np.float32), padded(len(weights)), weights.shape[1])
    if kind == "float32":
        return {f"{name}.rows": weights}
    integers, scale = quantized(weights, kind, bounded, keep)
    return {f"{name}.rows": integers, f"{name}.scale": scale}


def offset(integers: Array) -> Array:
    """The correction of products whose inputs are all 128 too large; int32 [outputs]."""
    sums: Array = integers.astype(np.int64).sum(axis=1)
    return (-128 * sums).astype(np.int32)


def pad(matrix: Array, *shape: int) -> Array:
    """A matrix or vector padded with zeros to this shape."""
    result = np.zeros(shape, matrix.dtype)
    result[tuple(map(slice, matrix.shape))] = matrix
    return result


def pad_outputs(weights: Array, bias: Array, groups: int) -> tuple[Array, Array]:
    """Pad the outputs of each group (head, gate) to a multiple of 16. weights: [groups x size, inputs]."""
    size = len(bias) // groups
    wide, inputs = padded(size), weights.shape[1]
    return (
        pad(weights.reshape(groups, size, inputs), groups, wide, inputs).reshape(groups * wide, inputs),
        pad(bias.reshape(groups, size), groups, wide).reshape(-1),
    )


def pad_inputs(weights: Array, groups: int) -> Array:
    """Pad the inputs of each group to a multiple of 16. weights: [outputs, groups x size]."""
    outputs, inputs = weights.shape
    size = inputs // groups
    return pad(weights.reshape(outputs, groups, size), outputs, groups, padded(size)).reshape(outputs, -1)


def write(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, object]) -> None:
    """Write a model. metadata: as engine/model and the folder of each architecture read it."""
    text = {name: str(int(value) if isinstance(value, bool) else value) for name, value in metadata.items()}
    safetensors.write(path, tensors, {"format": FORMAT, **text})


NO_TEXT = re.compile(r"<\S+>|>>\S+<<|__\w+__|[a-z]{2,3}_[A-Z][A-Za-z]+")  # pieces like <2de>, __de__ and deu_Latn

_BYTE = re.compile("<0x([0-9A-F]{2})>")


def _looped_text(piece: str) -> bytes:
    if byte := _BYTE.fullmatch(piece):
        return bytes.fromhex(byte[1]).replace(b"\0", b"")
    return piece.replace("▁", " ").encode().lower().replace(b"\0", b"")


class Vocabulary:
    """The pieces of a model by number, and those before and after a source sentence (prefix, suffix).

    source and target: the pieces of each side, the same list if the vocabulary is joint. unknown: replaces pieces that
    are not in ``source``. target_prefix: every translation begins with it. hidden: target pieces that are no text.
    languages: pieces by code, of a model whose prefixes are the languages of both sides; only in memory, folders have
    them in their description.
    """

    def __init__(
        self,
        source: list[str],
        target: list[str],
        unknown: str,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        target_prefix: Sequence[str] = (),
        languages: Mapping[str, str] | None = None,
        hidden: Sequence[str] = (),
    ):
        self.source, self.target, self.unknown = source, target, unknown
        self.prefix, self.suffix, self.target_prefix = [*prefix], [*suffix], [*target_prefix]
        self.languages, self.hidden = dict(languages or {}), [*hidden]

    @classmethod
    def read(cls, folder: Path) -> "Vocabulary":
        """Raises UserError for a missing or damaged file."""
        path = folder / VOCABULARY
        try:
            stored = read_json(path)
            frame = {name: stored[name] for name in ("unknown", "prefix", "suffix")}
            frame |= {name: stored.get(name, []) for name in ("target_prefix", "hidden")}
            return cls(stored["source"], stored.get("target", stored["source"]), **frame)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: missing or damaged ({error}); export the model again") from None

    def require_sizes(self, folder: Path) -> None:
        """Raises UserError where the weights have another number of pieces, or the unknown piece is missing."""
        numbers, path = safetensors.metadata(folder / NAME), folder / VOCABULARY
        for side, pieces in (("source", self.source), ("target", self.target)):
            if str(len(pieces)) != (needed := numbers.get(f"{side}_pieces", "")):
                counts = f"{len(pieces)} {side} pieces, the weights have {needed}"
                raise UserError(f"{path}: has {counts}; export the model again")
        if self.unknown not in self.source_numbers:
            raise UserError(f"{path}: {self.unknown} is none of its pieces; export the model again")

    def reframe(self, origin: Path, frame: Mapping[str, Sequence[str]]) -> None:
        """Replace ``prefix``, ``suffix`` and ``target_prefix``, by name. origin: for messages.

        Raises UserError for a piece that the model does not have, unless it is text of a source.
        """
        for name, pieces in frame.items():
            begins = name == "target_prefix"
            numbers = self.target_numbers if begins else self.source_numbers
            if missing := [piece for piece in pieces if piece not in numbers and (begins or NO_TEXT.fullmatch(piece))]:
                raise UserError(f"{origin}: a prefix has {missing[0]}, which is no piece of the model")
            setattr(self, name, [*pieces])

    def write(self, folder: Path) -> None:
        stored = {"source": self.source, "unknown": self.unknown, "prefix": self.prefix, "suffix": self.suffix}
        if self.target != self.source:
            stored["target"] = self.target
        stored |= {name: found for name in ("target_prefix", "hidden") if (found := getattr(self, name))}
        write_json(folder / VOCABULARY, stored)

    @cached_property
    def source_numbers(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.source)}

    @cached_property
    def target_numbers(self) -> dict[str, int]:
        if self.target == self.source:
            return self.source_numbers
        return {piece: number for number, piece in enumerate(self.target)}

    def numbers(self, sentence: Sequence[str], prefix: Sequence[str] | None = None) -> list[int]:
        """A source sentence in pieces as numbers, with prefix, another one if it is given, and suffix."""
        before, after = self._frame
        return [*(before if prefix is None else self.unframed(prefix)), *self.unframed(sentence), *after]

    def unframed(self, sentence: Sequence[str]) -> list[int]:
        """As ``numbers``, without prefix and suffix."""
        numbers = self.source_numbers
        unknown = numbers[self.unknown]
        return [numbers.get(piece, unknown) for piece in sentence]

    def framed(self, numbers: Sequence[int]) -> list[int]:
        """A source sentence in numbers with prefix and suffix."""
        prefix, suffix = self._frame
        return [*prefix, *numbers, *suffix]

    @cached_property
    def _frame(self) -> tuple[list[int], list[int]]:
        return self.unframed(self.prefix), self.unframed(self.suffix)

    @cached_property
    def beginning(self) -> list[int]:
        """``target_prefix`` in numbers."""
        return [self.target_numbers[piece] for piece in self.target_prefix]

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        return [self.target[number] for number in numbers]

    def without_hidden(self, numbers: list[int]) -> list[int]:
        """The numbers of a translation without pieces that are no text."""
        hidden = self._hidden_numbers
        return [number for number in numbers if number not in hidden] if hidden else numbers

    def texts(self) -> tuple[list[bytes], list[bytes]]:
        """The texts of source and target pieces in which the engine seeks loops (engine/search/loops.cpp).

        Letters of ASCII are in lower case, and a word begins with a space. Pieces that are no text are empty, and
        so is an unknown source piece, as it may be any.
        """
        sides = (self.source, {self.unknown}), (self.target, {*self.hidden})
        source, target = ([b"" if piece in no else _looped_text(piece) for piece in side] for side, no in sides)
        return source, target

    @cached_property
    def _hidden_numbers(self) -> set[int]:
        return {self.target_numbers[piece] for piece in self.hidden}


def read_map(path: Path, vocabulary: Vocabulary, sources: Sequence[Sequence[str]]) -> VocabularyMap:
    """The entries of a map for these sentences in pieces."""
    tensors = safetensors.read(path)
    table, starts, pieces = (tensors[name] for name in ("ngrams", "starts", "pieces"))
    sizes = {*(table >= 0).sum(axis=1).tolist()}
    asked = {tuple(s[i : i + size]) for s in sources for size in sizes for i in range(len(s) - size + 1)}
    entries: dict[tuple[str, ...], list[str]] = {(): [vocabulary.target[number] for number in tensors["always"]]}
    for entry, row in enumerate(table):
        ngram = tuple(vocabulary.source[number] for number in row if number >= 0)
        if ngram in asked:
            entries[ngram] = [vocabulary.target[number] for number in pieces[starts[entry] : starts[entry + 1]]]
    return VocabularyMap(entries)


def hashes(ngrams: Array) -> Array:
    """The hash of each row of int32 [entries, longest] without its padding of -1; uint32 [entries]."""
    values = np.zeros(len(ngrams), np.uint32)
    for column in ngrams.T:
        mixed = (values ^ column.astype(np.uint32)) * np.uint32(0x9E3779B1)
        values = np.where(column < 0, values, mixed ^ (mixed >> np.uint32(15)))
    return values


def convert_map(source: Path, sources: Mapping[str, int], targets: Mapping[str, int], path: Path) -> None:
    """Write the map of a text file. Raises UserError for foreign pieces and repeated or too long n-grams."""
    always = {targets[piece] for piece in vocabulary_map.SPECIAL if piece in targets}
    # Flat arrays, so that a map of millions of n-grams fits into the memory of a small job.
    ngrams, lengths, lines, entries, sizes = (array("i") for _ in range(5))
    for number, ngram, pieces in vocabulary_map.read(source):
        try:
            numbers = [targets[piece] for piece in pieces]
            if not ngram:
                always.update(numbers)
                continue
            if len(ngram) > LONGEST:
                raise UserError(f"{source}: line {number}: an n-gram of {len(ngram)} pieces; the engine has {LONGEST}")
            ngrams.extend([sources[piece] for piece in ngram])
        except KeyError as error:
            raise UserError(
                f"{source}: line {number}: {error.args[0]!r} is no piece of the model's vocabulary;"
                " this map was made for another model"
            ) from None
        entries.extend(numbers)
        for column, value in ((lengths, len(ngram)), (lines, number), (sizes, len(numbers))):
            column.append(value)
    table = _table(np.array(ngrams, np.int32), np.array(lengths, np.int32))
    if line := _repeated(table, np.array(lines, np.int32)):
        ngram = next(ngram for number, ngram, _ in vocabulary_map.read(source) if number == line)
        raise UserError(f"{source}: line {line}: the n-gram {' '.join(ngram)!r} occurs twice")
    tensors = {
        "ngrams": table,
        "starts": np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int32),
        "pieces": np.array(entries, np.int32),
        "slots": _slots(hashes(table)),
        "always": np.array(sorted(always), np.int32),
    }
    safetensors.write(path, tensors, {"format": MAP_FORMAT})


def _table(ngrams: Array, lengths: Array) -> Array:
    """N-grams in one flat array as int32 [entries, longest], padded with -1."""
    longest = int(lengths.max(initial=1))
    table = np.full((len(lengths), longest), -1, np.int32)
    table[np.arange(longest) < lengths[:, None]] = ngrams
    return table


def _repeated(table: Array, lines: Array) -> int:
    """The first line whose n-gram an earlier line has, or 0. lines: int32 [entries], ascending."""
    order = np.lexsort(table.T)  # stable: equal n-grams stay in the order of their lines
    equal = (table[order[1:]] == table[order[:-1]]).all(axis=1)
    return int(lines[order[1:][equal]].min()) if equal.any() else 0


def _slots(hashed: Array) -> Array:
    """A hash table, at most half full: each entry is in the first free slot from its hash on."""
    size = 1 << max(4, (2 * len(hashed)).bit_length())
    slots = array("i", [-1]) * size
    for entry, value in enumerate((hashed & np.uint32(size - 1)).tolist()):
        while slots[value] >= 0:
            value = (value + 1) % size
        slots[value] = entry
    return np.array(slots, np.int32)
