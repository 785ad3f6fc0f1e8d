"""Draw an epoch: a random sample of the corpora by their weights, in random order.

Every corpus is an endless stream: all its pairs in random order, then all of them in another random order, and so on.
Epoch e takes the e-th section of every stream, as long as the corpus's share of the epoch. Hence no pair repeats before
all others of its corpus have appeared; shares are exact; and every epoch can be drawn by itself, so a killed study
resumes at the epoch it lost. Without weights the shares are the sizes: the first epoch then holds every pair once.
With an augmentation, some of the drawn pairs are then changed (train.augmentation).

Orders are computed (corpora.permutation), and pairs are sorted through buckets on disk, so memory is bounded. Equal
corpora, weights, seed and epoch give equal bytes.
"""

import math
import resource
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.permutation import keys, places
from formats import records
from formats.batches import Batch, batches, indexed
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress
from train.aligned_words import Align
from train.augmentation import augmented, rates
from train.settings import Augmentation

BUCKET_PAIRS = 250_000  # pairs sorted in memory at a time, some 100 MB


class Stream(NamedTuple):
    """A corpus of ``size`` pairs; an epoch takes ``share`` of them."""

    path: Path
    size: int
    share: int

    def slots(self, numbers: NDArray[Any], seed: int, epoch: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield the pairs that the epoch takes, and their slots in the share, for each cycle of the stream it touches.

        numbers: pairs of the corpus, int64 (rows,). Yields indices into ``numbers`` and slots, both int64 (taken,).
        """
        start, end = (epoch - 1) * self.share, epoch * self.share
        for cycle in range(start // self.size, -(-end // self.size)):
            order = keys(seed, records.name(self.path), cycle)
            positions = cycle * self.size + places(numbers, self.size, order)  # in the stream
            rows = np.flatnonzero((positions >= start) & (positions < end))
            yield rows, positions[rows] - start


Draw = tuple[Batch, NDArray[Any], NDArray[Any]]  # records, int64 rows of those that are drawn, their int64 slots


def shares(pairs: int, weights: Sequence[float]) -> list[int]:
    """Split ``pairs`` into whole numbers in proportion to the weights (method of largest remainders)."""
    exact = [pairs * weight / sum(weights) for weight in weights]
    parts = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: pairs - sum(parts)]:
        parts[i] += 1
    return parts


def drawn(streams: list[Stream], seed: int, epoch: int) -> Iterator[Draw]:
    """Read all corpora once, batch by batch, and yield the rows that the epoch draws, with their slots in it."""
    total, offset = sum(stream.share for stream in streams), 0
    order = keys(seed, "epoch", epoch)
    for stream in streams:
        first = 0
        for batch in progress(batches(stream.path), f"draw {records.name(stream.path)}", stream.size, size=len):
            numbers = np.arange(first, first + len(batch))
            first += len(batch)
            for rows, slots in stream.slots(numbers, seed, epoch):
                yield batch, rows, places(offset + slots, total, order)
        offset += stream.share


def sorted_blocks(draws: Iterator[Draw], total: int, folder: Path) -> Iterator[bytes]:
    """Yield the lines of an epoch of ``total`` pairs in the order of their slots, BUCKET_PAIRS at a time.

    ``folder`` temporarily holds all of them, uncompressed.
    """
    buckets = math.ceil(total / BUCKET_PAIRS)
    _fill_buckets(draws, buckets, folder)
    for bucket in range(buckets):
        text, slots = _bucket_files(folder, bucket)
        lines, order = indexed(text.read_bytes()), np.argsort(np.fromfile(slots, np.int64))
        text.unlink()
        yield lines.lines(order)


def _fill_buckets(draws: Iterator[Draw], buckets: int, folder: Path) -> None:
    """Append every line and its slot to the files of the slot's bucket."""
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))  # 1,000 files would do for 125 million pairs
    with ExitStack() as stack:
        files = [
            tuple(stack.enter_context(open(path, "wb")) for path in _bucket_files(folder, bucket))
            for bucket in range(buckets)
        ]
        for batch, rows, slots in draws:
            order = np.argsort(slots // BUCKET_PAIRS, kind="stable")
            numbers, starts = np.unique((slots // BUCKET_PAIRS)[order], return_index=True)
            # not strict: without rows there are no numbers, but np.split still gives one empty part
            for number, part in zip(numbers, np.split(order, starts[1:]), strict=False):
                text, slot_file = files[number]
                text.write(batch.lines(rows[part]))
                slot_file.write(slots[part].tobytes())


def _bucket_files(folder: Path, bucket: int) -> tuple[Path, Path]:
    return folder / f"{bucket}.text", folder / f"{bucket}.slots"


def draw(
    corpora: list[Path], weights: list[float] | None, pairs: int | None, seed: int, epoch: int, output: Path,
    augmentation: Augmentation | None = None, align: Align | None = None, added: bool = False,
) -> None:  # fmt: skip
    """Write an epoch (numbered from 1), and beside it a JSON of what was drawn from each corpus.

    pairs: size of the epoch, by default of all corpora together. weights: one per corpus, by default its size.
    With an augmentation the JSON counts the pairs that each rule changed. align: links words of these, so that copies
    stand inside, too. added: the unchanged pairs stay beside them.
    """
    sizes = [records.count(path) for path in corpora]
    weighted: Sequence[float] = weights or sizes
    total = sum(sizes) if pairs is None else pairs
    streams = [Stream(*row) for row in zip(corpora, sizes, shares(total, weighted), strict=True)]
    folder = output.with_name(f".{output.name}.buckets")
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
    folder.mkdir(parents=True)
    try:
        draws = drawn([stream for stream in streams if stream.share], seed, epoch)
        blocks, changed = sorted_blocks(draws, total, folder), Counter[str]()
        if augmentation:
            blocks = augmented(blocks, augmentation, seed, epoch, changed, align, added)
        lines, checksum = records.write_blocks(output, blocks)
    finally:
        shutil.rmtree(folder)
    mixture = [
        {
            "name": records.name(stream.path),
            "lines": stream.size,
            "weight": weight,
            "drawn": stream.share,
            "share": round(stream.share / total, 6),
            "passes": round(epoch * stream.share / stream.size, 3),  # through the corpus, at the end of this epoch
        }
        for stream, weight in zip(streams, weighted, strict=True)
    ]
    epoch_info = {"lines": lines, "sha256": checksum, "seed": seed, "epoch": epoch}
    counts = {"augmented": {rule: changed[rule] for rule in rates(augmentation)}} if augmentation else {}
    write_json(records.info(output), epoch_info | {"corpora": mixture} | counts)
