"""The JSON beside a corpus and its shards: how many lines the cleaning funnel dropped, for which reason."""

from typing import Any, NotRequired, TypedDict

# Lines by their words, in bins (corpora.funnel), before and after cleaning.
Histogram = TypedDict("Histogram", {"in": list[int], "out": list[int]})


class Lines(TypedDict):
    """What a shard has that was not cleaned, and what cleaning adds beside the dropped lines."""

    lines_in: int
    lines_out: int
    samples: NotRequired[dict[str, list[Any]]]  # dropped records by reason, in shards with their hashes
    lengths: NotRequired[dict[str, Histogram]]  # by side
    sums: NotRequired[dict[str, int]]
    seconds: NotRequired[float]
    sha256: NotRequired[str]


class Counts(Lines):
    """dropped: lines by reason."""

    dropped: NotRequired[dict[str, int]]


class Cleaned(Lines):
    """The counts of a corpus of a study."""

    name: str
    role: str
    dropped: dict[str, int]
