"""Measure all exports of all systems: each engine, type and beam, with and without the vocabulary map.

The systems take turns, so that a slow minute of the machine affects all of them alike. Every configuration is timed
once, those whose place on the front further runs may decide (measure.contenders) --runs times; OpenNMT-tf is timed
once. With --sentence-by-sentence the fastest way of each student is also timed on single sentences
(``sentence_seconds``).

All also decode the dev set, on which the best student is chosen and weighed against its teacher: once, and not with the
baseline engine. The field ``split`` of a record is ``test`` or ``dev``.
"""

import argparse
import itertools
import sys
from dataclasses import replace
from operator import attrgetter
from typing import Any

from findings.comparison import BASELINE, compared, configured, number
from formats import measurement
from formats.measurement import Measurement
from measure import protocol
from measure.configuration import Benchmark, Configuration, ModelFolder
from measure.contenders import contenders
from nmt_frontier.command_line import named_path, pick, positive
from nmt_frontier.errors import command


def installed(models: list[ModelFolder]) -> list[ModelFolder]:
    """The folders that an engine on this machine decodes; says which others are left out."""
    absent = [model for model in models if not model.engine.supported()]
    if absent:
        names = " ".join(str(model.path) for model in absent)
        print(f"not measured, their engine is not installed: {names}", file=sys.stderr)
    return [model for model in models if model not in absent]


def configurations(
    models: list[ModelFolder], beam_sizes: list[int], baseline_beam_sizes: list[int], **shared: Any
) -> list[Configuration]:
    """Configurations of all models, so that systems take turns. shared: fields of all."""
    todo = []
    for model in models:
        description = model.description
        baseline = description.engine == BASELINE
        beams = baseline_beam_sizes if baseline else beam_sizes
        maps = [False, True] if description.vocabulary_map else [False]
        own = Configuration(
            model,
            baseline=baseline,
            label=description.system or "",
            runs=1 if baseline else None,
            **shared,
        )
        ways = itertools.product(beams, maps)
        todo += [replace(own, beam_size=beam, vocabulary_map=with_map) for beam, with_map in ways]
    return sorted(todo, key=attrgetter("model.path.name", "beam_size", "vocabulary_map"))


def alone(todo: list[Configuration], test_set: str) -> list[Configuration]:
    """The fastest way of each compared system (int8, greedy, with its map if any), sentence by sentence."""
    described = [(configuration, configuration.model.description) for configuration in todo]
    role = compared(about.role for _, about in described)
    return [
        replace(configuration, batch_sentences=1, workers=1, runs=1, test_sets=(test_set,)).but(without={"overlap"})
        for configuration, about in described
        if (about.role, about.quantization) == (role, "int8") and not configuration.baseline
        if configuration.beam_size == 1 and configuration.vocabulary_map == bool(about.vocabulary_map)
    ]


def joined(records: list[Measurement]) -> list[Measurement]:
    """The records of batches, with ``sentence_seconds`` where the same way decoded single sentences undisturbed."""
    single = (record for record in records if record.decoding.batch_sentences == 1 and not record.noisy)
    seconds = {way(record): number(record, "text_seconds") / number(record, "sentences") for record in single}
    batches = (record for record in records if record.decoding.batch_sentences is None)
    return [
        replace(record, timing=replace(record.timing, sentence_seconds=seconds.get(way(record)))) for record in batches
    ]


def way(record: Measurement) -> tuple[object, ...]:
    return record.test_set, *configured(record).values()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=ModelFolder.read, nargs="+", required=True, help="folders of all systems")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--baseline-beam-sizes", type=positive, nargs="+", default=[4], help=f"beams of {BASELINE}")
    parser.add_argument("--cores", type=int, nargs="+", default=[0], help="cores to pin measurements to")
    parser.add_argument("--workers", type=positive, default=1, help="batches decoded at a time, each on one thread")
    parser.add_argument("--batch-tokens", type=positive, default=512)
    parser.add_argument("--dev", type=named_path, help="name=path of the dev set, decoded once")
    parser.add_argument("--sentence-by-sentence", action="store_true", help="also time the fastest ways this way")
    protocol.options(parser)
    args = parser.parse_args()
    same = {"batch_tokens": args.batch_tokens, "workers": args.workers, "cores": tuple(args.cores)}
    tests = [name for name, _ in args.test_sets]
    todo = configurations(installed(args.models), args.beam_sizes, args.baseline_beam_sizes, **same)
    args.test_sets += [args.dev] if args.dev else []
    single = alone(todo, tests[0]) if args.sentence_by_sentence else []
    shared = pick(Benchmark, args)
    records = joined(protocol.measured([*todo, *single], shared, lambda runs: contenders(runs, shared)))
    split = (replace(record, split="test" if record.test_set in tests else "dev") for record in records)
    measurement.write(args.output, split)


if __name__ == "__main__":
    command(main)
