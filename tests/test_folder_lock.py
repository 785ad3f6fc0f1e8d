"""A folder is continued by one process at a time."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from common import folder_lock
from common.errors import UserError

HOLD = """
import pathlib, sys
from common import folder_lock

with folder_lock.held(pathlib.Path("{}")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_told_who_holds_a_folder(tmp_path):
    folder = tmp_path / "run"
    holder = [sys.executable, "-c", HOLD.format(folder)]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        message = rf"run: process {other.pid} on .* still writes there"
        with pytest.raises(UserError, match=message), folder_lock.held(folder):
            pytest.fail("two processes hold the folder")
        other.kill()  # as a job that is killed: nothing has to be cleaned up
        other.wait()
        with folder_lock.held(folder):
            assert str(os.getpid()) in (folder / folder_lock.NAME).read_text()


@pytest.mark.parametrize("number", sorted(folder_lock.UNKNOWN))
def test_a_file_system_without_locks_holds_nothing(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with folder_lock.held(tmp_path / "run"), folder_lock.held(tmp_path / "run"):
        assert (tmp_path / "run" / folder_lock.NAME).exists()


def test_other_errors_of_a_lock_are_told(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(OSError, match="broken"), folder_lock.held(tmp_path / "run"):
        pytest.fail("nothing was locked")
