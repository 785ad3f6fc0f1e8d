"""Score the hypotheses of a shard with a program of another environment, such as COMET's.

The program reads a line for each question, ``source<TAB>hypothesis<TAB>reference``, or the first two alone, and writes
one number for each line, in order. As references stand all hypotheses of a source, itself included; the score of a
hypothesis is the mean by their weights (distill.least_risk). Lines are streamed: the program may answer when it likes.

The output has a record for each list: the source, and a JSON list of the scores of its hypotheses. An interrupted job
continues after its last whole part (distill.parts), for each of which the program is started once.
"""

import argparse
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from common.document import argument
from corpora.scores import number_in
from distill import parts
from distill.least_risk import united, weights
from distill.n_best_lists import NBestList
from distill.parts import Written
from distill.settings import Scores
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command


class ScoredShard(Written):
    """The JSON beside the scores."""

    command: str


def questions(part: Iterable[NBestList], references: bool) -> Iterator[str]:
    """The lines that the program reads."""
    for source, hypotheses in part:
        for one in hypotheses:
            for other in hypotheses if references else [None]:
                yield "\t".join([source, one.text, *([other.text] if other else [])]) + "\n"


def answers(program: str, lines: Iterable[str]) -> Iterator[float]:
    """The number that a program writes for each line. Raises UserError for others, or if it fails."""
    process = subprocess.Popen(
        program, shell=True, text=True, encoding="utf-8", stdin=-1, stdout=-1, start_new_session=True
    )
    assert process.stdin and process.stdout
    feeder = threading.Thread(target=_feed, args=(process.stdin, lines), daemon=True)
    feeder.start()
    try:
        for number, line in enumerate(process.stdout, 1):
            yield _number(line, f"{program}: line {number} of its output")
        if process.wait():
            raise UserError(f"{program}: ended with status {process.returncode}; its messages are above")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what the shell started
        process.wait()
        feeder.join()


def _feed(stream: IO[str], lines: Iterable[str]) -> None:
    """Write all lines, or as many as are read."""
    with suppress(BrokenPipeError), stream:  # a program that has ended: its status and its lines say how
        stream.writelines(lines)


def _number(line: str, where: str) -> float:
    if (number := number_in(line)) is None:
        raise UserError(f"{where}: {line.strip()!r} is no number; a line of input needs one number")
    return number


def scored(part: list[NBestList], settings: Scores) -> Iterator[list[float]]:
    """The scores of the hypotheses of each list. Raises UserError for a program that answers more or less."""
    found = answers(settings.command, questions(part, settings.references))
    for _, hypotheses in part:
        shares = weights(hypotheses) if settings.references and hypotheses else np.ones(1)
        numbers = [*islice(found, len(hypotheses) * len(shares))]
        if len(numbers) < len(hypotheses) * len(shares):
            raise UserError(f"{settings.command}: wrote fewer lines than it was given")
        yield (np.array(numbers).reshape(-1, len(shares)) @ shares).tolist()
    if next(found, None) is not None:
        raise UserError(f"{settings.command}: wrote more lines than it was given")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=argument(Scores), help="JSON of distill.settings")
    made = "made by distill.translate or distill.rescore; several are united"
    parser.add_argument("--n-best-lists", type=there, nargs="+", required=True, help=made)
    parser.add_argument("--output", type=Path, required=True, help="records of scores; counts go to a JSON beside them")
    args = parser.parse_args()

    def made_of(part: list[NBestList]) -> Iterator[records.Record]:
        for each, scores in zip(part, scored(part, args.settings), strict=True):
            yield each.source, json.dumps([float(f"{score:.9g}") for score in scores])

    def counts(lines: int, checksum: str) -> ScoredShard:
        return {"lines_out": lines, "sha256": checksum, "command": args.settings.command}

    what, total = f"score {records.name(args.output)}", records.count(args.n_best_lists[0])
    key = parts.key(args, args.n_best_lists)
    parts.write(args.output, key, united(args.n_best_lists), total, made_of, what, counts)


if __name__ == "__main__":
    command(main)
