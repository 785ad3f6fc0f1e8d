"""The vocabulary map as the native engine reads it: a hash table of source n-grams in a safetensors file.

Tensors, all int32: ``ngrams`` [entries, longest], padded with -1; ``starts`` [entries + 1] and ``pieces``: the target
pieces of each entry; ``slots`` [a power of two]: an entry or -1, by the hash of its n-gram and linear probing;
``always``: the target pieces of every sentence. Pieces are numbers in the model's vocabularies.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from common.errors import UserError
from formats import safetensors, vocabulary_map
from formats.native_model import Vocabulary
from formats.vocabulary_map import VocabularyMap

NAME = "map.safetensors"
FORMAT = "nmt-frontier-map-1"


def read(path: Path, vocabulary: Vocabulary, sources: Sequence[Sequence[str]]) -> VocabularyMap:
    """The entries of a map for these sentences in pieces, in text."""
    tensors = safetensors.read(path)
    table, starts, pieces = (tensors[name] for name in ("ngrams", "starts", "pieces"))
    sizes = {*(table >= 0).sum(axis=1).tolist()}
    asked = {tuple(s[i : i + size]) for s in sources for size in sizes for i in range(len(s) - size + 1)}
    entries = {(): [vocabulary.target[number] for number in tensors["always"]]}
    for entry, row in enumerate(table):
        ngram = tuple(vocabulary.source[number] for number in row if number >= 0)
        if ngram in asked:
            entries[ngram] = [vocabulary.target[number] for number in pieces[starts[entry] : starts[entry + 1]]]
    return VocabularyMap(entries)


def hashes(ngrams: np.ndarray) -> np.ndarray:
    """The hash of each row of int32 [entries, longest], whose padding of -1 does not count; uint32 [entries]."""
    values = np.zeros(len(ngrams), np.uint32)
    for column in ngrams.T:
        mixed = (values ^ column.astype(np.uint32)) * np.uint32(0x9E3779B1)
        values = np.where(column < 0, values, mixed ^ (mixed >> np.uint32(15)))
    return values


def convert(source: Path, sources: Mapping[str, int], targets: Mapping[str, int], path: Path) -> None:
    """Write the map of a text file (formats.vocabulary_map) for models with these vocabularies, number by piece.

    Raises UserError for a piece that is not in them.
    """
    always = {targets[piece] for piece in vocabulary_map.SPECIAL if piece in targets}
    ngrams: list[tuple[int, ...]] = []
    entries: list[list[int]] = []
    known: set[tuple[str, ...]] = set()
    for number, ngram, pieces in vocabulary_map.read(source):
        try:
            numbers = [targets[piece] for piece in pieces]
            if ngram:
                if ngram in known:
                    raise UserError(f"{source}: line {number}: the n-gram {' '.join(ngram)!r} stands there twice")
                known.add(ngram)
                ngrams.append(tuple(sources[piece] for piece in ngram))
                entries.append(numbers)
            else:
                always.update(numbers)
        except KeyError as error:
            raise UserError(
                f"{source}: line {number}: {error.args[0]!r} is no piece of the model's vocabulary;"
                " this map was made for another model"
            ) from None
    longest = max(map(len, ngrams), default=1)
    table = np.full((len(ngrams), longest), -1, np.int32)
    for row, ngram in zip(table, ngrams, strict=True):
        row[: len(ngram)] = ngram
    starts = np.concatenate([[0], np.cumsum([len(numbers) for numbers in entries], dtype=np.int64)])
    tensors = {
        "ngrams": table,
        "starts": starts.astype(np.int32),
        "pieces": np.array([number for numbers in entries for number in numbers], np.int32),
        "slots": _slots(hashes(table)),
        "always": np.array(sorted(always), np.int32),
    }
    safetensors.write(path, tensors, {"format": FORMAT})


def _slots(hashed: np.ndarray) -> np.ndarray:
    """A table at most half full: each entry in the first free slot from its hash on."""
    size = 1 << max(4, (2 * len(hashed)).bit_length())
    slots = [-1] * size
    for entry, value in enumerate((hashed & np.uint32(size - 1)).tolist()):
        while slots[value] >= 0:
            value = (value + 1) % size
        slots[value] = entry
    return np.array(slots, np.int32)
