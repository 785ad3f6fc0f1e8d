"""What every part of the project that uses Marian agrees on: names, types, the vocabulary, and how it is started.

The optional package pymarian brings all of Marian. Marian ends its process at every error, so it always runs in one of
its own, and that imports the compiled module alone: the package around it loads a library for downloads.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from formats.errors import UserError
from formats.files import write_text

MODEL, VOCABULARY, SHORTLIST = "model.bin", "vocab.yml", "shortlist.bin"  # of a model folder
TYPES = {"float32": "float32", "int16": "intgemm16", "int8": "intgemm8"}  # of the weights, and Marian's own names
END, UNKNOWN = "</s>", "<unk>"  # the first entries of every vocabulary; there is no beginning of a sentence
CONTROL = ["<blank>", "<s>", "</s>"]  # the first entries of OpenNMT-tf's

# The system ends it with the process that started it, however that ends (prctl PR_SET_PDEATHSIG; the wheel is Linux's).
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
    """Run ``train`` or ``convert``; its words are added to ``log``. Raises UserError with them if it fails."""
    require()
    call = [sys.executable, "-P", "-c", _RUN, command, *map(str, options)]
    with open(log, "ab") as stream:
        start = stream.tell()
        status = subprocess.run(call, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=False).returncode
    if status:
        raise UserError(f"Marian's {command} failed: {complaint(log.read_bytes()[start:], status)}")


def complaint(log: bytes, status: int) -> str:
    """Why Marian ended, in one line: its first error, or else its exit status."""
    lines = log.decode("utf-8", errors="replace").splitlines()
    ended = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return next((line.rpartition("Error: ")[2] for line in lines if "Error: " in line), ended)


def entries(vocabulary: Path) -> list[str]:
    """Marian's entries for the vocabulary file of an OpenNMT-tf model. Raises UserError where it is none."""
    lines = vocabulary.read_text(encoding="utf-8").split("\n")[:-1]
    if lines[: len(CONTROL)] != CONTROL:
        raise UserError(f"{vocabulary}: a vocabulary of OpenNMT-tf begins with {', '.join(CONTROL)}")
    return [END, UNKNOWN, *lines[len(CONTROL) :]]


def write_vocabulary(pieces: Sequence[str], path: Path) -> None:
    """``piece: number``, a line each, as YAML. A quoted string of JSON is one of YAML, too."""
    lines = (f"{json.dumps(piece, ensure_ascii=False)}: {number}\n" for number, piece in enumerate(pieces))
    write_text(path, "".join(lines))
