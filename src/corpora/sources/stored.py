"""Sources with text in files: their copies, in the mirror folder first, and the errors in their entries."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, overload

from corpora.download import Unreachable
from corpora.language_codes import means
from corpora.readers import READERS, by_name
from corpora.readers.reader import Reader, Selection
from corpora.readers.text import Lines
from corpora.sources.place import Copy, LocalFile, Parts, Place, Texts, score_file
from corpora.sources.source import Address, Source
from corpora.sources.stored_text import StoredText
from nmt_frontier.errors import UserError

MIRROR = "NMT_FRONTIER_MIRROR"
LANGUAGE = "{lang}"


def mirror_folder(configured: str | None) -> Path | None:
    """The folder of the environment variable, else the configured one."""
    folder = os.environ.get(MIRROR) or configured
    return Path(folder).expanduser() if folder else None


@overload
def in_language(address: str, code: str | None) -> str: ...
@overload
def in_language(address: str | None, code: str | None) -> str | None: ...
def in_language(address: str | None, code: str | None) -> str | None:
    """An address or a member with {lang} replaced by the language code."""
    return address.replace(LANGUAGE, code) if address and code else address


def copies_of(source: "StoredSource[Any]", mirror: Path | None) -> Iterator[Copy]:
    """Possible copies in the mirror folder, then the originals. Opens and asks nothing."""
    named = source.entry.mirror
    if mirror and named and LANGUAGE in named:
        yield _file_for_each_language(source, mirror / named)
    originals = list(source.originals())
    if mirror and named and LANGUAGE not in named:  # the same texts in one file or archive
        texts = originals[0].texts.items()
        yield Copy(originals[0].reader, {c: [LocalFile(str(mirror / named), p[0].member)] for c, p in texts})
    if not mirror or not source.mirrored_by_name:
        yield from originals
        return
    for original in originals:
        yield _in_mirror(original, mirror, "address")
        if original.remote and _named_apart(original):
            yield _in_mirror(original, mirror, "name")
    yield from originals
    for original in originals:  # after the file at the configured place
        if not original.remote and _named_apart(original):
            yield _in_mirror(original, mirror, "name")


def _file_for_each_language(source: "StoredSource[Any]", path: Path) -> Copy:
    """A file for each language holds lines or SGM, independent of the original."""
    named = by_name(path.name)
    reader = Lines if named.one_file else named
    member = source.entry.member
    texts: Texts = {c: [LocalFile(in_language(str(path), c), in_language(member, c))] for c in source.languages}
    return Copy(reader(Selection(source.languages, [])), texts)


def _named_apart(original: Copy) -> bool:
    """Whether the files have different bare names, unlike en/talk.txt and de/talk.txt."""
    places = original.places
    return len({place.name for place in places}) == len({place.address for place in places})


def _in_mirror(original: Copy, mirror: Path, attribute: str) -> Copy:
    """The files under the mirror folder, by their ``address`` or their bare ``name``."""
    texts: Texts = {
        code: [LocalFile(str(mirror / getattr(place, attribute)), place.member) for place in places]
        for code, places in original.texts.items()
    }
    return Copy(original.reader, texts)


def _score_files(source: "StoredSource[Any]", copy: Copy, mirror: Path | None) -> Texts:
    """Where the scores beside a copy of the text are: in a file of the mirror or elsewhere, or in its archive. Raises
    UserError for a file that is not there."""
    files: Texts = {}
    for name, score in source.entry.carried.items():
        if score.file is not None:
            places: list[Place] = [LocalFile(str(folder / score.file)) for folder in (mirror, Path()) if folder]
            if not (there := [place for place in places if place.here(Path())]):
                searched = f"in the mirror {mirror} and " * (mirror is not None)
                raise UserError(f"score.{name}.file: no file {score.file}, searched for {searched}in {Path.cwd()}")
            files[score_file(name)] = there[:1]
        elif score.member is not None:
            files[score_file(name)] = [replace(copy.places[0], member=score.member)]
    return files


def entry_problems(source: "StoredSource[Any]") -> Iterator[str]:
    """A line for each problem, which begins with the key."""
    yield from _missing_languages(source)
    yield from _equal_sides(source)
    yield from _variant_problems(source)
    yield from _checksum_problems(source)
    yield from _score_problems(source)
    if source.reader and len(source.languages) > 1:
        yield from _placeholder_problems(source, source.reader)
    yield from _option_problems(source)


def _missing_languages(source: "StoredSource[Any]") -> Iterator[str]:
    for key in ("columns", "names", "file"):
        values = getattr(source.entry, key)
        for language in source.languages if isinstance(values, dict) else ():
            if language not in values:
                yield f"{key}: no {key.removesuffix('s')} for {language}; it has {', '.join(values) or 'none'}"


def _equal_sides(source: "StoredSource[Any]") -> Iterator[str]:
    """Both sides from one column or file: a model would learn to copy."""
    for key, what in (("columns", "column "), ("file", "")):
        values = getattr(source.entry, key)
        sides = (
            [values[language] for language in source.languages if language in values]
            if isinstance(values, dict)
            else []
        )
        if len(sides) > 1 and len({*sides}) == 1:
            yield f"{key}: {' and '.join(source.languages)} are both {what}{sides[0]}"


def _variant_problems(source: "StoredSource[Any]") -> Iterator[str]:
    for language, code in (source.entry.variants or {}).items():
        if language not in source.pair:
            yield f"variants: {language} is none of the study's languages {' and '.join(source.pair)}"
        elif not means(code, language):
            yield f"variants: {code} is no variant of {language}"


def _checksum_problems(source: "StoredSource[Any]") -> Iterator[str]:
    """A format with a file for each language has a checksum for each, any other has one."""
    reader, sha256 = source.reader, source.entry.sha256
    if reader is None:
        return
    if isinstance(sha256, str) and not reader.one_file:
        first = source.languages[0]
        yield f"sha256: {reader.format} has a file for each language; give {first}: ... for each of them"
    mirrored_apart = LANGUAGE in (source.entry.mirror or "")
    if isinstance(sha256, dict) and reader.one_file and not mirrored_apart:
        yield f"sha256: {reader.format} has all languages in one file; give one checksum"


def _score_problems(source: "StoredSource[Any]") -> Iterator[str]:
    """Scores that the format does not carry."""
    if source.scores and LANGUAGE in (source.entry.mirror or ""):
        yield f"mirror: a file for each language has no {' and no '.join(map(str, source.scores))} (score)"
    if (reader := source.reader) is None:
        return
    for name, score in source.entry.carried.items():
        for key, value in score.place().items():
            if score.is_beside() and LANGUAGE in str(value):
                yield f"score.{name}.{key}: {value} has {LANGUAGE} in it, but a score has one file for all sides"
            elif score.is_beside() and reader.timed:
                yield f"score.{name}.{key}: cues of {reader.format} have no lines that a file of scores could follow"
            elif not score.is_beside() and key != reader.score_key:
                has = f"its scores have a {reader.score_key}" if reader.score_key else "name a file beside it"
                yield f"score.{name}.{key}: is not for the format {reader.format}; {has}"
            elif key == "column" and not isinstance(value, reader.score_types):
                names = "names of columns" if str in reader.score_types else "numbers of columns, from 0"
                yield f"score.{name}.column: {value} is none of the {names} that the format {reader.format} has"


def _placeholder_problems(source: "StoredSource[Any]", reader: type[Reader]) -> Iterator[str]:
    """Files for each language need {lang} in the address or in the member; one file must not have it."""
    for key, address in source.addresses():
        if not reader.one_file and LANGUAGE not in address + (source.member or ""):
            formats = ", ".join(name for name, other in READERS.items() if other.one_file)
            remedy = f"a file with both languages needs a format of {formats}"
            yield f"{key}: {address} has no {LANGUAGE} in it ({remedy})"
        elif reader.one_file and LANGUAGE in address:
            yield f"{key}: {address} has {LANGUAGE} in it, but its format has both languages in one file"
    if reader.one_file and isinstance(source.entry.file, dict):
        yield f"file: names a file for each language, but the format {reader.format} has both in one"


def _option_problems(source: "StoredSource[Any]") -> Iterator[str]:
    """Keys without effect, and missing ones."""
    entry, reader = source.entry, source.reader
    yield from (f"{key}: {source.key} says this itself" for key in source.implied if getattr(entry, key) is not None)
    if reader is None:
        return
    for key in dict.fromkeys(key for other in READERS.values() for key in other.options):
        if key not in reader.options and getattr(entry, key) is not None:
            formats = ", ".join(other.format for other in READERS.values() if key in other.options)
            yield f"{key}: is for the format {formats}, this is {reader.format}"
    for column in (entry.columns or {}).values():
        if not isinstance(column, reader.column_types):
            names = "names of columns" if str in reader.column_types else "numbers of columns, from 0"
            yield f"columns: {column} is none of the {names} that the format {reader.format} has"
    for key in reader.required:
        if getattr(entry, key) is None:
            yield f"{key} is missing; the format {reader.format} needs it"


class StoredSource(Source[Address]):
    """A source with text in files."""

    mirrored_by_name: ClassVar[bool] = True  # a mirror may have the file by its name
    implied: ClassVar[tuple[str, ...]] = ()  # keys of the configuration that the source itself decides

    @property
    @abstractmethod
    def reader(self) -> type[Reader] | None:
        """The format; None if a catalogue decides it."""

    @abstractmethod
    def originals(self) -> Iterator[Copy]:
        """The public copies, one for each alternative. Raises UserError."""

    @property
    def scores(self) -> tuple[int | str, ...]:
        """The columns or properties of the scores in the file."""
        places = (score.column if score.property is None else score.property for score in self.entry.carried.values())
        return tuple(place for place in places if place is not None)

    @property
    def member(self) -> str | None:
        """The file meant in an archive."""
        return self.entry.member

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Keys of the entry with addresses that may contain {lang}, and the addresses."""
        yield from ()

    def problems(self) -> Iterator[str]:
        try:
            yield from entry_problems(self)
        except UserError as error:  # a format that no reader knows
            yield f"{self.key}: {error}"

    def origins(self) -> list[str]:
        return [str(place) for place in next(self.originals()).places]

    def copies(self, mirror: Path | None) -> Iterator[Copy]:
        """All copies of the text, local ones first. Raises UserError."""
        try:
            for copy in copies_of(self, mirror):
                yield replace(copy, texts={**copy.texts, **_score_files(self, copy, mirror)})
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from error

    def present(self, mirror: Path | None, cache: Path) -> bool:
        """Whether the text needs no download. Raises UserError."""
        return any(copy.present(cache) is not None for copy in self.copies(mirror))

    def text(self, mirror: Path | None, cache: Path, seed: int) -> StoredText:
        copies, reasons = [], []
        for copy in self.copies(mirror):  # one by one, as a catalogue may take seconds
            copies.append(copy)
            if parts := copy.present(cache):
                return self._opened(copy, parts, cache)
        for copy in copies:
            try:
                return self._opened(copy, copy.obtained(cache), cache)
            except Unreachable as error:
                reasons += [str(error)] if copy.remote else []
        raise UserError(self.nowhere(copies, mirror, "; ".join(reasons)))

    def _opened(self, copy: Copy, parts: Parts, cache: Path) -> StoredText:
        self.verify_files(parts, cache)
        return StoredText(self.name, self.entry, copy, parts, cache)

    def verify_files(self, parts: Parts, cache: Path) -> None:
        """Compare packed files with configured checksums. Raises UserError."""

    def nowhere(self, copies: list[Copy], mirror: Path | None, reason: str) -> str:
        """The error for a text without any copy, with the remedy."""
        code, places = next(iter(copies[0].texts.items()))
        file = (self.entry.mirror or places[0].name).replace(LANGUAGE, code or self.languages[0])
        remedy = f"Set {MIRROR} to a folder that has {file}"
        searched = f"no {mirror / file} in the mirror" if mirror else "no mirror"
        if self.entry.mirror is None and not self.mirrored_by_name:
            remedy = f"Set {MIRROR} and say where in that folder it is (mirror)"
            searched = "the study does not say where in the mirror it is" if mirror else searched
        offline = "or run configs/offline.yaml, which needs neither"
        return f"{self.name}: {searched}, and no download: {reason}. {remedy}, {offline}"
