"""Mistakes in the entry of a stored source that a JSON schema cannot find."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpora.readers import READERS, Reader
from corpora.sources.mirror import LANGUAGE

if TYPE_CHECKING:
    from corpora.sources.stored import StoredSource


def problems(source: "StoredSource") -> Iterator[str]:
    """A line for each problem; each begins with the key."""
    yield from _missing_languages(source)
    yield from _equal_sides(source)
    yield from _checksum_problems(source)
    if source.reader and len(source.languages) > 1:
        yield from _placeholder_problems(source, source.reader)
    yield from _option_problems(source)


def _missing_languages(source: "StoredSource") -> Iterator[str]:
    for key in ("columns", "names", "file"):
        values = source.entry[key]
        for language in source.languages if isinstance(values, dict) else ():
            if language not in values:
                yield f"{key}: no {key.removesuffix('s')} for {language}; it has {', '.join(values) or 'none'}"


def _equal_sides(source: "StoredSource") -> Iterator[str]:
    """Both sides from one column or one file: a model would learn to copy."""
    for key, what in (("columns", "column "), ("file", "")):
        values = source.entry[key] if isinstance(source.entry[key], dict) else {}
        sides = [values[language] for language in source.languages if language in values]
        if len(sides) > 1 and len({*sides}) == 1:
            yield f"{key}: {' and '.join(source.languages)} are both {what}{sides[0]}"


def _checksum_problems(source: "StoredSource") -> Iterator[str]:
    """Of a format with a file for each language there is a checksum for each language, else one."""
    reader, sha256 = source.reader, source.entry["sha256"]
    if reader is None:
        return
    if isinstance(sha256, str) and not reader.one_file:
        first = source.languages[0]
        yield f"sha256: {reader.format} has a file for each language; give {first}: ... for each of them"
    mirrored_apart = LANGUAGE in (source.entry["mirror"] or "")
    if isinstance(sha256, dict) and reader.one_file and not mirrored_apart:
        yield f"sha256: {reader.format} has all languages in one file; give one checksum"


def _placeholder_problems(source: "StoredSource", reader: type[Reader]) -> Iterator[str]:
    """Files for each language need {lang} in the address, or in the member of an archive; one file has it nowhere."""
    for key, address in source.addresses():
        if not reader.one_file and LANGUAGE not in address + (source.member or ""):
            remedy = "a file with both languages needs format: tsv or tmx"
            yield f"{key}: {address} has no {LANGUAGE} in it ({remedy})"
        elif reader.one_file and LANGUAGE in address:
            yield f"{key}: {address} has {LANGUAGE} in it, but its format has both languages in one file"
    if reader.one_file and isinstance(source.entry["file"], dict):
        yield f"file: names a file for each language, but the format {reader.format} has both in one"


def _option_problems(source: "StoredSource") -> Iterator[str]:
    """Keys that would be without effect, and those that must be there."""
    entry, reader = source.entry, source.reader
    yield from (f"{key}: {source.key} says this itself" for key in source.implied if entry[key] is not None)
    if reader is None:
        return
    for other in READERS.values():
        for key in other.options if other is not reader else ():
            if entry[key] is not None:
                yield f"{key}: is for the format {other.format}, this is {reader.format}"
    for key in reader.required:
        if entry[key] is None:
            yield f"{key} is missing; the format {reader.format} needs it"
