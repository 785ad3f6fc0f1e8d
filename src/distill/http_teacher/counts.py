"""What the answers of a shard were: passed or failed, by reason; tokens, USD and seconds."""

import hashlib
from collections import Counter
from typing import NamedTuple, TypedDict

from distill.http_teacher.budget import usd
from distill.http_teacher.kept import Answer
from distill.settings import TokenPrices

SAMPLES = 20  # failed answers that are kept for inspection, for each reason


class Asked(NamedTuple):
    """A text with its answers. passed: those that are translations. failed: the others, with the reason. lines: of all,
    as they are kept."""

    source: str
    passed: list[Answer]
    failed: list[tuple[str, Answer]]
    lines: list[bytes]


class AnswerCounts(TypedDict):
    """For JSON. answers: kept ones and new ones. failed: of these, by reason; samples: number of the text, text,
    answer. dropped: texts without a translation, by the reason of the last answer. without_usage: answers for which
    the server did not count tokens. answers_sha256: of the lines of all answers, in order."""

    answers: int
    failed: dict[str, int]
    dropped: dict[str, int]
    samples: dict[str, list[tuple[int, str, str]]]
    models: dict[str, int]
    input_tokens: int
    output_tokens: int
    without_usage: int
    usd: float
    seconds: float
    answers_sha256: str


def told(counts: AnswerCounts) -> str:
    """The counts in a line."""
    tokens = f"{counts['input_tokens']:,} tokens in, {counts['output_tokens']:,} out"
    text = f"{counts['answers']:,} answers, {tokens}, {counts['usd']:,.4f} USD"
    for name, reasons in (("failed", counts["failed"]), ("dropped", counts["dropped"])):
        if reasons:
            text += f"; {name}: {', '.join(f'{reason} {number:,}' for reason, number in reasons.items())}"
    return text


class Tally:
    """Counts texts in order."""

    def __init__(self) -> None:
        self._texts, self._without_usage, self._digest = 0, 0, hashlib.sha256()
        self._failed: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._samples: dict[str, list[tuple[int, str, str]]] = {}
        self._tokens, self._seconds = [0, 0], 0.0

    def add(self, asked: Asked) -> None:
        self._texts += 1
        for reason, answer in asked.failed:
            self._failed[reason] += 1
            samples = self._samples.setdefault(reason, [])
            if len(samples) < SAMPLES:
                samples.append((self._texts, asked.source, answer.text))
        if not asked.passed:
            self._dropped[asked.failed[-1][0] if asked.failed else "empty_source"] += 1
        for answer in (*asked.passed, *(answer for _, answer in asked.failed)):
            self._models[answer.model or "unknown"] += 1
            self._without_usage += answer.input is None or answer.output is None
            self._tokens = [self._tokens[0] + (answer.input or 0), self._tokens[1] + (answer.output or 0)]
            self._seconds += answer.seconds
        for line in asked.lines:
            self._digest.update(line)

    def counts(self, prices: TokenPrices | None) -> AnswerCounts:
        input, output = self._tokens
        return {
            "answers": sum(self._models.values()),
            "failed": dict(sorted(self._failed.items())),
            "dropped": dict(sorted(self._dropped.items())),
            "samples": dict(sorted(self._samples.items())),
            "models": dict(sorted(self._models.items())),
            "input_tokens": input,
            "output_tokens": output,
            "without_usage": self._without_usage,
            "usd": round(usd(prices, input, output), 6),
            "seconds": round(self._seconds, 3),
            "answers_sha256": self._digest.hexdigest(),
        }
