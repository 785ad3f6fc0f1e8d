"""Rescore an ensemble: merge the n-best lists of all teachers, score every hypothesis with every teacher, keep n.

The score of a hypothesis is the mean over the teachers of its mean log-probability per token (forced decoding). Unlike
the ensemble of distill.translate, which averages probabilities token by token, this one needs neither a common
vocabulary nor the native engine.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from distill import n_best_lists, parts
from distill.n_best_lists import NBestList, merged, ranked
from distill.parts import Written
from distill.settings import TranslationSettings
from distill.teacher import Teacher, teacher_options
from distill.teacher_engines import Arithmetic, installed
from distill.tokenization import files, tokenizers
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command

WINDOW = 2000  # sentences scored at a time


class Named(Arithmetic):
    model: str


class Rescored(Written):
    """The JSON beside the lists."""

    teachers: list[Named]


def rescored(window: list[NBestList], teachers: list[Teacher], n_best: int) -> Iterator[NBestList]:
    """The lists ranked by the mean scores of all teachers; at most ``n_best`` hypotheses per sentence."""
    pairs = [(n_best_list.source, hypothesis.text) for n_best_list in window for hypothesis in n_best_list.hypotheses]
    # list(): one teacher after the other has the cores
    scores = zip(*(list(teacher.score(pairs)) for teacher in teachers), strict=True)
    means = (sum(row) / len(row) for row in scores)
    for n_best_list in window:
        hypotheses = ranked(hypothesis._replace(score=next(means)) for hypothesis in n_best_list.hypotheses)
        yield NBestList(n_best_list.source, hypotheses[:n_best])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=there, nargs="+", required=True, help="n-best lists of each teacher")
    parser.add_argument("--models", type=there, nargs="+", required=True, help="folder of each teacher")
    teacher_options(parser)
    parser.add_argument("--output", type=Path, required=True, help="n-best lists; counts go to a JSON beside them")
    args = parser.parse_args()

    args.models = installed(args.models, vars(args).pop("stand_ins"))  # the key of the parts has what was chosen
    asked: TranslationSettings = args.settings
    machine = (args.threads, asked.device, args.batch_tokens)
    teachers = [
        Teacher(model, tokenizers(tokenization, args.sentencepiece, asked.languages), *machine, asked.prefix(number))
        for number, (model, tokenization) in enumerate(zip(args.models, asked.tokenizations, strict=True))
    ]

    def made(part: list[NBestList]) -> Iterator[records.Record]:
        for start in range(0, len(part), WINDOW):
            window = part[start : start + WINDOW]
            yield from map(n_best_lists.record, rescored(window, teachers, asked.n_best))

    def counts(lines: int, checksum: str) -> Rescored:
        named = zip(args.models, teachers, strict=True)
        arithmetic: list[Named] = [{"model": str(model), **teacher.arithmetic} for model, teacher in named]
        return {"lines_out": lines, "sha256": checksum, "teachers": arithmetic}

    own = [file for tokenization in asked.tokenizations for file in files(tokenization)]
    key = parts.key(args, [*args.inputs, *args.models, args.sentencepiece, *own])
    what, total = f"rescore {records.name(args.output)}", records.count(args.inputs[0])
    parts.write(args.output, key, merged(args.inputs), total, made, what, counts)


if __name__ == "__main__":
    command(main)
