"""A folder is continued by one process at a time."""

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
