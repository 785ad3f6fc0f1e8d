"""Draw an epoch: a random sample of so many pairs, with the weights of the corpora, in random order.

Every corpus is an endless stream: all its pairs in random order, then all of them in another random order, and so on.
Epoch e takes the e-th piece of every stream, as long as the corpus's share. So within an epoch and between epochs no
pair comes again before all others of its corpus have come; shares are exact; and every epoch can be drawn by itself,
which is what a killed run resumes at. The orders are computed (distill.permutation), and pairs go to their places
through buckets on disk, so memory is bounded. Equal corpora, weights, seed and epoch give equal bytes.

Without weights a corpus has the share of its size: the first epoch is then every pair of every corpus once.
"""

import argparse
import math
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from distill.permutation import keys, places
from formats import records
from formats.batches import Batch, batches, indexed
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

BUCKET_PAIRS = 250_000  # sorted in memory, some 100 MB


class Stream(NamedTuple):
    """A corpus of ``size`` pairs of which an epoch takes ``share``."""

    path: Path
    size: int
    share: int

    def places(self, numbers: np.ndarray, seed: int, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each pass through the corpus that the epoch touches: rows of ``numbers``, their places in the share."""
        start, end = (epoch - 1) * self.share, epoch * self.share
        for number in range(start // self.size, -(-end // self.size)):
            order = keys(seed, records.name(self.path), number)
            position = number * self.size + places(numbers, self.size, order)
            rows = np.flatnonzero((position >= start) & (position < end))
            yield rows, position[rows] - start


def shares(pairs: int, weights: list[float]) -> list[int]:
    """Whole numbers in the proportion of the weights that sum up to ``pairs`` (largest remainders)."""
    exact = [pairs * weight / sum(weights) for weight in weights]
    parts = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: pairs - sum(parts)]:
        parts[i] += 1
    return parts


def drawn(streams: list[Stream], seed: int, epoch: int) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
    """Batches of all corpora with the rows that are drawn and their places in the epoch (both int64)."""
    total, before = sum(stream.share for stream in streams), 0
    order = keys(seed, "epoch", epoch)
    for stream in streams:
        first = 0
        for batch in progress(batches(stream.path), f"draw {records.name(stream.path)}", stream.size, size=len):
            numbers = np.arange(first, first + len(batch))
            first += len(batch)
            for rows, position in stream.places(numbers, seed, epoch):
                yield batch, rows, places(before + position, total, order)
        before += stream.share


def sorted_blocks(pieces: Iterator[tuple[Batch, np.ndarray, np.ndarray]], total: int, folder: Path) -> Iterator[bytes]:
    """The lines at their places, as blocks; ``folder`` takes them all once more, uncompressed."""
    count = math.ceil(total / BUCKET_PAIRS)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # the usual thousand files hold 125 million pairs only
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        texts = [stack.enter_context(open(folder / f"{number}.text", "wb")) for number in range(count)]
        orders = [stack.enter_context(open(folder / f"{number}.places", "wb")) for number in range(count)]
        for batch, rows, position in pieces:
            buckets = position // BUCKET_PAIRS
            order = np.argsort(buckets, kind="stable")
            numbers, starts = np.unique(buckets[order], return_index=True)
            for number, chosen in zip(numbers, np.split(order, starts[1:]), strict=False):  # no rows have no number
                texts[number].write(batch.lines(rows[chosen]))
                orders[number].write(position[chosen].tobytes())
    for number in range(count):
        text, order = (folder / f"{number}.text", folder / f"{number}.places")
        content, position = text.read_bytes(), np.fromfile(order, np.int64)
        text.unlink()
        yield indexed(content).lines(np.argsort(position))


def draw(
    corpora: list[Path], weights: list[float] | None, pairs: int | None, seed: int, epoch: int, output: Path
) -> None:
    """Write the epoch and the JSON beside it: what was drawn of which corpus.

    Without a number of ``pairs`` it is as large as the corpora together; without weights these are the sizes.
    """
    sizes = [records.count(path) for path in corpora]
    weights = weights or sizes
    total = sum(sizes) if pairs is None else pairs
    streams = [Stream(*row) for row in zip(corpora, sizes, shares(total, weights), strict=True)]
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as folder:
        pieces = drawn([stream for stream in streams if stream.share], seed, epoch)
        lines, checksum = records.write_blocks(output, sorted_blocks(pieces, total, Path(folder)))
    mixture = [
        {
            "name": records.name(stream.path),
            "lines": stream.size,
            "weight": weight,
            "drawn": stream.share,
            "share": round(stream.share / total, 6),
            "passes": round(epoch * stream.share / stream.size, 3),  # through the corpus, at the end of this epoch
        }
        for stream, weight in zip(streams, weights, strict=True)
    ]
    about = {"lines": lines, "sha256": checksum, "seed": seed, "epoch": epoch}
    write_json(records.info(output), about | {"corpora": mixture})


def _check(corpora: list[Path], weights: list[float] | None, pairs: int | None, epoch: int) -> None:
    weights = weights or [1] * len(corpora)
    if len(weights) != len(corpora):
        raise UserError(f"{len(corpora)} corpora need as many weights, not {len(weights)}")
    for path, weight in zip(corpora, weights, strict=True):
        if not (weight > 0 and math.isfinite(weight)):
            raise UserError(f"{path}: weight {weight:g} is not above zero; leave the corpus out instead")
        if corpora.count(path) > 1:
            raise UserError(f"{path}: is there twice; give it one weight")
    if pairs is not None and pairs < 1:
        raise UserError(f"--pairs {pairs}: needs at least one")
    if epoch < 1:
        raise UserError(f"--epoch {epoch}: epochs are counted from 1")
    firsts = [next(records.read(path), None) for path in corpora]
    if None in firsts:
        raise UserError(f"{corpora[firsts.index(None)]}: there is nothing to draw from an empty corpus")
    if len({len(record) for record in firsts}) > 1:
        raise UserError(f"pairs and monolingual text do not mix: {' '.join(map(str, corpora))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, nargs="+", required=True, help="records, X.tsv.zst")
    parser.add_argument(
        "--weights", type=float, nargs="+", help="one a corpus, relative to each other (default: their sizes)"
    )
    parser.add_argument("--pairs", type=int, help="of an epoch (default: those of the corpora together)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--epoch", type=int, default=1, help="from 1 (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, required=True, help="records; what was drawn goes to the JSON beside them"
    )
    args = parser.parse_args()
    _check(args.corpora, args.weights, args.pairs, args.epoch)
    draw(args.corpora, args.weights, args.pairs, args.seed, args.epoch, args.output)


if __name__ == "__main__":
    command(main)
