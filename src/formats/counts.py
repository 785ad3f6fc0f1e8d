"""The JSON beside a corpus and its shards: how many lines the cleaning funnel dropped, for which reason."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NotRequired, TypedDict

from formats.records import Record
from nmt_frontier.files import document

# Lines by their words, in bins (corpora.funnel), before and after cleaning.
Histogram = TypedDict("Histogram", {"in": list[int], "out": list[int]})


class Scores(TypedDict):
    """The scores of a name before and after the bounds on all of them. low, high: the first and the 99th percentile
    before; records in equal bins between them, of which the first and the last hold what is beyond."""

    low: float
    high: float
    before: list[int]
    after: list[int]
    better: str
    bound: float | None


class Fetched(TypedDict):
    """Beside a corpus as it was read; a corpus from elsewhere has its name only. dropped: lines by reason."""

    name: str
    role: NotRequired[str]
    origin: NotRequired[list[str]]
    licence: NotRequired[str]
    lines: NotRequired[int]
    sha256: NotRequired[str]  # of the records
    text_sha256: NotRequired[dict[str, str]]  # of the texts that were read, by language
    dropped: NotRequired[dict[str, int]]
    samples: NotRequired[dict[str, list[Record]]]  # place and text of what could not be read, by reason
    remarks: NotRequired[list[str]]  # what a person should know of the text
    seed: NotRequired[int]  # of a subset


def fetched(path: Path) -> Fetched:
    """The JSON beside a corpus as it was read. Raises UserError for other JSON."""
    return document(path, Fetched, "not the JSON of a corpus; delete it, run again")


class LineCounts(TypedDict):
    """What a shard has that was not cleaned, and what cleaning adds beside the dropped lines. repaired: by repair."""

    lines_in: int
    lines_out: int
    lengths: NotRequired[dict[str, Histogram]]  # by side
    repaired: NotRequired[dict[str, int]]
    scores: NotRequired[dict[str, Scores]]  # by name
    sums: NotRequired[dict[str, int | float]]
    seconds: NotRequired[float]
    sha256: NotRequired[str]


class Shard(LineCounts):
    """The counts of a shard. dropped: lines by reason; samples: some of them, each with its hash or number."""

    dropped: NotRequired[dict[str, int]]
    samples: NotRequired[dict[str, list[tuple[int, Record]]]]


class Counts(LineCounts):
    """The counts of a corpus. dropped: lines by reason; samples: some of them."""

    dropped: dict[str, int]
    samples: NotRequired[dict[str, list[Record]]]


NOT_SAMPLED = "not_sampled"  # the reason of lines that a sample leaves out


def dropped_by_half(name: str, lines: int, dropped: Mapping[str, int]) -> Iterator[str]:
    """A line for each reason that dropped more than half of a corpus. lines: that were read, with the dropped ones."""
    lines -= dropped.get(NOT_SAMPLED, 0)
    for reason, count in dropped.items():
        if reason != NOT_SAMPLED and count > lines / 2:
            yield f"{name}: {reason} dropped {count:,} of {lines:,} lines, more than half; is the rule right for it?"


class Cleaned(Counts):
    """The counts of a corpus of a study."""

    name: str
    role: str
