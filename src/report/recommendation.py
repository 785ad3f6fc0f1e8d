"""Which model of a study to ship, in plain sentences, and the other choices on its front."""

from collections.abc import Iterator
from typing import NamedTuple

from findings import best_model, captions, comparison
from formats.measurement import Measurement
from report import measurements as tables

NEAR = 1.0  # BLEU below the best of the front that a fast choice may be
COLUMNS = ("source words/s", "core-s/M words", "USD/M words", "disk MB", "peak RSS MB")  # of all measurements
SHORT = {"source words/s": "words/s", "peak RSS MB": "memory MB"}  # names of two in the table of choices


class Answer(NamedTuple):
    """The model to ship by its name and decoding; sentences about it; the command that runs it, if it is known.

    teacher: whether it is the teacher, which is then the better choice than the best student.
    """

    ship: str | None
    sentences: list[str]
    command: str | None
    teacher: bool


def answer(records: list[Measurement]) -> Answer:
    """The best model of a study by its rule, with its numbers; or the reason why it has none."""
    record, ship = best_model.best(records), best_model.to_ship(records)
    if not record or not ship:
        return Answer(None, [f"There is no best model: {best_model.without_best(records)}."], None, False)
    sentences = [quality(record), speed(records, record), size(record), why(records, record)]
    weighed = [*filter(None, [best_model.beside_teacher(records)])]
    if taught := ship is not record:
        sentences = [*weighed, f"The best student is {captions.title(record)}.", *sentences]
    else:
        sentences += weighed
    return Answer(captions.title(ship), sentences, captions.decoding_command(ship), taught)


def quality(record: Measurement) -> str:
    comet = f" and {record.scores.comet:.2f} COMET" if record.scores.comet is not None else ""
    score = f"It has {record.scores.bleu:.2f} BLEU{comet} on {record.test_set}"
    if record.scores.bleu_delta_teacher is None:
        return f"{score}."
    delta, p = record.scores.bleu_delta_teacher, record.scores.bleu_p_teacher
    side = "below" if delta < 0 else "above"
    tested = f" (p = {p:.3f}, paired bootstrap)" if p is not None else ""
    difference = f"{abs(delta):.2f}{' BLEU' * bool(comet)} {side}"
    return f"{score}, {difference} {record.scores.teacher or 'its teacher'} with beam {comparison.BEAM}{tested}."


def speed(records: list[Measurement], record: Measurement) -> str:
    """Words a second, against the same model and against its teacher in the toolkit they were trained with."""
    timed = comparison.drawn(comparison.of_test_set(records, record.test_set))  # a disturbed baseline would be slow
    number = len(record.decoding.cores)
    cores = "one core" if number == 1 else f"{number} cores" if number else "this machine"
    text = f"It translates {record.words_per_second:,.0f} source words a second on {cores}{spread(record)}"
    others = {"the same model": record.system.name, f"{record.scores.teacher}": record.scores.teacher}
    faster = [
        f"{comparison.faster(record, base).short('.1f')} times as fast as {name}"
        for name, system in others.items()
        if system and (base := comparison.baseline(timed, system)) and base.words_per_second
    ]
    where = f" in OpenNMT-tf with beam {comparison.BEAM}"
    return f"{text}: {' and '.join(faster)}{where}." if faster else f"{text}."


def spread(record: Measurement) -> str:
    (_, low, high), runs = record.timing.source_words_per_second, record.timing.runs
    return f" ({low:,.0f} to {high:,.0f} in {runs} runs)" if runs > 1 and low and high else ""


def size(record: Measurement) -> str:
    parts = [
        f"{record.decoding.model_bytes / 1e6:,.1f} MB of files" if record.decoding.model_bytes else "",
        f"{record.timing.peak_rss_bytes / 1e6:,.0f} MB of memory at most" if record.timing.peak_rss_bytes else "",
        cost(record),
    ]
    *most, last = filter(None, parts)
    return f"It takes {', '.join(most)}{' and ' if most else ''}{last}."


def cost(record: Measurement) -> str:
    seconds = record.core_seconds_per_million_words
    if seconds is None:
        return f"{record.system.parameters:,} parameters"
    price = f"{record.usd_per_million_words:.5f} USD" if record.usd_per_million_words else "no price is known"
    return f"{seconds:,.1f} core-seconds for a million source words ({price})"


def why(records: list[Measurement], record: Measurement) -> str:
    rule, verdict = best_model.RULE, best_model.verdict(records, record)
    return f"It is {rule}. It has {verdict}"


def rows(records: list[Measurement]) -> list[dict[str, str]]:
    """The table of choices: the model to ship, then those of the front that are best in something."""
    return [row(records, record, ", ".join(reasons)) for record, reasons in choices(records)]


def choices(records: list[Measurement]) -> Iterator[tuple[Measurement, list[str]]]:
    """Records of the first test set with what they are chosen for. Without scores, of all that were timed."""
    timed = comparison.of_test_set(records, comparison.test_sets(records)[0])
    front = comparison.on_front(timed) or sorted(timed, key=lambda one: -one.words_per_second)
    named = {"to ship": best_model.to_ship(records)}
    if (student := best_model.best(records)) is not named["to ship"]:
        named["best student"] = student
    if scored := [record for record in front if record.scores.bleu is not None]:
        bleu = {id(record): comparison.number(record, "bleu") for record in scored}
        close = [record for record in scored if bleu[id(record)] >= max(bleu.values()) - NEAR]
        named["best BLEU"] = max(scored, key=lambda record: (bleu[id(record)], record.words_per_second))
        named[f"fastest within {NEAR:g} BLEU of the best"] = max(close, key=lambda one: one.words_per_second)
    named["fastest"] = front[0]
    if sized := [record for record in front if record.decoding.model_bytes]:
        named["smallest"] = min(sized, key=lambda record: (record.decoding.model_bytes, -record.words_per_second))
    found: dict[int, tuple[Measurement, list[str]]] = {}
    for reason, record in named.items():
        if record:
            found.setdefault(id(record), (record, []))[1].append(reason)
    yield from found.values()


def row(records: list[Measurement], record: Measurement, reasons: str) -> dict[str, str]:
    """The cells of a choice; BLEU on every test set, everything else of the first one."""
    names = comparison.test_sets(records)
    cells = tables.row(record, comparison.of_test_set(records, record.test_set))
    same = {name: comparison.on_test_set(records, record, name) for name in names}
    bleu = {f"BLEU, {name}": tables.number(other.scores.bleu if other else None, 2) for name, other in same.items()}
    if list(same) == [record.test_set]:
        bleu = {"BLEU": cells["BLEU"]}
    scores = bleu | ({"COMET": cells["COMET"]} if "COMET" in cells else {})
    about = {"choice": reasons, "model": captions.title(record)}
    costs = {SHORT.get(name, name): cells[name] for name in COLUMNS}
    if record.usd_per_million_words is None:
        costs.pop("USD/M words")
    return about | scores | {"to teacher": cells["to teacher"]} | costs
