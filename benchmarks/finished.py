"""The translations that trained systems made of the test sets (`snakemake explain`), and what their trainings took."""

import csv
from pathlib import Path
from typing import Any

from measure.bootstrap import TestSet
from nmt_frontier.files import read_json
from study.plan import StudyPlan

SAMPLES = 1000  # of the bootstrap


class Outputs:
    """Translations by system, test set and beam. ``tests`` has the references of each test set."""

    def __init__(self, study: StudyPlan, beams: tuple[int, ...]):
        self.study, self.beams, self.folder = study, beams, Path(study.folder)
        self.sets = {name: Path(study.paths.clean(name)) for name in study.corpora.test}
        self.tests = {name: TestSet(path, study.config.target, SAMPLES) for name, path in self.sets.items()}

    def output(self, system: str, test_set: str, beam: int) -> Path:
        return self.folder / "outputs" / system / f"beam{beam}.{test_set}.txt"

    def finished(self, system: str) -> bool:
        return all(self.output(system, name, beam).exists() for name in self.sets for beam in self.beams)

    def learned(self, system: str) -> dict[str, Any]:
        found: dict[str, Any] = read_json(self.folder / "systems" / system / "learning.json")
        return found

    def training_minutes(self, system: str) -> float:
        """CPU minutes of its training, as Snakemake's benchmark file says."""
        with (self.folder / "benchmarks" / f"train_{system}.tsv").open() as lines:
            return round(float(next(csv.DictReader(lines, delimiter="\t"))["cpu_time"]) / 60, 2)
