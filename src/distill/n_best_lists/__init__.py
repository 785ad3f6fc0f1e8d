"""N-best lists: source sentences with the hypotheses of teachers for them, and their scores.

On disk a list is a record of two columns: the source, and a JSON list of [text, score], best first. A score is the mean
natural log-probability per token of the hypothesis, with the end of the sentence. Samples are [text, score, number]: so
often was this text drawn. As a command, this module writes the best hypothesis of every sentence as a line of text.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from formats import records
from nmt_frontier.errors import UserError


class ScoredText(NamedTuple):
    """A translation in plain text, with its score. weight: how often it was drawn; None if it was searched for."""

    text: str
    score: float
    weight: float | None = None


class NBestList(NamedTuple):
    """A source sentence with its hypotheses, best first."""

    source: str
    hypotheses: list[ScoredText]


def ranked(hypotheses: Iterable[ScoredText]) -> list[ScoredText]:
    """Sort hypotheses, best first; keep only the best of equal texts, with the weight of all, and no empty text."""
    best: dict[str, ScoredText] = {}
    for hypothesis in sorted(hypotheses, key=lambda hypothesis: -hypothesis.score):
        if not hypothesis.text:
            continue
        same = best.setdefault(hypothesis.text, hypothesis)
        if same is not hypothesis and hypothesis.weight is not None:
            best[same.text] = same._replace(weight=(same.weight or 0) + hypothesis.weight)
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


def merged(paths: list[Path], changed: Callable[[NBestList], NBestList] = lambda each: each) -> Iterator[NBestList]:
    """One list per sentence, with the distinct hypotheses of all files; each text keeps its best score.

    changed: what each list becomes before. Raises UserError for files of different sentences.
    """
    for number, lists in enumerate(zip_longest(*map(read, paths)), 1):
        sources = {n_best_list and n_best_list.source for n_best_list in lists}
        if len(sources) > 1:
            names = ", ".join(map(str, paths))
            raise UserError(f"record {number} is another sentence in one of {names}; delete these and run again")
        hypotheses = (hypothesis for n_best_list in lists for hypothesis in changed(n_best_list).hypotheses)
        yield NBestList(lists[0].source, ranked(hypotheses))


def write(path: Path, lists: Iterable[NBestList]) -> tuple[int, str]:
    """Write a file, whole or not at all; return the number of lists and the checksum of their records."""
    return records.write(path, map(record, lists))


def record(n_best_list: NBestList) -> records.Record:
    """The list in its form on disk."""
    hypotheses = [
        [text, round(score, 4)] if weight is None else [text, round(score, 4), weight]
        for text, score, weight in n_best_list.hypotheses
    ]
    return n_best_list.source, json.dumps(hypotheses, ensure_ascii=False)
