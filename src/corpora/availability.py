"""Whether the corpora of a study can be had, checked before anything runs, without a download."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from corpora.download import CACHE, NoAnswer, Unreachable
from corpora.settings import Corpus
from corpora.sources import source_of
from corpora.sources.addressed import AddressedSource
from corpora.sources.place import Copy, Place, in_cache
from corpora.sources.source import languages
from corpora.sources.stored import StoredSource, mirror_folder
from nmt_frontier.errors import UserError

CHECK_SECONDS = 4.0  # for all addresses of a study


class Study(Protocol):
    """What is read of a configuration."""

    source: str
    target: str
    mirror: str | None
    corpora: dict[str, Corpus]


class Problems(NamedTuple):
    """Messages, one a corpus: on those that cannot be had, and on those whose addresses did not answer."""

    missing: list[str]
    unchecked: list[str]


def available(study: Study, cache: Path = CACHE, names: Iterable[str] | None = None) -> Problems:
    """Check the corpora ``names`` (default: all); no address is asked for those on this machine."""
    mirror, pair = mirror_folder(study.mirror), [study.source, study.target]
    problems = Problems([], [])
    absent: list[tuple[StoredSource[Any], list[Copy]]] = []
    for name in study.corpora if names is None else names:
        source = source_of(name, study.corpora[name], pair)
        try:
            if isinstance(source, StoredSource) and not source.present(mirror, cache):
                absent.append((source, list(source.copies(mirror))))
        except UserError as error:
            problems.missing.append(str(error))
    remote = [copy for _, copies in absent for copy in copies if copy.remote]
    answered = _ask_all((place for copy in remote for place in copy.places), cache)
    for source, copies in absent:
        answers = [[answered[place.archive] for place in copy.places] for copy in copies if copy.remote]
        refusals = [[answer for answer in of_copy if answer] for of_copy in answers]
        if not all(refusals):  # one copy has no refusal
            continue
        reason = "; ".join(dict.fromkeys(str(errors[0]) for errors in refusals))
        perhaps = any(all(isinstance(error, NoAnswer) for error in errors) for errors in refusals)
        (problems.unchecked if perhaps else problems.missing).append(source.nowhere(copies, mirror, reason))
    return problems


def _ask_all(places: Iterable[Place], cache: Path) -> dict[Place, Unreachable | None]:
    """Why each place (without member) cannot be had, or None; all are asked at once, within CHECK_SECONDS."""
    answers: dict[Place, Unreachable | None] = {
        place.archive: NoAnswer(f"{place.archive}: no answer in time") for place in places
    }

    def ask(place: Place) -> None:
        try:
            if place.here(cache) is None:
                place.reach()
            answers[place] = None
        except Unreachable as error:
            answers[place] = error

    threads = [threading.Thread(target=ask, args=(place,), daemon=True) for place in answers]
    deadline = time.monotonic() + CHECK_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    return dict(answers)


def unknown_checksums(expected: dict[str, str] | str | None, languages: Iterable[str]) -> list[str]:
    """The languages without an expected checksum."""
    return [code for code in languages if not expected or (isinstance(expected, dict) and code not in expected)]


def read_unchecked(study: Study) -> str | None:
    """A line that lists texts without a checksum in corpora that have one in another language; None if none."""
    unknown: dict[str, list[str]] = {}
    for name, entry in study.corpora.items():
        codes = languages(entry, [study.source, study.target])
        for code in unknown_checksums(entry.sha256, codes) if entry.sha256 else ():
            unknown.setdefault(code, []).append(name)
    listed = [f"{code} of {', '.join(names)}" for code, names in unknown.items()]
    about = "what is read is not checked; its sha256 is recorded beside each corpus and in the log of rule fetch"
    return f"no checksum for {'; '.join(listed)}: {about}" if listed else None


def edited(study: Study, raw: Callable[[str], str], cache: Path = CACHE) -> Iterator[str]:
    """A line for each corpus with a file on this disk, of text without a checksum or of scores, that is newer than what
    was read of it.

    raw: the path of what is read of a corpus.
    """
    mirror, pair = mirror_folder(study.mirror), [study.source, study.target]
    for name, entry in study.corpora.items():
        read, source = Path(raw(name)), source_of(name, entry, pair)
        if read.exists() and isinstance(source, AddressedSource):
            files = _unchecked_files(source, mirror, cache)
            if newer := [file for file in files if file.stat().st_mtime > read.stat().st_mtime]:
                yield f"{name}: {newer[0]} is newer than what was read of it; --forcerun {read} has it read again"


def _unchecked_files(source: AddressedSource[Any], mirror: Path | None, cache: Path) -> list[Path]:
    """The files of the copy that is read, but for downloads and for texts with checksums; none without such a copy."""
    with suppress(UserError):
        for copy in source.copies(mirror):
            if parts := copy.present(cache):
                known = [] if unknown_checksums(source.entry.sha256, source.languages) else [None, *source.languages]
                found = [part for key, of_key in parts.items() if key not in known for part in of_key]
                downloads = in_cache(found, cache)
                return [part.path for part in found if part.path not in downloads]
    return []
