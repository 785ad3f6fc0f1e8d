"""Marian's file names, types and vocabulary, and how to start its commands.

The optional package pymarian contains all of Marian. Marian exits at every error, so it runs in a process of its own,
which imports only the compiled module: the package around it loads a library for downloads.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from formats import opennmt_tf
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_text
from nmt_frontier.importers.marian_binary import END, UNKNOWN

MODEL, VOCABULARY, SHORTLIST = "model.bin", "vocab.yml", "shortlist.bin"  # of a model folder
TYPES = {"float32": "float32", "int16": "intgemm16", "int8": "intgemm8"}  # of weights: names here and in Marian

# Linux kills the process when its parent ends (prctl PR_SET_PDEATHSIG).
_RUN = """
import ctypes, signal, sys, _pymarian
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
sys.exit(_pymarian.main(sys.argv[1:]))
"""


def require() -> None:
    """Raises UserError where Marian is not installed."""
    if importlib.util.find_spec("_pymarian") is None:
        raise UserError("Marian needs pymarian, which is not installed: pip install -r requirements-marian.lock")


def run(command: str, *options: object, log: Path) -> None:
    """Run ``train`` or ``convert``, appending its messages to ``log``. Raises UserError with its first error."""
    require()
    call = [sys.executable, "-P", "-c", _RUN, command, *map(str, options)]
    with open(log, "ab") as stream:
        start = stream.tell()
        status = subprocess.run(call, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=False).returncode
    if status:
        raise UserError(f"Marian's {command} failed: {complaint(log.read_bytes()[start:], status)}")


def complaint(log: bytes, status: int) -> str:
    """The reason why Marian ended, in one line: its first error message, or its exit status."""
    lines = log.decode("utf-8", errors="replace").splitlines()
    ended = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return next((line.rpartition("Error: ")[2] for line in lines if "Error: " in line), ended)


def entries(vocabulary: Path) -> list[str]:
    """Marian's entries for the vocabulary file of an OpenNMT-tf model. Raises UserError for another kind of file."""
    control = opennmt_tf.CONTROL
    found = opennmt_tf.read_vocabulary(vocabulary)
    if tuple(found[: len(control)]) != control:
        raise UserError(f"{vocabulary}: a vocabulary of OpenNMT-tf begins with {', '.join(control)}")
    return [END, UNKNOWN, *found[len(control) :]]


def write_vocabulary(pieces: Sequence[str], path: Path) -> None:
    """Write lines ``piece: number`` of YAML; a JSON string is also a YAML string."""
    lines = (f"{json.dumps(piece, ensure_ascii=False)}: {number}\n" for number, piece in enumerate(pieces))
    write_text(path, "".join(lines))
