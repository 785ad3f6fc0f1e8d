"""Marian on the CPU: workers of one thread each, and each a process with weights of its own.

Processes, because pymarian keeps Python's lock while it decodes, so that a second thread would wait, and so would the
stages of the pipeline; because Marian's own threads share out batches, never one batch; and because Marian ends its
process at every error. ``translate`` hands a batch to an idle process and waits for it, without the lock.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import weakref
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from decode.engines import Batch, Engine, Search
from formats import marian
from formats.decoding import longest_output
from formats.errors import UserError

WORKER = Path(__file__).resolve().with_name("marian_worker.py")
WHOLE = 1_000_000  # sentences of a batch at most, so that Marian cuts none of ours


class Marian(Engine):
    """Sentences are pieces with spaces between them, for Marian's vocabulary is a plain one."""

    name = "marian"

    def __init__(self, folder: Path, description: dict[str, Any], search: Search):
        marian.require()
        self.version = metadata.version("pymarian")
        self.effective_compute_type = description["quantization"]
        self.int8_saturates = None if self.effective_compute_type == "int8" else False
        if self.effective_compute_type not in marian.TYPES:
            known = ", ".join(marian.TYPES)
            raise UserError(f"{folder}: Marian does not compute in {self.effective_compute_type}; it supports {known}")
        if search.threads > 1:
            raise UserError(f"{folder}: Marian does not share a batch between threads; decode with workers alone")
        if search.vocabulary_map and not (folder / marian.SHORTLIST).exists():
            raise UserError(f"{folder}: its {marian.SHORTLIST} is missing; decode with --no-vocabulary-map")
        self._folder, self._most = folder, longest_output(description)
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        workers = [Worker(folder, options(search)) for _ in range(search.workers)]  # they load at the same time
        for worker in workers:
            try:
                worker.answer()
            except DiedError as error:
                raise UserError(f"{folder}: Marian cannot load this model, a file is damaged: {error}") from None
            self._idle.put(worker)

    def translate(self, batch: Batch) -> Batch:
        # Marian's limit is a factor of the longest source sentence, its end counted; half a piece less, for rounding.
        factor = (self._most - 0.5) / (max(map(len, batch)) + 1)
        worker = self._idle.get()
        try:
            worker.ask([" ".join(sentence) for sentence in batch], {"max-length-factor": factor})
            return [line.split(" ") if line else [] for line in worker.answer()]
        except DiedError as error:
            raise UserError(f"{self._folder}: Marian stopped: {error}") from None
        finally:
            self._idle.put(worker)  # a dead one, too: the next batch must not wait for ever


def options(search: Search) -> list[str]:
    """Of Marian's command line, in a model folder."""
    vocabularies = [marian.VOCABULARY, marian.VOCABULARY]
    found = ["--models", marian.MODEL, "--vocabs", *vocabularies, "--cpu-threads", 1]
    found += ["--mini-batch", WHOLE, "--maxi-batch", 1, "--log-level", "error"]
    found += ["--beam-size", search.beam_size, "--normalize", search.length_penalty, "--allow-unk"]
    found += ["--skip-cost"] if search.beam_size == 1 else []  # the best word needs no probability
    found += ["--shortlist", marian.SHORTLIST, 0] if search.vocabulary_map else []  # its check fails for whole files
    return [*map(str, found)]


class DiedError(Exception):
    """A worker is no more; the message says why."""


class Worker:
    """A process of marian_worker.py in a model folder. It ends with this object, or with the whole process."""

    def __init__(self, folder: Path, options: list[str]):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", WORKER, *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        weakref.finalize(self, stop, self._process)

    def ask(self, *request: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is dead, as the answer will tell
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self) -> list[str]:
        """Wait for it. Raises DiedError."""
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            status = self._process.wait()
            self._log.seek(0)
            raise DiedError(marian.complaint(self._log.read(), status))
        return json.loads(line)


def stop(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
