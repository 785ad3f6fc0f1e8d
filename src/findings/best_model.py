"""The best model of a study, chosen on the dev set, and its result on the test set."""

import math

from findings.captions import title
from findings.comparison import drawn, loss, number, of_test_set, test_sets
from formats.measurement import Measurement

STUDENTS = ("student", "control")  # roles of a configuration's students
TOLERANCE = 0.5  # BLEU on the dev set that the best model may lose for its speed
# Decided without the test sets. No other student is faster with the same dev BLEU or more. Speed has a price in BLEU,
# because a little of it is not worth all of the tolerance.
RULE = (
    "the student configuration with the highest dev BLEU where twice the speed counts as one BLEU more, at most "
    f"{TOLERANCE} BLEU below the best one there"
)


def candidates(records: list[Measurement]) -> list[Measurement]:
    """Records of students on the timed test set whose configurations decoded the dev set, too."""
    timed = of_test_set(records, test_sets(records)[0])
    return drawn([record for record in timed if record.system.role in STUDENTS and record.scores.dev_bleu is not None])


def best(records: list[Measurement]) -> Measurement | None:
    """The student configuration that RULE chooses; None for the reason of ``without_best``."""
    students = candidates(records)
    least = max((number(record, "dev_bleu") for record in students), default=0.0) - TOLERANCE
    good = [record for record in students if number(record, "dev_bleu") >= least]
    return max(good, key=_worth, default=None)


def _worth(record: Measurement) -> tuple[float, float, float]:
    """BLEU on the dev set, and one for each doubling of the speed; both decide where rounding hides a difference."""
    bleu, speed = number(record, "dev_bleu"), record.words_per_second
    return bleu + math.log2(speed), speed, bleu


def without_best(records: list[Measurement]) -> str:
    """Why a study has no best model."""
    if not any(record.system.role in STUDENTS for record in records):
        return "no student was measured, and the best model is a student"
    return "no record of a student has its BLEU on the dev set, which OpenNMT-tf does not decode; run the study again"


def beating(records: list[Measurement], record: Measurement) -> list[Measurement]:
    """The student configurations that are faster than this one, and no worse on the test set itself."""
    rivals = (other for other in candidates(records) if number(other, "bleu") >= number(record, "bleu"))
    return [other for other in rivals if other.words_per_second > record.words_per_second]


def verdict(records: list[Measurement], record: Measurement) -> str:
    """The result of the best model on the timed test set, in a sentence."""
    own = record.scores
    scores = f"{own.dev_bleu:.2f} BLEU on {own.dev_set}, {own.bleu:.2f} on {record.test_set}"
    if (lost := loss(of_test_set(records, record.test_set), record)) is not None:
        side = "above" if lost < 0 else "below"
        scores += f" ({abs(lost):.2f} {side} the best search of the same weights in float32 without a map)"
    if not (rivals := beating(records, record)):
        return f"{scores}, where no faster student has as much."
    names = ", ".join(f"{title(other)} ({other.scores.bleu:.2f})" for other in rivals)
    return f"{scores}, where faster students have as much or more: {names}. The two sets disagree."
