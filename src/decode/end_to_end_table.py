"""The systems of decode.end_to_end as a table, beside those of the paper."""

import argparse
from pathlib import Path
from typing import NamedTuple

from decode import speed
from decode.measurements import BASELINE, Record, Spread, mark, once, times_faster
from formats.errors import command
from formats.files import read_json, write_text

PAPER = {  # table 6 of WNGT 2020, by shape: seconds for newstest2019 on one core, OpenNMT-tf and optimised
    "6:6 d512 ff2048 h8": (522.1, 39.5),
    "4:3 d256 ff2048 h8 shared": (251.5, 11.2),
    "6:3 d256 ff1024 h8 shared": (238.7, 10.1),
    "4:3 d256 ff1024 h8 shared": (238.0, 8.8),
}
NOTE = """
OpenNMT-tf with beam 4 against CTranslate2 in 8 bits with the vocabulary map, greedy, on the same cores. Seconds for
the whole test set from text to text, loading of the engine and the model included, the median with the fastest and
the slowest run; not included is a warm-up of a few sentences, in which TensorFlow builds its graph. ×: times
faster, run by run. "paper": on one core, in table 6 of WNGT 2020. "told": the instructions that CTranslate2 is told to
use; OpenNMT-tf always chooses the widest itself. "candidates": pieces that the output layer scores with the map, the
mean of the batches. {conditions}
"""


class Pair(NamedTuple):
    """One system on the same cores in both ways."""

    baseline: Record
    optimized: Record

    @property
    def times_faster(self) -> Spread:
        return times_faster(self.optimized, self.baseline, "total_seconds")


def pairs(records: list[Record]) -> list[Pair]:
    """In the order of the records; each system on one core, then on all of them."""
    found: dict[tuple[str, int], dict[bool, Record]] = {}
    for record in records:
        if record["engine"] != BASELINE and not record["vocabulary_map"]:  # a search that BLEU is lost against
            continue
        found.setdefault((record["system"], len(record["cores"])), {})[record["engine"] == BASELINE] = record
    return [Pair(both[True], both[False]) for both in found.values()]


def seconds(record: Record, records: list[Record]) -> str:
    spread = Spread(*(record[f"total_seconds{end}"] for end in ("", "_min", "_max")))
    return f"{spread:,.1f}{mark(record)}{once(record, records)}"


def row(pair: Pair, records: list[Record]) -> dict[str, str]:
    baseline, optimized = pair
    paper = PAPER.get(optimized["shape"]) if len(optimized["cores"]) == 1 else None
    return {
        "system": optimized["system"],
        "shape": optimized["shape"],
        "parameters": f"{optimized['parameters']:,}",
        "cores": f"{len(optimized['cores'])}",
        "OpenNMT-tf, s": seconds(baseline, records),
        "optimised, s": seconds(optimized, records),
        "×": f"{pair.times_faster:.1f}{mark(baseline, optimized)}",
        "paper": speed.paper(optimized, f"{paper[0] / paper[1]:.1f}" if paper else ""),
        "BLEU OpenNMT-tf": speed.bleu(baseline),
        "loss OpenNMT-tf": speed.loss(baseline, records),
        "BLEU optimised": speed.bleu(optimized),
        "loss optimised": speed.loss(optimized, records),
        "told": optimized["forced_isa"] or "",
        "batch, tokens": f"{baseline['batch_tokens']:,} → {optimized['batch_tokens']:,}",
        "candidates": speed.candidates(optimized),
        "memory, MB": f"{baseline['peak_rss_bytes'] / 1e6:,.0f} → {optimized['peak_rss_bytes'] / 1e6:,.0f}",
        "on disk, MB": f"{baseline['model_bytes'] / 1e6:,.1f} → {optimized['model_bytes'] / 1e6:,.1f}",
    }


def markdown(records: list[Record]) -> str:
    rows = [row(pair, records) for pair in pairs(records)]
    return "\n".join(
        [
            "# The toolkit against the optimised configuration\n",
            speed.layout(rows, left=2),
            NOTE.format(conditions=speed.conditions(records)),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="of decode.end_to_end, with scores")
    parser.add_argument("--output", type=Path, required=True, help="Markdown to write")
    args = parser.parse_args()
    write_text(args.output, markdown(read_json(args.records)))


if __name__ == "__main__":
    command(main)
