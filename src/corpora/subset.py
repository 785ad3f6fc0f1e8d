"""Draw a uniform random subset of a corpus, of an exact size, in the order of the corpus.

Record i is taken if a permutation of all record numbers puts it among the first N; the others count as not_sampled.
The text is streamed, and equal seeds give equal bytes.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpora.permutation import keys, places
from formats import records
from formats.batches import batches
from formats.counts import NOT_SAMPLED, fetched
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress


def drawn(path: Path, total: int, sample: int, seed: int) -> Iterator[bytes]:
    """``sample`` of the ``total`` records as blocks of TSV. Raises UserError if there are not so many."""
    order, first = keys(seed, "subset", records.name(path)), 0
    for batch in progress(batches(path), f"subset {records.name(path)}", total, size=len):
        numbers = np.arange(first, first + len(batch))
        first += len(batch)
        if first > total:
            break
        yield batch.lines(np.flatnonzero(places(numbers, total, order) < sample))
    if first != total:
        raise UserError(f"{path}: does not have the {total:,} lines that {records.info(path).name} says; run again")


def subset(source: Path, sample: int, seed: int, output: Path) -> None:
    """Write the subset and its JSON, which extends the corpus's. Raises UserError if the corpus is smaller."""
    about = fetched(records.info(source))
    total = about["lines"]
    if sample > total:
        raise UserError(f"{records.name(source)}: sample: {sample:,} lines of {total:,}; take fewer, or all with null")
    lines, checksum = records.write_blocks(output, drawn(source, total, sample, seed))
    dropped = about["dropped"] | {NOT_SAMPLED: total - sample}
    write_json(records.info(output), {**about, "lines": lines, "sha256": checksum, "dropped": dropped, "seed": seed})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records, X.tsv.zst, with X.json of corpora.fetch")
    parser.add_argument("--sample", type=positive, required=True, help="number of records to draw")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="records; their JSON is written beside them")
    args = parser.parse_args()
    subset(args.input, args.sample, args.seed, args.output)


if __name__ == "__main__":
    command(main)
