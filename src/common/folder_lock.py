"""Locks: of a file, and of a folder that one process at a time continues.

A job whose scheduler died may still run when it is started again.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from common.errors import UserError

UNKNOWN = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # errors of a file system that has no locks
NAME = ".lock"  # in the folder; it says who holds it, and holds nothing once that process has ended


def lock(path: Path, timeout: float = -1) -> AbstractContextManager[object]:
    """Lock a file until the ``with`` block of the result ends, or until this process does, in whatever way.

    timeout: seconds to wait for another process, by default for ever; then Timeout is raised. On a file system without
    locks, as some clusters have, nobody waits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return FileLock(path, fallback_to_soft=False).acquire(timeout)
    except OSError as error:
        if error.errno not in UNKNOWN:
            raise
        return nullcontext()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder and hold it while the block runs. Raises UserError, which names the process, if another does."""
    path = folder / NAME
    try:
        hold = lock(path, timeout=0)
    except Timeout:
        holder = path.read_text(encoding="utf-8") or "another process"
        raise UserError(f"{folder}: {holder} still writes there; wait until it ends, or end it") from None
    with hold:
        path.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
        yield
        path.write_text("", encoding="utf-8")
