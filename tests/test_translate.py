"""Lines in, as many lines out, in order, whatever the window, the batches and the bytes."""

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import folders, sentences

from decode import tune
from decode.pipeline import (
    MAXIMUM_CHARACTERS,
    MAXIMUM_INPUT,
    WINDOW_BATCHES,
    Line,
    Pipeline,
    batches,
    chunks,
    split,
    windows,
)
from decode.translate import GPU, Translator, best_batch, decoded, replaced
from formats import cpu
from formats.errors import UserError

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=12), max_size=60)
TOKENS = st.integers(1, 40)


class Words:
    """Whitespace tokens in place of SentencePiece."""

    encode = staticmethod(str.split)
    decode = staticmethod(" ".join)


def backwards(batch):
    assert batch and all(batch)  # an engine never sees an empty batch or sentence
    return [sentence[::-1] for sentence in batch]


@given(SENTENCES, TOKENS, st.sampled_from([1, 3]), st.booleans())
def test_each_line_has_its_own_translation(corpus, tokens, workers, overlap):
    pipeline = Pipeline(Words, backwards, tokens, workers, overlap=overlap)
    outputs = [line for window in pipeline.windows(" ".join(sentence) for sentence in corpus) for line in window]
    assert outputs == [" ".join(sentence[::-1]) for sentence in corpus]
    assert pipeline.counts["source_tokens"] == pipeline.counts["target_tokens"] == sum(map(len, corpus))
    assert all(seconds >= 0 for seconds in pipeline.seconds.values())


@given(SENTENCES, TOKENS)
def test_batches_hold_each_sentence_once_and_are_no_larger_than_asked(window, tokens):
    cut = [*batches(window, tokens)]
    assert sorted(place for batch in cut for place in batch) == [n for n, sentence in enumerate(window) if sentence]
    for batch in cut:
        assert len(batch) == 1 or len(batch) * max(len(window[place]) for place in batch) <= tokens
    lengths = [len(window[place]) for batch in cut for place in batch]
    assert lengths == sorted(lengths, reverse=True)


@given(SENTENCES, TOKENS)
def test_windows_are_the_text_in_pieces(corpus, tokens):
    cut = [*windows((Line([sentence]) for sentence in corpus), tokens)]
    assert [sentence for window in cut for sentence in window.parts] == corpus
    for window in cut:
        assert sum(max(len(sentence), 1) for sentence in window.parts[:-1]) < tokens
        assert window.sizes == [1] * len(window.parts)


@pytest.mark.parametrize("line", ["a b c", ""])
@pytest.mark.parametrize("overlap", [True, False])
def test_no_more_than_a_window_is_read_ahead(line, overlap):
    lines_read = Counter()

    def endless():
        while True:
            lines_read["lines"] += 1
            yield line

    first = next(Pipeline(Words, backwards, batch_tokens=10, overlap=overlap).windows(endless()))
    assert lines_read["lines"] == len(first) * (2 if overlap else 1) and len(first) <= WINDOW_BATCHES * 10


def test_a_line_that_never_ends_is_cut():
    pipeline = Pipeline(Words, backwards)
    (outputs,) = pipeline.windows(["a " * (MAXIMUM_INPUT + 5), "b", "c " * MAXIMUM_INPUT])
    assert [len(output.split()) for output in outputs] == [MAXIMUM_INPUT, 1, MAXIMUM_INPUT]
    assert pipeline.counts["lines_cut"] == 1


def test_while_a_window_is_decoded_the_next_one_is_read():
    """The engine waits until a line of the second window was asked for; without overlap it would wait in vain."""
    asked = threading.Event()

    def lines():
        yield from ["a b"] * 40
        asked.set()
        yield from ["c"] * 40

    def translate(batch):
        assert asked.wait(10)
        return batch

    pipeline = Pipeline(Words, translate, batch_tokens=10)
    assert [line for window in pipeline.windows(lines()) for line in window] == ["a b"] * 40 + ["c"] * 40


@given(st.lists(st.sampled_from(["a", "b.", "c"]), max_size=60), st.integers(2, 9))
def test_a_split_sentence_is_whole_and_its_parts_are_short(pieces, limit):
    parts = [*split(pieces, limit)]
    assert [piece for part in parts for piece in part] == pieces
    assert all(0 < len(part) <= limit for part in parts)
    for part in parts[:-1]:
        assert part[-1] == "b." or (len(part) == limit and "b." not in part[limit // 2 :])


@given(st.text("ab ", max_size=60), st.integers(4, 20))
def test_a_line_in_chunks_of_text_is_the_line(line, limit):
    with mock.patch("decode.pipeline.MAXIMUM_CHARACTERS", limit):
        parts = [*chunks(line)]
    assert "".join(parts) == line and all(len(part) <= limit for part in parts)


def test_a_line_that_never_ends_can_be_split():
    pipeline = Pipeline(Words, lambda batch: batch, long_lines="split")
    lines = ["a " * (MAXIMUM_INPUT + 5), "b", "", "c " * 10 * MAXIMUM_CHARACTERS]
    (outputs,) = pipeline.windows(lines)
    assert [output.split() for output in outputs] == [line.split() for line in lines]
    assert pipeline.counts["lines_split"] == 2 and not pipeline.counts["lines_cut"]


def test_what_is_cut_is_what_comes_after_the_limit():
    pipeline = Pipeline(Words, lambda batch: batch)
    lines = [" " * MAXIMUM_CHARACTERS + "a b", ("c" * 40 + " ") * 500]  # longer than a chunk, but few pieces
    (outputs,) = pipeline.windows(lines)
    assert [output.split() for output in outputs] == [line.split() for line in lines]
    assert not pipeline.counts["lines_cut"]


@pytest.mark.parametrize("error", [RuntimeError("bad alloc"), MemoryError()])
def test_an_error_in_a_worker_is_one_clear_line(error):
    def translate(batch):
        raise error

    with pytest.raises(UserError, match=r"failed at a batch of 1 sentences, the longest of 2 pieces: (bad|no).*; with"):
        list(Pipeline(Words, translate).windows(["a b"]))


def test_a_closed_pipeline_does_not_decode_what_waits():
    decoded, go = [], threading.Event()

    def translate(batch):
        decoded.append(batch)
        go.wait(10)
        return batch

    pipeline = Pipeline(Words, translate, batch_tokens=1)

    def read():
        # What waits is cancelled; what is not yet handed over is refused by the closed workers.
        with contextlib.suppress(CancelledError, RuntimeError):
            next(pipeline.windows(["a"] * 40))

    threading.Thread(target=read, daemon=True).start()
    while not decoded:
        time.sleep(0.01)
    pipeline.close()
    go.set()
    pipeline._workers.shutdown(wait=True)
    assert len(decoded) == 1


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))))
def test_bytes_become_text_line_by_line(lines):
    texts = [decoded(line + b"\n") for line in lines]
    assert texts == [line.decode(errors="replace").rstrip("\r") for line in lines]
    valid = sum(line.count("\ufffd".encode()) for line in lines)
    assert sum(map(replaced, lines)) == "".join(texts).count("\ufffd") - valid


@pytest.fixture(scope="module")
def model():
    return folders()["float32"]


def run(*arguments, text=b""):
    command = [sys.executable, "-m", "decode.translate", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, check=False)


def test_translator(model):
    lines = sentences(30)
    expected = [next(Translator(model).translate([line])) for line in lines]
    assert [*Translator(model, batch_tokens=16, workers=2).translate(lines)] == expected
    assert len(set(expected)) > 3


def test_command(model, tmp_path):
    lines = [*sentences(3), "", "  ", *sentences(3, seed=5)]
    expected = "".join(f"{line}\n" for line in Translator(model, beam_size=4, vocabulary_map=False).translate(lines))
    (tmp_path / "in").write_text("\n".join(lines), encoding="utf-8")  # without an end of the last line
    options = ["--model", model, "--beam-size", 4, "--no-vocabulary-map"]
    done = run(*options, "--input", tmp_path / "in", "--output", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected
    assert expected.split("\n")[3:5] == ["", ""]
    assert run(*options, text=(tmp_path / "in").read_bytes()).stdout.decode() == expected


def test_nothing_in_nothing_out(model):
    done = run("--model", model)
    assert (done.returncode, done.stdout) == (0, b"")


def test_broken_bytes_are_replaced_and_counted(model):
    done = run("--model", model, text=b"abc \xff\xfe de\nab\0c \xc3\n")
    assert done.returncode == 0
    assert len(done.stdout.decode().splitlines()) == 2
    assert done.stderr.decode() == "3 broken bytes replaced by U+FFFD\n"


def test_a_long_line_is_counted(model):
    done = run("--model", model, text=b"ab " * 3000 + b"\n")
    assert done.returncode == 0
    assert done.stderr.decode() == f"1 lines longer than {MAXIMUM_INPUT} pieces cut there\n"


@pytest.mark.parametrize("long_lines", ["cut", "split"])
def test_a_line_of_megabytes_and_nul_bytes(model, long_lines):
    text = b"ab\n" + b"abc\0de" * 400_000 + b"\n\0\0\nab\n"
    done = run("--model", model, "--long-lines", long_lines, "--workers", 1, text=text)
    assert done.returncode == 0, done.stderr
    first, _, _, last = done.stdout.decode().split("\n")[:-1]
    assert first == last
    assert f"1 lines longer than {MAXIMUM_INPUT} pieces {long_lines} there" in done.stderr.decode()


def test_a_closed_pipe_ends_it_quietly(model):
    command = f"yes abc | {sys.executable} -m decode.translate --model {model} --batch-tokens 8 | head -n 2"
    done = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[1]}}"], capture_output=True, timeout=60)
    *lines, status = done.stdout.decode().splitlines()
    assert (len(lines), status, done.stderr) == (2, "141", b"")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "{tmp}"], "error: {tmp}: not a model folder, it has no model.json\n"),
        (["--model", "{model}", "--input", "{tmp}/absent"], "error: {tmp}/absent: No such file or directory\n"),
        (
            ["--model", "{model}", "--input", "{tmp}/in", "--output", "{tmp}/in"],
            "error: {tmp}/in is the input, too; write the translation to another file\n",
        ),
        (
            ["--model", "{model}", "--input", "{tmp}/in", "--output", "/dev/null"],
            "error: /dev/null: not a file; leave out --output to write to standard output\n",
        ),
        (
            ["--model", "{model}", "--tune", "{tmp}/in", "--workers", "1"],
            "error: --tune decodes on all cores, and only to measure; leave out --workers\n",
        ),
        (["--model", "{model}", "--device", "cuda"], "error: --device cuda: CTranslate2 finds no GPU here\n"),
    ],
)
def test_errors_are_one_line(model, tmp_path, options, message):
    (tmp_path / "in").write_text("abc\n")
    done = run(*(option.format(model=model, tmp=tmp_path) for option in options))
    assert done.returncode == 1
    assert done.stderr.decode() == message.format(model=model, tmp=tmp_path)
    assert (tmp_path / "in").read_text() == "abc\n"


def test_standard_input_is_not_written_over(model, tmp_path):
    (tmp_path / "in").write_text("abc\n")
    with open(tmp_path / "in", "rb") as source:
        command = [sys.executable, "-m", "decode.translate", "--model", str(model), "--output", str(tmp_path / "in")]
        done = subprocess.run(command, stdin=source, capture_output=True, check=False)
    assert done.returncode == 1 and b"is the input, too" in done.stderr
    assert (tmp_path / "in").read_text() == "abc\n"


def test_standard_input_is_read_from_where_it_is(model, tmp_path):
    (tmp_path / "in").write_text("header\nabc\n")
    with open(tmp_path / "in", "rb", buffering=0) as source:
        source.read(len("header\n"))
        command = [sys.executable, "-m", "decode.translate", "--model", str(model), "--output", str(tmp_path / "out")]
        subprocess.run(command, stdin=source, check=True)
    assert (tmp_path / "out").read_text().count("\n") == 1


@pytest.mark.parametrize("option", ["--beam-size", "--workers", "--batch-tokens"])
def test_numbers_are_at_least_one(model, option):
    done = run("--model", model, option, 0)
    assert done.returncode == 2
    assert f"argument {option}: 0 is not at least 1" in done.stderr.decode()


# A translation that goes on


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
    (tmp_path / "killed.progress").write_text('{"key": "other", "read": 2, "written": 2}')
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() and b"of another model or other options" in process.stderr.read()
    (tmp_path / "killed.progress").write_text('{"key"')
    process = started(model, tmp_path, "--input", whole / "in")
    assert process.wait() and b"killed.progress: damaged" in process.stderr.read()
    assert (tmp_path / "killed").read_text() == "x\n"
    done = run("--model", model, "--resume", "--input", whole / "in")
    assert done.returncode and b"--resume needs --output" in done.stderr


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


def test_engines_are_loaded_on_the_clock():
    """Nothing that measures has the library of an engine before it asks for one."""
    program = (
        "import sys, decode.measure; print([name for name in ('ctranslate2', 'tensorflow') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program]) == b"[]\n"


def test_workers_are_as_many_as_cores(model):
    assert Translator(model).search.workers == len(os.sched_getaffinity(0))
    assert Translator(model, workers=1).batch_tokens == 512 and Translator(model, workers=2).batch_tokens == 256


# Settings for this machine


def test_tuned_settings_are_found_kept_and_used(model, tmp_path, monkeypatch):
    folder = shutil.copytree(model, tmp_path / "model")
    sets = (None, "AVX512", "AVX2")
    speeds = {(isa, tokens): 12.0 if isa == "AVX2" else 10.0 for isa in sets for tokens in (256, 512)}
    speeds |= {(isa, tokens): 5.0 for isa in sets for tokens in (64, 128, 2048)} | {(isa, 1024): 20.0 for isa in sets}
    monkeypatch.setattr(cpu, "flags", lambda: cpu.AVX512)
    monkeypatch.setattr(
        tune, "_run", lambda folder, text, cores, tried, beam: speeds[tried["isa"], tried["batch_tokens"]]
    )
    monkeypatch.setattr(tune.machine, "describe", lambda: {"cpu": "x", "isa": "avx512-vnni"})
    assert tune.known(folder) == {}
    found = tune.tune(folder, ["a b"] * 300)
    assert found == {"isa": "AVX2", "batch_tokens": 1024, "source_words_per_second": 20}
    assert tune.known(folder) == found and tune.known(folder, beam_size=4) == {}
    monkeypatch.delenv(cpu.ISA, raising=False)
    assert (tune.isa(folder), tune.isa(folder, beam_size=4)) == ("AVX2", "AVX512")
    monkeypatch.setenv(cpu.ISA, "AVX512")  # so that it is put back
    here = len(os.sched_getaffinity(0))
    assert best_batch(folder, 1, here, "cpu") == 1024
    assert best_batch(folder, 4, 2, "cpu") == 256 and best_batch(folder, 1, here, "cuda") == GPU
    monkeypatch.setattr(tune.machine, "describe", lambda: {"cpu": "y", "isa": "avx2"})
    monkeypatch.setattr(cpu, "flags", lambda: {"avx2"})
    assert tune.known(folder) == {}
    assert tune.tune(folder, ["a b"] * 300)["isa"] is None
    assert len(json.loads((folder / "tuned.json").read_text())) == 2
    with pytest.raises(UserError, match="10 lines are too few"):
        tune.tune(folder, ["a"] * 10)
    (folder / "tuned.json").write_text("[")
    with pytest.raises(UserError, match=r"tuned[.]json: damaged"):
        tune.known(folder)


def test_tuning_measures_for_real(model, tmp_path, monkeypatch):
    folder = shutil.copytree(model, tmp_path / "model")
    monkeypatch.setattr(tune, "BATCHES", (64,))
    monkeypatch.setattr(tune, "RUNS", 1)
    found = tune.tune(folder, (f"{line}\twith a tab" for line in sentences(250)))
    assert found["source_words_per_second"] > 0 and found["batch_tokens"] == 64
    done = run("--model", folder, text=b"abc\n")
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1


def test_a_damaged_model_is_one_line_and_can_be_let_through(tmp_path):
    folder = shutil.copytree(folders()["int8"], tmp_path / "int8")
    data = bytearray((folder / "model.bin").read_bytes())
    description = json.loads((folder / "model.json").read_text())
    checksum = hashlib.sha256(data).hexdigest()
    (folder / "model.json").write_text(json.dumps(description | {"sha256": {"model.bin": checksum}}))
    data[len(data) // 2] ^= 1
    (folder / "model.bin").write_bytes(data)
    call = [sys.executable, "-m", "decode.translate", "--model", str(folder), "--workers", "1"]
    done = subprocess.run(call, input="a b\n", capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (
        f"error: {folder}/model.bin: damaged, or not the one this model was exported with; copy or export it again\n"
    )
    done = subprocess.run([*call, "--no-checksums"], input="a b\n", capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
