"""A folder is written by one process at a time."""

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import nullcontext

import pytest

from common import folder_lock
from nmt_frontier.errors import UserError

HOLD = """
import pathlib, sys
from common import folder_lock

with folder_lock.held(pathlib.Path("{}")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_error_of_a_second_process_names_the_holder(tmp_path):
    folder = tmp_path / "run"
    holder = [sys.executable, "-c", HOLD.format(folder)]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        message = rf"run: process {other.pid} on .* still writes there"
        with pytest.raises(UserError, match=message), folder_lock.held(folder):
            pytest.fail("two processes hold the folder")
        other.kill()  # as a killed job: nothing is cleaned up
        other.wait()
        with folder_lock.held(folder):
            assert str(os.getpid()) in (folder / folder_lock.NAME).read_text()


@pytest.mark.parametrize("number", [*sorted(folder_lock.UNKNOWN), errno.EIO])
def test_a_file_system_without_locks_holds_nothing(tmp_path, monkeypatch, number):
    """Any other error is raised."""

    def flock(*_):
        raise OSError(number, "broken")

    monkeypatch.setattr(fcntl, "flock", flock)
    expected = nullcontext() if number in folder_lock.UNKNOWN else pytest.raises(OSError, match="broken")
    with expected, folder_lock.held(tmp_path / "run"), folder_lock.held(tmp_path / "run"):
        assert number != errno.EIO and (tmp_path / "run" / folder_lock.NAME).exists()
