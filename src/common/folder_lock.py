"""A folder that one process at a time continues: a job whose scheduler died may still run when it is started again."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.errors import UserError

UNKNOWN = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # errors of a file system that has no locks
NAME = ".lock"  # in the folder; it says who holds it, and holds nothing once that process has ended


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder and hold it while the block runs. Raises UserError, which names the process, if another does.

    A file system without locks, as some clusters have, holds nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / NAME, "a+", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in UNKNOWN:
                stream.seek(0)
                holder = stream.read() or "another process"
                raise UserError(f"{folder}: {holder} still writes there; wait until it ends, or end it") from None
        stream.truncate(0)
        stream.write(f"process {os.getpid()} on {socket.gethostname()}")
        stream.flush()
        yield
        stream.truncate(0)
