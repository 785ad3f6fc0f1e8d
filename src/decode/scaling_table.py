"""Workers against threads (decode.scaling) as a table."""

import argparse
from pathlib import Path

from decode import speed
from decode.measurements import Record, mark, once, sizes, times_faster
from formats.errors import command
from formats.files import read_json, write_text

NOTE = """
Workers decode a batch each on one thread; threads share the work of one batch. The weights are in memory once. ×:
times faster than one worker with one thread, run by run, the median with the lowest and the highest, from text to
text without loading. Memory is the peak of the whole process. Every row was measured with batches of the same sizes,
and has the one that was fastest by its median, the row of one core, too: {tried}.
{conditions}
"""


def row(record: Record, records: list[Record]) -> dict[str, str]:
    one = records[0]
    memory, base = record["peak_rss_bytes"] / 1e6, one["peak_rss_bytes"] / 1e6
    return {
        "cores": f"{len(record['cores'])}",
        "workers": f"{record['workers']}",
        "threads": f"{record['threads']}",
        "batch, tokens": f"{record['batch_tokens']:,}",
        "candidates": speed.candidates(record),
        "target tokens/s": f"{speed.tokens_per_second(record):,.0f}{mark(record)}{once(record, records)}",
        "×": f"{times_faster(record, one):.2f}{mark(record, one)}",
        "CPU s": f"{record['cpu_seconds']:.1f}",
        "memory, MB": f"{memory:,.0f}",
        "more memory, MB": f"{memory - base:+,.0f}",
    }


def markdown(records: list[Record]) -> str:
    rows = [row(record, records) for record in records]
    tried = "; ".join(f"{record['workers']} × {record['threads']}: {sizes(record)}" for record in records)
    note = NOTE.format(
        tried=f"workers × threads: target tokens/s (tokens of a batch); {tried}", conditions=speed.conditions(records)
    )
    return "\n".join([f"# Workers and threads: {speed.title(records[0])}\n", speed.layout(rows, left=0), note])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="of decode.scaling, with scores")
    parser.add_argument("--output", type=Path, required=True, help="Markdown to write")
    args = parser.parse_args()
    write_text(args.output, markdown(read_json(args.records)))


if __name__ == "__main__":
    command(main)
