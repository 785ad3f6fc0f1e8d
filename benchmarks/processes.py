"""Commands of the pipeline as processes: how long they take, and their memory."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from nmt_frontier.errors import UserError

CORES = (0, 1)


class Process:
    """A running command of the pipeline, pinned to ``core``. peak: its largest resident set so far, in bytes.

    The peak is sampled from /proc, because wait4() starts from the value of the process that forked it.
    """

    def __init__(self, *arguments: object, core: int | None = None):
        self._name = f"python -m {' '.join(map(str, arguments))}"
        pinned = ["taskset", "-c", str(core)] if core is not None else []
        self._start = time.monotonic()
        call = [*pinned, sys.executable, "-m", *map(str, arguments)]
        self._process = subprocess.Popen(call, stderr=subprocess.DEVNULL)
        self.peak, self.seconds, self.cpu_seconds = 0, 0.0, 0.0

    def ended(self) -> bool:
        """Whether it has ended; then its times are known. Raises UserError if it failed."""
        marks = re.findall(r"VmHWM:\s*(\d+)", Path(f"/proc/{self._process.pid}/status").read_text())
        self.peak = max(self.peak, *(int(mark) * 1024 for mark in marks), 0)
        done, self._process.returncode, usage = os.wait4(self._process.pid, os.WNOHANG)
        if not done:
            self._process.returncode = None
            return False
        if self._process.returncode:
            raise UserError(f"{self._name}: failed")
        self.seconds, self.cpu_seconds = time.monotonic() - self._start, usage.ru_utime + usage.ru_stime
        return True

    def wait(self) -> "Process":
        while not self.ended():
            time.sleep(0.01)
        return self


def run_all(commands: list[list[str]]) -> int:
    """Run commands, one per core at a time. Returns the largest peak memory in bytes."""
    waiting, running, peak = list(commands), {}, 0
    while waiting or running:
        for core in CORES:
            if core not in running and waiting:
                running[core] = Process(*waiting.pop(0), core=core)
            if core in running and running[core].ended():
                peak = max(peak, running.pop(core).peak)
        time.sleep(0.01)
    return peak
