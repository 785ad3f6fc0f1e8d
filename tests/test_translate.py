"""Lines in, as many lines out, in order, whatever the window, the batches and the bytes."""

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import folders, sentences

from decode.pipeline import MAXIMUM_INPUT, WINDOW_BATCHES, Pipeline, batches, windows
from decode.translate import Translator, decoded

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=12), max_size=60)
TOKENS = st.integers(1, 40)


class Words:
    """Whitespace tokens in place of SentencePiece."""

    encode = staticmethod(str.split)
    decode = staticmethod(" ".join)


def backwards(batch):
    assert batch and all(batch)  # an engine never sees an empty batch or sentence
    return [sentence[::-1] for sentence in batch]


@given(SENTENCES, TOKENS, st.sampled_from([1, 3]))
def test_each_line_has_its_own_translation(corpus, tokens, workers):
    pipeline = Pipeline(Words, backwards, tokens, workers)
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
    cut = [*windows(iter(corpus), tokens)]
    assert [sentence for window in cut for sentence in window] == corpus
    for window in cut:
        assert sum(max(len(sentence), 1) for sentence in window[:-1]) < tokens


@pytest.mark.parametrize("line", ["a b c", ""])
def test_no_more_than_a_window_is_read_ahead(line):
    lines_read = Counter()

    def endless():
        while True:
            lines_read["lines"] += 1
            yield line

    first = next(Pipeline(Words, backwards, batch_tokens=10).windows(endless()))
    assert lines_read["lines"] == len(first) <= WINDOW_BATCHES * 10


def test_a_line_that_never_ends_is_cut():
    pipeline = Pipeline(Words, backwards)
    (outputs,) = pipeline.windows(["a " * (MAXIMUM_INPUT + 5), "b", "c " * MAXIMUM_INPUT])
    assert [len(output.split()) for output in outputs] == [MAXIMUM_INPUT, 1, MAXIMUM_INPUT]
    assert pipeline.counts["lines_cut"] == 1


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))))
def test_bytes_become_text_line_by_line(lines):
    counts = Counter()
    texts = [*decoded((line + b"\n" for line in lines), counts)]
    assert texts == [line.decode(errors="replace").rstrip("\r") for line in lines]
    valid = sum(line.count("\ufffd".encode()) for line in lines)
    assert counts["replaced"] == "".join(line.decode(errors="replace") for line in lines).count("\ufffd") - valid


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
    ],
)
def test_errors_are_one_line(model, tmp_path, options, message):
    (tmp_path / "in").write_text("abc\n")
    done = run(*(option.format(model=model, tmp=tmp_path) for option in options))
    assert done.returncode == 1
    assert done.stderr.decode() == message.format(model=model, tmp=tmp_path)
    assert (tmp_path / "in").read_text() == "abc\n"


@pytest.mark.parametrize("option", ["--beam-size", "--workers", "--batch-tokens"])
def test_numbers_are_at_least_one(model, option):
    done = run("--model", model, option, 0)
    assert done.returncode == 2
    assert f"argument {option}: 0 is not at least 1" in done.stderr.decode()
