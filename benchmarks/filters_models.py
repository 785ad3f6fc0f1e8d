"""What models learn from what filters leave: one JSON file for each finished model of configs/filters-models.yaml.

Run it beside the study, as often as models end: it writes a file for each that has ended here, and leaves the others.
Each has the pairs that the filter left, and of every test set BLEU, chrF and the paired tests against the models of the
same seed, as far as they have ended, that have learned from the clean text, from its good pairs alone, as a perfect
filter leaves, and from the noisy text. Then it prints the means over the seeds.
"""

import argparse
import statistics
from itertools import groupby
from pathlib import Path
from typing import Any

from finished import Outputs

from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.machine import describe
from study import config
from study.plan import StudyPlan

COMPARED = ("clean", "good", "noisy")  # texts whose models all others are tested against
BEAM = 1


class Models(Outputs):
    """The finished models of a study."""

    def alike(self, system: str, text: str) -> str:
        """The model of the same seed that has learned from this text."""
        seed = self.study.systems.trained[system].seed
        trained = self.study.systems.trained.items()
        return next(name for name, other in trained if (other.mixture, other.seed) == (text, seed))

    def scores(self, system: str, test_set: str) -> dict[str, Any]:
        test = self.tests[test_set]
        found, _ = test.score(self.output(system, test_set, BEAM))
        row: dict[str, Any] = {"bleu": round(found["bleu"], 2), "chrf": round(found["chrf"], 2)}
        for text in COMPARED:
            if (other := self.alike(system, text)) != system and self.finished(other):
                difference, p = test.difference(self.output(system, test_set, BEAM), self.output(other, test_set, BEAM))
                row |= {f"above_{text}": round(difference, 2), f"p_{text}": round(p, 4)}
        return row | {"signature": found["bleu_signature"]}

    def record(self, system: str) -> dict[str, Any]:
        trained = self.study.systems.trained[system]
        learned = self.learned(system)
        (corpus,) = self.study.mixtures.weights(trained.mixture)
        return {
            "system": system,
            "text": trained.mixture,
            "seed": trained.seed,
            "pairs": records.count(self.study.paths.clean(corpus)),
            "updates": learned["phases"][-1]["end"],
            "passes": learned["seen"]["passes"],
            "training_minutes": self.training_minutes(system),
            "cpu": describe()["cpu"],
            "scores": {name: self.scores(system, name) for name in self.sets},
        }

    def keep(self, folder: Path) -> None:
        """Write the record of each model that is finished."""
        for system in filter(self.finished, self.study.systems.trained):
            write_json(folder / f"{system}.json", self.record(system))


def table(folder: Path) -> None:
    """Print a line for each text: pairs, seeds; of each test set the means of BLEU, and how far it is above clean and
    good."""
    found = sorted((read_json(path) for path in folder.glob("*.json")), key=lambda each: each["text"])
    for text, rows in groupby(found, key=lambda each: each["text"]):
        some = [*rows]
        cells = [text, f"{some[0]['pairs']:,}", str(len(some))]
        for name in some[0]["scores"]:
            for field in ("bleu", "above_clean", "above_good"):
                values = [value for each in some if (value := each["scores"][name].get(field)) is not None]
                cells.append(f"{statistics.mean(values):.2f}" if values else "—")
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=there, help="configuration of the study, whose results lie in this folder")
    parser.add_argument("--output", type=Path, required=True, help="folder of the records, one file a model")
    args = parser.parse_args()
    if args.config:
        Models(StudyPlan(config.read(args.config)), (BEAM,)).keep(args.output)
    table(args.output)


if __name__ == "__main__":
    command(main)
