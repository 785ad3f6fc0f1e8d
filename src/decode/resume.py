"""An output file that a killed translation can continue, ending with the same bytes.

Beside an unfinished output lies ``<output>.progress``. It says how much of the input was read, with its checksum, and
how much of the output was written, both at the end of a window. Windows do not depend on one another, so that
everything after such a point happens as it would have without the kill.
"""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from common.errors import UserError
from common.files import read_json, sha256, write_json
from formats.model_folder import NOT_DECODED

SECONDS = 1.0  # between two notes of the progress, the work that a kill may cost

# key: what the output depends on; read, written: bytes of input and output; counts: of changed lines; input: checksum
# of what was read.
Progress = dict[str, Any]


Key = dict[str, Any]  # what a translation depends on, by name


def key(model: Path, settings: dict[str, Any]) -> Key:
    """The settings, and a checksum of the model folder, as JSON has them."""
    files = sorted(path for path in model.iterdir() if path.is_file() and path.name not in NOT_DECODED)
    digest = hashlib.sha256(repr([(path.name, sha256(path)) for path in files]).encode()).hexdigest()
    return json.loads(json.dumps({"model": digest} | settings))


class Output:
    """A file that is written window by window, with its progress in another file.

    counts: how the lines written so far were changed, in all runs together.
    """

    def __init__(self, file: BinaryIO, path: Path, progress: Progress, read: "hashlib._Hash"):
        self._file, self._path = file, path
        self._before = Counter(progress["counts"])
        self._done = progress, read
        self._noted = time.monotonic()

    @property
    def counts(self) -> Counter[str]:
        return Counter(self._done[0]["counts"])

    def write(self, text: bytes, read: bytes, counts: Counter[str]) -> None:
        """Write the translation of a window, all of it or nothing.

        read: the input of the window; counts: of this run so far, this window included.
        """
        rest, (progress, digest) = memoryview(text), self._done
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(progress["written"])  # a full disk leaves no half of a line
            raise
        digest = digest.copy()
        digest.update(read)
        sizes = {"read": progress["read"] + len(read), "written": progress["written"] + len(text)}
        # All at once: a signal between two assignments would note an input that is read and not written.
        self._done = {**progress, **sizes, "counts": self._before + counts}, digest
        if time.monotonic() - self._noted > SECONDS:
            self.note()

    def note(self) -> None:
        """Note the progress, after everything before it is on the disk."""
        os.fsync(self._file.fileno())
        progress, digest = self._done
        write_json(self._path, {**progress, "input": digest.hexdigest()})
        self._noted = time.monotonic()


@contextmanager
def output(path: Path, key: Key, resume: bool, source: BinaryIO) -> Iterator[Output]:
    """Open an output at its beginning, or where it was left, with ``source`` at the line that comes next.

    Raises UserError if there is nothing to resume, or ``source`` is not the input that the output was begun with.
    """
    notes = path.with_name(f"{path.name}.progress")
    progress = {"key": key, "read": 0, "written": 0, "counts": {}, "input": hashlib.sha256().hexdigest()}
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: not a file; leave out --output to write to standard output")
    if resume and notes.exists():
        progress = _noted(notes, path, key)
    elif resume and path.exists():
        raise UserError(f"{path}: no {notes.name} beside it: it is finished; delete it to translate again")
    else:
        write_json(notes, progress)  # first, so that an output without it is a finished one
    read = _skip(source, progress, path)
    with open(path, "r+b" if progress["written"] else "wb", buffering=0) as file:
        file.truncate(progress["written"])
        file.seek(progress["written"])
        result = Output(file, notes, progress, read)
        try:
            yield result
        finally:
            result.note()
    notes.unlink()


def _noted(notes: Path, path: Path, key: Key) -> Progress:
    """The progress of an earlier run. Raises UserError where it does not belong to this output and key."""
    try:
        progress = read_json(notes)
        if changed := _changes(progress["key"], key):
            raise UserError(
                f"{path} was begun with {changed}; go on with the same, or delete it and {notes.name} to begin anew"
            )
        progress = {name: progress[name] for name in ("key", "read", "written", "counts", "input")}
        if progress["written"] and path.stat().st_size < progress["written"]:
            raise UserError(f"{path}: is shorter than {notes.name} says; delete both to begin anew")
    except FileNotFoundError:
        raise UserError(f"{path}: is missing, but {notes.name} is there; delete that to begin anew") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{notes}: damaged ({error}); delete it and {path.name} to begin anew") from None
    return progress


def _changes(before: Key, now: Key) -> str:
    """What differs, in words; empty if nothing does."""
    names = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    values = (f"{name} {before.get(name)}, not {now.get(name)}" for name in names if name != "model")
    return "; ".join([*["another model"] * ("model" in names), *values])


def _skip(source: BinaryIO, progress: Progress, path: Path) -> "hashlib._Hash":
    """Read what earlier runs read; return its checksum, to be continued."""
    read, left = hashlib.sha256(), progress["read"]
    while left and (block := source.read(min(left, 1 << 20))):
        read.update(block)
        left -= len(block)
    if left:
        raise UserError(f"the input ends {left:,} bytes before the place to go on from; give the same input")
    if read.hexdigest() != progress["input"]:
        raise UserError(f"the input is not the one {path} was begun with; give the same, or begin without --resume")
    return read
