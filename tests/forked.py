"""Commands in processes that are forked from one that has TensorFlow, so that each test need not load it again.

Such a process is one of its own, as one that a user starts: with its own runtime of TensorFlow, output and signals.
"""

import logging
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
# The former sets a variable that TensorFlow reads as it is loaded. Its runtime, whose threads would not survive a fork,
# begins in the children.
SERVER.set_forkserver_preload(["train.training", "opennmt"])


class Command:
    """A running ``python -m module arguments``, in a session of its own."""

    def __init__(self, module: str, *arguments: object):
        self._folder = tempfile.TemporaryDirectory()
        self._errors = Path(self._folder.name) / "errors"
        self._process = SERVER.Process(target=_run, args=(module, [*map(str, arguments)], self._errors))
        self._process.start()

    def running(self) -> bool:
        return self._process.is_alive()

    def kill(self, number: int) -> None:
        os.killpg(self._process.pid, number)

    def wait(self) -> subprocess.CompletedProcess:
        """Its status, and what it wrote to standard error."""
        self._process.join()
        return subprocess.CompletedProcess([], self._process.exitcode, "", self._errors.read_text())


def _run(module: str, arguments: list[str], errors: Path) -> None:
    os.setsid()
    with open(errors, "wb") as written, open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(written.fileno(), 2)
    # TensorFlow adds a handler where it is loaded before the program has its own, and each line would come twice.
    logging.getLogger("tensorflow").handlers.clear()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
