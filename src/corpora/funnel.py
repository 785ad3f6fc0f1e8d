"""Apply rules to batches of records and count what each drops."""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.rules import Rows, Rule
from corpora.settings import SIDES
from corpora.text_features import Measured
from formats import records
from formats.batches import Batch
from formats.counts import Counts, Fetched, Shard
from formats.records import Record
from nmt_frontier.errors import UserError
from nmt_frontier.files import StrPath

SAMPLES = 20  # dropped records kept for each rule, for people to look at
BIN_WORDS = 5  # width of a bin in the histograms of lengths
BINS = 41  # the last one holds everything longer
KEPT = -1
Shown = Callable[[Batch, int], Record]


class Funnel:
    """Rules in their order; a record counts for the first one that drops it.

    The samples of a rule are the records with the smallest hashes, a random choice independent of order and shards.
    sides: those of the columns. shown: of a row of a batch, in a sample.
    """

    def __init__(self, rules: dict[str, Rule], sides: Sequence[str] = SIDES, shown: Shown = Batch.record):
        self._rules, self._sides, self._shown = rules, sides, shown
        self._start = time.monotonic()
        self.reasons = list(rules)
        self.lines_in = 0
        self.dropped = dict.fromkeys(rules, 0)
        self._samples: dict[str, list[tuple[int, Record]]] = {reason: [] for reason in rules}
        self._lengths: dict[str, NDArray[np.int64]] = {}

    def sort_out(self, measured: Measured) -> NDArray[np.int8]:
        """The number of each record's reason to be dropped, or KEPT: int8[records]."""
        verdict = np.full(len(measured.batch), KEPT, np.int8)
        for number, (reason, rule) in enumerate(self._rules.items()):
            rows = np.flatnonzero(verdict == KEPT)
            dropped = rows[rule(measured, rows)]
            verdict[dropped] = number
            self.dropped[reason] += len(dropped)
            self._sample(reason, measured, dropped)
        self.lines_in += len(verdict)
        self._count_lengths(measured, verdict == KEPT)
        return verdict

    def write_sorted(self, measured: Measured, kept: records.Writer, dropped: records.Writer | None) -> Rows:
        """Write each record to ``kept`` or, reason first, to ``dropped``, if given. Returns the rows that were kept."""
        batch, verdict = measured.batch, self.sort_out(measured)
        rows = np.flatnonzero(verdict == KEPT)
        kept.write(batch.lines(rows))
        if dropped:
            refused = ((self.reasons[verdict[row]], *batch.record(row)) for row in np.flatnonzero(verdict != KEPT))
            dropped.write(b"".join(map(records.line, refused)))
        return rows

    def _sample(self, reason: str, measured: Measured, rows: Rows) -> None:
        samples = self._samples[reason]
        hashes = measured.hash[rows]
        if len(samples) == SAMPLES:
            below = hashes < samples[-1][0]
            rows, hashes = rows[below], hashes[below]
        for place in np.unique(hashes, return_index=True)[1][:SAMPLES]:
            samples.append((int(hashes[place]), self._shown(measured.batch, int(rows[place]))))
        self._samples[reason] = distinct(samples)

    def _count_lengths(self, measured: Measured, kept: NDArray[np.bool_]) -> None:
        for name, side in zip(self._sides, measured.sides, strict=False):
            bins = np.minimum(side.words // BIN_WORDS, BINS - 1)
            lengths = self._lengths.setdefault(name, np.zeros((2, BINS), np.int64))
            lengths += np.bincount(bins, minlength=BINS), np.bincount(bins[kept], minlength=BINS)

    def counts(self) -> Shard:
        """The counts for the JSON beside a shard."""
        return {
            "lines_in": self.lines_in,
            "lines_out": self.lines_in - sum(self.dropped.values()),
            "dropped": self.dropped,
            "samples": self._samples,
            "lengths": {
                side: {"in": before.tolist(), "out": after.tolist()} for side, (before, after) in self._lengths.items()
            },
            "seconds": round(time.monotonic() - self._start, 3),
        }


def distinct(samples: Iterable[tuple[int, Record]]) -> list[tuple[int, Record]]:
    """The samples with the smallest hashes, each record once."""
    return sorted({number: record for number, record in samples}.items())[:SAMPLES]


def merged(counts: list[Shard]) -> Shard:
    """The counts of a corpus from those of its shards; shards that were not cleaned count only lines."""
    reasons = dict.fromkeys(reason for count in counts for reason in count.get("dropped", {}))
    samples = {reason: [sample for count in counts for sample in count["samples"][reason]] for reason in reasons}
    lengths = [count["lengths"] for count in counts if count.get("lengths")]
    return {
        "lines_in": sum(count["lines_in"] for count in counts),
        "lines_out": sum(count["lines_out"] for count in counts),
        "dropped": {reason: sum(count["dropped"][reason] for count in counts) for reason in reasons},
        "samples": {reason: distinct(candidates) for reason, candidates in samples.items()},
        "lengths": {
            side: {
                "in": np.sum([of_shard[side]["in"] for of_shard in lengths], 0).tolist(),
                "out": np.sum([of_shard[side]["out"] for of_shard in lengths], 0).tolist(),
            }
            for side in (lengths[0] if lengths else ())
        },
        "repaired": {name: sum(count["repaired"][name] for count in counts) for name in counts[0].get("repaired", {})},
        "sums": {key: sum(count["sums"][key] for count in counts) for key in counts[0].get("sums", {})},
        "seconds": round(sum(count.get("seconds", 0) for count in counts), 3),
    }


def chained(before: Shard, after: Shard) -> Shard:
    """The counts of two consecutive stages. Raises UserError if the second has not read all that the first kept."""
    if before["lines_out"] != after["lines_in"]:
        raise UserError(
            f"the shards hold {after['lines_in']:,} lines, their JSON says {before['lines_out']:,}; "
            "delete the shards, run again"
        )
    return {
        "lines_in": before["lines_in"],
        "lines_out": after["lines_out"],
        "dropped": before["dropped"] | after["dropped"],
        "samples": before["samples"] | after["samples"],
        "lengths": {
            side: {"in": before["lengths"].get(side, lengths)["in"], "out": lengths["out"]}
            for side, lengths in after["lengths"].items()
        },
        "repaired": before["repaired"],
        "sums": before["sums"],
        "seconds": round(before["seconds"] + after["seconds"], 3),
    }


def require_lines(path: StrPath, counts: Shard | Counts) -> None:
    """Raise UserError if cleaning has left no line."""
    if not counts["lines_out"]:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in counts["dropped"].items() if count)
        raise UserError(f"{path}: no line is left of {counts['lines_in']:,}; dropped {dropped or 'none'}")


def verify_written(path: Path, count: int, sha256: str) -> None:
    """Read a file again; if its lines or checksum are wrong, delete it and raise UserError."""
    lines, digest = 0, hashlib.sha256()
    for text in records.frames(path):
        lines += text.count(b"\n")
        digest.update(text)
    if (lines, digest.hexdigest()) != (count, sha256):
        path.unlink()
        raise UserError(f"{path}: was not written as it was meant to be and is deleted; check the disk, run again")


def rejected_file(path: Path) -> Path:
    return path.with_name(f"{records.name(path)}.rejected{records.SUFFIX}")


def with_reading(about: Fetched, counts: Shard) -> Counts:
    """The counts and the samples, without their hashes, with those of lines that corpora.fetch has dropped."""
    unread = about.get("dropped", {})
    samples = {reason: [record for _, record in of_reason] for reason, of_reason in counts.get("samples", {}).items()}
    return {
        **counts,
        "lines_in": counts["lines_in"] + sum(unread.values()),
        "dropped": unread | counts["dropped"],
        "samples": about.get("samples", {}) | samples,
    }
