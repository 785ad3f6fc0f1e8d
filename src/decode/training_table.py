"""How every system was trained: size, throughput, time, data seen, and what averaging checkpoints is worth.

Throughput is the median of what OpenNMT-tf reports, source and target tokens a second; minutes are those spent on
updates, without starts, validations, and the pauses after a kill. Pairs are left out of the epochs where a side has
more than ``max_length`` pieces, or none; trainings of version 0.5 did not count them.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

from tabulate import tabulate

from formats.errors import UserError, command
from formats.files import read_json, write_text


def row(learning: dict[str, Any]) -> dict[str, str]:
    """The cells of a system."""
    rates = [point["tokens_per_second"] for point in learning["training"] if point["tokens_per_second"]]
    scores = [point["bleu"] for point in learning["validation"]]
    return {
        "system": learning["system"],
        "shape": learning["shape"],
        "parameters": f"{learning['parameters']:,}",
        "steps": " + ".join(phases(learning["phases"])),
        "tokens/s": f"{statistics.median(rates):,.0f}" if rates else "",
        "minutes": f"{learning['seconds'] / 60:.0f}",
        "pairs seen": f"{learning['seen']['pairs']:,} ({learning['seen']['passes']:.1f} passes)",
        "left out": "{pairs:,} of {of:,}".format(**learning["left_out"]) if "left_out" in learning else "",
        "dev BLEU, best": f"{max(scores):.2f}" if scores else "",
        **{f"average of {found['checkpoints']}": f"{found['bleu']:.2f}" for found in learning["averages"]},
    }


def phases(found: list[dict[str, int]]) -> list[str]:
    """Their steps, with the batches of an update where there are several."""
    starts = [0, *(phase["end"] for phase in found)]
    return [
        f"{phase['end'] - start:,}" + (f" x{phase['accumulate']}" if phase["accumulate"] > 1 else "")
        for start, phase in zip(starts, found, strict=False)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learning", type=Path, nargs="+", required=True, help="learning.json of each system")
    parser.add_argument("--output", type=Path, required=True, help="Markdown to write")
    args = parser.parse_args()
    rows = []
    for path in args.learning:
        try:
            rows.append(row(read_json(path)))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: not a learning curve ({error!r}); give the learning.json of a system") from None
    write_text(args.output, tabulate(rows, "keys", "pipe", disable_numparse=True) + "\n")


if __name__ == "__main__":
    command(main)
