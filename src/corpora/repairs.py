"""Repairs: what mends texts before the rules look at them, side by side. Each is a key of ``cleaning``, off by default.

A repair sees only sides with one of its characters, and counts the records that it changes.
"""

import html
import re
from collections.abc import Callable
from typing import NamedTuple

from corpora.language_codes import scripts
from corpora.settings import Cleaning
from formats import records
from formats.batches import Batch, indexed
from formats.records import Record

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});")
_BESIDE = "[\u00a0\u202f]?"  # what French has inside of quotes
_QUOTES = re.compile(f"[“”„‟]|«{_BESIDE}|{_BESIDE}»|‘‘|’’|''|``")
_APOSTROPHES = re.compile("[‘’‚‛‹›´]")
_HYPHENS = re.compile("[‐‑‒–−]")
_DASHES = re.compile(r"\s*[—―]+\s*")

# Two bytes of a character as another encoding shows them, of which the second may have become a space; C1 is of cp1252.
_MOJIBAKE = re.compile(r"[\x80-\U0010ffff](?:[\x80-\U0010ffff]|(?<=[ÂÃÅ]) |(?<=[\x80-\x9f]))")  # ftfy takes 40 µs

_WIDE = {0xFF01 + place: 0x21 + place for place in range(0x7F - 0x21)} | str.maketrans(
    "　。、｡､｢｣￠￡￥￦", ' .,.,""¢£¥₩'
)
_WIDE |= str.maketrans("「」『』《》〈〉【】", '""""""\'\'[]')
_WIDE_LETTER = re.compile(f"[{''.join(map(chr, _WIDE))}]")
_SPACE_AFTER = re.compile(r"(?<=[，。、！？；：）])(?=[^\W\d_])")  # they fill a square, half of which is a space
_SPACE_BEFORE = re.compile(r"(?<=[^\W\d_])(?=（)")


class Repair(NamedTuple):
    found: re.Pattern[str]  # in each side that may need it
    mended: Callable[[str], str]
    wanted: Callable[[str], bool] = lambda language: True


def _without_entities(text: str) -> str:
    """Characters for entities, also for those of entities: ``&amp;quot;``. An unknown one stays."""
    while (plain := _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)) != text:  # it gets shorter
        text = plain
    return text


def _without_mojibake(text: str) -> str:
    """UTF-8 that was read as another encoding, once or several times, as ftfy finds it."""
    import ftfy  # takes 0.1 s, and few use it

    return ftfy.fix_encoding(text)


def _with_plain_quotes(text: str) -> str:
    for pattern, plain in ((_QUOTES, '"'), (_APOSTROPHES, "'"), (_HYPHENS, "-"), (_DASHES, " - ")):
        text = pattern.sub(plain, text)
    return text


def _with_plain_width(text: str) -> str:
    return _SPACE_BEFORE.sub(" ", _SPACE_AFTER.sub(" ", text)).translate(_WIDE)


def _has_no_wide_punctuation(language: str) -> bool:
    return scripts(language)[0] != "Hani"  # that of Chinese and Japanese


# By the key of the configuration without ``repair_``, in the order in which they are made: entities hide what the
# others mend, and mojibake has quotes in it.
REPAIRS = {
    "entities": Repair(_ENTITY, _without_entities),
    "mojibake": Repair(_MOJIBAKE, _without_mojibake),
    "quotes": Repair(re.compile("[‘’‚‛‹›´“”„‟«»‐‑‒–−—―]|''|``"), _with_plain_quotes),
    "width": Repair(_WIDE_LETTER, _with_plain_width, _has_no_wide_punctuation),
}


class Repairs:
    """The repairs of a corpus. languages: those of its sides; repaired: records that each has changed."""

    def __init__(self, settings: Cleaning | None, languages: list[str]):
        asked = [name for name in REPAIRS if settings and getattr(settings, f"repair_{name}")]
        self._chosen = {name: (REPAIRS[name], [*map(REPAIRS[name].wanted, languages)]) for name in asked}
        self.repaired = dict.fromkeys(asked, 0)

    def made(self, batch: Batch) -> Batch:
        """The batch after the repairs; the same one if it has nothing to repair."""
        text = batch.text.tobytes().decode() if self._chosen else ""
        if not any(repair.found.search(text) for repair, _ in self._chosen.values()):
            return batch
        lines = text.split("\n")[:-1]
        return indexed(b"".join(records.line(self._record(tuple(line.split("\t")))) for line in lines))

    def _record(self, record: Record) -> Record:
        for name, (repair, wanted) in self._chosen.items():
            sides = tuple(
                records.sentence(repair.mended(side)) if of_side and repair.found.search(side) else side
                for side, of_side in zip(record, wanted, strict=False)
            )
            mended = sides + record[len(wanted) :]  # scores stay as they are
            self.repaired[name] += mended != record
            record = mended
        return record
