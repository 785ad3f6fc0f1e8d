"""Subtitles of a film or a talk, SubRip and WebVTT: a file for each language, whose cues are paired by their times."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import NamedTuple

from corpora.readers.reader import BREAKS, INVALID, MALFORMED, NO_SIDE, Block, Input, Reader, Unread, decoded, rows
from nmt_frontier.errors import UserError

_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}")
_MARKUP = re.compile(  # pronunciations above a word, tags, times inside of a cue, and the places of SubStation Alpha
    r"<rt\b[^>]*>.*?</rt>|</?(?:i|b|u|s|font|c|v|lang|ruby)\b[^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}", re.IGNORECASE
)
_NO_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")  # what else WebVTT has between empty lines
LEAST_OVERLAP = 0.5  # of the shorter of two cues that belong together
FEW_LINKS = 100  # that need not be plausible


class Cue(NamedTuple):
    """start, end: in milliseconds."""

    start: int
    end: int
    text: str


class Subtitles(Reader):
    """The blocks have a second column, the times; ``by_time`` makes pairs of them."""

    format = "subtitles"
    suffixes = (".srt", ".vtt")
    one_file = False
    timed = True

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, 2)

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[tuple[str, str] | str]:
        """The texts with their times. An empty line ends a cue of WebVTT; in SubRip more text may come behind it."""
        times, vtt = "", False
        texts: list[str] | None = None  # of the cue that is being read
        before: list[tuple[int, str]] = []  # lines that no times are above of
        for number, line in _numbered(chunks, file):
            if line is None:
                yield INVALID
            elif found := _TIMES.match(line):
                if texts is not None:
                    yield _text(texts[:-1] if texts and texts[-1].isdigit() else texts, vtt), times  # without a number
                if len(before) > 1:
                    yield _without_times(before, file)
                start, end = _milliseconds(*found.groups()[:4]), _milliseconds(*found.groups()[4:])
                times, texts, before = f"{start} {end}", [], []
            elif texts is not None and line:
                texts.append(line)
            elif line:
                vtt = vtt or (number == 1 and line.startswith(_NO_CUES[0]))
                before.append((number, line))
            elif vtt or texts is None:
                if texts is not None:
                    yield _text(texts, vtt), times
                elif before and not (vtt and before[0][1].startswith(_NO_CUES)):
                    yield _without_times(before, file)
                texts, before = None, []
        if texts is not None:
            yield _text(texts, vtt), times


def _numbered(chunks: Iterable[bytes], file: Input) -> Iterator[tuple[int, str | None]]:
    """Lines with their numbers, None for one that cannot be decoded."""
    for block in decoded(chunks, file, f"\t{BREAKS}"):
        for row, line in enumerate(block.lines):
            yield block.first + row, None if row in block.dropped else line.strip()


def _without_times(lines: list[tuple[int, str]], file: Input) -> str:
    return file.broken(MALFORMED, f"line {lines[0][0]:,}", ": no times above it", " ".join(line for _, line in lines))


def _milliseconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))


def _text(lines: list[str], vtt: bool) -> str:
    text = _MARKUP.sub("", " ".join(lines))
    return unescape(text) if vtt else text


def by_time(name: str, sides: Mapping[str, Iterator[Block]]) -> Iterator[Block]:
    """The texts of one side, or of the cues of two sides that are shown at the same time; the others lack a side.

    Several cues on one side may go with one on the other. Reads the files whole: a film has some thousand cues.
    name: of the corpus, for errors.
    """
    found: list[list[Cue]] = []
    dropped: list[str] = []
    for side in sides.values():
        cues: list[Cue] = []
        for block in side:
            dropped += block.dropped.values()
            for row, (text, times) in enumerate(zip(*block.columns, strict=True)):
                if row not in block.dropped:
                    start, end = map(int, times.split())
                    cues.append(Cue(start, end, text))
        found.append(sorted(cues) if len(sides) > 1 else cues)
    records = _paired(*found, name=name) if len(sides) > 1 else ((cue.text,) for cue in found[0])
    yield from rows([*dropped, *records], Input(name, Unread()), len(sides))


def _paired(source: list[Cue], target: list[Cue], *, name: str) -> Iterator[tuple[str | None, ...] | str]:
    """Pairs of the texts of linked cues; the reason to drop it for each other cue."""
    groups: list[tuple[set[int], set[int]]] = []
    group_of: dict[tuple[int, int], int] = {}  # by side and number of a cue
    for link in _links(source, target, name):
        cues = [*enumerate(link)]
        known = sorted({group_of[cue] for cue in cues if cue in group_of})
        if not known:
            groups.append((set(), set()))
        for later in known[1:]:
            cues += [(side, number) for side in (0, 1) for number in groups[later][side]]
            groups[later] = (set(), set())
        group = known[0] if known else len(groups) - 1
        for side, number in cues:
            groups[group][side].add(number)
            group_of[side, number] = group
    for sources, targets in filter(any, groups):
        texts = [" ".join(source[number].text for number in sorted(sources)),
                 " ".join(target[number].text for number in sorted(targets))]  # fmt: skip
        yield tuple(text.strip() or None for text in texts)
    yield from [NO_SIDE] * (len(source) + len(target) - len(group_of))


def _links(source: list[Cue], target: list[Cue], name: str) -> Iterator[tuple[int, int]]:
    """Cues that overlap in time by half of the shorter one or more, in the order of the source. Raises UserError."""
    first, links = 0, 0
    for number, cue in enumerate(source):
        while first < len(target) and target[first].end <= cue.start:
            first += 1
        for other in range(first, len(target)):
            start, end, _ = target[other]
            if start >= cue.end:
                break
            shorter = max(min(end - start, cue.end - cue.start), 1)
            if min(end, cue.end) - max(start, cue.start) >= LEAST_OVERLAP * shorter:
                links += 1
                yield number, other
        if links > FEW_LINKS + len(source) + len(target):  # one film has half as many
            raise UserError(f"{name}: too many cues at the same time; give each film or talk a file of its own")
