"""Long work in a job with a time limit: it ends at a checkpoint, in time, and the same job goes on from there.

Slurm says how long a job may still run. Where the next checkpoint might come too late, or after SIGTERM, which Slurm
sends before it takes the node away, the work ends right after a checkpoint and the job goes back to the queue. Work
ends at its regular checkpoints only: one at another step would change what is averaged and which dropout is drawn.
"""

import os
import re
import signal
import subprocess
import sys
import time

from common.errors import UserError

SPARE = 1.5  # of the longest time between two checkpoints so far: the next one may take longer
ENDING = 20.0  # seconds that a process takes to end and the job to be put back
QUERY_SECONDS = 20  # a controller that does not answer by then is down


class JobEndsError(UserError):
    """The work ended at a checkpoint; the same command goes on from there."""


class BatchJob:
    """The job that this process is in. Outside of Slurm it has no limit, and ends after SIGTERM only.

    From here on, SIGTERM lets the process go on to its next checkpoint.
    """

    def __init__(self, what: str):
        """what: the work, such as ``training of teacher``, for messages."""
        self._what, self._number = what, os.environ.get("SLURM_JOB_ID")
        self._told = False
        self._last, self._longest = time.monotonic(), 0.0
        signal.signal(signal.SIGTERM, self._tell)

    def _tell(self, *_: object) -> None:
        self._told = True
        # Not print: the signal may interrupt one.
        os.write(sys.stderr.fileno(), f"{self._what}: SIGTERM, ends at its next checkpoint\n".encode())

    def checkpoint(self, where: str) -> None:
        """Call after a checkpoint is on the disk. Raises JobEndsError if the work has to end here.

        where: the place in the work, such as ``step 500``.
        """
        now = time.monotonic()
        self._longest, self._last = max(self._longest, now - self._last), now
        state, left = state_and_seconds_left(self._number) if self._number else (None, None)
        if not (self._told or (left is not None and left < SPARE * self._longest + ENDING)):
            return
        reason = "SIGTERM" if self._told else f"{left:.0f} s left of the job's time"
        # A job that the user cancelled is no longer RUNNING; to put it back would be against the user's will.
        queued = state == "RUNNING" and requeue(self._number)
        goes_on = f"job {self._number} is back in the queue" if queued else "the same command goes on from there"
        raise JobEndsError(f"{self._what} ended at {where} ({reason}); {goes_on}")


def state_and_seconds_left(job: str) -> tuple[str | None, float | None]:
    """What Slurm says of a job: its state, and how long it may still run; None for what cannot be known.

    It is asked each time, since an administrator may give a job more time.
    """
    command = ["squeue", "--noheader", "--jobs", job, "--format", "%T %L"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=QUERY_SECONDS).stdout
    except (OSError, subprocess.SubprocessError):  # the controller restarts, or this node has no squeue
        return None, None
    state, _, left = answer.strip().partition(" ")
    return state or None, seconds(left)


def seconds(text: str) -> float | None:
    """The seconds of Slurm's ``[days-][hours:]minutes:seconds``, None for UNLIMITED and the like.

    Slurm says INVALID of a job past its limit, which it ends at its next look or after OverTimeLimit: none are left.
    """
    if text == "INVALID":
        return 0.0
    if not (match := re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)):
        return None
    days, hours, minutes, rest = (int(number or 0) for number in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + rest


def requeue(job: str) -> bool:
    """Put this job back in the queue, which ends it. Whether Slurm did: some clusters do not allow it."""
    try:
        subprocess.run(["scontrol", "requeue", job], capture_output=True, check=True, timeout=QUERY_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return True
