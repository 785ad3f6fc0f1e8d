"""Source `file`: a path in the mirror folder, else from the working directory, or an absolute one."""

from collections.abc import Iterator
from pathlib import Path

from corpora.sources.addressed import AddressedSource
from corpora.sources.copy import Copy
from corpora.sources.local_file import LocalFile
from corpora.sources.mirror import LANGUAGE, in_language
from corpora.sources.place import Place


class File(AddressedSource):
    key = "file"

    def alternatives(self, code: str | None) -> list[list[Place]]:
        return [[LocalFile(in_language(self.entry["file"], code), in_language(self.member, code))]]

    def addresses(self) -> Iterator[tuple[str, str]]:
        yield "file", self.entry["file"]

    def nowhere(self, copies: list[Copy], mirror: Path | None, reason: str) -> str:
        code = str(next(iter(copies[0].texts)))
        mirrored = (self.entry["mirror"] or self.entry["file"]).replace(LANGUAGE, code)
        searched = f"no {mirror / mirrored} in the mirror" if mirror else "no mirror"
        return f"{self.name}: {searched}, and no file {self.entry['file'].replace(LANGUAGE, code)} in {Path.cwd()}"
