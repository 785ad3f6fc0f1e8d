"""An output that a killed translation can go on with, to the same bytes.

Beside an unfinished output lies ``<output>.progress``: how much of the input was read, with its checksum, and how much
of the output written at the end of a window. From there on everything happens as it would have happened, as windows
know nothing of one another.
"""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from decode import tune
from formats.errors import UserError
from formats.files import read_json, sha256, write_json

SECONDS = 1.0  # between two notes: what a kill may cost


def key(model: Path, settings: dict[str, Any]) -> str:
    """Changes with the model folder, and with all that the translation depends on."""
    unused = {"README.md", tune.NAME}
    files = sorted(path for path in model.iterdir() if path.is_file() and path.name not in unused)
    facts = [settings, [(path.name, sha256(path)) for path in files]]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


class Output:
    """A file to write to, window by window, and what is known of how far it is.

    counts: what was done to the lines that were written, in all starts together.
    """

    def __init__(self, file: BinaryIO, path: Path, known: dict[str, Any], read: "hashlib._Hash"):
        self._file, self._path, self._known, self._read = file, path, known, read
        self._before, self.counts = Counter(known["counts"]), Counter(known["counts"])
        self._noted = time.monotonic()

    def write(self, text: bytes, read: bytes, counts: Counter[str]) -> None:
        """A window: its translation, and what was read for it. All of it is written or nothing.

        counts: of this start, with this window.
        """
        rest = memoryview(text)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self._known["written"])  # a full disk leaves no half of a line
            raise
        self._read.update(read)
        self.counts = self._before + counts
        self._known["read"] += len(read)
        self._known["written"] += len(text)
        if time.monotonic() - self._noted > SECONDS:
            self.note()

    def note(self) -> None:
        """Everything up to here is on the disk before it is said to be."""
        os.fsync(self._file.fileno())
        write_json(self._path, {**self._known, "counts": self.counts, "input": self._read.hexdigest()})
        self._noted = time.monotonic()


@contextmanager
def output(path: Path, key: str, resume: bool, source: BinaryIO) -> Iterator[Output]:
    """An output from its beginning, or from where it was left, with ``source`` at the line that comes next.

    Raises UserError where it cannot be gone on with, and where ``source`` is not what it was made of.
    """
    progress = path.with_name(f"{path.name}.progress")
    known = {"key": key, "read": 0, "written": 0, "counts": {}, "input": hashlib.sha256().hexdigest()}
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: not a file; leave out --output to write to standard output")
    if resume and progress.exists():
        known = _known(progress, path, key)
    elif resume and path.exists():
        raise UserError(f"{path}: no {progress.name} beside it: it is finished; delete it to translate again")
    else:
        write_json(progress, known)  # first, so that an output without it is a finished one
    read = _skip(source, known, path)
    with open(path, "r+b" if known["written"] else "wb", buffering=0) as file:
        file.truncate(known["written"])
        file.seek(known["written"])
        made = Output(file, progress, known, read)
        try:
            yield made
        finally:
            made.note()
    progress.unlink()


def _known(progress: Path, path: Path, key: str) -> dict[str, Any]:
    try:
        known = read_json(progress)
        if known["key"] != key:
            raise UserError(f"{progress}: of another model or other options; delete it and {path.name} to begin anew")
        if known["written"] and path.stat().st_size < known["written"]:
            raise UserError(f"{path}: is shorter than {progress.name} says; delete both to begin anew")
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{progress}: damaged ({error}); delete it and {path.name} to begin anew") from None
    return known


def _skip(source: BinaryIO, known: dict[str, Any], path: Path) -> "hashlib._Hash":
    """Read what was read before; the checksum of it, to go on with."""
    read, left = hashlib.sha256(), known["read"]
    while left and (block := source.read(min(left, 1 << 20))):
        read.update(block)
        left -= len(block)
    if left:
        raise UserError(f"the input ends {left:,} bytes before the place to go on from; give the same input")
    if read.hexdigest() != known["input"]:
        raise UserError(f"the input is not the one {path} was begun with; give the same, or begin without --resume")
    return read
