"""Marian's lexical shortlist (Junczys-Dowmunt et al. 2018): the 100 best translations of each source piece, and the 100
most frequent target pieces. Written for Marian in its own format, and for CTranslate2 as a vocabulary map.

Marian's format is that of fast_align's ``extract_lex``, ``target source probability``, which Marian reads with
``--shortlist FILE 100 100``. Marian takes the first 100 entries of its vocabulary as the most frequent ones.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from export.map_entries import PIECE
from export.phrase_table import PhraseTable
from export.vocabulary_map import Knobs, write
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_text

SHORTLIST = Knobs(counted="links", max_ngram=1, min_frequency=1, meanings=100, unaligned=0, most_frequent=100)


def lines(table: PhraseTable, best: int) -> Iterator[str]:
    """Marian's format: of each source piece the ``best`` target pieces by count(source, target) / count(source)."""
    keys, counts = (np.asarray(side) for side in table.links)
    sources, targets = ((keys >> np.uint64(shift) & PIECE).astype(np.int64) for shift in (16, 0))
    starts = np.flatnonzero(np.diff(sources, prepend=-1))
    for start, end in itertools.pairwise([*starts, len(keys)]):
        total = counts[start:end].sum()
        for row in start + np.argsort(-counts[start:end], kind="stable")[:best]:
            target, source = (table.pieces[side[row] - 1] for side in (targets, sources))
            yield f"{target} {source} {counts[row] / total:.8f}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phrase-table", type=there, required=True, help="folder of export.phrase_table")
    parser.add_argument("--output", type=Path, required=True, help="shortlist to write, for Marian")
    parser.add_argument("--map", type=Path, required=True, help="vocabulary map to write, for CTranslate2")
    args = parser.parse_args()
    table = PhraseTable.load(args.phrase_table)
    write_text(args.output, "".join(lines(table, SHORTLIST.meanings)))
    write(args.map, table, SHORTLIST)


if __name__ == "__main__":
    command(main)
