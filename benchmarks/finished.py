"""The translations that trained systems made of the test sets (`snakemake explain`), and what their trainings took."""

import csv
from pathlib import Path

from measure.bootstrap import TestSet
from study.plan import StudyPlan

SAMPLES = 1000  # of the bootstrap


def minutes(files: list[Path]) -> float:
    """CPU minutes that jobs took, as Snakemake's benchmark files say."""
    rows = [next(csv.DictReader(path.open(), delimiter="\t")) for path in files]
    return round(sum(float(row["cpu_time"]) for row in rows) / 60, 2)


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

    def training_minutes(self, system: str) -> float:
        return minutes([self.folder / "benchmarks" / f"train_{system}.tsv"])
