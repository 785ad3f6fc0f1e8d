"""Source `file`: a path in the mirror folder, else from the working directory, or an absolute one.

Files whose names differ in more than the language code are named one by one: ``{en: english.txt, cs: czech.txt}``.
"""

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
        return [[LocalFile(self._path(code), in_language(self.member, code))]]

    def _path(self, code: str | None) -> str:
        """The file of a language; of any, which tells the format, if ``code`` is None."""
        if isinstance(paths := self.entry["file"], dict):
            return paths[code or next(iter(paths))]
        return in_language(paths, code)

    def addresses(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.entry["file"], str):
            yield "file", self.entry["file"]

    def nowhere(self, copies: list[Copy], mirror: Path | None, reason: str) -> str:
        code = next(iter(copies[0].texts))
        path = self._path(code or self.languages[0])
        mirrored = (self.entry["mirror"] or path).replace(LANGUAGE, str(code))
        searched = f"no {mirror / mirrored} in the mirror" if mirror else "no mirror"
        where = "" if Path(path).expanduser().is_absolute() else f" in {Path.cwd()}"
        return f"{self.name}: {searched}, and no file {path}{where}"
