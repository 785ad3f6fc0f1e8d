"""Write the page and the JSON schema of measurements (formats.measurement), which docs/ has."""

import argparse
from functools import cache
from pathlib import Path

from formats import schema_from_dataclass
from formats.measurement import columns
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text

PAGE, SCHEMA = "measurements.md", "measurement.schema.json"
PAGE_TEXT = """# Measurement fields

A measurement is one flat JSON record; `results/<study>/measurements.json` is a list of them, and `measurements.csv` in
the report is the same as a table. The tables and plots of systems are made from nothing else. This page and the
[JSON schema](measurement.schema.json) of the list are made from the type
[`formats.measurement.Measurement`](../src/formats/measurement.py) by `python -m formats.measurement_page --docs docs`.

Times and rates are medians over `runs`, with `_min` and `_max` beside each; `_runs` has the values in the order of the
runs, so that two records can be compared run by run. Seconds are wall time unless the name has `cpu`; shares are from
0 to 1. A token is a SentencePiece piece without the end token, a word a whitespace token of the source. `signature`
names all that must be equal for two speeds to be comparable.

Fields without a default are in every record. Records of older versions lack some of the others, which are then read
as their default.

{table}
"""


@cache
def schema() -> schema_from_dataclass.Schema:
    """The JSON schema of a list of measurements."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Measurements of a study",
        "type": "array",
        "minItems": 1,
        "items": schema_from_dataclass.schema(columns()),
    }


def page() -> str:
    """``docs/measurements.md``: all fields with type, unit and default."""
    return PAGE_TEXT.format(table=schema_from_dataclass.table(columns()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, required=True, help=f"folder to write {PAGE} and {SCHEMA} to")
    args = parser.parse_args()
    write_text(args.docs / PAGE, page())
    write_json(args.docs / SCHEMA, schema())


if __name__ == "__main__":
    command(main)
