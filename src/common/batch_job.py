"""Long work in a job with a time limit: ends at a checkpoint before the limit and requeues the job, which continues.

Work also ends after SIGTERM, which Slurm sends before it takes a node away. It ends at regular checkpoints only: one at
another step would change the averaged weights and the random numbers of dropout.
"""

import os
import re
import signal
import subprocess
import sys
import time

from nmt_frontier.errors import UserError

SPARE = 1.5  # times the longest interval between two checkpoints so far: the next one may take longer
ENDING = 20.0  # seconds to end the process and requeue the job
QUERY_SECONDS = 20  # then Slurm's controller counts as down


class JobEndsError(UserError):
    """The work ended at a checkpoint; the same command continues it."""


class BatchJob:
    """The Slurm job of this process; without Slurm, work ends after SIGTERM only.

    Replaces the handler of SIGTERM. what: the work, such as ``training of teacher``, for messages.
    """

    def __init__(self, what: str):
        self._what, self._number = what, os.environ.get("SLURM_JOB_ID", "")
        self._terminated = False
        self._last, self._longest = time.monotonic(), 0.0
        signal.signal(signal.SIGTERM, self._terminate)

    def _terminate(self, *_: object) -> None:
        self._terminated = True
        # Not print(), which the signal may have interrupted.
        os.write(sys.stderr.fileno(), f"{self._what}: SIGTERM, ends at its next checkpoint\n".encode())

    def checkpoint(self, where: str) -> None:
        """Raise JobEndsError if the work has to end here. where: the checkpoint just written, such as ``step 500``."""
        now = time.monotonic()
        self._longest, self._last = max(self._longest, now - self._last), now
        state, left = state_and_seconds_left(self._number) if self._number else (None, None)
        if not (self._terminated or (left is not None and left < SPARE * self._longest + ENDING)):
            return
        reason = "SIGTERM" if self._terminated else f"{left:.0f} s left of the job's time"
        # A job that the user has cancelled is not RUNNING, and must not be requeued; some clusters refuse any.
        queued = state == "RUNNING" and slurm("scontrol", "requeue", self._number) is not None
        goes_on = f"job {self._number} is back in the queue" if queued else "the same command goes on from there"
        raise JobEndsError(f"{self._what} ended at {where} ({reason}); {goes_on}")


def state_and_seconds_left(job: str) -> tuple[str | None, float | None]:
    """State and remaining seconds of a job as of now (an administrator may extend it); None for what is unknown."""
    answer = slurm("squeue", "--noheader", "--jobs", job, "--format", "%T %L") or ""
    state, _, left = answer.strip().partition(" ")
    return state or None, seconds(left)


def seconds(text: str) -> float | None:
    """Slurm's ``[days-][hours:]minutes:seconds`` in seconds; None for UNLIMITED, 0 for INVALID (past the limit)."""
    if text == "INVALID":
        return 0.0
    if not (match := re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)):
        return None
    days, hours, minutes, rest = (int(number or 0) for number in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + rest


def slurm(*command: str) -> str | None:
    """The output of a command of Slurm; None if it fails or is missing, or the controller is down."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=QUERY_SECONDS).stdout
    except (OSError, subprocess.SubprocessError):
        return None
