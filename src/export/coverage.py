"""Which vocabulary map to use: Table 1 of WNMT 2018 (Senellart et al.), over a grid of the map's knobs.

A map that leaves out a word costs quality, and every word it brings costs time. So each map of the grid is held against
what the model says with its whole vocabulary, and against the references: the share of their pieces that the map
allows, sentence by sentence. Longer batches allow more, as their candidates are the union over all sentences.

The map picked is the one with the fewest candidates a sentence among those that allow at least ``--coverage`` per cent
of the model's own pieces; if there is none, the one that allows the most.
"""

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from export.phrase_table import PhraseTable
from export.phrases import MAX_NGRAM
from export.runs import Counts
from export.vocabulary_map import Knobs, always, build, grid, lines, name
from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress
from formats.vocabulary_map import VocabularyMap

Pieces = list[str]


class Sentence(NamedTuple):
    source: Pieces
    output: Pieces
    reference: Pieces


def read(path: Path) -> list[Sentence]:
    """The records of export.model_outputs."""
    return [Sentence(*(side.split() for side in record)) for record in records.read(path)]


def only(table: PhraseTable, sources: Sequence[Pieces]) -> PhraseTable:
    """The part of the table that these sentences can look up: small, whatever the table's size."""
    numbers = {piece: number for number, piece in enumerate(table.pieces, 1)}
    ngrams: set[int] = set()
    for source in sources:
        found = [numbers.get(piece, 0) for piece in source]
        for start in range(len(found)):
            packed = 0
            for number in itertools.takewhile(bool, found[start : start + MAX_NGRAM]):
                packed = packed << 16 | number
                ngrams.add(packed)
    keys = np.sort(np.array([*ngrams], np.uint64)) << np.uint64(16)
    return table._replace(phrases=_rows(table.phrases, keys), links=_rows(table.links, keys))


def _rows(counts: Counts, keys: np.ndarray) -> Counts:
    """The counts of these n-grams, sorted keys with word 0."""
    starts, ends = np.searchsorted(counts.keys, keys), np.searchsorted(counts.keys, keys | np.uint64(0xFFFF), "right")
    rows = np.concatenate([np.arange(0), *map(np.arange, starts, ends)]).astype(np.int64)
    return Counts(np.asarray(counts.keys[rows]), np.asarray(counts.counts[rows]))


def in_memory(table: PhraseTable, knobs: Knobs) -> VocabularyMap:
    rows = itertools.chain.from_iterable(lines(block, table.pieces) for _, block in build(table, knobs))
    sides = (row.rstrip("\n").split("\t") for row in rows)
    entries = {tuple(ngram.split()): words.split() for ngram, words in sides}
    return VocabularyMap({(): [table.pieces[number - 1] for number in always(table, knobs)], **entries})


def covered(found: VocabularyMap, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Per cent of the model's own and of the references' pieces that the map allows; mean candidates of a sentence."""
    own, reference, candidates = np.zeros(2), np.zeros(2), 0
    for sentence in sentences:
        allowed = found.candidates([sentence.source])
        candidates += len(allowed)
        for counts, side in ((own, sentence.output), (reference, sentence.reference)):
            counts += [sum(piece in allowed for piece in side), len(side)]
    tokens = sum(len(sentence.source) for sentence in sentences)
    return {
        "own": 100 * own[0] / max(own[1], 1),
        "reference": 100 * reference[0] / max(reference[1], 1),
        "candidates": candidates / len(sentences),
        "candidates_per_token": candidates / tokens,
    }


def size(table: PhraseTable, knobs: Knobs) -> dict[str, int]:
    """n-grams of the whole map and bytes of its file, which is not written."""
    lengths = np.array([0, *(len(piece.encode()) + 1 for piece in table.pieces)])  # with the space or tab behind
    ngrams, total = 1, 1 + max(int(lengths[always(table, knobs)].sum()), 1)
    for _, block in build(table, knobs):
        ngrams += len(block)
        total += int(lengths[block.words].sum())
        for shift in (0, 16, 32):
            total += int(lengths[(block.ngrams >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64)].sum())
    return {"ngrams": ngrams, "bytes": total}


def pick(maps: list[dict[str, Any]], coverage: float) -> dict[str, Any]:
    """See above; equal maps are told apart by their size, then by their place in the grid."""
    enough = [row for row in maps if row["own"] >= coverage]
    if enough:
        return min(enough, key=lambda row: (row["candidates"], row["bytes"]))
    return max(maps, key=lambda row: (row["own"], -row["candidates"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phrase-table", type=Path, required=True, help="folder of export.phrase_table")
    parser.add_argument("--outputs", type=Path, required=True, help="records of export.model_outputs, of the dev set")
    parser.add_argument("--grid", type=json.loads, required=True, help="JSON: values of the map's knobs")
    parser.add_argument("--coverage", type=float, required=True, help="per cent of the model's own pieces")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    table, sentences = PhraseTable.load(args.phrase_table), read(args.outputs)
    if not sentences:
        raise UserError(f"{args.outputs}: no sentences to hold a map against")
    needed = only(table, [sentence.source for sentence in sentences])
    points = [*grid(args.grid)]
    maps = [
        {"map": name(knobs), **knobs._asdict(), **size(table, knobs), **covered(in_memory(needed, knobs), sentences)}
        for knobs in progress(points, "covering", total=len(points), unit="map")
    ]
    write_json(args.output, {"coverage": args.coverage, "picked": pick(maps, args.coverage), "maps": maps})


if __name__ == "__main__":
    command(main)
