"""Source `mtdata`: an entry of mtdata's catalogue, which knows addresses, members and formats; we download and read."""

from collections.abc import Iterator

from common.errors import UserError
from corpora.readers import READERS, Reader
from corpora.readers.reader import Selection
from corpora.sources.copy import Copy
from corpora.sources.mtdata_catalogue import look_up
from corpora.sources.stored import StoredSource
from corpora.sources.url import WebFile


class Mtdata(StoredSource):
    key = "mtdata"
    implied = ("member", "format", "columns")

    @property
    def reader(self) -> type[Reader] | None:
        """None: the catalogue settles it. A configured format is a mistake, which problems() reports."""
        return READERS.get(self.entry["format"])

    def originals(self) -> Iterator[Copy]:
        identifier = self.entry["mtdata"]
        published = look_up(identifier)
        for code in self.languages:
            if code not in published.languages:
                raise UserError(f"mtdata: {identifier} is in {', '.join(published.languages)}, it has no {code}")
        rows = [published.languages.index(code) for code in self.languages]
        files = [WebFile(url, member) for url in published.urls for member in published.members or [None]]
        reader = READERS[published.format]
        if reader.one_file:
            yield Copy(reader(Selection(self.languages, [published.columns[row] for row in rows])), {None: files})
            return
        if len(files) != len(published.languages):
            raise UserError(f"mtdata: {identifier} is {len(files)} files, not one for each language; give its url")
        texts = {code: [files[row]] for code, row in zip(self.languages, rows, strict=True)}
        yield Copy(reader(Selection(self.languages, [])), texts)

    def origins(self) -> list[str]:
        return [f"mtdata {self.entry['mtdata']}"]
