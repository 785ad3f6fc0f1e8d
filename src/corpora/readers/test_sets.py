"""WMT's test sets: SGM up to 2020, with a file for each language, and XML of documents since then."""

import re
from collections.abc import Iterable, Iterator

from corpora.readers.inline_codes import running_text
from corpora.readers.marked_up import Element, Record, Units
from corpora.readers.reader import INVALID, Block, Input, Reader, rows
from corpora.readers.units import Stretch, Tags, Unit, broken, stretches, units
from nmt_frontier.text.encodings import undecodable

_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*)</seg\s*>", re.DOTALL | re.IGNORECASE)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Sgm(Reader):
    """WMT's SGM is neither SGML nor XML: a segment is all between its tags."""

    format = "sgm"
    suffixes = (".sgm", ".sgml")
    one_file = False

    tags = Tags("seg", "srcset|refset|tstset", optional=True)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        found = (unit for stretch in stretches(chunks, file, self.tags) for unit in units(stretch, self.tags))
        return rows((self._segment(unit, file) for unit in found), file, 1)

    def _segment(self, unit: Unit, file: Input) -> tuple[str] | str:
        if reason := broken(unit, self.tags, file):
            return reason
        match = _SEGMENT.fullmatch(unit.text)
        assert match  # or it would be broken
        text = match[1]
        try:
            return (_ENTITY.sub(_character, text.decode()),)
        except UnicodeDecodeError as error:
            problem = f": {undecodable(text, error.start, file.encoding)}"
            return file.broken(INVALID, f"line {unit.line:,}", problem, text)


def _character(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


class Wmt(Units):
    """Documents with a source, references and translations of systems; of several references the first one.

    Source and reference are aligned by the numbers of their segments. What has no reference lacks a side.
    """

    format = "wmt"

    tags = Tags("doc", "dataset")

    def records(self, unit: Element, stretch: Stretch) -> Iterable[Record]:
        sides: list[dict[str, str | None]] = [{} for _ in self.selection.languages]
        for name in ("src", "ref"):
            for text in unit.iterfind(name):
                side = self.selection.sides[text.get("lang", "")]
                if side is not None and not sides[side]:
                    sides[side] = {each.get("id", ""): running_text(each) or None for each in text.iter("seg")}
        numbers = dict.fromkeys(number for texts in sides for number in texts)
        return [tuple(texts.get(number) for texts in sides) for number in numbers]
