"""Word-level distillation (Kim and Rush 2016): what a teacher holds most probable at each piece of an epoch's targets.

The teacher reads each pair in the pieces that students learn from, and gives its k most probable next pieces with their
probabilities (forced decoding). Several models of one vocabulary are one teacher: their probabilities are averaged at
every step. Pieces that hardly ever come have no place in the records, one line a pair (formats.word_probabilities).

It needs the native engine and the vocabulary of the students. The records of a shard appear whole or not at all; an
interrupted job continues after its last whole part (distill.parts).
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distill import parts
from distill.parts import Written
from distill.teacher import Teacher
from distill.teacher_engines import Arithmetic
from distill.tokenization import tokenizers
from formats import records, word_probabilities
from formats.records import Record
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.model.native_vocabulary import Vocabulary


class WordsShard(Written, Arithmetic):
    """The JSON beside the records.

    positions: of all pieces and ends; kept: pieces in the records; empty: pairs that the teacher could not read.
    """

    positions: int
    kept: int
    empty: int


def numbering(model: Path, vocabulary: Path) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """What turns a model's numbers of target pieces into those of vocabulary.txt, the unknown piece being behind them.

    Raises UserError for a model that has other pieces.
    """
    lines = vocabulary.read_text(encoding="utf-8").split("\n")[:-1]
    numbers, own = {piece: number for number, piece in enumerate(lines)}, Vocabulary.read(model)
    others = [piece for piece in own.target if piece not in numbers and piece != own.unknown]
    others += [piece for piece in lines if piece not in own.target_numbers]
    if others:
        why = f"{others[0]!r} is a piece of one of them alone"
        raise UserError(f"{model}: has another vocabulary than {vocabulary} ({why}); its probabilities teach no words")
    table = np.array([numbers.get(piece, len(lines)) for piece in own.target], np.int32)
    if table.max() > word_probabilities.MOST_NUMBER:
        raise UserError(f"{vocabulary}: has more pieces than fit into two bytes")
    return lambda found: table[found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="an epoch, records of train.sample")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    parser.add_argument("--models", type=there, nargs="+", required=True, help="folder of each teacher's native model")
    parser.add_argument("--sentencepiece", type=there, required=True, help="the study's model")
    parser.add_argument("--vocabulary", type=there, required=True, help="vocabulary.txt of the students")
    parser.add_argument("--most", type=positive, default=8, help="pieces to keep (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="workers (default: one per core)")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    model, *others = args.models
    number = numbering(model, args.vocabulary)
    teacher = Teacher(model, tokenizers(None, args.sentencepiece, []), args.threads, others=others)

    def made(part: list[Record]) -> Iterator[Record]:
        for best in teacher.best_pieces(((source, target) for source, target, *_ in part), args.most):
            yield (word_probabilities.line(number(best[0]), best[1]) if best else "",)

    def counts(lines: int, checksum: str) -> WordsShard:
        positions = kept = empty = 0
        for (line,) in records.read(args.output):
            found = line.split()
            positions, kept = positions + len(found), kept + sum(map(len, found)) // word_probabilities.CHARACTERS
            empty += not found
        about: Written = {"lines_out": lines, "sha256": checksum}
        return {**about, **teacher.arithmetic, "positions": positions, "kept": kept, "empty": empty}

    key = parts.key(args, [args.input, *args.models, args.sentencepiece, args.vocabulary])
    what, total = f"words {records.name(args.output)}", records.count(args.input, args.shard)
    parts.write(args.output, key, records.read(args.input, args.shard), total, made, what, counts)


if __name__ == "__main__":
    command(main)
