"""Count the phrase pairs and the links of one shard of aligned pairs.

A phrase pair is consistent if no link leaves it (Och and Ney 2004). Target phrases are minimal here: they reach from
the first to the last piece that is linked to the source n-gram. Och and Ney also extend them by the unaligned words at
their edges; here the most frequent unaligned pieces are always on in the map instead (export.vocabulary_map).

The vocabulary map needs only the pieces of the target phrases, so the counted keys are (source n-gram, target piece),
each once a phrase pair. A key holds an n-gram of at most three pieces and a target piece as four 16-bit numbers in 64
bits. Piece numbers start at 1; 0 fills the place of a shorter n-gram.

The command writes a folder of segments (export.sorted_counts), which export.phrase_table merges with those of the other
shards.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from export.phrase_table import MAX_NGRAM, TargetCounts
from export.sorted_counts import SegmentWriter
from formats import opennmt_tf, records
from formats.batches import Batch, batches
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path
from nmt_frontier.progress import progress

# numba compiles the constants in, and its cache notices changes of this file only: all compiled loops are here.
MAX_LENGTH = 1 << 10  # pieces of one side of a pair, as in corpora.alignment
MAX_VOCABULARY = 2**16 - 1
SPACE, HYPHEN, ZERO, NINE = 32, 45, 48, 57  # ASCII


class PieceIndex(NamedTuple):
    """Numbers of pieces by their bytes: an open-addressed hash table over the text of the vocabulary.

    text: uint8; piece number n is ``text[offsets[n - 1]:offsets[n]]``. offsets: int64 (pieces + 1,). slots: int32 (a
    power of two,), piece numbers, 0 where a slot is empty.
    """

    text: NDArray[Any]
    offsets: NDArray[Any]
    slots: NDArray[Any]


class Spans(NamedTuple):
    """For each position of one side, the first and the last position on the other side that is linked to it.

    int64 (MAX_LENGTH,); first > last for a position without a link.
    """

    first: NDArray[Any]
    last: NDArray[Any]


def piece_index(pieces: list[str]) -> PieceIndex:
    """Index a vocabulary. Raises UserError for more than MAX_VOCABULARY pieces."""
    if len(pieces) > MAX_VOCABULARY:
        raise UserError(f"a vocabulary of {len(pieces):,} pieces; the phrase table holds at most {MAX_VOCABULARY:,}")
    encoded = [piece.encode() for piece in pieces]
    slots = np.zeros(4 << len(pieces).bit_length(), np.int32)
    index = PieceIndex(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]), slots)
    _fill(index)
    return index


@numba.njit(cache=True, nogil=True)
def extract(batch, row, index, targets, phrases, n_phrases, links, n_links):  # pragma: no cover (compiled)
    """Count the rows of a batch from ``row`` on while their keys fit into the buffers.

    batch: formats.batches.Batch of source pieces, target pieces and links ``0-0 1-2``; row: int. index: PieceIndex.
    targets: phrase_table.TargetCounts, increased in place. phrases, links: uint64 buffers of keys, of which the first
    n_phrases and n_links (int) are used.

    Returns (next row, n_phrases, n_links, whether the next row is well formed). If it is not, n_links is meaningless.
    """
    source, target = np.empty(MAX_LENGTH, np.int64), np.empty(MAX_LENGTH, np.int64)
    forward = Spans(np.empty(MAX_LENGTH, np.int64), np.empty(MAX_LENGTH, np.int64))
    backward = Spans(np.empty(MAX_LENGTH, np.int64), np.empty(MAX_LENGTH, np.int64))
    latest = np.zeros(MAX_VOCABULARY + 1, np.int64)
    while row < len(batch.starts):
        starts, ends = batch.starts[row], batch.ends[row]
        m = _read_pieces(batch.text, starts[0], ends[0], index, source)
        n = _read_pieces(batch.text, starts[1], ends[1], index, target)
        if m < 0 or n < 0:
            return row, n_phrases, n_links, False
        if n_phrases + m * MAX_NGRAM * n > len(phrases) or n_links + (ends[2] - starts[2]) > len(links):
            return row, n_phrases, n_links, True
        pieces = source[:m], target[:n]
        n_links = _read_links(batch.text, starts[2], ends[2], pieces, forward, backward, links, n_links)
        if n_links < 0:
            return row, n_phrases, n_links, False
        for j in range(n):
            targets.frequency[target[j]] += 1
            if backward.last[j] < 0:
                targets.unaligned[target[j]] += 1
        n_phrases = _add_phrases(pieces, forward, backward, latest, phrases, n_phrases)
        row += 1
    return row, n_phrases, n_links, True


@numba.njit(cache=True, nogil=True)
def _add_phrases(pieces, forward, backward, latest, phrases, n_phrases):  # pragma: no cover (compiled)
    """Append the keys of the phrases of a pair; returns the number of keys used.

    pieces: int64 (source length,) and (target length,), 0 for a piece outside the vocabulary. forward, backward: Spans.
    latest: int64 (MAX_VOCABULARY + 1,), of each target piece the latest phrase that brought it.
    """
    source, target = pieces
    for start in range(len(source)):
        first, last, ngram = MAX_LENGTH, -1, 0
        for end in range(start, min(start + MAX_NGRAM, len(source))):
            if source[end] == 0:  # no n-gram with this piece can be looked up
                break
            ngram = ngram << 16 | source[end]
            first, last = min(first, forward.first[end]), max(last, forward.last[end])
            consistent = last >= 0
            for j in range(first, last + 1):
                if backward.last[j] > end or backward.first[j] < start:
                    consistent = False
                    break
            if not consistent:
                continue
            phrase = n_phrases + 1  # identifies it: a phrase that marks a piece also adds a key
            for j in range(first, last + 1):
                if target[j] and latest[target[j]] != phrase:
                    latest[target[j]] = phrase
                    phrases[n_phrases] = ngram << 16 | target[j]
                    n_phrases += 1
    return n_phrases


@numba.njit(cache=True, nogil=True)
def _read_links(text, place, end, pieces, forward, backward, links, n_links):  # pragma: no cover (compiled)
    """Read the links ``text[place:end]``, uint8, into the spans of all positions, and append their keys.

    Returns the number of keys used, or -1 for a malformed link or one outside the pair.
    """
    source, target = pieces
    forward.first[: len(source)], forward.last[: len(source)] = MAX_LENGTH, -1
    backward.first[: len(target)], backward.last[: len(target)] = MAX_LENGTH, -1
    while place < end:
        i, place = _read_integer(text, place, end)
        if place >= end or text[place] != HYPHEN:
            return -1
        j, place = _read_integer(text, place + 1, end)
        if not (0 <= i < len(source) and 0 <= j < len(target)) or (place < end and text[place] != SPACE):
            return -1
        place += 1
        forward.first[i], forward.last[i] = min(forward.first[i], j), max(forward.last[i], j)
        backward.first[j], backward.last[j] = min(backward.first[j], i), max(backward.last[j], i)
        if source[i] and target[j]:
            links[n_links] = source[i] << 16 | target[j]
            n_links += 1
    return n_links


@numba.njit(cache=True, nogil=True)
def _read_integer(text, place, end):  # pragma: no cover (compiled)
    """Returns the number at ``text[place]``, or -1 without one, and the place behind it.

    Reading stops at numbers of MAX_LENGTH and above, which are outside any pair, so that none overflows.
    """
    value = -1
    while place < end and ZERO <= text[place] <= NINE and value < MAX_LENGTH:
        value = max(value, 0) * 10 + text[place] - ZERO
        place += 1
    return value, place


@numba.njit(cache=True, nogil=True)
def _read_pieces(text, start, end, index, numbers):  # pragma: no cover (compiled)
    """Look up the pieces in ``text[start:end]``, uint8, separated by spaces; 0 for one outside the vocabulary.

    numbers: int64 (MAX_LENGTH,), filled. Returns how many they are, or -1 if they are too many.
    """
    size = 0
    first = start
    for place in range(start, end + 1):
        if place == end or text[place] == SPACE:
            if place > first:
                if size == len(numbers):
                    return -1
                numbers[size] = _lookup(text, first, place, index)
                size += 1
            first = place + 1
    return size


@numba.njit(cache=True, nogil=True)
def _lookup(text, start, end, index):  # pragma: no cover (compiled)
    """Returns the number of the piece ``text[start:end]``, 0 if the vocabulary lacks it."""
    slot = _slot(text, start, end, index.slots)
    while index.slots[slot]:
        number = index.slots[slot]
        first = index.offsets[number - 1]
        if index.offsets[number] - first == end - start:
            same = True
            for place in range(end - start):
                if text[start + place] != index.text[first + place]:
                    same = False
                    break
            if same:
                return number
        slot = (slot + 1) & (len(index.slots) - 1)
    return 0


@numba.njit(cache=True, nogil=True)
def _fill(index):  # pragma: no cover (compiled)
    """Put all pieces into the empty slots of a PieceIndex."""
    for number in range(1, len(index.offsets)):
        slot = _slot(index.text, index.offsets[number - 1], index.offsets[number], index.slots)
        while index.slots[slot]:
            slot = (slot + 1) & (len(index.slots) - 1)
        index.slots[slot] = number


@numba.njit(cache=True, nogil=True)
def _slot(text, start, end, slots):  # pragma: no cover (compiled)
    """Returns the first slot to look for ``text[start:end]`` in: its 64-bit FNV-1a hash, folded."""
    value = np.uint64(0xCBF29CE484222325)
    for place in range(start, end):
        value = (value ^ np.uint64(text[place])) * np.uint64(0x100000001B3)
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(len(slots) - 1))


class PhraseCounter:
    """Counts batches of ``source pieces<TAB>target pieces<TAB>alignment`` into a folder."""

    def __init__(self, folder: Path, pieces: list[str]):
        self.index = piece_index(pieces)
        self.targets = TargetCounts.zeros(len(pieces))
        self.phrases, self.links = SegmentWriter(folder / "phrases"), SegmentWriter(folder / "links")
        self._folder = folder

    def add(self, batch: Batch) -> None:
        """Raises ValueError(row) for a row whose alignment does not fit its pieces."""
        phrases, links = self.phrases, self.links
        row = 0
        while row < len(batch):
            row, phrases.used, links.used, well_formed = extract(
                batch, row, self.index, self.targets, phrases.keys, phrases.used, links.keys, links.used
            )
            if not well_formed:
                raise ValueError(row)
            if row < len(batch):  # the next pair may not fit
                if not (phrases.used or links.used):
                    raise ValueError(row)  # more links than any pair has
                phrases.flush()
                links.flush()

    def finish(self) -> None:
        self.phrases.flush()
        self.links.flush()
        self.targets.save(self._folder)


def count(path: Path, pieces: list[str], output: Path, shard: records.Shard | None = None) -> None:
    """Count a file of corpora.alignment, or a shard of it, into a new folder.

    Raises UserError for a record that is no aligned pair, and for too large a vocabulary.
    """
    with atomic_path(output) as part:
        part.mkdir(parents=True)
        counter, previous = PhraseCounter(part, pieces), 0
        for batch in progress(batches(path, shard), "extracting phrases", unit="pair", size=len):
            if batch.starts.shape[1] != 3:
                raise UserError(f"{path}: not source<TAB>target<TAB>links; make it with corpora.alignment")
            try:
                counter.add(batch)
            except ValueError as error:
                of = f" of shard {shard[0]}/{shard[1]}" if shard else ""
                raise UserError(
                    f"{path}: record {previous + error.args[0] + 1}{of} is no aligned pair: a link outside the pair,"
                    f" or a side of more than {MAX_LENGTH:,} pieces; delete it, run again"
                ) from None
            previous += len(batch)
        counter.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alignments", type=there, required=True, help="records of corpora.alignment")
    parser.add_argument("--shard", type=records.shard, help="K/N: only this part of them")
    parser.add_argument("--vocabulary", type=there, required=True, help="one piece a line")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()

    pieces = opennmt_tf.read_vocabulary(args.vocabulary)
    count(args.alignments, pieces, args.output, args.shard)


if __name__ == "__main__":
    command(main)
