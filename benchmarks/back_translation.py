"""What back-translations bring to teachers and students: one JSON file of studies with the same test sets.

For each teacher and student that has translated the test sets it has what the model has learned from, and BLEU and chrF
of each test set and beam; for each two teachers, and each two students, the difference of BLEU with its paired test. Of
a backward teacher that was trained here it has the BLEU of its dev set, and how many of its translations were kept, for
each corpus. Then it prints the systems.
"""

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

from finished import Outputs

from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.machine import describe
from study import config
from study.plan import StudyPlan
from study.systems import BACKWARD

BEAMS = (1, 4)
COUNTS = ("lines_in", "lines_out", "dropped")  # of back-translations


class Study(Outputs):
    """The finished systems of one of the studies."""

    def __init__(self, path: Path):
        super().__init__(StudyPlan(config.read(path)), BEAMS)

    @property
    def systems(self) -> dict[tuple[str, str], str]:
        """The role of each system, by its study and name."""
        trained = self.study.systems.trained
        roles = {name: "teacher" if each.role == "teacher" else "student" for name, each in trained.items()}
        return {(self.study.name, name): roles[name] for name in filter(self.finished, trained)}

    def record(self, system: str) -> dict[str, Any]:
        trained, learned = self.study.systems.trained[system], self.learned(system)
        return {
            "study": self.study.name,
            "system": system,
            "mixture": trained.mixture,
            "updates": learned["phases"][-1]["end"],
            "passes": learned["seen"]["passes"],
            "training_minutes": self.training_minutes(system),
            "scores": {f"{name} beam{beam}": self._score(system, name, beam) for name in self.sets for beam in BEAMS},
        }

    def _score(self, system: str, test_set: str, beam: int) -> dict[str, float]:
        found, _ = self.tests[test_set].score(self.output(system, test_set, beam))
        return {"bleu": round(found["bleu"], 2), "chrf": round(found["chrf"], 2)}

    @property
    def signatures(self) -> list[str]:
        (_, system), name = next(iter(self.systems)), next(iter(self.sets))
        found, _ = self.tests[name].score(self.output(system, name, BEAMS[0]))
        return [found["bleu_signature"], found["chrf_signature"]]

    def backward(self) -> dict[str, Any] | None:
        """What the backward teacher has learned and translated, None without one that was trained here."""
        if BACKWARD not in self.study.systems.learners:
            return None
        found = {path.stem: read_json(path) for path in sorted((self.folder / "back-translated").glob("*.json"))}
        counts = {name: {key: counts[key] for key in COUNTS} for name, counts in found.items()}
        minutes = self.training_minutes(BACKWARD)
        return {"dev": self.learned(BACKWARD)["averages"], "training_minutes": minutes, "counts": counts}


def differences(studies: dict[str, Study]) -> list[dict[str, Any]]:
    """BLEU of the first of two systems above the second, with its p-value, by test set and beam."""
    roles = {system: role for study in studies.values() for system, role in study.systems.items()}
    tests = next(iter(studies.values())).tests
    found = []
    for first, second in combinations(roles, 2):
        if roles[first] != roles[second]:
            continue
        row: dict[str, Any] = {"first": "/".join(first), "second": "/".join(second)}
        for name, beam in ((name, beam) for name in tests for beam in BEAMS):
            outputs = [studies[study].output(system, name, beam) for study, system in (first, second)]
            difference, p = tests[name].difference(*outputs)
            row[f"{name} beam{beam}"] = {"bleu": round(difference, 2), "p": round(p, 4)}
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=there, nargs="+", required=True, help="configurations of the studies")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    studies = {study.study.name: study for study in map(Study, args.config)}
    systems = [studies[study].record(system) for each in studies.values() for study, system in each.systems]
    backward = {name: found for name, study in studies.items() if (found := study.backward())}
    about = {"cpu": describe()["cpu"], "signatures": next(iter(studies.values())).signatures}
    found = {"systems": systems, "backward": backward, "differences": differences(studies)}
    write_json(args.output, about | found)
    for each in systems:
        scores = (f"{one['bleu']:.2f}" for one in each["scores"].values())
        print("|", " | ".join([each["study"], each["system"], each["mixture"], *scores]), "|")


if __name__ == "__main__":
    command(main)
