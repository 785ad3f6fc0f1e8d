"""Commands in processes forked from one that has imported TensorFlow and Snakemake.

Like a process that a user starts, each has its own TensorFlow runtime, output and signals.
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
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # as in train.train; the server's TensorFlow reads it at import
SERVER.set_forkserver_preload(
    [
        *("train.training", "opennmt", "snakemake.cli", "study.plan", "study.estimate"),
        *("corpora.clean", "export.phrases", "report.figure"),
    ]
)

# With this variable TensorFlow runs graphs as they are: to optimise them takes a third of a training of a few steps.
PLAIN_GRAPHS = "TESTS_PLAIN_GRAPHS"


class Command:
    """A running ``python -m module arguments``, in a session of its own."""

    def __init__(self, module: str, *arguments: object, cwd: Path | None = None):
        self._folder = tempfile.TemporaryDirectory()
        self._written = [Path(self._folder.name) / name for name in ("output", "errors")]
        call = (module, [*map(str, arguments)], self._written, cwd, dict(os.environ))
        self._process = SERVER.Process(target=_run, args=call)
        self._process.start()

    def running(self) -> bool:
        return self._process.is_alive()

    def kill(self, number: int) -> None:
        os.killpg(self._process.pid, number)

    def wait(self) -> subprocess.CompletedProcess:
        """Wait for its end; return status and output."""
        self._process.join()
        return subprocess.CompletedProcess([], self._process.exitcode, *(path.read_text() for path in self._written))


def _run(module: str, arguments: list[str], written: list[Path], cwd: Path | None, environment: dict[str, str]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)  # the server has that of the test that was the first to fork
    for number, path in enumerate(written, start=1):
        with open(path, "wb") as file:
            os.dup2(file.fileno(), number)
    if cwd:
        os.chdir(cwd)
    prepared()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def prepared() -> None:
    """Drop the handler that TensorFlow adds at import, which would repeat each line; obey PLAIN_GRAPHS."""
    logging.getLogger("tensorflow").handlers.clear()
    if PLAIN_GRAPHS in os.environ:
        from tensorflow import config  # inside: what starts processes needs no TensorFlow

        config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
