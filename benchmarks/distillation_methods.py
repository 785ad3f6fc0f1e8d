"""What a method of distillation is worth: one JSON file for each student whose training and translations are finished.

Run it beside a study that trains, as often as students end: it keeps what has ended since, and leaves the files that
are there. Each has the BLEU of the dev set, BLEU, chrF, the length and the likeness to the teacher on every test set,
the paired test against the teacher's beam search and against the student of the same seed that learns the teacher's
best translations, and minutes of CPU time of its training. Then it prints the means over the seeds of all files.
"""

import argparse
import statistics
from itertools import groupby
from pathlib import Path
from typing import Any

from finished import Outputs

from findings.metrics import bleu
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.machine import describe
from study import config
from study.plan import StudyPlan

BEAMS = (1, 4)
TEACHER_BEAM = 4  # of the translations that a student is measured against


class Methods(Outputs):
    """The finished systems of a study."""

    def __init__(self, study: StudyPlan):
        super().__init__(study, BEAMS)
        self.teacher = next(iter(study.config.teachers))

    def best(self, system: str) -> str | None:
        """The student of the same shape, start, training and seed that learns the teacher's best translations alone."""
        for name, other in self.study.systems.trained.items():
            alike = self._compared(name) == self._compared(system)
            if alike and (other.mixture, other.words) == ("best", None) and name != system and self.finished(name):
                return name
        return None

    def _compared(self, system: str) -> tuple[Any, ...]:
        own = self.study.systems.trained[system]
        return own.shape, own.training, own.start_from, own.start_layers, own.seed

    def scores(self, system: str, test_set: str, beam: int) -> dict[str, Any]:
        """Of one output; ``agreement``: BLEU against the teacher's translations; ``length``: words a word of the
        references."""
        path, test = self.output(system, test_set, beam), self.tests[test_set]
        teacher = self.output(self.teacher, test_set, TEACHER_BEAM)
        lines = [records.read_output(each, len(records.pairs(self.sets[test_set]))) for each in (path, teacher)]
        found, _ = test.score(path)
        row = {"bleu": round(found["bleu"], 2), "chrf": round(found["chrf"], 2)}
        references = [reference for _, reference in records.pairs(self.sets[test_set])]
        row["length"] = round(len(" ".join(lines[0]).split()) / len(" ".join(references).split()), 3)
        row["agreement"] = round(bleu(self.study.config.target).corpus_score(lines[0], [lines[1]]).score, 2)
        for name, other in (("teacher", teacher), ("best", self._best_output(system, test_set, beam))):
            if other and other != path:
                difference, p = test.difference(path, other)
                row |= {f"above_{name}": round(difference, 2), f"p_{name}": round(p, 4)}
        return row

    def _best_output(self, system: str, test_set: str, beam: int) -> Path | None:
        best = self.best(system)
        return self.output(best, test_set, beam) if best else None

    def record(self, system: str) -> dict[str, Any]:
        trained = self.study.systems.trained[system]
        learned = self.learned(system)
        test = next(iter(self.tests.values()))
        return {
            "system": system,
            "student": trained.student,
            "mixture": trained.mixture,
            "seed": trained.seed,
            "updates": learned["phases"][-1]["end"],
            "parameters": learned["parameters"],
            "passes": learned["seen"]["passes"],
            "dev": learned["averages"],
            "signature": test.score(self.output(system, next(iter(self.sets)), 1))[0]["bleu_signature"],
            "training_minutes": self.training_minutes(system),
            "cpu": describe()["cpu"],
            "scores": {name: {str(beam): self.scores(system, name, beam) for beam in BEAMS} for name in self.sets},
        }

    def keep(self, folder: Path) -> None:
        """Write the record of each finished student that has none, and the teacher's."""
        for system in self.study.systems.trained:
            path = folder / f"{system}.json"
            if not path.exists() and self.finished(system) and self.finished(self.teacher):
                write_json(path, self.record(system))
                print(path)


def mean(values: list[float], digits: int = 2) -> str:
    return f"{statistics.mean(values):.{digits}f}"


def method(record: dict[str, Any]) -> tuple[str, str, int]:
    """What the seeds of a line share."""
    return record["student"], str(record["mixture"]), record["updates"]


def row(rows: list[dict[str, Any]]) -> str:
    """A line of Markdown: the means over the seeds of one student and mixture."""
    dev = [max(each["bleu"] for each in one["dev"]) for one in rows]
    cells = [rows[0]["student"], str(rows[0]["mixture"]), f"{rows[0]['updates']:,}", str(len(rows)), mean(dev)]
    for beam in map(str, BEAMS):
        for name in rows[0]["scores"]:
            cells.append(mean([one["scores"][name][beam]["bleu"] for one in rows]))
    first = next(iter(rows[0]["scores"]))
    for field in ("chrf", "agreement"):
        cells.append(mean([one["scores"][first]["1"][field] for one in rows]))
    minutes = [known for one in rows if (known := one["training_minutes"]) is not None]  # set to null if interrupted
    return " | ".join([*cells, mean(minutes, 1) if minutes else "—"])


def table(folder: Path) -> None:
    """Print all records, one line a student and mixture: BLEU greedy, then with a beam, of each test set."""
    found = [read_json(path) for path in sorted(folder.glob("*.json"))]
    for _, rows in groupby(sorted(found, key=method), key=method):
        print(f"| {row([*rows])} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=there, help="configuration of the study, whose results lie in this folder")
    parser.add_argument("--output", type=Path, required=True, help="folder of the records, one file a student")
    args = parser.parse_args()
    if args.config:
        Methods(StudyPlan(config.read(args.config))).keep(args.output)
    table(args.output)


if __name__ == "__main__":
    command(main)
