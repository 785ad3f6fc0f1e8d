"""Give measurements the USD of a machine that a person names: ``python -m report.price --machine m7a.large``.

For records of a study that named no machine. All but the USD and the source of the price stays as it is; tables,
pictures and the interactive front of the new file have USD. A record says that the machine is a person's word where its
CPU does not name its model. Other CPUs are refused.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from findings.cost import Price, price_argument, usd
from formats import measurement
from formats.measurement import Measurement
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command


def priced(record: Measurement, price: Price) -> Measurement:
    """The record with USD. Raises UserError if its CPU cannot be that of the machine."""
    if (core_seconds := record.core_seconds_per_million_words) is None:
        return record
    found, about = usd(core_seconds, price, record.conditions.cpu or "unknown", record.decoding.isa or "")
    if found is None:
        raise UserError(f"{record.system.name} on {record.test_set}: no price: {about}")
    return replace(record, usd_per_million_words=found, conditions=replace(record.conditions, price=about))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    named = "its name in src/findings/prices.yaml, or an entry as JSON"
    parser.add_argument("--machine", type=price_argument, required=True, help=named)
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    records = measurement.read(args.measurements)
    measurement.write(args.output, [priced(record, args.machine) for record in records])


if __name__ == "__main__":
    command(main)
