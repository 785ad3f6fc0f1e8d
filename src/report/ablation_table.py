"""What each idea of a study brought: its difference in BLEU with its confidence, and its ratio of speeds.

Trainings are compared by the paired bootstrap of ``measure.bootstrap``. Ways to decode are compared in all pairs of
records that differ in this one setting: the median of the pairs, with the lowest and the highest. Ideas that cost
quality are listed, too.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from findings import captions, comparison
from findings.best_model import STUDENTS
from findings.comparison import BASELINE, BEAM, CTRANSLATE2, NATIVE, Contrast, contrasts, controls, matching
from formats.gap import Beam, Differences, Gap, TestSetGap
from formats.learning import Learning
from formats.measurement import Measurement
from formats.rounding import OtherCpus
from formats.spread import Spread
from report import teacher_student
from report.markup import NONE

Row = dict[str, str]
BLEU, SPEED = "+z.2f", ".2f"


def tables(
    records: list[Measurement],
    gap: Gap | None = None,
    learning: Iterable[Learning] = (),
    elsewhere: tuple[str | None, list[OtherCpus]] = (None, []),
) -> dict[str, list[Row]]:
    """The ideas by their kind; kinds that the study did not try are left out.

    gap: of measure.teacher_student. learning: the learning.json of each system. elsewhere: a system, and what 8 bits
    give on other CPUs (``measure.int8_other_cpus``). Records count on the first test set only, where they were timed.
    """
    timed = comparison.of_test_set(records, comparison.test_sets(records)[0])
    drawn = [record for record in comparison.drawn(timed) if record.scores.bleu is not None]
    compared = gap and gap["test_sets"].get(timed[0].test_set)
    kinds = {
        "What students learned from": list(trainings(compared) if compared else to_controls(drawn)),
        "Network and training": [*networks(drawn), *(changes(compared, drawn) if compared else ())],
        "Averages of checkpoints, on the dev set": list(averages(learning)),
        "Decoding": [*decodings(drawn), *on_other_cpus(drawn, *elsewhere)],
    }
    return {kind: known(rows) for kind, rows in kinds.items() if rows}


def row(idea: str, compared: str, bleu: str, p: float | None = None, speed: str = NONE, comet: str = NONE) -> Row:
    scores = {"BLEU": bleu, "COMET": comet, "p": NONE if p is None else f"{p:.3f}"}
    return {"idea": idea, "compared": compared, **scores, "speed ×": speed}


def known(rows: list[Row]) -> list[Row]:
    """The rows without COMET where none has it."""
    left = {"COMET"} if all(row["COMET"] == NONE for row in rows) else set()
    return [{name: cell for name, cell in row.items() if name not in left} for row in rows]


def trainings(test_set: TestSetGap) -> Iterator[Row]:
    """A row for each pair of mixtures of a student, greedy and with a beam. p: of the least significant seed."""
    for beam, result in shown(test_set["beams"]):
        for pair in result["comparisons"]:
            what = f"{pair['student']}: {pair['mixture']} rather than {pair['than']}"
            yield tested(pair["difference"] or pair["mixture"] or "", what, beam, pair)


def shown(beams: dict[str, Beam]) -> list[tuple[str, Beam]]:
    """The smallest beam, and the one that searches are compared with or else the largest; gap.md has all."""
    first, *_, last = [*beams, *beams]
    searches = dict.fromkeys((first, str(BEAM) if str(BEAM) in beams else last))
    return [(search, beams[search]) for search in searches]


def tested(idea: str, compared: str, beam: str, pair: Differences, speed: str = NONE) -> Row:
    """A row of two trainings that were compared seed by seed."""
    count = f"{len(pair['seeds'])} seeds" if len(pair["seeds"]) > 1 else "1 training each"
    bleu = mean(pair["bleu_deltas"])
    return row(idea, f"{compared}, {teacher_student.search(beam)}, {count}", bleu, max(pair["bleu_p"]), speed)


def mean(deltas: list[float]) -> str:
    """The mean over the seeds, with the lowest and the highest."""
    return Spread(statistics.mean(deltas), min(deltas), max(deltas)).short(BLEU)


def to_controls(records: list[Measurement]) -> Iterator[Row]:
    """As ``trainings``, of the records alone: each student at full precision against its control."""
    for system, (control, difference) in controls(records).items():
        record = comparison.full_precision(records, system)
        if record and record.scores.bleu_delta_control is not None:
            compared = f"{system} rather than {control}, {captions.configuration(record)}"
            yield row(difference, compared, f"{record.scores.bleu_delta_control:{BLEU}}", record.scores.bleu_p_control)


def averages(learning: Iterable[Learning]) -> Iterator[Row]:
    """Averages of several checkpoints against the last one alone, in BLEU on the dev set, over all trainings."""
    gains: dict[int, list[float]] = {}
    for system in learning:
        bleu = {average.checkpoints: average.bleu for average in system.averages}
        for count in bleu.keys() - {1} if 1 in bleu else ():
            gains.setdefault(count, []).append(bleu[count] - bleu[1])
    for count, found in sorted(gains.items()):
        trainings = f"{len(found)} trainings" if len(found) > 1 else "1 training"
        yield row(f"average of {count}", f"rather than the last one, {trainings}", Spread.of(found).short(BLEU))


def networks(records: list[Measurement]) -> Iterator[Row]:
    """Each student, of all seeds, against the teacher: in float32, with the same search and engine, without a map."""
    groups: dict[tuple[str, ...], list[tuple[Measurement, Measurement]]] = {}
    for system, first in comparison.systems(records).items():
        teacher, about = first.scores.teacher, first.system
        if about.role not in STUDENTS or not teacher or (about.role == "control" and compared_to(records, system)):
            continue
        if pair := exact(records, system, teacher, CTRANSLATE2) or exact(records, system, teacher, NATIVE):
            groups.setdefault((about.student or system, about.mixture or "", about.shape), []).append(pair)
    mixtures = Counter(student for student, _, _ in groups)
    for (student, mixture, shape), pairs in groups.items():
        own, reference = pairs[0]
        name = f"{student}, {mixture}" if mixtures[student] > 1 else student
        contrasted, scores = [Contrast(*pair) for pair in pairs], [record.scores for record, _ in pairs]
        seeds = f", {len(pairs)} seeds" if len(pairs) > 1 else ""
        yield row(
            f"{name}: {shape}",
            f"rather than {reference.system.name}: {reference.system.shape}, {engine_and_search(own)}{seeds}",
            mean([comparison.number(record, "bleu_delta_teacher") for record, _ in pairs]),
            max((each.bleu_p_teacher for each in scores if each.bleu_p_teacher is not None), default=None),
            speeds(contrasted),
            comets(contrasted),
        )


def compared_to(records: list[Measurement], control: str) -> bool:
    """Whether some student has this control, which then is about its training, not about its network."""
    return any(other == control for other, _ in controls(records).values())


def exact(records: list[Measurement], system: str, teacher: str, engine: str) -> tuple[Measurement, Measurement] | None:
    """A student and its teacher in one engine at full precision, if both were measured there."""
    values = {"engine": engine, "compute_type": "float32", "beam_size": BEAM, "vocabulary_map": False}
    own, reference = (comparison.find(records, system=name, **values) for name in (system, teacher))
    return (own, reference) if own and reference and own.scores.bleu_delta_teacher is not None else None


def engine_and_search(record: Measurement) -> str:
    return f"{captions.engine_label(record)}, {captions.search(record)}"


def changes(test_set: TestSetGap, records: list[Measurement]) -> Iterator[Row]:
    """Students that differ in one setting of network or training; the ratio of speeds over all ways to decode both."""
    systems = (one.system for one in comparison.systems(records).values())
    students = {(system.student, system.mixture): system.name for system in systems}
    for beam, result in shown(test_set["beams"]):
        for pair in result.get("changes", ()):  # gap.json before 0.9 has none
            own, other = (students.get((pair[name], pair["mixture"])) for name in ("student", "than"))
            yield tested(
                pair["difference"],
                f"{pair['student']} rather than {pair['than']} ({pair['instead']}), {pair['mixture']}",
                beam,
                pair,
                speeds(contrasts(records, "system", own, other)) if own and other else NONE,
            )


def decodings(records: list[Measurement]) -> Iterator[Row]:
    """Each setting of a search or an engine against what it replaces, all else equal."""
    types = dict.fromkeys(record.decoding.compute_type for record in records)
    beams = sorted({record.decoding.beam_size for record in records} - {BEAM})
    settings: list[tuple[str, str, str, Any, Any]] = [
        *((f"{type} weights", "float32", "compute_type", type, "float32") for type in types if type != "float32"),
        ("vocabulary map", "all pieces", "vocabulary_map", True, False),
        *(("greedy search" if n == 1 else f"beam {n}", f"beam {BEAM}", "beam_size", n, BEAM) for n in beams),
    ]
    labels = {record.decoding.engine: captions.engine_label(record) for record in records}
    for engine, than in ((CTRANSLATE2, BASELINE), (NATIVE, CTRANSLATE2)):
        if {engine, than} <= labels.keys():
            settings.append((labels[engine], labels[than], "engine", engine, than))
    for idea, than, setting, value, reference in settings:
        if pairs := contrasts(records, setting, value, reference):
            yield paired(idea, f"rather than {than}", pairs)


def paired(idea: str, compared: str, pairs: list[Contrast]) -> Row:
    count = f"{len(pairs)} pairs" if len(pairs) > 1 else captions.title(pairs[0].record)
    bleu = Spread.of(pair.bleu for pair in pairs).short(BLEU)
    return row(idea, f"{compared}, {count}", bleu, None, speeds(pairs), comets(pairs))


def comets(pairs: list[Contrast]) -> str:
    """The differences of the pairs that have COMET."""
    found = [pair.comet for pair in pairs if pair.comet is not None]
    return Spread.of(found).short(BLEU) if found else NONE


def speeds(pairs: list[Contrast]) -> str:
    """The ratios of several pairs; of one pair that of its runs."""
    ratios = [pair.speed for pair in pairs]
    return (ratios[0] if len(ratios) == 1 else Spread.of(ratio.middle for ratio in ratios)).short(SPEED)


def on_other_cpus(records: list[Measurement], system: str | None, elsewhere: list[OtherCpus]) -> Iterator[Row]:
    """8 bits as other CPUs compute them, against this one: greedy, without a map; not timed."""
    for other in elsewhere:
        values = {"engine": CTRANSLATE2, "compute_type": other["compute_type"], "beam_size": 1, "vocabulary_map": False}
        if here := matching(records, system=system, **values):
            products = "cut off" if other["int8_saturates"] else "exact"
            idea = f"{other['compute_type']} where products are {products}"
            yield row(
                idea,
                f"rather than here, {captions.title(here[0])}",
                f"{other['bleu'] - comparison.number(here[0], 'bleu'):{BLEU}}",
            )
