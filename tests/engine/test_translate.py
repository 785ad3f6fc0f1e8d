"""The command: files and pipes, broken bytes, long lines, errors of one line."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from descriptions import redescribe
from models import sentences
from native import folders
from translation import COMMAND, run

from nmt_frontier.search.pipeline import MAXIMUM_INPUT
from nmt_frontier.translator import Translator


@pytest.fixture(scope="module")
def model():
    return folders() / "float32"


def test_translator(model):
    lines = sentences(30)
    expected = [next(Translator(model).translate([line])) for line in lines]
    assert [*Translator(model, batch_tokens=16, workers=2).translate(lines)] == expected
    assert len(set(expected)) > 3


BLANK = ["", " ", "\u00a0", "\u3000", "\u200b", " \u200b\u3000"]


@pytest.mark.parametrize("beam", [1, 4])
def test_a_blank_line_of_every_kind_stays_empty(model, beam):
    lines = sentences(len(BLANK))
    expected = [*Translator(model, beam).translate(lines)]
    found = [*Translator(model, beam).translate(text for pair in zip(BLANK, lines, strict=True) for text in pair)]
    assert found[::2] == [""] * len(BLANK) and found[1::2] == expected and any(expected)


@pytest.mark.slow
def test_command(model, tmp_path):
    lines = [*sentences(3), "", "  ", *sentences(3, seed=5)]
    expected = "".join(f"{line}\n" for line in Translator(model, beam_size=4, vocabulary_map=False).translate(lines))
    (tmp_path / "in").write_text("\n".join(lines), encoding="utf-8")  # the last line has no end
    options = ["--model", model, "--beam-size", 4, "--no-vocabulary-map"]
    done = run(*options, "--input", tmp_path / "in", "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, b"") and b"error" not in done.stderr
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected
    assert expected.split("\n")[3:5] == ["", ""]
    assert run(*options, text=(tmp_path / "in").read_bytes()).stdout.decode() == expected


INPUTS = {  # text, lines of the output, and what is reported
    "nothing": (b"", 0, ""),
    "broken bytes": (b"abc \xff\xfe de\nab\0c \xc3\n", 2, "3 broken bytes replaced by U+FFFD\n"),
    "a long line": (b"ab " * 3000 + b"\n", 1, f"1 lines longer than {MAXIMUM_INPUT} pieces cut there: line 1\n"),
}


@pytest.mark.parametrize(("text", "lines", "report"), INPUTS.values(), ids=INPUTS)
def test_changes_to_the_input_are_counted(model, text, lines, report):
    done = run("--model", model, text=text)
    assert (done.returncode, len(done.stdout.decode().splitlines()), done.stderr.decode()) == (0, lines, report)


@pytest.mark.parametrize("long_lines", ["cut", "split"])
@pytest.mark.slow
def test_a_line_of_megabytes_and_nul_bytes(model, long_lines):
    text = b"ab\n" + b"abc\0de" * 400_000 + b"\n\0\0\nab\n"
    done = run("--model", model, "--long-lines", long_lines, "--workers", 1, text=text)
    assert done.returncode == 0, done.stderr
    first, _, _, last = done.stdout.decode().split("\n")[:-1]
    assert first == last
    assert f"1 lines longer than {MAXIMUM_INPUT} pieces {long_lines} there" in done.stderr.decode()


@pytest.mark.slow
def test_a_closed_pipe_ends_it_quietly(model):
    command = f"yes abc | {sys.executable} -m nmt_frontier translate --model {model} --batch-tokens 8 | head -n 2"
    done = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[1]}}"], capture_output=True, timeout=60)
    *lines, status = done.stdout.decode().splitlines()
    assert (len(lines), status, done.stderr) == (2, "141", b"")


ERRORS = {
    "a folder": ("--model {tmp}", "{tmp}: not a model folder, it has no model.json"),
    "no input": ("--model {model} --input {tmp}/absent", "{tmp}/absent: No such file or directory"),
    "input and output": (
        "--model {model} --input {tmp}/in --output {tmp}/in",
        "{tmp}/in is the input, too; write the translation to another file",
    ),
    "no file": (
        "--model {model} --input {tmp}/in --output /dev/null",
        "/dev/null: not a file; leave out --output to write to standard output",
    ),
    "resume": ("--model {model} --resume", "--resume needs --output: only a file can be gone on with"),
    "a GPU": ("--model {model} --device cuda", "{model}: native decodes on the CPU here; leave out --device"),
}


@pytest.mark.parametrize(("options", "message"), ERRORS.values(), ids=ERRORS)
@pytest.mark.slow
def test_errors_are_one_line(model, tmp_path, options, message):
    (tmp_path / "in").write_text("abc\n")
    done = run(*(option.format(model=model, tmp=tmp_path) for option in options.split()))
    assert done.returncode == 1
    assert done.stderr.decode() == f"error: {message.format(model=model, tmp=tmp_path)}\n"
    assert (tmp_path / "in").read_text() == "abc\n"


def test_standard_input_is_not_written_over(model, tmp_path):
    (tmp_path / "in").write_text("abc\n")
    with open(tmp_path / "in", "rb") as source:
        command = [*COMMAND, "--model", model, "--output", tmp_path / "in"]
        done = subprocess.run(command, stdin=source, capture_output=True, check=False)
    assert done.returncode == 1 and b"is the input, too" in done.stderr
    assert (tmp_path / "in").read_text() == "abc\n"


CLOSED = {
    "<&-": "error: standard input is closed; name the text with --input\n",
    "<in >&-": "error: standard output is closed; name a file with --output\n",
    "<in 2>&-": "",
}


@pytest.mark.parametrize(("closed", "message"), CLOSED.items())
@pytest.mark.slow
def test_a_closed_stream_is_an_error(model, tmp_path, closed, message):
    (tmp_path / "in").write_text("abc\n")
    call = f"{sys.executable} -m nmt_frontier translate --model {model} {closed}"
    done = subprocess.run(["sh", "-c", call], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (int(bool(message)), message)
    assert bool(done.stdout) is not bool(message)


@pytest.mark.slow
def test_a_signal_to_the_process_itself_ends_it(model):
    command = [*COMMAND, "--model", model]
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        while not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text():
            time.sleep(0.1)
        time.sleep(2)
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number and process.stderr.read() == b""
        process.stdin.close()


def test_standard_input_is_read_from_where_it_is(model, tmp_path):
    (tmp_path / "in").write_text("header\nabc\n")
    with open(tmp_path / "in", "rb", buffering=0) as source:
        source.read(len("header\n"))
        subprocess.run([*COMMAND, "--model", model, "--output", tmp_path / "out"], stdin=source, check=True)
    assert (tmp_path / "out").read_text().count("\n") == 1


@pytest.mark.parametrize("option", ["--beam-size", "--workers", "--batch-tokens"])
@pytest.mark.slow
def test_numbers_are_at_least_one(model, option):
    done = run("--model", model, option, 0)
    assert done.returncode == 2
    assert f"argument {option}: 0 is not at least 1" in done.stderr.decode()


def test_workers_are_as_many_as_cores(model):
    assert Translator(model).search.workers == len(os.sched_getaffinity(0))
    assert [Translator(model, workers=count).pipeline.batch_tokens for count in (1, 2)] == [512, 256]


@pytest.mark.slow
def test_a_damaged_model_is_one_line_and_can_be_let_through(tmp_path):
    folder = shutil.copytree(folders() / "int8", tmp_path / "int8")
    data = bytearray((folder / "weights.safetensors").read_bytes())
    redescribe(folder, sha256={"weights.safetensors": hashlib.sha256(data).hexdigest()})
    data[len(data) // 2] ^= 1
    (folder / "weights.safetensors").write_bytes(data)
    options = ["--model", folder, "--workers", 1]
    done = run(*options, text=b"a b\n")
    damaged = "damaged, or not the one this model was exported with; copy or export it again"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        1,
        b"",
        f"error: {folder}/weights.safetensors: {damaged}\n",
    )
    done = run(*options, "--no-checksums", text=b"a b\n")
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1
