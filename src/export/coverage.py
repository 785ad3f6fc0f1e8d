"""Choose a vocabulary map: Table 1 of WNMT 2018 (Senellart et al.), over a grid of the map's knobs.

A map that leaves out a piece costs quality, and every piece it brings costs time. So each map of the grid is compared
with the model's outputs with its full vocabulary, and with the references: the share of their pieces that the map
allows, sentence by sentence. Longer batches allow more, as their candidates are the union over all sentences.

The map picked is the one with the fewest candidates a sentence among those that allow at least ``--coverage`` per cent
of the model's own pieces, or without such a map the one that allows the most.
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from export.map_entries import PIECE
from export.phrase_table import MAX_NGRAM, PhraseTable
from export.sorted_counts import KeyCounts
from export.vocabulary_map import Knobs, always_on, build, lines
from formats import records
from formats.experiments import MapCoverage
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.progress import progress
from nmt_frontier.sentence import split_pieces

Pieces = list[str]


class CoveredSentence(NamedTuple):
    source: Pieces
    output: Pieces
    reference: Pieces


def read(path: Path) -> list[CoveredSentence]:
    """The records of export.model_outputs."""
    return [CoveredSentence(*map(split_pieces, record)) for record in records.read(path)]


def restrict(table: PhraseTable, sources: Sequence[Pieces]) -> PhraseTable:
    """Keep the n-grams that these sentences look up: a table that fits in memory, whatever the size of the full one."""
    numbers = {piece: number for number, piece in enumerate(table.pieces, 1)}
    ngrams: set[int] = set()
    for source in sources:
        sentence = [numbers.get(piece, 0) for piece in source]
        for start in range(len(sentence)):
            ngram = 0
            for number in itertools.takewhile(bool, sentence[start : start + MAX_NGRAM]):
                ngram = ngram << 16 | number
                ngrams.add(ngram)
    keys = np.sort(np.array([*ngrams], np.uint64)) << np.uint64(16)
    return table._replace(phrases=_rows(table.phrases, keys), links=_rows(table.links, keys))


def _rows(counts: KeyCounts, keys: NDArray[Any]) -> KeyCounts:
    """The counts of some n-grams: ``keys``, uint64 (n,), ascending, with target piece 0."""
    starts, ends = np.searchsorted(counts.keys, keys), np.searchsorted(counts.keys, keys | PIECE, "right")
    rows = np.concatenate([np.arange(0), *map(np.arange, starts, ends)]).astype(np.int64)
    return KeyCounts(np.asarray(counts.keys[rows]), np.asarray(counts.counts[rows]))


def build_in_memory(table: PhraseTable, knobs: Knobs) -> VocabularyMap:
    rows = itertools.chain.from_iterable(lines(block, table.pieces) for _, block in build(table, knobs))
    sides = (row.rstrip("\n").split("\t") for row in rows)
    entries = {tuple(split_pieces(ngram)): split_pieces(targets) for ngram, targets in sides}
    return VocabularyMap({(): [table.pieces[number - 1] for number in always_on(table, knobs)], **entries})


def map_coverage(vocabulary_map: VocabularyMap, sentences: Sequence[CoveredSentence]) -> dict[str, float]:
    """What a map allows, each sentence decoded by itself.

    own, reference: per cent of the pieces of the model's own outputs and of the references; candidates,
    candidates_per_token: mean size of the output layer, a sentence and a source piece.
    """
    own, reference, candidates = np.zeros(2), np.zeros(2), 0  # pieces allowed, pieces
    for sentence in sentences:
        allowed = vocabulary_map.candidates([sentence.source])
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


def map_size(table: PhraseTable, knobs: Knobs) -> dict[str, int]:
    """The number of n-grams of a map, and the bytes its file would have."""
    lengths = np.array([0, *(len(piece.encode()) + 1 for piece in table.pieces)])  # with the separator behind
    ngrams, size = 1, 1 + max(int(lengths[always_on(table, knobs)].sum()), 1)
    for _, block in build(table, knobs):
        ngrams += len(block)
        size += int(lengths[block.targets].sum())
        for shift in (0, 16, 32):
            size += int(lengths[(block.ngrams >> np.uint64(shift) & PIECE).astype(np.int64)].sum())
    return {"ngrams": ngrams, "bytes": size}


def pick(maps: list[MapCoverage], coverage: float) -> MapCoverage:
    """The map to use (see the module); ties go to the smaller file, then to the earlier place in the grid."""
    sufficient = [row for row in maps if row["own"] >= coverage]
    if sufficient:
        return min(sufficient, key=lambda row: (row["candidates"], row["bytes"]))
    return max(maps, key=lambda row: (row["own"], -row["candidates"]))


def compare(table: PhraseTable, sentences: list[CoveredSentence], grid: list[Knobs]) -> list[MapCoverage]:
    """One row for each map of the grid: its name, knobs, size and coverage."""
    small = restrict(table, [sentence.source for sentence in sentences])
    rows: list[Any] = [
        {"map": knobs.name, **knobs._asdict()}
        | map_size(table, knobs)
        | map_coverage(build_in_memory(small, knobs), sentences)
        for knobs in progress(grid, "covering", total=len(grid), unit="map")
    ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phrase-table", type=there, required=True, help="folder of export.phrase_table")
    parser.add_argument("--outputs", type=there, required=True, help="records of export.model_outputs, of the dev set")
    parser.add_argument("--grid", type=json_value, required=True, help="JSON: values of the map's knobs")
    parser.add_argument("--coverage", type=float, required=True, help="per cent of the model's own pieces")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    sentences = read(args.outputs)
    if not sentences:
        raise UserError(f"{args.outputs}: no sentences to compare maps on")
    maps = compare(PhraseTable.load(args.phrase_table), sentences, [*Knobs.grid(args.grid)])
    write_json(args.output, {"coverage": args.coverage, "picked": pick(maps, args.coverage), "maps": maps})


if __name__ == "__main__":
    command(main)
