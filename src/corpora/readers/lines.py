"""Plain text, one sentence a line, a file for each language."""

from collections.abc import Iterable, Iterator

from corpora.readers.decode import BREAKS, decoded
from corpora.readers.reader import Block, Input, Reader


class Lines(Reader):
    format = "lines"
    one_file = False

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        for text in decoded(chunks, file, f"\t{BREAKS}"):
            yield Block([list(map(str.strip, text.lines))], text.dropped)
