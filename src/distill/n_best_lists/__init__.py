"""N-best lists: source sentences with the hypotheses of teachers for them, and their scores.

On disk a list is a record of two columns: the source, and a JSON list of [text, score], best first. A score is the mean
natural log-probability per token of the hypothesis, with the end of the sentence. As a command, this module writes the
best hypothesis of every sentence as a line of text.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from formats import records
from nmt_frontier.errors import UserError


class ScoredText(NamedTuple):
    """A translation in plain text, with its score."""

    text: str
    score: float


class NBestList(NamedTuple):
    """A source sentence with its hypotheses, best first."""

    source: str
    hypotheses: list[ScoredText]


def ranked(hypotheses: Iterable[ScoredText]) -> list[ScoredText]:
    """Sort hypotheses, best first; keep only the best of equal texts, and no empty text."""
    best: dict[str, ScoredText] = {}
    for hypothesis in sorted(hypotheses, key=lambda hypothesis: -hypothesis.score):
        if hypothesis.text:
            best.setdefault(hypothesis.text, hypothesis)
    return list(best.values())


def read(path: Path) -> Iterator[NBestList]:
    """Yield the lists of a file; scores have four decimals. Raises UserError for a damaged file."""
    for number, record in enumerate(records.read(path), 1):
        try:
            source, hypotheses = record
            found = NBestList(source, [ScoredText(*item) for item in json.loads(hypotheses)])
        except (ValueError, TypeError):
            raise UserError(f"{path}, record {number}: no n-best list; give what distill.translate made") from None
        yield found


def write(path: Path, lists: Iterable[NBestList]) -> tuple[int, str]:
    """Write a file, whole or not at all; return the number of lists and the checksum of their records."""
    return records.write(path, map(record, lists))


def record(n_best_list: NBestList) -> records.Record:
    """The list in its form on disk."""
    hypotheses = [[text, round(score, 4)] for text, score in n_best_list.hypotheses]
    return n_best_list.source, json.dumps(hypotheses, ensure_ascii=False)
