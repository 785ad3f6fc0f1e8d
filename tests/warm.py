"""Programs of this project, started as ``python -m``, in processes that are forked from one that has TensorFlow.

``snakemake`` runs Snakemake itself as usual, but with a ``python`` for its jobs that asks here for such a process
(forked.py). To those who start it, that is like any other: its arguments, environment, files, signals and status.
"""

import contextlib
import functools
import json
import multiprocessing.connection
import os
import runpy
import signal
import socket
import sys
import tempfile
import threading
from multiprocessing.reduction import DupFd
from pathlib import Path

import forked

ONE_AT_A_TIME = threading.Lock()  # whoever starts a process looks for those that have ended, and may take their status
PACKAGES = {path.parent.name for path in Path(__file__).parents[1].glob("src/*/__init__.py")} | {"papers"}
START = "import sys; sys.executable = {!r}; sys.argv[0] = 'snakemake'; from snakemake.cli import main; main()"
PYTHON = """\
#!{real} -IS
import json, os, signal, socket, sys
if sys.argv[1:2] != ["-m"] or sys.argv[2].split(".")[0] not in {packages!r}:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
asked = socket.socket(socket.AF_UNIX)
asked.connect({address!r})
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, frame: asked.send(bytes([number])))
told = json.dumps([sys.argv[0], sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(asked, [len(told).to_bytes(8, "big")], [0, 1, 2])
asked.sendall(told)
status = int(asked.recv(16))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


def snakemake() -> list[str]:
    """The command of a Snakemake whose jobs are such processes."""
    return [sys.executable, "-c", START.format(str(python()))]


@functools.cache
def python() -> Path:
    """The program ``python``; it works as long as this process lives."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    python.folder = folder  # else it would be removed now
    address = f"{folder.name}/socket"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    program = Path(folder.name, "python")
    program.write_text(PYTHON.format(real=sys.executable, packages=PACKAGES, address=address))
    program.chmod(0o755)
    threading.Thread(target=_listen, args=(listening,), daemon=True).start()
    return program


def _listen(listening: socket.socket) -> None:
    while True:
        asked, _ = listening.accept()
        threading.Thread(target=_serve, args=(asked,), daemon=True).start()


def _serve(asked: socket.socket) -> None:
    """Run one process; it dies with the one that asked for it."""
    size, files, _, _ = socket.recv_fds(asked, 8, 3)
    left, told = int.from_bytes(size, "big"), b""
    while len(told) < left:
        told += asked.recv(left - len(told))
    process = forked.SERVER.Process(target=_run, args=(*json.loads(told), [*map(File, files)]))
    with ONE_AT_A_TIME:
        process.start()
    for file in files:
        os.close(file)
    while True:
        ready = multiprocessing.connection.wait([process.sentinel, asked])
        if process.sentinel in ready:
            break
        number = asked.recv(1)
        try:
            os.killpg(process.pid, number[0] if number else signal.SIGKILL)
        except ProcessLookupError:  # it has not begun yet, or has just ended
            process.kill()
        if not number:
            break
    with ONE_AT_A_TIME:
        process.join()
    with asked, contextlib.suppress(BrokenPipeError):
        asked.sendall(str(process.exitcode).encode())


class File:
    """An open file that a process hands on to one that it starts."""

    def __init__(self, number: int):
        self._number = number

    def __reduce__(self) -> tuple:
        return _opened, (DupFd(self._number),)


def _opened(file) -> int:
    return file.detach()


def _run(program: str, command: list[str], cwd: str, environment: dict[str, str], files: list[int]) -> None:
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    module, *sys.argv[1:] = command
    sys.argv[0] = module
    sys.executable = program  # for processes of its own
    forked.prepared()
    runpy.run_module(module, run_name="__main__", alter_sys=True)
