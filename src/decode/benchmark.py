"""Measure all exports of one system: each engine, type, beam, with and without its vocabulary map.

The dev set is decoded like a further test set: once, and not by the baseline engine. Its records say so (``split``), as
what is chosen by them must not be chosen by a test set.
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
    models: list[Path], beam_sizes: list[int], baseline_beam_sizes: list[int], **shared: object
) -> list[Configuration]:
    """All of one system; the baseline engine, slow as it is, only with its own beams. shared: what all have."""
    found = []
    for model in models:
        description = engines.describe(model)
        baseline = description["engine"] == BASELINE
        beams = baseline_beam_sizes if baseline else beam_sizes
        maps = [False, True] if description["vocabulary_map"] else [False]
        found += [
            Configuration(model, beam, with_map, baseline, **shared)
            for beam, with_map in itertools.product(beams, maps)
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="model folders of one system")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--baseline-beam-sizes", type=positive, nargs="+", default=[4], help=f"those of {BASELINE}")
    parser.add_argument("--cores", type=int, nargs="+", default=[0], help="cores that a measurement is kept on")
    parser.add_argument("--workers", type=positive, default=1, help="batches decoded at a time, each on one thread")
    parser.add_argument("--batch-tokens", type=positive, default=512)
    parser.add_argument("--dev", type=named_path, help="name=path of the dev set, decoded once")
    runs.options(parser)
    args = parser.parse_args()
    shared = {"batch_tokens": args.batch_tokens, "workers": args.workers, "cores": tuple(args.cores)}
    todo = configurations(args.models, args.beam_sizes, args.baseline_beam_sizes, **shared)
    args.test_sets += [args.dev] if args.dev else []
    dev = args.dev and args.dev[0]
    found = runs.measured(todo, args)
    write_json(args.output, [record | {"split": "dev" if record["test_set"] == dev else "test"} for record in found])


if __name__ == "__main__":
    command(main)
