"""Outputs that appear whole or not at all, errors of the user in one line, and progress."""

import errno
import os
import subprocess
import sys

import pytest

from nmt_frontier.errors import UserError
from nmt_frontier.files import HOST, atomic_path, write_json
from nmt_frontier.progress import progress


def tree(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob("*")]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as part:
        part.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_a_folder_is_replaced_as_a_whole_or_stays(tmp_path):
    for content in ("old", "new"):
        with atomic_path(tmp_path / "folder") as part:
            part.mkdir()
            (part / content).write_text(content)
    assert tree(tmp_path / "folder") == ["new"]
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "folder"):
        pass
    assert tree(tmp_path) == ["folder", "folder/new"]


def test_equal_values_give_equal_bytes_and_replace_no_folder(tmp_path):
    for name in ("a", "b"):
        write_json(tmp_path / name, {"x": 1, "ü": [1, 2]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    (tmp_path / "folder/thesis").mkdir(parents=True)
    with pytest.raises(UserError, match="folder: is a folder; name a file"):
        write_json(tmp_path / "folder", {})
    assert {*tree(tmp_path)} == {"a", "b", "folder", "folder/thesis"}


def test_what_a_killed_process_left_is_deleted(tmp_path):
    (ended := subprocess.Popen(["true"])).wait()
    for pid in (ended.pid, os.getppid()):
        (tmp_path / f".x.json.{HOST}.{pid}.part").write_text("half")
    write_json(tmp_path / "x.json", {})
    assert {*tree(tmp_path)} == {"x.json", f".x.json.{HOST}.{os.getppid()}.part"}


def test_a_folder_that_a_killed_process_had_renamed_gets_its_name_back(tmp_path):
    (ended := subprocess.Popen(["true"])).wait()
    for kind in ("old", "part"):
        (tmp_path / f".model.{HOST}.{ended.pid}.{kind}").mkdir()
        (tmp_path / f".model.{HOST}.{ended.pid}.{kind}" / kind).touch()
    with pytest.raises(RuntimeError), atomic_path(tmp_path / "model"):
        raise RuntimeError
    assert tree(tmp_path) == ["model", "model/old"]


@pytest.mark.parametrize(("name", "problem"), [("pipe", "is neither a file nor a folder"), ("/", "has no name")])
def test_no_device_or_pipe_is_replaced(tmp_path, name, problem):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match=problem), atomic_path(tmp_path / name):
        raise AssertionError("it began")
    assert (tmp_path / "pipe").is_fifo() and tree(tmp_path) == ["pipe"]


def test_a_full_disk_is_reported_in_one_line_with_the_file(tmp_path):
    with pytest.raises(OSError, match="No space") as error, atomic_path(tmp_path / "x.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.filename == str(tmp_path / "x.json")
    with pytest.raises(OSError, match="No space") as error, atomic_path(tmp_path / "x.json"):
        raise OSError(errno.ENOSPC, "No space left on device", "copied")
    assert error.value.filename == str(tmp_path / "x.json")
    program = (
        "import errno\nfrom nmt_frontier.errors import command\n"
        "def main(): raise OSError(errno.ENOSPC, 'No space left on device', 'corpus.tsv.zst')\ncommand(main)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.returncode == 1 and process.stderr == "error: corpus.tsv.zst: No space left on device\n"


def test_progress_passes_everything_on_and_reports_in_plain_lines(capsys):
    assert list(progress(iter("abc"), "reading", total=3)) == ["a", "b", "c"]
    error = capsys.readouterr().err
    assert error.startswith("reading: 3 of 3 lines, ") and error.endswith("done\n") and "\r" not in error


def test_a_log_has_no_line_inside_what_comes_together(capsys, monkeypatch):
    clock = iter([0, *[20] * 4, *[40] * 4, 40])  # four at a time, after 20 seconds
    monkeypatch.setattr("nmt_frontier.progress.time.monotonic", lambda: next(clock))
    assert list(progress(range(8), "scoring", 8, "pair", block=4)) == [*range(8)]
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 4 of 8 pairs, 5.0 s a pair, 20 s left",
        "scoring: 8 of 8 pairs, 5.0 s a pair, 0 s left",
        "scoring: 8 of 8 pairs, 5.0 s a pair, 0 s left, done",
    ]
