"""The vocabulary map of WNMT 2018 (Senellart et al., section 3.2): which target words a source sentence may need.

0-grams, always on: the most frequent unaligned target words, and the most frequent target words (WNGT 2020).
n-grams: of each source n-gram the N most frequent words of its phrase pairs (``meanings``), each seen at least
``min_frequency`` times, without those that its shorter n-grams bring already. The paper ranks whole phrases and
keeps the words of the best N; ranking the words needs no phrase in memory.

The file is CTranslate2's (formats.vocabulary_map): shorter n-grams first, in the order of the vocabulary, the most
frequent word of each first, so that equal tables give equal bytes.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from export.explain import explain
from export.phrase_table import PhraseTable
from export.phrases import MAX_NGRAM
from export.runs import Counts
from formats.errors import UserError, command
from formats.files import read_json, whole, write_json
from formats.progress import progress

BLOCK = 1 << 22  # entries of the phrase table looked at in one go


class Knobs(NamedTuple):
    max_ngram: int = 3
    min_frequency: int = 2
    meanings: int = 50
    unaligned: int = 100
    most_frequent: int = 50
    counted: str = "phrases"  # or links: Marian's lexical shortlist


def knobs_of(text: str) -> Knobs:
    """Knobs as JSON, or those that export.coverage picked and wrote into a file."""
    try:
        if text.startswith("{"):
            return checked(json.loads(text))
        picked = read_json(text)["picked"]  # with what was found out about this map
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{text}: neither knobs as JSON nor a file of export.coverage ({error})") from None
    return checked({knob: value for knob, value in picked.items() if knob in Knobs._fields})


def checked(values: dict[str, Any]) -> Knobs:
    """The knobs of these values. Raises UserError for what is no knob, and for n-grams that the table does not have."""
    if strange := [knob for knob in values if knob not in Knobs._fields]:
        raise UserError(f"{strange[0]} is no knob of a map; there are {', '.join(Knobs._fields)}")
    knobs = Knobs(**values)
    if knobs.max_ngram not in range(1, MAX_NGRAM + 1):
        raise UserError(f"max_ngram {knobs.max_ngram}: the phrase table has n-grams of 1 to {MAX_NGRAM} pieces")
    return knobs


def grid(values: dict[str, list[Any]]) -> Iterator[Knobs]:
    """All combinations; a knob without values keeps its default. Raises UserError as ``checked``."""
    for chosen in itertools.product(*values.values()):
        yield checked(dict(zip(values, chosen, strict=True)))


def name(knobs: Knobs) -> str:
    """The name of a map of the grid, as ``3-2-50-100-50-phrases``, in the order of the knobs."""
    return "-".join(map(str, knobs))


class Entries(NamedTuple):
    """Entry k: of n-gram ngrams[k] (uint64, 16 bits a piece) the words[ends[k]:ends[k + 1]] (uint16), best first."""

    ngrams: np.ndarray
    ends: np.ndarray
    words: np.ndarray

    def __len__(self) -> int:
        return len(self.ngrams)


NONE = Entries(np.empty(0, np.uint64), np.zeros(1, np.int64), np.empty(0, np.uint16))


def best(counts: np.ndarray, size: int) -> list[int]:
    """The ``size`` most frequent numbers that occur at all; ties go to the lower one, and 0 is no piece."""
    order = np.argsort(-counts[1:], kind="stable")[:size] + 1
    return [int(number) for number in order if counts[number]]


def always(table: PhraseTable, knobs: Knobs) -> list[int]:
    """The 0-grams: words that no source word brings, and words that almost every sentence has."""
    return sorted({*best(table.words.unaligned, knobs.unaligned), *best(table.words.frequency, knobs.most_frequent)})


def build(table: PhraseTable, knobs: Knobs) -> Iterator[tuple[int, Entries]]:
    """Blocks of entries with the length of their n-grams, shorter ones first."""
    counts: Counts = getattr(table, knobs.counted)
    known = np.zeros(1 << 16, np.bool_)
    known[always(table, knobs)] = True
    shorter = [NONE, NONE]  # the entries that a longer n-gram has to look up: of one piece, of two
    for length in range(1, knobs.max_ngram + 1):
        start = np.searchsorted(counts.keys, np.uint64(1 << 16 * length))
        end = np.searchsorted(counts.keys, np.uint64((1 << 16 * (length + 1)) - 1), "right")
        blocks = [NONE]
        for part in _parts(counts, int(start), int(end)):
            block = Entries(*_select(*part, known, *shorter[0], *shorter[1], knobs.min_frequency, knobs.meanings))
            yield length, block
            if length < knobs.max_ngram:
                blocks.append(block)
        if length < knobs.max_ngram:
            shorter[length - 1] = _joined(blocks)


def write(path: Path, table: PhraseTable, knobs: Knobs) -> dict[str, int]:
    """Write the map; the number of its n-grams by their length, of words always on, and of words in all."""
    zero = always(table, knobs)
    sizes = dict.fromkeys(range(1, knobs.max_ngram + 1), 0)
    words = len(zero)
    with whole(path) as part, open(part, "w", encoding="utf-8") as file:
        file.write("\t" + " ".join(table.pieces[number - 1] for number in zero) + "\n")
        for length, block in progress(build(table, knobs), "mapping", unit="n-gram", size=lambda item: len(item[1])):
            file.writelines(lines(block, table.pieces))
            sizes[length] += len(block)
            words += len(block.words)
    return {"always": len(zero), "ngrams": sizes, "words": words}


def lines(entries: Entries, pieces: list[str]) -> Iterator[str]:
    for ngram, start, end in zip(
        entries.ngrams.tolist(), entries.ends.tolist(), entries.ends[1:].tolist(), strict=False
    ):
        source = " ".join(pieces[n - 1] for n in (ngram >> 32, ngram >> 16 & 0xFFFF, ngram & 0xFFFF) if n)
        yield source + "\t" + " ".join([pieces[n - 1] for n in entries.words[start:end].tolist()]) + "\n"


def _parts(counts: Counts, start: int, end: int) -> Iterator[Counts]:
    """The table in parts that do not cut an n-gram in two; none has more words than there are pieces."""
    while start < end:
        last = min(start + BLOCK, end)
        if last < end:
            ngrams = np.asarray(counts.keys[start : last + 1]) >> np.uint64(16)
            last -= int(np.argmax(ngrams[-2::-1] != ngrams[-1]))
        yield counts.part(start, last)
        start = last


def _joined(blocks: list[Entries]) -> Entries:
    ngrams, words = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("ngrams", "words"))
    return Entries(ngrams, np.concatenate([[0], *(np.diff(block.ends) for block in blocks)]).cumsum(), words)


@numba.njit(cache=True, nogil=True)
def _mark(ngram, ngrams, ends, words, marks, mark):  # pragma: no cover (compiled)
    """Mark the words of an n-gram's entry, if there is one."""
    k = np.searchsorted(ngrams, ngram)
    if k < len(ngrams) and ngrams[k] == ngram:
        for place in range(ends[k], ends[k + 1]):
            marks[words[place]] = mark


@numba.njit(cache=True, nogil=True)
def _select(  # pragma: no cover (compiled)
    keys, counts, known, ngrams1, ends1, words1, ngrams2, ends2, words2, minimum, meanings
):
    """The entries of a part of the table, all n-grams of one length, from those of one and of two pieces."""
    ngrams = np.empty(len(keys), np.uint64)
    ends = np.zeros(len(keys) + 1, np.int64)
    words = np.empty(len(keys), np.uint16)
    marks = np.full(1 << 16, -1, np.int64)
    top = np.empty(meanings, np.int64)
    entry, used, start = 0, 0, 0
    while start < len(keys):
        ngram = keys[start] >> np.uint64(16)
        end, size = start, 0
        while end < len(keys) and keys[end] >> np.uint64(16) == ngram:
            # Insertion into the best so far: words come in ascending order, so an equal count goes behind.
            if counts[end] >= minimum and (size < meanings or counts[end] > counts[top[size - 1]]):
                place = min(size, meanings - 1)
                while place > 0 and counts[top[place - 1]] < counts[end]:
                    top[place] = top[place - 1]
                    place -= 1
                top[place] = end
                size = min(size + 1, meanings)
            end += 1
        if ngram >> np.uint64(16):
            piece, pieces = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
            _mark(ngram & piece, ngrams1, ends1, words1, marks, start)
            _mark(ngram >> np.uint64(16) & piece, ngrams1, ends1, words1, marks, start)
            if ngram >> np.uint64(32):
                _mark(ngram >> np.uint64(32), ngrams1, ends1, words1, marks, start)
                _mark(ngram & pieces, ngrams2, ends2, words2, marks, start)
                _mark(ngram >> np.uint64(16), ngrams2, ends2, words2, marks, start)
        for k in range(size):
            word = keys[top[k]] & np.uint64(0xFFFF)
            if not known[word] and marks[word] != start:
                words[used] = word
                used += 1
        if used > ends[entry]:
            ngrams[entry] = ngram
            entry += 1
            ends[entry] = used
        start = end
    return ngrams[:entry].copy(), ends[: entry + 1].copy(), words[:used].copy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("build", help="write the map of a phrase table")
    making.add_argument("--phrase-table", type=Path, required=True, help="folder of export.phrase_table")
    making.add_argument("--knobs", type=knobs_of, default=Knobs(), help="JSON, or a file of export.coverage")
    making.add_argument("--output", type=Path, required=True, help="map to write; its counts go to a .json beside it")
    trying = commands.add_parser("grid", help="write the maps of many knobs")
    trying.add_argument("--phrase-table", type=Path, required=True, help="folder of export.phrase_table")
    trying.add_argument("--grid", type=json.loads, required=True, help="JSON: values of the knobs")
    trying.add_argument("--output", type=Path, required=True, help="folder to write")
    asking = commands.add_parser("explain", help="what the map of a model folder does to a sentence")
    asking.add_argument("model", type=Path)
    asking.add_argument("sentence")
    args = parser.parse_args()

    if args.command == "explain":
        print(*explain(args.model, args.sentence), sep="\n")
        return
    table = PhraseTable.load(args.phrase_table)
    if args.command == "grid":
        with whole(args.output) as part:
            for knobs in grid(args.grid):
                write(part / f"{name(knobs)}.txt", table, knobs)
        return
    counts = write(args.output, table, args.knobs)
    write_json(
        args.output.with_suffix(".json"), {**args.knobs._asdict(), **counts, "bytes": args.output.stat().st_size}
    )


if __name__ == "__main__":
    command(main)
