"""The file of answers: a line of JSON for each, with its checksum, that is only ever appended to.

A line that a killed process cut off is left out when the file is read, and its answer is asked for again.
"""

import hashlib
import os
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from common import folder_lock

_HEAD = b'{"sha256":"%s","answer":'
_BODY = len(_HEAD % bytes(64))  # where it begins


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a server answered to one request.

    key: of the request (distill.http_teacher.prompt). finish: why the answer ends, in the server's word, or REJECTED.
    model: as the server names it. input, output: tokens, None where the server does not say. seconds: of the request.
    """

    key: str
    text: str
    finish: str | None = None
    model: str | None = None
    input: int | None = None
    output: int | None = None
    seconds: float = 0.0


class KeptAnswers:
    """The answers of a file, by their keys; memory holds only their places, 200 bytes each.

    Several threads and processes may keep answers at a time. tokens: input and output of all that were read.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._lock = path, threading.Lock()
        self._stream = open(path, "a+b")  # noqa: SIM115 (open as long as this object lives)
        self._places: dict[bytes, int] = {}
        self.tokens = [0, 0]
        with self._locked():
            self._index()

    def _locked(self) -> AbstractContextManager[object]:
        return folder_lock.lock(self._path.with_name(f".{self._path.name}.lock"))

    def _index(self) -> None:
        place, damaged = self._stream.seek(0), 0
        for line in self._stream:
            if answer := decoded(line):
                self._places[bytes.fromhex(answer.key)] = place
                self.tokens = [self.tokens[0] + (answer.input or 0), self.tokens[1] + (answer.output or 0)]
            else:
                damaged += 1
            place += len(line)
        if damaged:
            lines = f"{damaged} line{'s' * (damaged > 1)} cut off or damaged"
            print(f"{self._path}: {lines}, left out; what is needed of it is asked again", file=sys.stderr)

    def get(self, key: str) -> tuple[Answer, bytes] | None:
        """The answer to a request, and its line."""
        place = self._places.get(bytes.fromhex(key))
        if place is None:
            return None
        with self._lock:
            self._stream.seek(place)
            line = self._stream.readline()
        answer = decoded(line)
        assert answer, f"{self._path}: was changed while it was read"
        return answer, line

    def keep(self, answer: Answer) -> bytes:
        """Append an answer; it is on the disk when this returns. Returns its line."""
        line = encoded(answer)
        with self._lock, self._locked():
            end = self._stream.seek(0, os.SEEK_END)
            if end:
                self._stream.seek(end - 1)
                if self._stream.read(1) != b"\n":  # a process was killed while it wrote
                    end += self._stream.write(b"\n")
            self._stream.write(line)
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._places[bytes.fromhex(answer.key)] = end
        return line


def encoded(answer: Answer) -> bytes:
    body = msgspec.json.encode(answer)
    return _HEAD % hashlib.sha256(body).hexdigest().encode() + body + b"}\n"


def decoded(line: bytes) -> Answer | None:
    """The answer of a line; None for one that is not as it was written."""
    body = line[_BODY:-2]
    if line != _HEAD % hashlib.sha256(body).hexdigest().encode() + body + b"}\n":
        return None
    return msgspec.json.decode(body, type=Answer)
