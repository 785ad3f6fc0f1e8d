"""The mirror folder: copies of corpora on this machine, which are looked for before anything is downloaded."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.readers import Lines, by_name
from corpora.readers.reader import Selection
from corpora.sources.copy import Copy
from corpora.sources.local_file import LocalFile

if TYPE_CHECKING:
    from corpora.sources.stored import StoredSource

MIRROR = "NMT_FRONTIER_MIRROR"
LANGUAGE = "{lang}"


def mirror_folder(configured: str | None) -> Path | None:
    """The folder of the environment variable, else the configured one."""
    folder = os.environ.get(MIRROR) or configured
    return Path(folder).expanduser() if folder else None


def in_language(address: str | None, code: str | None) -> str | None:
    """An address or a member with the language code in place of {lang}."""
    return address.replace(LANGUAGE, code) if address and code else address


def copies(source: "StoredSource", mirror: Path | None) -> Iterator[Copy]:
    """Copies in the mirror folder, then the originals. Nothing is opened or asked here."""
    named = source.entry["mirror"] if mirror else None
    if named and LANGUAGE in named:
        yield _file_for_each_language(source, mirror / named)
    originals = list(source.originals())
    if named and LANGUAGE not in named:
        yield _in_one_file(originals[0], mirror / named)
    named_alike = originals if mirror and source.mirrored_by_name else []
    for original in named_alike:
        yield _in_mirror(original, mirror, "address")
        if original.remote and _named_apart(original):
            yield _in_mirror(original, mirror, "name")
    yield from originals
    for original in named_alike:  # a file that is where the study says it is comes before another of the same name
        if not original.remote and _named_apart(original):
            yield _in_mirror(original, mirror, "name")


def _file_for_each_language(source: "StoredSource", path: Path) -> Copy:
    """Whatever the original is, a file for each language holds lines, or is SGM."""
    named = by_name(path.name)
    reader = Lines if named.one_file else named
    member = source.entry["member"]
    texts = {code: [LocalFile(in_language(str(path), code), in_language(member, code))] for code in source.languages}
    return Copy(reader(Selection(source.languages, [])), texts)


def _in_one_file(original: Copy, path: Path) -> Copy:
    """The same texts in one file, or archive."""
    texts = {code: [LocalFile(str(path), places[0].member)] for code, places in original.texts.items()}
    return Copy(original.reader, texts)


def _named_apart(original: Copy) -> bool:
    """Whether its files differ in their bare names: en/talk.txt and de/talk.txt would both be one talk.txt."""
    places = original.places
    return len({place.name for place in places}) == len({place.address for place in places})


def _in_mirror(original: Copy, mirror: Path, attribute: str) -> Copy:
    """The same files under the mirror folder: by their ``address``, or by their bare ``name``."""
    texts = {
        code: [LocalFile(str(mirror / getattr(place, attribute)), place.member) for place in places]
        for code, places in original.texts.items()
    }
    return Copy(original.reader, texts)
