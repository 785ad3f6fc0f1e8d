"""A text in files: its sides are read together and once, with their checksums."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpora.archives import Part, chunks
from corpora.readers.reader import Block, Input, Reader, Selection, Unread
from corpora.readers.subtitles import by_time
from corpora.readers.text import Lines
from corpora.settings import Corpus
from corpora.sources.place import Copy, Parts, in_cache, score_file
from corpora.sources.source import Text
from nmt_frontier.errors import UserError


class HashedFiles:
    """The bytes of the parts of one text, one after the other."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self._digest = hashlib.sha256()
        self._streams = [self._hashed(part) for part in parts]

    def _hashed(self, part: Part) -> Iterator[bytes]:
        for chunk in chunks(part):
            self._digest.update(chunk)
            yield chunk

    def blocks(self, reader: Reader, unread: Unread, encoding: str | None = None) -> Iterator[Block]:
        for part, stream in zip(self.parts, self._streams, strict=True):
            yield from reader.blocks(stream, Input(str(part), unread, encoding))

    def sha256(self) -> str:
        """The checksum of the whole text; reads what is left."""
        for stream in self._streams:
            for _ in stream:
                pass
        return self._digest.hexdigest()


class StoredText(Text):
    """The text of one copy. parts: the local files of the copy's places."""

    def __init__(self, name: str, entry: Corpus, copy: Copy, parts: Parts, cache: Path):
        super().__init__()
        self._name, self._entry, self._copy, self._cache = name, entry, copy, cache
        self.sides = copy.reader.selection.sides
        of_scores = [*map(score_file, entry.carried)]
        self._files = {code: HashedFiles(parts[code]) for code in parts if code not in of_scores}
        self._scores = {code: HashedFiles(parts[code]) for code in of_scores if code in parts}

    def blocks(self) -> Iterator[Block]:
        reader, encoding = self._copy.reader, self._entry.encoding
        sides = {code or "": files.blocks(reader, self.unread, encoding) for code, files in self._files.items()}
        for name, files in self._scores.items():
            sides[name] = files.blocks(Lines(Selection([name], [], format_said=True)), self.unread)
        if reader.timed:
            return by_time(self._name, sides)
        return aligned(self._name, sides) if len(sides) > 1 else next(iter(sides.values()))

    def verify(self) -> None:
        """As in Text; a wrong download is deleted."""
        for code, files in self._files.items():
            actual = files.sha256()
            self.checksums[code or "text"] = actual
            expected = self._expected(code)
            if expected in (None, actual):
                continue
            remedy = "the copy in the mirror is another text"
            if downloads := in_cache(files.parts, self._cache):
                for path in downloads:
                    path.unlink(missing_ok=True)
                remedy = f"deleted the download of {' '.join(map(str, self._copy.texts[code]))}; run again"
            raise UserError(
                f"{self._name}: {files.parts[0]}: sha256 of the text is {actual}, expected {expected}; {remedy}; "
                f"to read it all the same, set corpora.{self._name}.sha256 to null"
            )

    def _expected(self, code: str | None) -> str | None:
        sha256 = self._entry.sha256
        if isinstance(sha256, dict):
            return sha256.get(code or "")
        return sha256 if code is None else None


def aligned(name: str, sides: dict[str, Iterator[Block]]) -> Iterator[Block]:
    """The sides of a text as columns of common blocks. Raises UserError if one is shorter."""
    pending = {code: Block([[]], {}) for code in sides}
    counts = Counter(dict.fromkeys(sides, 0))
    while True:
        for code, side in sides.items():
            if not pending[code].columns[0] and (block := next((block for block in side if block.columns[0]), None)):
                pending[code] = block
                counts[code] += len(block.columns[0])
        size = min(len(block.columns[0]) for block in pending.values())
        if not size:
            break
        dropped = {row: reason for block in pending.values() for row, reason in block.dropped.items() if row < size}
        yield Block([column[:size] for block in pending.values() for column in block.columns], dropped)
        pending = {code: _rest(block, size) for code, block in pending.items()}
    for code, side in sides.items():
        counts[code] += sum(len(block.columns[0]) for block in side)
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count:,} of {code or 'the text'}" for code, count in counts.items())
        raise UserError(f"{name}: the sides have different numbers of lines: {listed}")


def _rest(block: Block, size: int) -> Block:
    dropped = {row - size: reason for row, reason in block.dropped.items() if row >= size}
    return Block([column[size:] for column in block.columns], dropped)
