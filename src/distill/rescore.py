"""An ensemble: the n-best lists of all teachers united, every translation scored by every teacher, the n best kept.

A translation's score is the mean over the teachers of its mean log-probability a token (forced decoding). The usual
ensemble averages probabilities token by token, which needs a common vocabulary, and an engine that can: CTranslate2 and
OpenNMT-tf cannot. This one needs neither.
"""

import argparse
import json
import os
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path

from distill import candidates
from distill.candidates import Candidate, Candidates, ranked
from distill.teacher import Teacher
from distill.tokenization import tokenizers
from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

WINDOW = 2000  # sentences


def united(paths: list[Path]) -> Iterator[Candidates]:
    """One list for each sentence with the different translations of all files; scores are those of its finder.

    Raises UserError for files that are not about the same sentences.
    """
    for number, lists in enumerate(zip_longest(*map(candidates.read, paths)), 1):
        sources = {entry and entry.source for entry in lists}
        if len(sources) > 1:
            raise UserError(f"{paths[0]}, record {number}: another sentence than in {paths[1]}; delete both, run again")
        yield Candidates(lists[0].source, ranked(candidate for entry in lists for candidate in entry.translations))


def rescored(window: list[Candidates], teachers: list[Teacher], n_best: int) -> Iterator[Candidates]:
    """The translations with the best mean scores, at most ``n_best`` of a sentence, in the order of these."""
    pairs = [(entry.source, candidate.text) for entry in window for candidate in entry.translations]
    scores = zip(*(teacher.score(pairs) for teacher in teachers), strict=True)
    means = (sum(row) / len(row) for row in scores)
    for entry in window:
        yield Candidates(entry.source, ranked(Candidate(c.text, next(means)) for c in entry.translations)[:n_best])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=Path, nargs="+", required=True, help="candidates of each teacher")
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="CTranslate2 folder of each teacher")
    parser.add_argument("--tokenizations", type=json.loads, nargs="+", required=True, help="JSON of each, or null")
    parser.add_argument("--sentencepiece", type=Path, nargs="?", help="the study's model, for those without their own")
    parser.add_argument("--languages", nargs=2, required=True, help="codes of the source and the target language")
    parser.add_argument("--n-best", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="single-threaded translators")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--output", type=Path, required=True, help="candidates to write; counts go to a .json beside it"
    )
    args = parser.parse_args()

    teachers = [
        Teacher(model, tokenizers(own, args.sentencepiece, args.languages), args.threads, args.device)
        for model, own in zip(args.models, args.tokenizations, strict=True)
    ]
    total = records.count(args.inputs[0])
    lists = iter(progress(united(args.inputs), f"rescore {records.name(args.output)}", total, "sentence"))
    scored = (entry for window in windows(lists) for entry in rescored(window, teachers, args.n_best))
    lines, checksum = candidates.write(args.output, scored)
    computed = [{"model": str(model), **teacher.computed} for model, teacher in zip(args.models, teachers, strict=True)]
    write_json(records.info(args.output), {"lines_out": lines, "sha256": checksum, "teachers": computed})


def windows(lists: Iterator[Candidates]) -> Iterator[list[Candidates]]:
    while window := list(islice(lists, WINDOW)):
        yield window


if __name__ == "__main__":
    command(main)
