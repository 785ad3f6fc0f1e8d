"""Where the gap between teacher and students comes from: their training data and settings, sentences they lose on.

Every system is scored with every beam size on every test set, against the references and against the teacher's output
(the ensemble's, if there are several teachers). Differences are tested with sacreBLEU's paired bootstrap: a system
against the teacher, and seed by seed a student against itself trained on another mixture and against another student
that differs in one setting.
"""

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Literal

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from common.document import argument
from findings.metrics import CometScores, bleu
from formats import records
from formats.gap import (
    Beam,
    Change,
    Comet,
    ComparedSystem,
    Comparison,
    Differences,
    DifferentSentence,
    Gap,
    Group,
    LengthGroup,
    OutputScores,
    Scored,
    Task,
    Trainings,
    TwinTrainings,
)
from measure import training_differences
from measure.bootstrap import TestSet
from nmt_frontier.command_line import named_path, there
from nmt_frontier.errors import command
from nmt_frontier.files import sha256, write_json
from nmt_frontier.progress import progress

SAMPLES = 1000  # of the bootstrap
DIFFERENT = 10  # sentences to show where student and teacher differ most
PARTS = 4  # of a test set, by the length of the source

Key = Literal["student", "mixture"]
Pair = tuple[Scored, Scored]
Grouped = dict[str | None, dict[str | None, list[Scored]]]


class Compared(TestSet):
    """A test set and the teacher's translation of it. comet: returns the fields of COMET for a file of translations."""

    def __init__(self, path: Path, language: str, teacher: Path, comet: Callable[[Path], Comet]):
        super().__init__(path, language, SAMPLES)
        self._comet = comet
        self.pairs = records.pairs(path)
        self._lowercased = bleu(language, lowercase=True)
        self.teacher_path, self.teacher = teacher, records.read_output(teacher, len(self.pairs))
        self._agreement = bleu(language)
        self._words = np.array([len(source.split()) for source, _ in self.pairs])
        edges = np.quantile(self._words, np.arange(1, PARTS) / PARTS, method="inverted_cdf")
        self._part = np.searchsorted(edges, self._words, side="left")

    def row(self, path: Path) -> OutputScores:
        """The scores of one output, its likeness to the teacher's, and BLEU by length."""
        lines = records.read_output(path, len(self.pairs))
        references = [[reference for _, reference in self.pairs]]
        difference, p = self.difference(path, self.teacher_path)
        return {
            **self.score(path)[0],
            **self._comet(path),
            "bleu_lowercased": self._lowercased.corpus_score(lines, references).score,
            "bleu_lowercased_signature": str(self._lowercased.get_signature()),
            "bleu_delta_teacher": difference,
            "bleu_p_teacher": p,
            "agreement_bleu": self._agreement.corpus_score(lines, [self.teacher]).score,
            "agreement_exact": sum(map(str.__eq__, lines, self.teacher)) / len(lines),
            "by_length": self._by_length(lines),
        }

    def _by_length(self, lines: list[str]) -> list[LengthGroup]:
        """BLEU of each part of the test set, from short sentences to long ones."""
        sufficient = self._bleu.statistics(lines)
        return [
            {
                "words": [int(self._words[rows].min()), int(self._words[rows].max())],
                "sentences": len(rows),
                "bleu": self._bleu.score(sufficient[rows].sum(0)),
            }
            for rows in (np.flatnonzero(self._part == part) for part in range(PARTS))
            if len(rows)
        ]

    def most_different(self, path: Path) -> list[DifferentSentence]:
        """The sentences where an output is least like the teacher's (lowest sentence chrF)."""
        lines, metric = records.read_output(path, len(self.pairs)), CHRF()
        rows: list[DifferentSentence] = []
        for number, (line, teacher, pair) in enumerate(zip(lines, self.teacher, self.pairs, strict=True), 1):
            score = metric.sentence_score(line, [teacher]).score
            row: DifferentSentence = {
                "line": number,
                "chrf": score,
                "source": pair[0],
                "reference": pair[1],
                "teacher": teacher,
                "student": line,
            }
            rows.append(row)
        return sorted(rows, key=itemgetter("chrf"))[:DIFFERENT]


def grouped(rows: list[Scored]) -> list[Group]:
    """Mean and spread over the seeds of a student and mixture."""
    groups: list[Group] = []
    for (student, mixture), (first, *others) in itertools.groupby(rows, key=itemgetter("student", "mixture")):
        values = [row["bleu"] for row in (first, *others)]
        learned = first.get("learned")
        groups.append(
            {
                "student": student,
                "mixture": mixture,
                "seeds": len(values),
                "sentences": sum(learned.sentences.values()) if learned else None,
                "bleu": statistics.mean(values),
                "bleu_min": min(values),
                "bleu_max": max(values),
            }
        )
    return groups


def comparisons(rows: list[Scored], test_set: Compared, output: dict[str, Path]) -> Iterator[Comparison]:
    """Every student against itself with another mixture, the original data last, seed by seed."""
    for student, mixtures in trained(rows, "student", "mixture").items():
        for mixture, other in itertools.combinations(mixtures, 2):
            if pairs := of_one_seed(mixtures[mixture], mixtures[other]):
                own = Trainings(student=student, mixture=mixture, than=other)
                yield {**own, **apart(*pairs[0]), **tested(pairs, test_set, output)}


def changes(rows: list[Scored], test_set: Compared, output: dict[str, Path]) -> Iterator[Change]:
    """Every student against others of its mixture that differ in one setting of network or training, seed by seed."""
    for mixture, students in trained([row for row in rows if row.get("settings")], "mixture", "student").items():
        for than, student in itertools.combinations(students, 2):
            pairs = of_one_seed(students[student], students[than])
            if pairs and (found := training_differences.setting_difference(*(row["settings"] for row in pairs[0]))):
                own = Trainings(student=student, than=than, mixture=mixture)
                yield {**own, "difference": found[0], "instead": found[1], **tested(pairs, test_set, output)}


def trained(rows: list[Scored], outer: Key, inner: Key) -> Grouped:
    """Students by two of their fields, controls last."""
    found: Grouped = {}
    for row in sorted((row for row in rows if row["role"] != "teacher"), key=lambda row: row["role"] == "control"):
        found.setdefault(row[outer], {}).setdefault(row[inner], []).append(row)
    return found


def of_one_seed(systems: list[Scored], others: list[Scored]) -> list[Pair]:
    return [(own, other) for own in systems for other in others if own["seed"] == other["seed"]]


def tested(pairs: list[Pair], test_set: Compared, output: dict[str, Path]) -> Differences:
    """The differences of pairs of systems and their p-values, for each seed."""
    found = [test_set.difference(output[own["system"]], output[other["system"]]) for own, other in pairs]
    differences, p_values = zip(*found, strict=True)
    return {
        "seeds": [own["seed"] for own, _ in pairs],
        "bleu_delta": statistics.mean(differences),
        "bleu_deltas": [*differences],
        "bleu_p": [*p_values],
    }


def apart(system: Scored, other: Scored) -> TwinTrainings:
    """Whether two systems are twins, and how they differ; None where their training data is unknown."""
    own, others = system.get("learned"), other.get("learned")
    if not own or not others:
        return {"twins": None, "difference": None}
    same, difference = training_differences.same_sentences(own, others), training_differences.difference(own, others)
    return {"twins": same, "difference": difference}


def explain(
    systems: list[ComparedSystem],
    teacher: tuple[str, int],
    beams: list[int],
    test_sets: dict[str, Path],
    outputs: Path,
    language: str,
    comet: CometScores,
    config_hash: str,
) -> Gap:
    """Scores, comparisons and the most different sentences, for every test set and beam size.

    systems: system, role, student, mixture, seed and ``learned`` (measure.training_differences, if known) of each, and
    the settings of students. teacher: its name, and the beam it translates with.
    """
    name_of_teacher, beam_of_teacher = teacher
    shown = next((system["system"] for system in systems if system["role"] == "student"), systems[-1]["system"])
    result: Gap = {
        "config_hash": config_hash,
        "teacher": name_of_teacher,
        "teacher_beam": beam_of_teacher,
        "systems": systems,
        "test_sets": {},
    }
    for name, path in progress(test_sets.items(), "comparing", total=len(test_sets), unit="test set"):
        translated = outputs / name_of_teacher / f"beam{beam_of_teacher}.{name}.txt"
        test_set = Compared(path, language, translated, partial(comet.of, name))
        different = test_set.most_different(outputs / shown / f"beam{beam_of_teacher}.{name}.txt")
        result["test_sets"][name] = {
            "sentences": len(test_set.pairs),
            "sha256": sha256(path),
            "beams": {str(beam): of_beam(systems, test_set, outputs, f"beam{beam}.{name}.txt") for beam in beams},
            "most_different": {"system": shown, "sentences": different},
        }
    return result


def of_beam(systems: list[ComparedSystem], test_set: Compared, outputs: Path, file: str) -> Beam:
    """The systems that have an output of this name; an ensemble has no greedy one."""
    paths = {s["system"]: outputs / s["system"] / file for s in systems if (outputs / s["system"] / file).exists()}
    rows: list[Scored] = [
        {**system, **test_set.row(paths[system["system"]])} for system in systems if system["system"] in paths
    ]
    compared, changed = list(comparisons(rows, test_set, paths)), list(changes(rows, test_set, paths))
    for row in rows:
        row.pop("settings", None)  # kept with the systems of the study
    return {"systems": rows, "groups": grouped(rows), "comparisons": compared, "changes": changed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", type=argument(Task), help="JSON of formats.gap.Task")
    parser.add_argument("--learned", type=there, nargs="+", default=[], help="JSON of train.training_record, by system")
    parser.add_argument(
        "--outputs", type=there, required=True, help="folder of outputs of measure.test_sets, by system"
    )
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path of records")
    parser.add_argument("--comet", type=there, help="JSON of measure.comet with the scores of these outputs")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    task: Task = args.task
    learned = training_differences.read(args.learned)
    systems: list[ComparedSystem] = [{**system, "learned": learned.get(system["system"])} for system in task.systems]
    result = explain(
        systems,
        (task.teacher, task.teacher_beam),
        task.beam_sizes,
        dict(args.test_sets),
        args.outputs,
        task.target_language,
        CometScores.read(args.comet),
        task.config_hash,
    )
    write_json(args.output, result)


if __name__ == "__main__":
    command(main)
