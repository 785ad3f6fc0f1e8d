"""As many lines out as in, in order, for any window, batches and bytes."""

import contextlib
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_frontier.command.translate import decoded, replaced
from nmt_frontier.errors import UserError
from nmt_frontier.search.batching import batches
from nmt_frontier.search.engine import Engine
from nmt_frontier.search.pipeline import (
    MAXIMUM_CHARACTERS,
    MAXIMUM_INPUT,
    WINDOW_BATCHES,
    Pipeline,
    SplitLine,
    chunks,
    split,
    windows,
)

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=12), max_size=60)

TOKENS = st.integers(1, 40)


class Words:
    """White-space tokens instead of SentencePiece."""

    encode = staticmethod(str.split)
    decode = staticmethod(" ".join)
    text = staticmethod(str)


def translated(pipeline, lines):
    """The translations of all windows."""
    return [line for window in pipeline.windows(lines) for line in window]


def backwards(batch):
    assert batch and all(batch)  # an engine never sees an empty batch or sentence
    return [sentence[::-1] for sentence in batch]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_worker_is_woken_once_a_window(workers):
    pipeline = Pipeline(Words, backwards, 10, workers)
    with mock.patch.object(pipeline._workers, "submit", wraps=pipeline._workers.submit) as woken:
        (outputs,) = pipeline.windows(["a b"] * 20 * workers)
    assert outputs == ["b a"] * 20 * workers
    assert woken.call_count == workers


@given(SENTENCES, TOKENS, st.sampled_from([1, 3]), st.booleans())
def test_each_line_has_its_own_translation(corpus, tokens, workers, overlap):
    pipeline = Pipeline(Words, backwards, tokens, workers, overlap=overlap)
    outputs = translated(pipeline, map(" ".join, corpus))
    assert outputs == [" ".join(sentence[::-1]) for sentence in corpus]
    assert pipeline.counts["source_tokens"] == pipeline.counts["target_tokens"] == sum(map(len, corpus))
    assert all(seconds >= 0 for seconds in pipeline.seconds.values())


def test_lines_are_normalised_like_the_training_text():
    lines = ["\ufeffa", "u\u0308ber\n", "two\u2028lines ", "\u3000b"]
    assert translated(Pipeline(Words, list), lines) == ["a", "\u00fcber", "two lines", "b"]


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
    cut = [*windows(([SplitLine([sentence])] for sentence in corpus), tokens)]
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


@pytest.mark.parametrize("long_lines", ["cut", "split"])
def test_an_engine_may_take_shorter_sentences(long_lines):
    pipeline = Pipeline(Words, list, long_lines=long_lines, longest_input=5)
    (outputs,) = pipeline.windows(["a b c d e f g", "a b c d e"])
    assert outputs == [{"cut": "a b c d e", "split": "a b c d e f g"}[long_lines], "a b c d e"]
    assert pipeline.counts[f"lines_{long_lines}"] == 1


def test_while_a_window_is_decoded_the_next_one_is_read():
    """The engine waits until a line of the second window is read; without overlap it would wait in vain."""
    asked = threading.Event()

    def lines():
        yield from ["a b"] * 40
        asked.set()
        yield from ["c"] * 40

    def translate(batch):
        assert asked.wait(10)
        return batch

    assert translated(Pipeline(Words, translate, batch_tokens=10), lines()) == ["a b"] * 40 + ["c"] * 40


@given(st.lists(st.sampled_from(["a", "b.", "c"]), max_size=60), st.integers(2, 9))
def test_a_split_sentence_is_whole_and_its_parts_are_short(pieces, limit):
    parts = [*split(pieces, limit)]
    assert [piece for part in parts for piece in part] == pieces
    assert all(0 < len(part) <= limit for part in parts)
    for part in parts[:-1]:
        assert part[-1] == "b." or (len(part) == limit and "b." not in part[limit // 2 :])


def test_a_character_in_bytes_is_not_split():
    dog = ["<0xF0>", "<0x9F>", "<0x90>", "<0x95>"]
    assert [*split(["a", *dog, *dog], 7)] == [["a", *dog], dog]
    assert [*split([*dog, *dog], 4)] == [dog, dog]
    assert [piece for part in split(dog, 2) for piece in part] == dog  # too short a limit


@given(st.text("ab ", max_size=60), st.integers(4, 20))
def test_a_line_in_chunks_of_text_is_the_line(line, limit):
    with mock.patch("nmt_frontier.search.pipeline.MAXIMUM_CHARACTERS", limit):
        parts = [*chunks(line)]
    assert "".join(parts) == line and all(len(part) <= limit for part in parts)


LONG = {  # lines that come back whole, and their number of split ones
    "split": (["a " * (MAXIMUM_INPUT + 5), "b", "", "c " * 10 * MAXIMUM_CHARACTERS], 2),
    "cut": ([" " * MAXIMUM_CHARACTERS + "a b", ("c" * 40 + " ") * 500], 0),  # longer than a chunk, but few pieces
}


@pytest.mark.parametrize(("long_lines", "lines", "count"), [(name, *values) for name, values in LONG.items()])
def test_long_lines_may_come_back_whole(long_lines, lines, count):
    pipeline = Pipeline(Words, list, long_lines=long_lines)
    (outputs,) = pipeline.windows(lines)
    assert [output.split() for output in outputs] == [line.split() for line in lines]
    assert (pipeline.counts["lines_split"], pipeline.counts["lines_cut"]) == (count, 0)


@pytest.mark.parametrize("error", [RuntimeError("bad alloc"), MemoryError()])
def test_an_error_in_a_worker_is_one_line(error):
    class Failing(Engine):
        label = "Failing"

        def __init__(self):
            pass

        def decode(self, batch):
            raise error

    with pytest.raises(UserError, match=r"failed at a batch of 1 sentences, the longest of 2 pieces: (bad|no).*; with"):
        list(Pipeline(Words, Failing().translate).windows(["a b"]))


def test_a_closed_pipeline_does_not_decode_what_waits():
    decoded, go = [], threading.Event()

    def translate(batch):
        decoded.append(batch)
        go.wait(10)
        return batch

    pipeline = Pipeline(Words, translate, batch_tokens=1)

    def read():
        # Waiting batches are cancelled; later ones are refused by the closed workers.
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
