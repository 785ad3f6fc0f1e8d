"""Candidates: a source sentence with the translations that teachers have for it, and their scores.

A record has two columns, the source and a JSON list of [translation, score], the best first. A score is the mean
log-probability of a token of the translation, its end included; the higher, the better. As a command, this module
writes the best translation of every sentence as lines of text.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from formats import records
from formats.errors import command
from formats.files import write_text


class Candidate(NamedTuple):
    """A translation in plain text, and its score."""

    text: str
    score: float


class Candidates(NamedTuple):
    """A source sentence and its translations, the best first."""

    source: str
    translations: list[Candidate]


def ranked(translations: Iterable[Candidate]) -> list[Candidate]:
    """The best first; equal texts once, empty ones not at all, as a sentence without words is no translation."""
    best: dict[str, Candidate] = {}
    for candidate in sorted(translations, key=lambda candidate: -candidate.score):
        if candidate.text:
            best.setdefault(candidate.text, candidate)
    return list(best.values())


def read(path: Path) -> Iterator[Candidates]:
    """Yield what write() wrote."""
    for source, translations in records.read(path):
        yield Candidates(source, [Candidate(*item) for item in json.loads(translations)])


def write(path: Path, candidates: Iterable[Candidates]) -> tuple[int, str]:
    """Write a file whole; the number of records and their checksum."""
    return records.write(path, map(_record, candidates))


def _record(candidates: Candidates) -> records.Record:
    translations = [[text, round(score, 4)] for text, score in candidates.translations]
    return candidates.source, json.dumps(translations, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=Path, required=True)
    parser.add_argument(
        "--output", type=Path, required=True, help="text to write; a line without words where there is none"
    )
    args = parser.parse_args()
    best = (entry.translations[0].text if entry.translations else "" for entry in read(args.candidates))
    write_text(args.output, "".join(f"{text}\n" for text in best))


if __name__ == "__main__":
    command(main)
