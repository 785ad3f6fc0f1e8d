"""A page on which the best student of a study translates in the browser, as one file (nmt-frontier web --single).

The best of those that the native engine decodes in int8, by ``findings.best_model``.
"""

import argparse
from pathlib import Path

from findings import best_model, captions, comparison
from formats import measurement
from formats.measurement import Measurement
from nmt_frontier.command import web
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command

ENGINE, TYPE = "native", "int8"


def chosen(records: list[Measurement]) -> Measurement:
    """The record of the student to show. Raises UserError if none can be."""
    able = [one for one in records if (one.decoding.engine, one.decoding.compute_type) == (ENGINE, TYPE)]
    students = [one for one in able if one.system.role in best_model.STUDENTS]
    if not students:
        raise UserError(f"no student was measured in {TYPE} in the native engine, which a page translates with")
    timed = comparison.of_test_set(students, comparison.test_sets(records)[0])
    return best_model.best(students) or max(timed, key=lambda one: one.scores.bleu or 0)


def note(record: Measurement) -> str | None:
    """Its quality, for the page."""
    return f"{record.scores.bleu:.1f} BLEU on {record.test_set}" if record.scores.bleu is not None else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    parser.add_argument("--study", type=there, required=True, help="folder of the study, which has the models")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()
    record = chosen(measurement.read(args.measurements))
    web.write(args.study / captions.model_folder(record), args.output, note(record), single=True)


if __name__ == "__main__":
    command(main)
