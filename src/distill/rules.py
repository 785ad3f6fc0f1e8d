"""Cleaning rules: each says of one record whether it has to go. And the funnel that applies and counts them."""

import hashlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any

import regex

from formats import records
from formats.errors import UserError
from formats.records import Record

Rule = Callable[[Record], bool]

SAMPLES = 20  # records kept of what a rule drops, for people to look at
_NOT_A_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def empty(record: Record) -> bool:
    return not all(record)


def too_long(maximum: int) -> Rule:
    """``maximum`` in whitespace tokens, either side."""
    return lambda record: any(len(side.split()) > maximum for side in record)


def length_ratio(maximum: float) -> Rule:
    """``maximum`` of the longer side to the shorter one, in characters; for records without empty sides."""

    def rule(record: Record) -> bool:
        lengths = [len(side) for side in record]
        return max(lengths) > maximum * min(lengths)

    return rule


def folded(sentence: str) -> str:
    """What is left of a sentence without case, spaces and punctuation; texts that differ in these only are one text."""
    return _NOT_A_WORD.sub("", records.sentence(records.sentence(sentence).casefold())) or sentence


def held_out(corpora: Iterable[str | PathLike]) -> Rule:
    """Either side of a record is, folded, either side of a record of these corpora, which are held in memory."""
    known = {folded(side) for path in corpora for record in records.read(path) for side in record}
    return lambda record: any(folded(side) in known for side in record)


def duplicate() -> Rule:
    """The same record was there before.

    Records are remembered as 8 bytes of their hash, in a set of integers: 80 to 110 bytes a distinct record (measured),
    so up to 4.4 GB for 40 million. The chance that even one of those is taken for another is n^2 / 2^65, 1 in 20,000.
    """
    seen: set[int] = set()

    def rule(record: Record) -> bool:
        digest = int.from_bytes(hashlib.blake2b(records.line(record), digest_size=8).digest())
        if digest in seen:
            return True
        seen.add(digest)
        return False

    return rule


class Funnel:
    """Passes on what no rule drops. A dropped record counts for the first rule that drops it, and for no other."""

    def __init__(self, rules: dict[str, Rule]):
        self._rules = rules
        self._start = time.monotonic()
        self.lines_in = 0
        self.dropped = dict.fromkeys(rules, 0)
        self.samples: dict[str, list[Record]] = {reason: [] for reason in rules}

    def reason(self, record: Record) -> str | None:
        return next((reason for reason, rule in self._rules.items() if rule(record)), None)

    def passed(self, corpus: Iterable[Record]) -> Iterator[Record]:
        for record in corpus:
            self.lines_in += 1
            reason = self.reason(record)
            if reason is None:
                yield record
                continue
            self.dropped[reason] += 1
            if len(self.samples[reason]) < SAMPLES:
                self.samples[reason].append(record)

    def counts(self) -> dict[str, Any]:
        """What goes into the JSON beside a corpus."""
        return {
            "lines_in": self.lines_in,
            "lines_out": self.lines_in - sum(self.dropped.values()),
            "dropped": self.dropped,
            "samples": self.samples,
            "seconds": round(time.monotonic() - self._start, 3),
        }


def merged(counts: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts of shards as those of their whole: sums, and the first samples."""
    reasons = list(dict.fromkeys(reason for count in counts for reason in count.get("dropped", {})))
    samples = {
        reason: list(
            itertools.islice(itertools.chain(*(c.get("samples", {}).get(reason, []) for c in counts)), SAMPLES)
        )
        for reason in reasons
    }
    return {
        "lines_in": sum(count["lines_in"] for count in counts),
        "lines_out": sum(count["lines_out"] for count in counts),
        "dropped": {reason: sum(count.get("dropped", {}).get(reason, 0) for count in counts) for reason in reasons},
        "samples": samples,
        "seconds": round(sum(count.get("seconds", 0) for count in counts), 3),
    }


def require_lines(path: str | PathLike, counts: dict[str, Any]) -> None:
    """Raises UserError where cleaning has left nothing to train on."""
    if not counts["lines_out"]:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in counts["dropped"].items() if count)
        raise UserError(f"{path}: no line is left of {counts['lines_in']:,}; dropped {dropped or 'none'}")
