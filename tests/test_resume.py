"""A translation that was killed goes on to the same bytes."""

import hashlib
import io
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from models import folders, sentences
from translation import run

from common.errors import UserError
from common.files import read_json, write_json
from decode import translate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    return folders()["float32"]


LINES = sentences(400, seed=3)


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """A long input with empty and broken lines, and its translation in one go."""
    folder = tmp_path_factory.mktemp("long")
    text = "\n".join([*LINES, "", *LINES[:50]]).encode() + b"\n\xff broken \xfe\n" + "\n".join(LINES[::-1]).encode()
    (folder / "in").write_bytes(text)
    done = run(
        "--model", model, "--workers", 2, "--batch-tokens", 16, "--input", folder / "in", "--output", folder / "out"
    )
    assert done.returncode == 0 and not (folder / "out.progress").exists()
    assert done.stderr == b"2 broken bytes replaced by U+FFFD\n"
    assert (folder / "out").read_bytes().count(b"\n") == text.count(b"\n") + 1
    return folder


def started(model, folder, *options, feed=False):
    """Translate slowly, from a pipe if asked for: a process that can be killed in the middle."""
    command = [sys.executable, "-m", "decode.translate", "--model", model, "--workers", 2, "--batch-tokens", 16]
    command += ["--output", folder / "killed", "--resume", *options]
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE if feed else None, stderr=subprocess.PIPE)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_translation_goes_on_to_the_same_bytes(model, whole, tmp_path, number):
    text, written = (whole / "in").read_bytes(), 0
    for share in (3, 2):
        process = started(model, tmp_path, feed=True)
        process.stdin.write(text[: len(text) // share])  # and no more: it waits for the rest
        process.stdin.flush()
        wait_for(tmp_path / "killed", process, size=written + 1)
        written = (tmp_path / "killed").stat().st_size
        process.send_signal(number)
        process.wait()
        process.stdin.close()
        assert process.returncode
    assert (whole / "out").read_bytes() != (tmp_path / "killed").read_bytes()
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() == 0, process.stderr.read()
    assert (tmp_path / "killed").read_bytes() == (whole / "out").read_bytes()
    assert not (tmp_path / "killed.progress").exists()
    assert process.stderr.read() == b"2 broken bytes replaced by U+FFFD\n"  # before or after it was killed


def test_what_was_killed_before_its_first_window_goes_on(model, whole, tmp_path):
    process = started(model, tmp_path, feed=True)
    process.stdin.write(b"abc\n")  # far less than a window
    process.stdin.flush()
    wait_for(tmp_path / "killed", process, size=0)
    process.kill()
    process.wait()
    process.stdin.close()
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() == 0, process.stderr.read()
    assert (tmp_path / "killed").read_bytes() == (whole / "out").read_bytes()


class Interrupted(bytes):
    """Input at whose length a signal comes."""

    def __len__(self):
        raise KeyboardInterrupt


def test_a_signal_between_two_steps_of_a_write_notes_nothing_of_its_window(tmp_path):
    """Noted as read and not as written, lines would be lost; resuming repeats the window."""
    begun = {"key": "", "read": 0, "written": 0, "counts": {}, "input": hashlib.sha256().hexdigest()}
    with open(tmp_path / "out", "wb", buffering=0) as file:
        output = translate.Output(file, tmp_path / "notes", begun, hashlib.sha256())
        with pytest.raises(KeyboardInterrupt):
            output.write(b"x\n", Interrupted(b"y\n"), Counter(broken=1))
        output.note()
    assert read_json(tmp_path / "notes") == begun


def wait_for(path, process, size=1):
    """Until the file has so many bytes; that it is there says nothing yet of lines in it."""
    deadline = time.monotonic() + 60
    while not path.exists() or path.stat().st_size < size:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


def test_another_input_is_not_gone_on_with(model, whole, tmp_path):
    text = (whole / "in").read_bytes()
    process = started(model, tmp_path, feed=True)
    process.stdin.write(text[: len(text) // 2])
    process.stdin.flush()
    wait_for(tmp_path / "killed", process)
    process.terminate()
    process.wait()
    process.stdin.close()
    before = (tmp_path / "killed").read_bytes(), (tmp_path / "killed.progress").read_bytes()
    (tmp_path / "other").write_bytes(b"X" + text[1:])
    process = started(model, tmp_path, "--input", tmp_path / "other")
    assert process.wait() and b"the input is not the one" in process.stderr.read()
    assert before == ((tmp_path / "killed").read_bytes(), (tmp_path / "killed.progress").read_bytes())
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() == 0
    assert (tmp_path / "killed").read_bytes() == (whole / "out").read_bytes()


def test_what_cannot_be_gone_on_with(model, whole, tmp_path):
    (tmp_path / "killed").write_text("x\n")
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() and b"no killed.progress beside it: it is finished" in process.stderr.read()
    (tmp_path / "killed.progress").write_text('{"key": {"beam_size": 7}, "read": 2, "written": 2}')
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() and b"was begun with another model; beam_size 7, not 1;" in process.stderr.read()
    (tmp_path / "killed.progress").write_text('{"key"')
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() and b"killed.progress: damaged" in process.stderr.read()
    assert (tmp_path / "killed").read_text() == "x\n"
    done = run("--model", model, "--resume", "--input", whole / "in")
    assert done.returncode and b"--resume needs --output" in done.stderr


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"key": {}, "written": 0}, r"out\.progress: damaged \('read'\)"),
        (
            {"key": {}, "read": 2, "written": 2, "counts": {}, "input": ""},
            r"out: is missing, but out\.progress",
        ),
    ],
)
def test_notes_that_do_not_fit(tmp_path, notes, message):
    write_json(tmp_path / "out.progress", notes)
    with (
        pytest.raises(UserError, match=message),
        translate.resumable_output(tmp_path / "out", {}, True, io.BytesIO(b"x\n")),
    ):
        pass


def test_what_the_kernel_kills_is_told_and_leaves_whole_lines(model, whole, tmp_path):
    """As it does when memory runs out: it takes the process that has the models, not the one that waits for it."""
    process = started(model, tmp_path, feed=True)
    process.stdin.write((whole / "in").read_bytes()[:4000])
    process.stdin.flush()
    wait_for(tmp_path / "killed", process)
    os.kill(int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()), signal.SIGKILL)
    assert process.wait() == 128 + signal.SIGKILL
    assert process.stderr.read().startswith(b"error: killed, which the kernel does when memory runs out; ")
    written = (tmp_path / "killed").read_bytes()
    assert written.endswith(b"\n") and (whole / "out").read_bytes().startswith(written)


def test_a_full_disk_keeps_whole_lines_in_order_and_can_be_gone_on_with(model, whole, tmp_path):
    """The limit on the size of a file stands for the end of the disk."""
    expected = (whole / "out").read_bytes()
    options = ["--model", model, "--workers", 2, "--batch-tokens", 16, "--input", whole / "in"]
    command = [sys.executable, "-m", "decode.translate", *map(str, options), "--output", str(tmp_path / "killed")]

    def little_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(expected) // 2, resource.RLIM_INFINITY))

    done = subprocess.run(command, capture_output=True, preexec_fn=little_space, check=False)
    assert done.returncode and b"File too large" in done.stderr and b"Traceback" not in done.stderr
    written = (tmp_path / "killed").read_bytes()
    assert 0 < len(written) <= len(expected) // 2
    assert written.endswith(b"\n") and expected.startswith(written)
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() == 0
    assert (tmp_path / "killed").read_bytes() == expected


def test_the_message_names_what_differs(tmp_path):
    (model := tmp_path / "model").mkdir()
    key = translate.progress_key(model, {"beam_size": 1, "workers": 2})
    with pytest.raises(KeyboardInterrupt), translate.resumable_output(tmp_path / "out", key, False, io.BytesIO(b"x\n")):
        raise KeyboardInterrupt
    (model / "weights").write_text("another model")
    changed = pytest.raises(UserError, match="out was begun with another model; go on")
    settings = {"beam_size": 1, "workers": 2}
    with (
        changed,
        translate.resumable_output(tmp_path / "out", translate.progress_key(model, settings), True, io.BytesIO(b"x\n")),
    ):
        pass
    (model / "weights").unlink()
    other = translate.progress_key(model, {"beam_size": 1, "workers": 3})
    message = r"out was begun with workers 2, not 3; go on with the same"
    with (
        pytest.raises(UserError, match=message),
        translate.resumable_output(tmp_path / "out", other, True, io.BytesIO(b"x\n")),
    ):
        pass
