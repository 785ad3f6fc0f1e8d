"""The best model of a study, chosen on the dev set, and its result on the test set."""

import math

from findings.captions import title
from findings.comparison import drawn, faster, loss, number, of_test_set, test_sets
from formats.measurement import Measurement, Role

STUDENTS: tuple[Role, ...] = ("student", "control")  # roles of a configuration's students
TOLERANCE = 1.0  # BLEU on the dev set that the best model may lose for its speed
# Decided without the test sets. No other student is faster with the same dev BLEU or more. Speed has a price in BLEU,
# because a little of it is not worth all of the tolerance.
PRICE = "twice the speed counts as one BLEU more"
RULE = (
    f"the student configuration with the highest dev BLEU where {PRICE}, at most {TOLERANCE} BLEU below the best one "
    "there"
)


def candidates(records: list[Measurement], roles: tuple[Role, ...] = STUDENTS) -> list[Measurement]:
    """Records of these roles on the timed test set whose configurations decoded the dev set, too."""
    timed = of_test_set(records, test_sets(records)[0])
    return drawn([record for record in timed if record.system.role in roles and record.scores.dev_bleu is not None])


def best(records: list[Measurement]) -> Measurement | None:
    """The student configuration that RULE chooses; None for the reason of ``without_best``."""
    students = candidates(records)
    least = max((number(record, "dev_bleu") for record in students), default=0.0) - TOLERANCE
    good = [record for record in students if number(record, "dev_bleu") >= least]
    return max(good, key=_worth, default=None)


def best_of_teacher(records: list[Measurement]) -> Measurement | None:
    """The teacher's configuration that is worth most by PRICE; None where teachers did not decode the dev set."""
    return max(candidates(records, ("teacher",)), key=_worth, default=None)


def to_ship(records: list[Measurement]) -> Measurement | None:
    """The best student, or the teacher's configuration that is worth more; None without a student."""
    student, teacher = best(records), best_of_teacher(records)
    return max(student, teacher, key=_worth) if student and teacher else student


def beside_teacher(records: list[Measurement]) -> str | None:
    """Which of the two is the better choice, in a sentence; None where the teacher or students cannot be weighed."""
    student, teacher = best(records), best_of_teacher(records)
    if not student or not teacher:
        return None
    own = teacher.scores
    sides = {own.dev_set: "dev_bleu", teacher.test_set: "bleu"}
    differences = {name: number(student, score) - number(teacher, score) for name, score in sides.items()}
    apart = " and ".join(
        f"{abs(bleu):.2f} BLEU {'less' if bleu < 0 else 'more'} on {name}" for name, bleu in differences.items()
    )
    times = f"{faster(student, teacher).short('.2f')} times as fast, with {apart}"
    if to_ship(records) is teacher:
        return (
            f"Where {PRICE}, the teacher is the better choice: {title(teacher)} has {own.dev_bleu:.2f} BLEU on "
            f"{own.dev_set}, {own.bleu:.2f} on {teacher.test_set}, and translates {teacher.words_per_second:,.0f} "
            f"source words a second. The best student is {times}."
        )
    return f"Where {PRICE}, the teacher's best way is {title(teacher)}; the student is {times}."


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
