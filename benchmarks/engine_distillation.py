"""The native engine against CTranslate2 in distillation: how many times faster a teacher makes its n-best lists.

Both run as ``distill.translate`` runs them, with the same weights, limits and one worker, each with batches of its own,
in turn, in this process, on one core. A ratio divides the tokens of all hypotheses per CPU second, run by run; reading
and tokenization are left out. CTranslate2 obeys its environment variables: try them, and publish the best.
"""

from pathlib import Path
from typing import Any

from engine import PEER, kept, measure, options, record

from distill.teacher import Teacher
from distill.teacher_engines import load
from measure import in_process
from measure.in_process import Session
from nmt_frontier.errors import command
from nmt_frontier.search.engine import Batch
from nmt_frontier.search.native import Native

SEARCHES = ((4, 1), (8, 8))  # beam size, n-best


def lists(teacher: Teacher, sentences: Batch, beam: int, n_best: int) -> list[Batch]:
    """The pieces of all hypotheses of each sentence, as one batch."""
    found = teacher.n_best(sentences, beam, n_best)
    return [[[piece for pieces, _ in hypotheses for piece in pieces] for hypotheses in found]]


def compared(model: Path, kind: str, sentences: Batch, session: Session) -> list[dict[str, Any]]:
    """The records of one teacher in one type, for every search."""
    folders = {"native": model / Native.folder(kind), PEER: model / kind}
    teachers = {name: load(folder, 1, "cpu") for name, folder in folders.items()}
    found = []
    for beam, n_best in SEARCHES:
        outputs: dict[str, list[Batch]] = {}
        calls = {name: kept(outputs, name, lists, of, sentences, beam, n_best) for name, of in teachers.items()}
        usages = in_process.timed(calls, session, [session.core], f"{kind}, {n_best} of {beam}")
        row = record(model, kind, beam, "distillation", usages, outputs)  # equal: whole lists
        found.append(row | {"n_best": n_best, "isa": teachers["native"].isa, "vocabulary_map": False})
    return found


if __name__ == "__main__":
    command(lambda: measure(options(__doc__, ("float32", "int8")).parse_args(), compared))
