"""The vocabulary map of the native engine, ``map.safetensors``, read by engine/search/vocabulary_map.cpp.

A safetensors file. Its tensors are all int32: ``ngrams`` [entries, longest], padded with -1; ``starts`` [entries + 1]
and ``pieces``: the target pieces of each entry; ``slots`` [a power of two]: an entry or -1, by the hash of its n-gram
and linear probing; ``always``: the target pieces of every sentence. Pieces are numbers in the model's vocabularies.
"""

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nmt_frontier.errors import UserError
from nmt_frontier.model import native_files, safetensors, vocabulary_map
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.model.safetensors import Array
from nmt_frontier.model.vocabulary_map import VocabularyMap

NAME = native_files.MAP
FORMAT = "nmt-frontier-map-1"
LONGEST = 64  # n-gram that the engine looks up


def read(path: Path, vocabulary: Vocabulary, sources: Sequence[Sequence[str]]) -> VocabularyMap:
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


def convert(source: Path, sources: Mapping[str, int], targets: Mapping[str, int], path: Path) -> None:
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
    safetensors.write(path, tensors, {"format": FORMAT})


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
