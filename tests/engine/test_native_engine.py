"""The native engine decodes like CTranslate2, independently of batches, threads and earlier errors."""

import functools
import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native import KINDS, WORDS, called, engine, engine_options, folders, model, outputs, sentences, vocabulary, worker

from formats import ctranslate2_loading
from nmt_frontier.model import native_map, native_weights, safetensors
from nmt_frontier.model.vocabulary_map import VocabularyMap

BATCH = sentences(200)
LONGEST = 40  # pieces of translations in these tests
NO_PENALTY = 1e-9  # with a length penalty of 0, CTranslate2 ends a search by another rule, with other n-best lists
beams = pytest.mark.parametrize("beam", [1, 4])


# CTranslate2


@functools.cache
def translator():
    return ctranslate2_loading.translator(folders() / "ctranslate2", compute_type="float32", intra_threads=1)


PEER = {
    "n_best": "num_hypotheses", "shortest": "min_decoding_length", "longest": "max_decoding_length",
    "blocked_ngram": "no_repeat_ngram_size",
}  # fmt: skip


def reference(batch, prefixes=None, **options):
    """Hypotheses of CTranslate2 in the form of ``native.outputs``, with the same options; a map is of the batch."""
    mapped = options.pop("candidates", "all") != "all"
    options = {
        "beam_size": 1, "num_hypotheses": options.get("beam_size", 1), "length_penalty": 1, "min_decoding_length": 0,
        "max_decoding_length": LONGEST, "max_input_length": 0, "return_scores": True, "use_vmap": mapped,
        **{PEER.get(name, name): value for name, value in options.items()},
    }  # fmt: skip
    names, numbers = vocabulary().pieces, vocabulary().target_numbers
    prefixes = prefixes and [names(prefix) for prefix in prefixes]
    found = translator().translate_batch([names(sentence) for sentence in batch], prefixes, **options)
    hypotheses = (zip(result.hypotheses, result.scores, strict=True) for result in found)
    return [[([numbers[piece] for piece in pieces], score) for pieces, score in best] for best in hypotheses]


def texts(found):
    return [[pieces for pieces, _ in hypotheses] for hypotheses in found]


def scores(found):
    return np.array([score for hypotheses in found for _, score in hypotheses])


def check_equal(found, expected):
    """Of 200 sentences one may differ: on another CPU, rounding may decide between equally good continuations."""
    pairs = [*zip(found, expected, strict=True)]
    same = [pair for pair in pairs if texts([pair[0]]) == texts([pair[1]])]
    assert len(same) >= len(pairs) - 1
    for native, peer in same:
        np.testing.assert_allclose(scores([native]), scores([peer]), rtol=0, atol=1e-4)
    assert len({str(texts([native])) for native in found}) > len(found) / 4  # not all the same


SEARCHES = {
    "greedy": {},
    "beam 4, all hypotheses": {"beam_size": 4},
    "beam 8": {"beam_size": 8, "n_best": 1},
    "half a penalty": {"beam_size": 4, "length_penalty": 0.5},
    "penalty 0": {"beam_size": 4, "length_penalty": 0, "n_best": 1},
    "map, greedy": {"candidates": "batch"},
    "map, beam 4": {"candidates": "batch", "beam_size": 4},
    "at least 9, greedy": {"shortest": 9},
    "at least 9, beam 4": {"shortest": 9, "beam_size": 4},
    "at most 3, greedy": {"longest": 3},
    "at most 3, beam 4": {"longest": 3, "beam_size": 4},
    "no bigram twice, greedy": {"blocked_ngram": 2},
    "no piece twice, beam 4": {"blocked_ngram": 1, "beam_size": 4},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_translations_are_those_of_ctranslate2(options):
    check_equal(outputs(worker(), BATCH, **options), reference(BATCH, **options))


@beams
def test_a_sentence_with_its_own_candidates_is_a_batch_of_one_in_ctranslate2(beam):
    options = {"candidates": "sentence", "beam_size": beam}
    found = outputs(worker(), BATCH[:50], **options)
    check_equal(found, [reference([sentence], **options)[0] for sentence in BATCH[:50]])


PREFIXES = [(sentence * 3)[:3] for sentence in sentences(200, seed=2, longest=5)]
FORCED = {"all": {}, "map": {"candidates": "batch"}, "no piece twice": {"blocked_ngram": 1}}  # prefixes may repeat it


@pytest.mark.parametrize("penalty", [1.0, NO_PENALTY])
@pytest.mark.parametrize("more", FORCED.values(), ids=FORCED)
@beams
def test_translations_behind_a_prefix_are_those_of_ctranslate2(beam, more, penalty):
    """Lengths include the prefix, scores do not.

    shortest: CTranslate2 lets only the best hypothesis end right after a prefix.
    """
    options = {"beam_size": beam, "length_penalty": penalty, **more}
    found = outputs(worker(), BATCH, PREFIXES, shortest=1, **options)
    check_equal(found, reference(BATCH, PREFIXES, shortest=4, longest=LONGEST + 3, **options))


def test_scores_of_targets_are_those_of_ctranslate2():
    targets = [*sentences(199, seed=3), []]
    names = vocabulary().pieces
    expected = translator().score_batch([*map(names, BATCH)], [*map(names, targets)], max_input_length=0)
    for found, result in zip(worker().score(BATCH, targets), expected, strict=True):
        np.testing.assert_allclose(found, result.log_probs, rtol=0, atol=1e-4)


def test_attention_is_that_of_ctranslate2():
    """CTranslate2's models name one head for alignment, the first."""
    names = vocabulary().pieces
    options = {"beam_size": 1, "max_decoding_length": LONGEST, "min_decoding_length": 0, "max_input_length": 0}
    expected = translator().translate_batch([*map(names, BATCH)], return_attention=True, **options)
    found = worker().translate(BATCH, engine.Options(longest=LONGEST, attention_layer=0, attention_head=0))
    for (hypothesis,), result in zip(found, expected, strict=True):
        if result.hypotheses[0] == names(hypothesis.pieces) and hypothesis.pieces:
            attention = hypothesis.attention[: len(hypothesis.pieces)]
            np.testing.assert_allclose(attention, result.attention[0][: len(attention)], rtol=0, atol=1e-4)


# Types


def test_integers_score_and_translate_nearly_as_floats():
    """The tiny model's wide weights are bad for eight bits."""
    targets = sentences(200, seed=3)
    exact, wide, narrow, _ = (np.concatenate(worker(kind).score(BATCH, targets)) for kind in KINDS)
    assert 0 < np.abs(wide - exact).mean() < 0.01 < np.abs(narrow - exact).mean() < 0.4
    exact, wide, narrow, _ = (texts(outputs(worker(kind), BATCH)) for kind in KINDS)
    same = [sum(a == b for a, b in zip(exact, other, strict=True)) / len(BATCH) for other in (wide, narrow)]
    assert same[0] > 0.95 and same[1] > 0.3


# A sentence does not depend on its batch

FEW = [*sentences(20, seed=4), *[sentence * 5 for sentence in sentences(4, seed=5)]]  # some pass a block of the encoder
FEW_PREFIXES = [*sentences(12, seed=6, longest=4), *[[]] * 12]


@functools.cache
def alone(kind, prefixed, options):
    """Each sentence in a batch of its own."""
    return [decoded(worker(kind), [place], prefixed, dict(options))[0] for place in range(len(FEW))]


def decoded(by, places, prefixed, options):
    batch, prefixes = [FEW[place] for place in places], [FEW_PREFIXES[place] for place in places]
    return outputs(by, batch, prefixes if prefixed else None, longest=12, **options)


@functools.cache
def shared(kind, threads):
    return worker(kind, threads)


orders = st.permutations(range(len(FEW))).flatmap(lambda order: st.integers(1, len(FEW)).map(lambda n: order[:n]))


@settings(max_examples=150)
@given(st.data())
def test_a_sentence_is_translated_the_same_in_any_batch(data):
    """Pieces, and scores to the last bit, on any number of threads."""
    kind, threads = data.draw(st.sampled_from(KINDS)), data.draw(st.integers(1, 3))
    candidates, beam = data.draw(st.sampled_from(["all", "sentence"])), data.draw(st.sampled_from([1, 4]))
    order, prefixed = data.draw(orders), data.draw(st.booleans())
    options = {"candidates": candidates, "beam_size": beam}
    expected = alone(kind, prefixed, tuple(options.items()))
    size = data.draw(st.integers(1, len(order)))
    for start in range(0, len(order), size):
        places = order[start : start + size]
        assert decoded(shared(kind, threads), places, prefixed, options) == [expected[place] for place in places]


@settings(max_examples=30)
@given(orders, st.sampled_from(KINDS), st.integers(1, 3), st.sampled_from(["all", "sentence"]))
def test_a_target_is_scored_the_same_in_any_batch(order, kind, threads, candidates):
    options = engine_options(candidates)
    found = shared(kind, threads).score([FEW[p] for p in order], [FEW[-p] for p in order], options)
    for place, scored in zip(order, found, strict=True):
        (expected,) = shared(kind, 1).score([FEW[place]], [FEW[-place]], options)
        assert scored.tobytes() == expected.tobytes()


@beams
def test_candidates_of_a_batch_do_not_depend_on_threads(beam):
    one, three = (outputs(worker(threads=n), BATCH[:6], candidates="batch", beam_size=beam) for n in (1, 3))
    assert one == three


SLOWER = {"finished sentences kept": ("remove_finished", {})}
SLOWER |= {
    f"beam {beam}, {size}-grams": ("parallel_scan", {"beam_size": beam, "blocked_ngram": size, "longest": 45})
    for beam, size in itertools.product((1, 4), (1, 2, 3))
}
SLOWER |= {f"copies, {kind}": ("shared_cache", {"beam_size": 4, "candidates": kind}) for kind in ("all", "sentence")}


@pytest.mark.parametrize(("switch", "options"), SLOWER.values(), ids=SLOWER)
def test_an_ablation_changes_no_translation(switch, options):
    """Translations of over 16 pieces, so that n-grams are scanned for both with vectors and one by one."""
    found = outputs(worker(), BATCH, **options)
    assert found == outputs(worker(), BATCH, **options, without={switch})
    if size := options.get("blocked_ngram"):
        assert max(len(hypotheses[0][0]) for hypotheses in found) > 16 + size


def test_workers_share_a_model_from_the_start():
    """The first that needs the output layer packs it for all."""
    folder = folders() / "int8"
    fresh = engine.Model(folder / native_weights.NAME)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: outputs(engine.Worker(fresh), BATCH), range(4))]
    assert found == [outputs(worker("int8"), BATCH)] * 4


# The map


def test_a_sentence_uses_its_own_candidates_only():
    names = vocabulary().pieces
    sources = [names(sentence) for sentence in BATCH]
    full = VocabularyMap.load(folders() / "ctranslate2" / "vmap.txt", sources)
    allowed = [full.candidates([source]) for source in sources]
    used = [{*names(best[0][0])} for best in outputs(worker(), BATCH, candidates="sentence")]
    assert all(some <= of_it for some, of_it in zip(used, allowed, strict=True))
    assert not all(some <= allowed[0] for some in used)


def mapped_to(path, always, kind="float32"):
    """A worker whose map allows only these pieces and the end."""
    none = np.zeros(0, np.int32)
    tensors = {"ngrams": np.zeros((0, 1), np.int32), "starts": np.zeros(1, np.int32), "pieces": none}
    tensors |= {"slots": np.full(2, -1, np.int32), "always": np.array(always, np.int32)}
    safetensors.write(path, tensors, {"format": native_map.FORMAT})
    return engine.Worker(engine.Model(folders() / kind / native_weights.NAME, path))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("candidates", ["sentence", "batch"])
@beams
def test_a_map_of_the_end_alone_makes_empty_translations(tmp_path, kind, candidates, beam):
    only, options = mapped_to(tmp_path / "map", [], kind), {"candidates": candidates, "beam_size": beam}
    assert outputs(only, BATCH[:3], **options) == [[([], 0)]] * 3
    assert texts(outputs(only, BATCH[:3], **options, shortest=2)) == [[[]]] * 3  # though the end is blocked, too


@beams
def test_blocked_pieces_end_a_translation(tmp_path, beam):
    """Once all candidates are used, the translation ends, however short."""
    few = mapped_to(tmp_path / "map", [5, 7])
    options = {"candidates": "sentence", "beam_size": beam, "blocked_ngram": 1, "shortest": 8}
    for (pieces, score), *_ in outputs(few, BATCH[:3], **options):
        assert sorted(pieces) == [5, 7] and np.isfinite(score)


@beams
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_first_input_counts_among_n_grams_as_in_transformers(tmp_path, beam, size):
    few, start = mapped_to(tmp_path / "map", [1, 5]), 1
    options = {"candidates": "sentence", "beam_size": beam, "blocked_ngram": size, "shortest": 12, "longest": 12}
    repeated = {}
    for counts in (False, True):
        repeated[counts] = 0
        for (pieces, _), *_ in outputs(few, BATCH, as_transformers=counts, **options):
            ngrams = [*zip(*([start, *pieces][place:] for place in range(size)), strict=False)]
            repeated[counts] += len(ngrams) > len(set(ngrams))
    assert repeated[False] and not repeated[True]


def test_a_beam_may_be_larger_than_the_candidates(tmp_path):
    few = mapped_to(tmp_path / "map", [5, 7])
    for hypotheses in texts(outputs(few, BATCH[:5], candidates="sentence", beam_size=256, longest=3)):
        assert {piece for pieces in hypotheses for piece in pieces} == {5, 7}
        assert len(hypotheses) == len(set(map(tuple, hypotheses))) == 1 + 2 + 4 + 8  # all possible ones


# What comes with a translation


@pytest.mark.parametrize("prefixed", [False, True], ids=["free", "prefix"])
@pytest.mark.parametrize("wu", [False, True])
@beams
def test_a_score_is_the_normalised_log_probability(beam, wu, prefixed):
    """Of all pieces and, if reached, the end; those of a prefix count in the length only."""
    found = outputs(worker(), BATCH, PREFIXES if prefixed else None, beam_size=beam, wu=wu, length_penalty=0.6)
    pieces = [(sentence, *best[0]) for sentence, best in zip(BATCH, found, strict=True)]
    scored = worker().score([sentence for sentence, *_ in pieces], [target for _, target, _ in pieces])
    for (_, target, score), each in zip(pieces, scored, strict=True):
        length = min(len(target) + 1, LONGEST + 3 * prefixed)
        norm = ((5 + length) / 6 if wu else length) ** 0.6
        assert score == pytest.approx(each[3 * prefixed : length].sum() / norm, rel=1e-4, abs=1e-4)


@beams
def test_attention_has_a_row_for_each_piece_and_the_end(beam):
    options = {"longest": LONGEST, "attention_layer": 0, "beam_size": beam, "n_best": beam}
    whole, *heads = (worker().translate(BATCH, engine.Options(**options, attention_head=head)) for head in (-1, 0, 1))
    ended = set()
    for sentence, *hypotheses in zip(BATCH, whole, *heads, strict=True):
        for average, *parts in zip(*hypotheses, strict=True):
            rows = min(len(average.pieces) + 1, LONGEST)
            ended.add(rows > len(average.pieces))
            assert average.attention.shape == (rows, len(sentence))
            np.testing.assert_allclose(average.attention.sum(axis=1), 1, atol=1e-5)
            np.testing.assert_allclose(average.attention, sum(part.attention for part in parts) / 2, atol=1e-6)
    assert ended == {False, True}


def test_attention_changes_no_translation():
    watched = worker().translate(BATCH, engine.Options(longest=LONGEST, attention_layer=0, scores=True))
    assert [[(best.pieces, best.score)] for (best,) in watched] == outputs(worker(), BATCH)


# Limits and errors


def test_an_empty_batch():
    assert worker().translate([], engine.Options()) == [] and worker().score([], []) == []
    assert worker(threads=2).translate([], engine.Options(beam_size=4), []) == []


@pytest.mark.parametrize("kind", KINDS)
def test_long_sentences(kind):
    batch = [[WORDS[place % 7] for place in range(size)] for size in (1000, 4096)]
    assert outputs(worker(kind), batch, longest=5) == [outputs(worker(kind), [one], longest=5)[0] for one in batch]
    (scored,) = worker(kind).score([[5]], [[5] * 4095])
    assert len(scored) == 4096 and np.isfinite(scored).all()


REFUSED = {
    "5000 pieces": ([[5] * 5000], {}, None, "has 5000 pieces, the engine takes 4096"),
    "no pieces": ([[5], []], {}, None, "a sentence has no pieces"),
    "a foreign piece": ([[5, 121]], {}, None, "no source piece 121"),
    "a negative piece": ([[-1]], {}, None, "no source piece -1"),
    "a foreign prefix": ([[5]], {}, [[121]], "no target piece 121"),
    "a prefix too few": ([[5], [5]], {}, [[5]], "one prefix for each sentence"),
    "beam 0": ([[5]], {"beam_size": 0}, None, "from 1 to 256, not 0"),
    "beam 257": ([[5]], {"beam_size": 257}, None, "from 1 to 256, not 257"),
    "n-best": ([[5]], {"n_best": 2}, None, "n-best must be from 1 to the beam size, not 2"),
    "a layer": ([[5]], {"attention_layer": 1}, None, "has 1 layers of 2 heads"),
    "a head": ([[5]], {"attention_layer": 0, "attention_head": 2}, None, "has 1 layers of 2 heads"),
    "a length": ([[5]], {"longest": 0}, None, "a translation must have"),
    "lengths": ([[5]], {"shortest": 9, "longest": 8}, None, "a translation must have"),
    "positions": ([[5]], {"longest": 4096}, [[5]], "at most 4096 pieces with its prefix"),
    "n-grams": ([[5]], {"blocked_ngram": -1}, None, "n-grams that may not occur again"),
    "a penalty": ([[5]], {"length_penalty": float("nan")}, None, "length penalty must be a finite number"),
    "a switch": ([[5]], {"without": {"all"}}, None, "without: one of map_per_sentence, "),
    "a piece in letters": ([["a"]], {}, None, "no number of 32 bits"),
}


@pytest.mark.parametrize(("batch", "options", "prefixes", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_calls_are_one_line_and_the_worker_goes_on(batch, options, prefixes, message):
    for threads in (1, 2):
        one = worker(threads=threads)
        with pytest.raises(engine.EngineError, match=message) as refused:
            one.translate(batch, engine_options(**options), prefixes)
        assert "\n" not in str(refused.value)
        assert outputs(one, BATCH[:9]) == outputs(worker(), BATCH[:9])


def test_candidates_need_a_map():
    unmapped = engine.Worker(engine.Model(folders() / "float32" / native_weights.NAME))
    with pytest.raises(engine.EngineError, match="no vocabulary map"):
        outputs(unmapped, BATCH, candidates="sentence")
    assert outputs(unmapped, BATCH[:9]) == outputs(worker(), BATCH[:9])


CALLS = {
    "too few targets": (lambda: worker().score([[5]], []), "one prefix for each"),
    "a long target": (lambda: worker().score([[5]], [[5] * 4096]), "at most 4096 pieces"),
    "no thread": (lambda: engine.Worker(model(folders(), "float32"), 0), "at least one thread"),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_wrong_calls_are_refused(call, message):
    with pytest.raises(engine.EngineError, match=message):
        call()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("beam", [1, 16])
def test_a_call_is_stopped_from_another_thread(beam, threads):
    """The call would take many seconds; stops are repeated, in case one comes before it."""
    one, ended = worker(threads=threads), threading.Event()

    def stop():
        while not ended.wait(0.05):
            one.stop()

    stopper = threading.Thread(target=stop)
    started = time.monotonic()
    stopper.start()
    try:
        with pytest.raises(engine.EngineError, match="stopped"):
            outputs(one, BATCH * 5, beam_size=beam, shortest=4000, longest=4000)
    finally:
        ended.set()
        stopper.join()
    assert time.monotonic() - started < 20
    one.score([], [])  # consumes a stop that came after the call
    assert outputs(one, BATCH[:9], beam_size=4) == outputs(worker(), BATCH[:9], beam_size=4)


def test_a_stop_before_a_call_ends_that_call_alone():
    one = worker()
    one.stop()
    with pytest.raises(engine.EngineError, match="stopped"):
        outputs(one, BATCH)
    assert outputs(one, BATCH[:9]) == outputs(worker(), BATCH[:9])


def decode(one, stopped):
    """Decode some batches; stopped: a part of one."""
    if not stopped:
        outputs(one, BATCH[:40], candidates="sentence", beam_size=4)
        outputs(one, BATCH[:40], PREFIXES[:40])
        one.score(BATCH[:40], BATCH[40:80])
        return
    for beam in (1, 4):
        threading.Timer(0.01, one.stop).start()
        with pytest.raises(engine.EngineError):
            outputs(one, BATCH[:40], beam_size=beam, shortest=4000, longest=4000)


def growth(root, stopped):
    """Growth of a process in bytes when it decodes the same batches repeatedly."""
    workers = [worker(kind, threads, root) for kind in KINDS for threads in (1, 2)]

    def resident(rounds):
        for _ in range(rounds):
            for one in workers:
                decode(one, stopped)
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident(5)
    return resident(25) - before


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.slow
def test_decoding_the_same_again_takes_no_more_memory(stopped):
    """A lost page of keys and values per sentence would exceed this. Stopped calls vary in length."""
    assert called(growth, folders(), stopped) < 10_000_000
