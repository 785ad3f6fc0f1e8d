"""WMT's test sets in SGM, a file for each language.

Not quite SGML and not quite XML, so a segment is whatever stands between its tags.
"""

import re
from collections.abc import Iterable, Iterator

from common.errors import UserError
from corpora.readers.reader import INVALID, MAX_LINE_BYTES, Block, Input, Reader, rows

_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Sgm(Reader):
    format = "sgm"
    suffixes = (".sgm", ".sgml")
    one_file = False

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(((segment,) for segment in _segments(chunks, file)), file, 1, missing=INVALID)


def _segments(chunks: Iterable[bytes], file: Input) -> Iterator[str | None]:
    """The text of each segment, None where it is not UTF-8."""
    rest, line = b"", 1
    for chunk in chunks:
        text, end = rest + chunk, 0
        for match in _SEGMENT.finditer(text):
            line += text.count(b"\n", end, match.end())
            end = match.end()
            try:
                yield _ENTITY.sub(_character, match[1].decode())
            except UnicodeDecodeError as error:
                if not file.drop_invalid:
                    problem = f": not UTF-8 (0x{match[1][error.start]:02x})"
                    raise file.error(line, problem, "convert the file") from error
                yield None
        rest = text[end:]
        if len(rest) > MAX_LINE_BYTES + len(chunk):
            raise UserError(f"{file.name}: line {line:,}: no </seg> for a long while; is it SGM?")
    if b"<seg" in rest.lower():
        raise UserError(f"{file.name}: ends inside a <seg>; it was cut off")


def _character(match: re.Match) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]
