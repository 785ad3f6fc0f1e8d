"""Measure all exports of all systems: each engine, type, beam, with and without the vocabulary map.

The systems take turns, search by search, so that a slow minute of the machine falls on all of them alike. Students are
chosen among by their speed; teachers and controls are what they are held against, and are timed once.

The dev set decides which student is the best: students and controls decode it like a further test set, once, and not
with the baseline engine. Its records say so (``split``), as what is chosen by them must not be chosen by a test set.
"""

import argparse
import itertools
from pathlib import Path

from decode import engines, runs
from decode.measure import named_path
from decode.measurements import BASELINE
from decode.runs import Configuration
from decode.translate import positive
from formats.errors import command
from formats.files import write_json


def configurations(
    models: list[Path], beam_sizes: list[int], baseline_beam_sizes: list[int], test_sets: list[str], **shared: object
) -> list[Configuration]:
    """All of the systems of these models, in turn; the baseline engine, slow as it is, only with its own beams.

    test_sets: names of those that a teacher, too, decodes. shared: what all configurations have.
    """
    found = []
    for model in models:
        description = engines.describe(model)
        baseline = description["engine"] == BASELINE
        beams = baseline_beam_sizes if baseline else beam_sizes
        maps = [False, True] if description["vocabulary_map"] else [False]
        role = description.get("role")
        about = {"label": description.get("system", ""), "runs": None if role == "student" else 1}
        about |= {"test_sets": tuple(test_sets)} if role == "teacher" else {}
        found += [
            Configuration(model, beam, with_map, baseline, **about, **shared)
            for beam, with_map in itertools.product(beams, maps)
        ]
    return sorted(found, key=lambda one: (one.model.name, one.beam_size, one.vocabulary_map))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="model folders of all systems")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--baseline-beam-sizes", type=positive, nargs="+", default=[4], help=f"those of {BASELINE}")
    parser.add_argument("--cores", type=int, nargs="+", default=[0], help="cores that a measurement is kept on")
    parser.add_argument("--workers", type=positive, default=1, help="batches decoded at a time, each on one thread")
    parser.add_argument("--batch-tokens", type=positive, default=512)
    parser.add_argument("--dev", type=named_path, help="name=path of the dev set, decoded once")
    runs.options(parser)
    args = parser.parse_args()
    shared = {"batch_tokens": args.batch_tokens, "workers": args.workers, "cores": tuple(args.cores)}
    tests = [name for name, _ in args.test_sets]
    todo = configurations(args.models, args.beam_sizes, args.baseline_beam_sizes, tests, **shared)
    args.test_sets += [args.dev] if args.dev else []
    found = runs.measured(todo, args)
    write_json(args.output, [record | {"split": "test" if record["test_set"] in tests else "dev"} for record in found])


if __name__ == "__main__":
    command(main)
