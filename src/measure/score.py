"""Score the translations of a study and join all measurement records into one list.

Each record is compared with the teacher at full precision (CTranslate2, float32, beam 4, no map), and a distilled
student with its control decoded in the same way, its twin if there is one. Differences in BLEU have p-values of the
paired bootstrap (measure.bootstrap). COMET is added where measure.comet has scored the outputs. Records of speed only
get no scores.

The dev set, which decides on the best model, gets no records; ``dev_bleu`` is the BLEU of a configuration there.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from findings.comparison import CONFIGURATION, configured, full_precision, matching, number, of_test_set, translations
from findings.metrics import CometScores
from formats import measurement
from formats.learning import Learned
from formats.measurement import Measurement, Scores
from measure import training_differences
from measure.bootstrap import Floats, TestSet, p_value
from measure.training_differences import difference, same_sentences
from nmt_frontier.command_line import named_path, positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.progress import progress

SETTINGS = CONFIGURATION[1:]  # how a system is decoded

Resamples = dict[str | None, Floats]  # BLEU of the resamples, by ``output`` of the record
Difference = tuple[float, float] | tuple[None, None]  # in BLEU, and its p-value


def compare(record: Measurement, other: Measurement | None, resamples: Resamples) -> Difference:
    """Difference in BLEU to another record and its p-value; None without another record or a score."""
    if other is None or record.scores.bleu is None:
        return None, None
    delta = record.scores.bleu - number(other, "bleu")
    return delta, p_value(resamples[record.decoding.output], resamples[other.decoding.output], delta)


def control(record: Measurement, measured: list[Measurement], learned: dict[str, Learned]) -> Measurement | None:
    """The same student and seed trained on original data and decoded in the same way, preferably the twin.

    Where it was not, a control of the same shape and seed.
    """
    if record.system.role != "student":
        return None
    same = ({n: record.value(n) for n in (what, "seed", *SETTINGS)} for what in ("student", "shape"))
    controls = next(filter(None, (matching(measured, role="control", **values) for values in same)), [])
    recorded = (other for other in controls if {other.system.name, record.system.name} <= learned.keys())
    twins = (other for other in recorded if same_sentences(learned[record.system.name], learned[other.system.name]))
    return next(twins, controls[0] if controls else None)


def completed(
    record: Measurement,
    measured: list[Measurement],
    resamples: Resamples,
    teacher: str | None,
    learned: dict[str, Learned],
) -> Scores:
    """The scores of a record, with those that compare it with the teacher and its control."""
    measured = of_test_set(measured, record.test_set)
    reference = full_precision(measured, teacher) if teacher else None
    other = control(record, measured, learned)
    above_teacher, p_teacher = compare(record, reference, resamples)
    above_control, p_control = compare(record, other, resamples)
    both = [learned[one.system.name] for one in (record, other) if one and one.system.name in learned]
    return replace(
        record.scores,
        bleu_delta_teacher=above_teacher,
        bleu_p_teacher=p_teacher,
        bleu_delta_control=above_control,
        bleu_p_control=p_control,
        teacher=teacher,
        control=other.system.name if other else None,
        control_difference=difference(*both) if len(both) == 2 else None,
    )


Output = tuple[Path, Measurement]  # file of translations and its record
Key = tuple[object, ...]


def dev_scores(outputs: list[Output], dev: Path, language: str) -> dict[Key, float]:
    """BLEU on the dev set by configuration."""
    test_set = TestSet(dev, language, samples=1)  # no p-values are needed
    shown = progress(outputs, "scoring the dev set", total=len(outputs), unit="output")
    return {key(record): test_set.score(path)[0]["bleu"] for path, record in shown}


def key(record: Measurement) -> Key:
    """Identifies a configuration on all test sets."""
    return tuple(configured(record).values())


def scored(
    outputs: list[Output], test_sets: dict[str, TestSet], comet: CometScores, folder: Path
) -> tuple[list[Measurement], Resamples]:
    """The records with scores, and BLEU of the resamples. Paths of outputs are relative to ``folder``."""
    measured: list[Measurement] = []
    resamples: Resamples = {}
    for path, record in progress(outputs, "scoring", total=len(outputs), unit="output"):
        output = os.path.relpath(path, folder)
        record = replace(record, decoding=replace(record.decoding, output=output))
        if not record.speed_only:
            quality, resamples[output] = test_sets[record.test_set].score(path)
            record = replace(record, scores=Scores(**quality, **comet.of(record.test_set, path)))
        measured.append(record)
    return measured, resamples


def read(paths: list[Path], test_sets: set[str]) -> list[Output]:
    """The records of all files. Raises UserError for one of another test set."""
    outputs = []
    for path in paths:
        for record in measurement.read(path):
            if record.test_set not in test_sets:
                raise UserError(f"{path}: test set {record.test_set} is not among --test-sets")
            outputs.append((translations(path, record), record))
    return outputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=there, nargs="+", required=True, help="JSON lists of measure.benchmark")
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path of records")
    parser.add_argument("--dev", type=named_path, help="name=path of the dev set, by which the best model is chosen")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    parser.add_argument("--teacher", help="the system that all others are compared with")
    parser.add_argument("--learned", type=there, nargs="+", default=[], help="JSON of train.training_record, by system")
    parser.add_argument("--comet", type=there, help="JSON of measure.comet with the scores of these outputs")
    parser.add_argument("--samples", type=positive, default=1000, help="resamples of the bootstrap")
    parser.add_argument("--config-hash", help="of the study's configuration, noted in every record")
    parser.add_argument("--output", type=Path, required=True, help="JSON list of all records with scores to write")
    args = parser.parse_args()

    test_sets = {name: TestSet(path, args.target_language, args.samples) for name, path in args.test_sets}
    dev = args.dev[0] if args.dev else None
    outputs = read(args.records, {*test_sets, *filter(None, [dev])})
    on_dev = [(path, record) for path, record in outputs if record.test_set == dev]
    dev_bleu = dev_scores(on_dev, args.dev[1], args.target_language) if dev else {}
    on_tests = [(path, record) for path, record in outputs if record.test_set != dev]
    measured, resamples = scored(on_tests, test_sets, CometScores.read(args.comet), args.output.parent)
    learned = training_differences.read(args.learned)
    scores = (completed(record, measured, resamples, args.teacher, learned) for record in measured)
    found = (
        replace(
            record, scores=replace(own, config_hash=args.config_hash, dev_set=dev, dev_bleu=dev_bleu.get(key(record)))
        )
        for record, own in zip(measured, scores, strict=True)
    )
    measurement.write(args.output, found)


if __name__ == "__main__":
    command(main)
