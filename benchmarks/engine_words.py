"""A teacher's probabilities word by word: pieces a second on one core, bytes a piece, and what int8 and k change.

Each model reads the pairs of a test set in turn, with every k. The others are compared with the first one, which is
exact: how often the most probable piece is another one, and how far its probability is from the exact one.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from distill.teacher import Teacher
from distill.teacher_engines import BestPieces
from distill.tokenization import SentencePiece
from formats import records, word_probabilities
from nmt_frontier import machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json


def read(model: Path, pairs: list[tuple[str, str]], k: int) -> tuple[list[BestPieces], float]:
    """What a model holds probable, and the seconds of the CPU; pairs that it cannot read are left out."""
    pieces = SentencePiece(model / "sentencepiece.model")
    teacher, start = Teacher(model, [pieces, pieces]), time.process_time()
    found = [best for best in teacher.best_pieces(pairs, k) if best]
    return found, time.process_time() - start


def stored(found: list[BestPieces]) -> tuple[int, float]:
    """Bytes of the records, and how many pieces are kept of a position."""
    lines = [word_probabilities.line(*best) for best in found]
    with tempfile.TemporaryDirectory() as folder:
        records.write(path := Path(folder, "x.tsv.zst"), ((line,) for line in lines))
        return path.stat().st_size, sum(len(line.replace(" ", "")) for line in lines) / word_probabilities.CHARACTERS


def compared(models: list[Path], pairs: list[tuple[str, str]], numbers: list[int]) -> Iterator[dict[str, object]]:
    """A row for each model and k."""
    exact: np.ndarray | None = None
    for model in models:
        for k in numbers:
            found, seconds = read(model, pairs, k)
            best, logs = (np.concatenate([each[part] for each in found]) for part in (0, 1))
            size, kept = stored(found)
            first = np.stack([best[:, 0], np.exp(logs[:, 0])])
            exact = first if exact is None else exact
            yield {
                "model": f"{model.parent.name}/{model.name}",
                "k": k,
                "positions": len(best),
                "positions_per_second": len(best) / seconds,
                "bytes_per_position": size / len(best),
                "kept_per_position": kept / len(best),
                "mass": float(np.exp(logs).sum(1).mean()),
                "other_best": float((first[0] != exact[0]).mean()),
                "difference": float(np.abs(first[1] - exact[1]).mean()),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", type=there, nargs="+", required=True, help="native model folders, the exact one first"
    )
    parser.add_argument("--k", type=positive, nargs="+", default=[4, 8, 16], help="(default: 4 8 16)")
    parser.add_argument("--test-set", type=there, required=True, help="records of sources and targets")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    machine.pin([machine.cores()[0]])
    rows = [*compared(args.models, records.pairs(args.test_set), args.k)]
    write_json(args.output, {"machine": machine.describe(), "rows": rows})
    for row in rows:
        print(row)


if __name__ == "__main__":
    command(main)
