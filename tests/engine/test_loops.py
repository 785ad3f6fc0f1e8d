"""Loops in the native engine's search: they are ended in one place, and nothing else changes."""

import functools
from collections.abc import Sequence

import native
import pytest
from models import sentences as lines
from native import engine, outputs, sentences
from translation import run

from findings.loops import looping
from nmt_frontier.model import native_map, native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search.engine import Looped
from nmt_frontier.translator import Translator

PIECES = 121
WORDS = [f" w{number}".encode() for number in range(PIECES)]
BATCH = sentences(60, seed=3, longest=8)
LONGEST = 60


@functools.cache
def worker(texts: tuple[bytes, ...] | None = tuple(WORDS), models: int = 1, threads: int = 1) -> engine.Worker:
    folder = native.folders() / "float32"
    files = folder / native_weights.NAME, folder / native_map.NAME
    others = [native.model(native.folders(), "int8") for _ in range(models - 1)]
    return engine.Worker([engine.Model(*files, texts=texts and (WORDS, texts)), *others], threads)


def cut(pieces: list[int], texts: Sequence[bytes] = WORDS) -> list[int]:
    """Pieces up to the first loop, of which one occurrence stays; the definition, without its limits."""
    ends = [(end, byte) for end in range(1, len(pieces) + 1) for byte in range(1, len(texts[pieces[end - 1]]) + 1)]
    for end, byte in ends:
        last = texts[pieces[end - 1]]
        text = b"".join(texts[piece] for piece in pieces[: end - 1]) + last[:byte]
        for size in range(1, len(text) // 4 + 1):
            same = next((n for n in range(len(text) - size) if text[-1 - n] != text[-1 - n - size]), len(text) - size)
            loop, times = text[-size:], same // size + 1
            if times >= 4 and (b" " in loop or len(loop) * times >= (12 if loop.isalpha() else 24)):
                same += len(last) - byte
                while end and len(texts[pieces[end - 1]]) <= same:
                    end, same = end - 1, same - len(texts[pieces[end - 1]])
                return pieces[:end]
    return pieces


def best(worker: engine.Worker, batch: list[list[int]], **options: object) -> list[list[int]]:
    options = {"longest": LONGEST, **options}
    return [first.pieces for first, *_ in worker.translate(batch, native.engine_options(**options))]


@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize("candidates", ["all", "sentence"])
def test_greedy_search_ends_a_loop_and_keeps_one_occurrence(models, candidates):
    free = best(worker(None, models), BATCH, candidates=candidates)
    assert best(worker(models=models), BATCH, candidates=candidates) == [*map(cut, free)]
    assert 2 < sum(cut(pieces) != pieces for pieces in free) < len(free)


def test_few_digits_and_short_words_without_spaces_are_no_loop():
    """As the zeros of 1,000,000."""
    free = best(worker(None), BATCH)
    digits = tuple(b"%d" % (number % 10) for number in range(PIECES))
    assert best(worker(digits), BATCH) == [cut(pieces, digits) for pieces in free]
    letters = tuple(bytes([ord("a") + number % 26]) for number in range(PIECES))
    found = best(worker(letters), BATCH)
    assert found == [cut(pieces, letters) for pieces in free] and free != found != [*map(cut, free)]


def test_what_the_source_repeats_may_be_repeated():
    batch = [4 * sentence[:3] for sentence in BATCH]
    free = best(worker(None), batch)
    assert best(worker(), batch) == free and any(cut(pieces) != pieces for pieces in free)


def test_a_word_that_begins_as_those_before_it_makes_no_loop_of_the_source():
    """A translation of `A A A ARE` may not loop."""
    batch = [[number, number, number, 10 * number] for number in range(3, 12)]
    free = best(worker(None), batch)
    assert best(worker(), batch) == [*map(cut, free)] != free


def test_two_spaces_do_not_hide_a_loop():
    texts = tuple(b" word" if number % 2 else b" " for number in range(PIECES))
    free, found = ([b"".join(texts[n] for n in p).split() for p in best(worker(t), BATCH)] for t in (None, texts))
    assert max(map(len, free)) > 4 > max(map(len, found))


@pytest.mark.parametrize("beam", [2, 4])
def test_beam_search_has_no_loops_either(beam):
    options = {"beam_size": beam, "n_best": beam, "longest": LONGEST}
    free, found = (w.translate(BATCH, native.engine_options(**options)) for w in (worker(None), worker()))
    assert any(cut(first.pieces) != first.pieces for first, *_ in free)
    for before, hypotheses in zip(free, found, strict=True):
        assert all(cut(hypothesis.pieces) == hypothesis.pieces for hypothesis in hypotheses)
        ended = [hypothesis.loop == 0 for hypothesis in hypotheses]
        assert ended == sorted(ended, reverse=True)  # those that ended by themselves come first
        if all(ended) and all(cut(hypothesis.pieces) == hypothesis.pieces for hypothesis in before):
            assert hypotheses[0].score >= before[0].score or hypotheses == before
    assert any(hypotheses[0].loop for hypotheses in found) or any(hypotheses[-1].loop for hypotheses in found)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_loop_is_ended_the_same_in_any_batch(beam):
    options = {"beam_size": beam, "longest": LONGEST}
    expected = outputs(worker(), BATCH, **options)
    assert [outputs(worker(), [sentence], **options)[0] for sentence in BATCH] == expected
    assert outputs(worker(threads=2), BATCH[::-1], **options)[::-1] == expected
    assert outputs(worker(), BATCH, **options, without=["remove_finished"] if beam == 1 else []) == expected


def test_attention_prefix_and_shortest_hold_for_what_is_left():
    prefixes = [[5, 5, 5, 5]] * len(BATCH)  # a loop that the search did not choose
    found = worker().translate(BATCH, native.engine_options(longest=LONGEST, attention_layer=0), prefixes)
    assert all(hypothesis.pieces[:4] == [5, 5, 5, 5] for (hypothesis,) in found)
    assert any(hypothesis.loop for (hypothesis,) in found)
    for (hypothesis,) in found:
        assert len(hypothesis.attention) - len(hypothesis.pieces) in ([0] if hypothesis.loop else [0, 1])
    assert all(len(pieces) >= 9 for pieces in best(worker(), BATCH, shortest=9))


@pytest.mark.parametrize("texts", [WORDS[1:], [*WORDS[1:], b"a\0b"]])
def test_there_is_a_text_for_each_piece(texts):
    with pytest.raises(engine.EngineError, match=f"has {PIECES} source and {PIECES} target pieces, not texts of"):
        worker(tuple(texts))


def test_texts_are_lower_case_and_words_begin_with_a_space():
    pieces = ["<unk>", "▁Ab", "É", "0", "▁", "<0xE2>", "<0x00>", "<2de>"]
    source, target = Vocabulary(pieces, pieces, "<unk>", hidden=["<2de>"]).texts()
    same = [b" ab", "É".encode(), b"0", b" ", b"\xe2", b""]
    assert (source, target) == ([b"", *same, b"<2de>"], [b"<unk>", *same, b""])


def test_decoding_ends_loops_and_counts_them():
    folder = native.folders() / "float32"
    texts = lines(60, seed=4)
    free, ended = (Translator(folder, workers=1, end_loops=on) for on in (False, True))
    before, after = ([*translator.translate(texts)] for translator in (free, ended))
    changed = [number for number, (one, other) in enumerate(zip(before, after, strict=True), 1) if one != other]
    assert changed and ended.counts["lines_looped"] == len(changed) and not free.counts["lines_looped"]
    assert all(before[number - 1].startswith(after[number - 1]) for number in changed)
    assert sum(map(looping, after)) < sum(map(looping, before))
    numbers = [number for number in range(1, 61) if f"lines_looped: {number}" in ended.counts]
    assert numbers == changed[:10]
    pieces = [ended.engine.translate([[*map(str, text)]])[0] for text in texts]
    assert not any(isinstance(output, Looped) and looping(" ".join(output)) for output in pieces)


def test_the_command_names_the_lines_and_can_keep_loops():
    folder, texts = native.folders() / "float32", lines(60, seed=4)
    translators = {"ended": Translator(folder), "kept": Translator(folder, end_loops=False)}
    expected = {name: "".join(f"{line}\n" for line in each.translate(texts)) for name, each in translators.items()}
    text = "".join(f"{line}\n" for line in texts).encode()
    ended, kept = run("--model", folder, text=text), run("--model", folder, "--keep-loops", text=text)
    assert (ended.stdout.decode(), kept.stdout.decode()) == (expected["ended"], expected["kept"])
    counts = translators["ended"].counts
    first = next(number for number in range(1, 61) if f"lines_looped: {number}" in counts)
    message = f"{counts['lines_looped']} translations repeated themselves and were ended: line"
    assert message in ended.stderr.decode() and f" {first}" in ended.stderr.decode().split(message)[1]
    assert b"repeated" not in kept.stderr
