"""A killed translation resumes and ends with the same bytes."""

import hashlib
import io
import os
import resource
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from models import sentences
from native import folders
from translation import COMMAND, run

from nmt_frontier.command import translate
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.translator import Translator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    return folders() / "float32"


LINES = sentences(400, seed=3)
SLOW = ["--workers", 2, "--batch-tokens", 16]


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """A long input with empty and broken lines, and its translation in one go."""
    folder = tmp_path_factory.mktemp("long")
    text = "\n".join([*LINES, "", *LINES[:50]]).encode() + b"\n\xff broken \xfe\n" + "\n".join(LINES[::-1]).encode()
    (folder / "in").write_bytes(text)
    done = run("--model", model, *SLOW, "--input", folder / "in", "--output", folder / "out")
    assert done.returncode == 0 and not (folder / "out.progress").exists()
    assert done.stderr.startswith(b"2 broken bytes replaced by U+FFFD\n")
    (folder / "reported").write_bytes(done.stderr)
    assert (folder / "out").read_bytes().count(b"\n") == text.count(b"\n") + 1
    return folder


def started(model, folder, *options, feed=False):
    """Translate slowly, from a pipe if ``feed``."""
    options = ["--model", model, *SLOW, "--output", folder / "killed", "--resume", *options]
    return subprocess.Popen(
        [*COMMAND, *map(str, options)], stdin=subprocess.PIPE if feed else None, stderr=subprocess.PIPE
    )


def fed(model, folder, text, size=1):
    """A process that has read ``text``, waits for more, and has written at least ``size`` bytes."""
    process, path, deadline = started(model, folder, feed=True), folder / "killed", time.monotonic() + 60
    process.stdin.write(text)
    process.stdin.flush()
    while not path.exists() or path.stat().st_size < size:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


def killed(process, number):
    process.send_signal(number)
    process.wait()
    process.stdin.close()
    assert process.returncode


def resumed(model, whole, folder):
    """Translate the rest; what was reported."""
    process = started(model, folder, "--input", whole / "in")
    assert process.wait() == 0, process.stderr.read()
    assert (folder / "killed").read_bytes() == (whole / "out").read_bytes()
    assert not (folder / "killed.progress").exists()
    return process.stderr.read()


def refused(model, folder, source, message):
    process = started(model, folder, "--input", source)
    assert process.wait() and message in process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_translation_resumes_to_the_same_bytes(model, whole, tmp_path, number):
    text, written = (whole / "in").read_bytes(), 0
    for share in (3, 2):
        process = fed(model, tmp_path, text[: len(text) // share], size=written + 1)
        written = (tmp_path / "killed").stat().st_size
        killed(process, number)
    assert (whole / "out").read_bytes() != (tmp_path / "killed").read_bytes()
    assert resumed(model, whole, tmp_path) == (whole / "reported").read_bytes()  # before or after the kill


def test_a_translation_killed_before_its_first_window_resumes(model, whole, tmp_path):
    killed(fed(model, tmp_path, b"abc\n", size=0), signal.SIGKILL)  # far less than a window
    resumed(model, whole, tmp_path)


class Interrupted(bytes):
    """Input whose length raises a signal."""

    def __len__(self):
        raise KeyboardInterrupt


def test_a_signal_between_two_steps_of_a_write_notes_nothing_of_its_window(tmp_path):
    """Lines noted as read but not as written would be lost; resuming repeats the window."""
    begun = {"key": "", "read": 0, "written": 0, "counts": {}, "input": hashlib.sha256().hexdigest()}
    with open(tmp_path / "out", "wb", buffering=0) as file:
        output = translate.Output(file, tmp_path / "notes", begun, hashlib.sha256())
        with pytest.raises(KeyboardInterrupt):
            output.write(b"x\n", Interrupted(b"y\n"), Counter(broken=1))
        output.note()
    assert read_json(tmp_path / "notes") == begun


def test_another_input_is_refused(model, whole, tmp_path):
    text = (whole / "in").read_bytes()
    killed(fed(model, tmp_path, text[: len(text) // 2]), signal.SIGTERM)
    before = (tmp_path / "killed").read_bytes(), (tmp_path / "killed.progress").read_bytes()
    (tmp_path / "other").write_bytes(b"X" + text[1:])
    refused(model, tmp_path, tmp_path / "other", b"the input is not the one")
    assert before == ((tmp_path / "killed").read_bytes(), (tmp_path / "killed.progress").read_bytes())
    resumed(model, whole, tmp_path)


def test_what_cannot_be_resumed(model, whole, tmp_path):
    (tmp_path / "killed").write_text("x\n")
    refused(model, tmp_path, whole / "in", b"no killed.progress beside it: it is finished")
    (tmp_path / "killed.progress").write_text('{"key": {"beam_size": 7}, "read": 2, "written": 2}')
    refused(model, tmp_path, whole / "in", b"was begun with another model; beam_size 7, not 1;")
    (tmp_path / "killed.progress").write_text('{"key"')
    refused(model, tmp_path, whole / "in", b"killed.progress: damaged")
    assert (tmp_path / "killed").read_text() == "x\n"
    done = run("--model", model, "--resume", "--input", whole / "in")
    assert done.returncode and b"--resume needs --output" in done.stderr


def opened(path, key):
    with translate.resumable_output(path, key, True, io.BytesIO(b"x\n")):
        pass


NOTES = [
    ({"key": {}, "written": 0}, r"out\.progress: damaged \('read'\)"),
    ({"key": {}, "read": 2, "written": 2, "counts": {}, "input": ""}, r"out: is missing, but out\.progress"),
]


@pytest.mark.parametrize(("notes", "message"), NOTES)
def test_notes_that_do_not_fit(tmp_path, notes, message):
    write_json(tmp_path / "out.progress", notes)
    with pytest.raises(UserError, match=message):
        opened(tmp_path / "out", {})


def test_a_kill_by_the_kernel_is_reported_and_leaves_whole_lines(model, whole, tmp_path):
    """As when memory runs out: the kernel kills the process with the models, not the one that waits for it."""
    process = fed(model, tmp_path, (whole / "in").read_bytes()[:4000])
    os.kill(int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()), signal.SIGKILL)
    assert process.wait() == 128 + signal.SIGKILL
    assert process.stderr.read().startswith(b"error: killed, which the kernel does when memory runs out; ")
    written = (tmp_path / "killed").read_bytes()
    assert written.endswith(b"\n") and (whole / "out").read_bytes().startswith(written)


def test_a_full_disk_keeps_whole_lines_and_can_be_resumed(model, whole, tmp_path):
    """A limit on the size of files stands for the disk."""
    expected = (whole / "out").read_bytes()
    options = ["--model", model, *SLOW, "--input", whole / "in", "--output", tmp_path / "killed"]

    def little_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(expected) // 2, resource.RLIM_INFINITY))

    command = [*COMMAND, *map(str, options)]
    done = subprocess.run(command, capture_output=True, preexec_fn=little_space, check=False)
    assert done.returncode and b"File too large" in done.stderr and b"Traceback" not in done.stderr
    written = (tmp_path / "killed").read_bytes()
    assert 0 < len(written) <= len(expected) // 2
    assert written.endswith(b"\n") and expected.startswith(written)
    resumed(model, whole, tmp_path)


def test_the_message_names_what_differs(tmp_path):
    (model := tmp_path / "model").mkdir()
    key = translate.progress_key([model], {"beam_size": 1, "workers": 2})
    with pytest.raises(KeyboardInterrupt), translate.resumable_output(tmp_path / "out", key, False, io.BytesIO(b"x\n")):
        raise KeyboardInterrupt
    (model / "weights").write_text("another model")
    with pytest.raises(UserError, match="out was begun with another model; go on"):
        opened(tmp_path / "out", translate.progress_key([model], {"beam_size": 1, "workers": 2}))
    (model / "weights").unlink()
    with pytest.raises(UserError, match=r"out was begun with workers 2, not 3; go on with the same"):
        opened(tmp_path / "out", translate.progress_key([model], {"beam_size": 1, "workers": 3}))


def test_an_output_of_version_0_9_is_gone_on_with(model):
    """Its notes name all options of text, or none but those that were given."""
    plain, marked = ({"long_lines": "cut", "copying": True, "end_loops": True}, {"html": False, "sentences": True})
    for options, noted in (({}, plain), ({"sentences": True}, plain | marked | {"replace_unknown": False})):
        key = translate.progress_key([model], Translator(model, **options).settings)
        assert not translate._changes(key | noted, key)
        assert translate._changes(key | noted | {"copying": False}, key) == "copying False, not True"
