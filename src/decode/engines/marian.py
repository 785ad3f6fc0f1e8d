"""Marian on the CPU: each worker is a process with one thread and its own weights.

Processes for three reasons: pymarian holds Python's lock while it decodes, so that all other threads would wait;
Marian's threads never share one batch; and Marian ends its process at every error. ``translate`` hands a batch to an
idle process and waits for it without the lock.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar

from formats import marian
from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.importers.marian_binary import BEST, FIRST
from nmt_frontier.limits import longest_output
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search.engine import Batch, Engine, Search

WORKER = Path(__file__).resolve().with_name("marian_worker.py")
NO_LIMIT = 1_000_000  # sentences per batch, so that Marian does not cut batches


class Marian(Engine):
    """Decodes models trained by Marian (export.marian); pieces are the words of its plain vocabulary."""

    name = "marian"
    label = "Marian"
    packages = ("pymarian",)
    types = tuple(marian.TYPES)
    weights = marian.MODEL
    map_file = marian.SHORTLIST
    files: ClassVar = {
        marian.MODEL: "weights, as the engine reads them",
        marian.VOCABULARY: "the pieces that Marian knows",
        marian.SHORTLIST: "lexical shortlist: the target pieces that a source piece may bring",
    }

    @classmethod
    def lacks(cls, shape: Mapping[str, Any]) -> str:
        """OpenNMT-tf's decoders start from the embedding of ``<s>``, Marian's from zeros."""
        return "decodes only what it trained"

    @classmethod
    def write_map(cls, source: Path, folder: Path) -> None:
        """source: of export.shortlist, as text; converted to Marian's binary format."""
        with tempfile.TemporaryDirectory() as scratch:
            vocabularies = [folder / marian.VOCABULARY] * 2
            options = ["--shortlist", source, FIRST, BEST, 0, "--vocabs", *vocabularies]
            marian.run("convert", *options, "--dump-shortlist", folder / cls.map_file, log=Path(scratch) / "log")

    def __init__(self, folder: Path, description: Description, search: Search):
        marian.require()
        self.effective_compute_type = description.quantization
        self.int8_saturates = None if self.effective_compute_type == "int8" else False
        if self.effective_compute_type not in self.types:
            types = ", ".join(self.types)
            raise UserError(f"{folder}: Marian does not compute in {self.effective_compute_type}; it supports {types}")
        if search.threads > 1:
            raise UserError(f"{folder}: Marian does not share a batch between threads; decode with workers alone")
        self._folder, self._longest = folder, longest_output(description)
        self._idle: SimpleQueue[MarianWorker] = SimpleQueue()
        workers = [MarianWorker(folder, options(search)) for _ in range(search.workers)]  # they load in parallel
        for worker in workers:
            try:
                worker.answer()
            except DiedError as error:
                first_bytes.check_files(sorted(folder.glob("*")))
                raise UserError(f"{folder}: Marian cannot load this model, a file is damaged: {error}") from None
            self._idle.put(worker)

    def decode(self, batch: Batch) -> Batch:
        # Marian's limit is a multiple of the longest source with its end token; half a piece less avoids rounding up.
        factor = (self._longest - 0.5) / (max(map(len, batch)) + 1)
        worker = self._idle.get()
        try:
            worker.ask([" ".join(sentence) for sentence in batch], {"max-length-factor": factor})
            return [line.split(" ") if line else [] for line in worker.answer()]
        except DiedError as error:
            raise UserError(f"{self._folder}: Marian stopped: {error}") from None
        finally:
            self._idle.put(worker)  # even a dead one: the next batch must not wait for ever


def options(search: Search) -> list[str]:
    """Arguments of Marian's decoder, run in a model folder."""
    arguments = ["--models", marian.MODEL, "--vocabs", marian.VOCABULARY, marian.VOCABULARY, "--cpu-threads", 1]
    arguments += ["--mini-batch", NO_LIMIT, "--maxi-batch", 1, "--log-level", "error"]
    arguments += ["--beam-size", search.beam_size, "--normalize", search.length_penalty, "--allow-unk"]
    if search.beam_size == 1:
        arguments += ["--skip-cost"]  # greedy search needs no probabilities
    if search.vocabulary_map:
        arguments += ["--shortlist", marian.SHORTLIST, 0]  # 0: skip the file's check, which fails for intact files
    return [*map(str, arguments)]


class DiedError(Exception):
    """A worker has ended; the message is the reason."""


class MarianWorker:
    """A process of marian_worker.py in a model folder; killed when this object or process ends."""

    def __init__(self, folder: Path, options: list[str]):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (open while the process runs)
        self._process = subprocess.Popen(
            [sys.executable, "-P", WORKER, *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdin and self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout
        weakref.finalize(self, stop, self._process)

    def ask(self, *request: Any) -> None:
        """Send a line of JSON."""
        with contextlib.suppress(BrokenPipeError):  # the process has ended; ``answer`` reports why
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()

    def answer(self) -> list[str]:
        """Wait for the answer, a line of JSON. Raises DiedError."""
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            status = self._process.wait()
            self._log.seek(0)
            raise DiedError(marian.complaint(self._log.read(), status))
        translations: list[str] = json.loads(line)
        return translations


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker and close its pipes."""
    process.kill()
    process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
