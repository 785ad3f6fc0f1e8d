"""Locks of files, and of folders that one process at a time may write.

A job whose scheduler has died may still run when it is started again.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from nmt_frontier.errors import UserError

UNKNOWN = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # errors of a file system that has no locks
NAME = ".lock"  # in the folder, with the name of the holder; the lock ends with that process


def lock(path: Path, timeout: float = -1) -> AbstractContextManager[object]:
    """Lock a file until the ``with`` block of the result ends, or this process, also if it is killed. Raises Timeout.

    timeout: seconds to wait for another process (negative: no limit). Does nothing on a file system without locks.
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
    """Make a folder and lock it while the block runs. Raises UserError, with the process, if another has locked it."""
    path = folder / NAME
    try:
        hold = lock(path, timeout=0)
    except Timeout:
        holder = ""
        with suppress(FileNotFoundError):  # the other process has just ended and removed the folder
            holder = path.read_text(encoding="utf-8")
        raise UserError(
            f"{folder}: {holder or 'another process'} still writes there; wait until it ends, or end it"
        ) from None
    with hold:
        path.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
        yield
        path.write_text("", encoding="utf-8")
