"""The baseline of the speed tables where nothing is trained: it runs once, for at the papers' sizes it takes minutes.

A ratio then holds every run of the others against that one, and the tables say so. A baseline with trained weights
runs as often as all others, and in turn with them.
"""

import argparse

from decode import measurements, runs, speed
from decode.measurements import Record, Spread
from decode.runs import Configuration

NOTE = "OpenNMT-tf with untrained weights ran once, before the others, and each of their runs is held against that one."


def measured(todo: list[Configuration], args: argparse.Namespace) -> dict[Configuration, Record]:
    """The record of each configuration on the first test set; made as by runs.measured."""
    once = [configuration for configuration in todo if configuration.baseline and configuration.steps]
    others = [configuration for configuration in todo if configuration not in once]
    found: dict[Configuration, Record] = {}
    for some, number in ((once, 1), (others, args.runs)):
        if not some:
            continue
        records = runs.measured(some, argparse.Namespace(**{**vars(args), "runs": number}))
        timed = [record for record in records if record["test_set"] == args.test_sets[0][0]]
        found |= zip(some, timed, strict=True)
    return {configuration: found[configuration] for configuration in todo}


def times_faster(record: Record, other: Record, seconds: str = "text_seconds") -> Spread:
    """As measurements.times_faster, run by run; the only run of the other one stands for all."""
    runs_of_other = other[f"{seconds}_runs"]
    if len(runs_of_other) == 1:
        other = other | {f"{seconds}_runs": runs_of_other * len(record[f"{seconds}_runs"])}
    return measurements.times_faster(record, other, seconds)


def conditions(records: list[Record]) -> str:
    """As speed.conditions, with the runs that most have; what ran once is told."""
    most = max(record["runs"] for record in records)
    text = speed.conditions(sorted(records, key=lambda record: record["runs"] < most))
    return f"{text} {NOTE}" if any(record["runs"] < most for record in records) else text
