"""Samples follow the model's probabilities, and are the same bytes wherever a sentence stands."""

import functools
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from native import KINDS, called, engine, folders, model, outputs, sentences, worker

BATCH = sentences(150)
SOURCE = BATCH[3]
PIECES, END = 121, 2
MOST = 1024  # samples of a sentence
LONGEST = 20
ANCESTRAL: dict = {}
WAYS = {
    "ancestral": ANCESTRAL,
    "hot": {"temperature": 3.0},
    "cold": {"temperature": 0.4},
    "top 5": {"top_k": 5, "temperature": 2.0},
    "top 40": {"top_k": 40, "temperature": 2.0},  # more than there are blocks of 16 columns
    "nucleus": {"top_p": 0.8},
    "hot nucleus": {"top_p": 0.95, "temperature": 2.0},
    "epsilon": {"epsilon": 0.02},
    "all": {"top_k": 9, "top_p": 0.97, "epsilon": 0.005, "temperature": 1.5},
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def samples(by, batch, count, prefixes=None, **options):
    return outputs(by, batch, prefixes, samples=count, n_best=1, **{"longest": LONGEST, **options})


# What is drawn


@functools.cache
def probabilities(beginning=()):
    """Those of the model for the piece behind a beginning."""
    targets = [[*beginning, piece] for piece in range(PIECES)]
    ends = worker().score([SOURCE], [[*beginning]])[0][-1]
    found = [scores[len(beginning)] for scores in worker().score([SOURCE] * PIECES, targets)]
    found[END] = ends
    return np.exp(np.array(found, float))


def drawn_from(own, temperature=1.0, top_k=0, top_p=1.0, epsilon=0.0):
    """The probabilities of draws, by the definitions."""
    order = np.argsort(-own, kind="stable")
    before = np.concatenate([[0], np.cumsum(own[order])[:-1]])
    kept = order[(before < top_p) | (top_p == 1)][: top_k or PIECES]
    kept = [piece for piece in kept if own[piece] >= epsilon] or order[:1]
    weights = np.zeros(PIECES)
    weights[kept] = own[kept] ** (1 / temperature)
    return weights / weights.sum()


def philox(key, counter):
    """The generator of Salmon et al. (2011), with ten rounds."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        first, second = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = second >> 32 ^ c1 ^ k0, second % 2**32, first >> 32 ^ c3 ^ k1, first % 2**32
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def identity(source):
    value = len(source)
    for piece in source:
        value = ((value ^ piece) + 0x9E3779B97F4A7C15) % 2**64
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
        value ^= value >> 31
    return value


def uniform(seed, source, sample, position):
    number = identity(source)
    first, second, *_ = philox((seed, 0), (number % 2**32, number >> 32, sample, position))
    return ((first << 32 | second) // 2**12 + 0.5) / 2**52


def test_the_generator_has_the_answers_of_its_authors():
    assert philox((0, 0), (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox((ones, ones), (ones, ones, ones, ones)) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_sample_is_what_its_random_numbers_say(seed):
    """The piece at the place of the number in the sum of all probabilities, in the order of pieces."""
    found = samples(worker(), [SOURCE], MOST, seed=seed)[0]
    differing = 0
    for number, (pieces, _) in enumerate(found):
        for place, piece in enumerate([*pieces[:2], END][:2]):
            sums = np.cumsum(probabilities(tuple(pieces[:place])))
            differing += piece != np.searchsorted(sums, uniform(seed, SOURCE, number, place) * sums[-1])
            if piece == END:
                break
    assert differing <= 2  # by rounding


@ways
def test_draws_have_the_probabilities_of_their_definition(way):
    """Chi-square of the first two pieces, over those that are expected at least five times. The seeds are fixed."""
    found = [pieces for seed in range(8) for pieces, _ in samples(worker(), [SOURCE], MOST, seed=seed, **way)[0]]
    common = Counter(pieces[0] for pieces in found if pieces).most_common(1)[0][0]
    for beginning in ((), (common,)):
        size = len(beginning)
        nexts = Counter([*pieces, END][size] for pieces in found if tuple(pieces[:size]) == beginning)
        expected = drawn_from(probabilities(beginning), **way) * nexts.total()
        assert all(expected[piece] > 0 for piece in nexts)
        often = [piece for piece in range(PIECES) if expected[piece] >= 5]
        square = sum((nexts[piece] - expected[piece]) ** 2 / expected[piece] for piece in often)
        freedom = max(len(often) - 1, 1)
        assert square < freedom + 4 * math.sqrt(2 * freedom) + 4  # a chance of some 1e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("candidates", ["all", "sentence"])
@pytest.mark.parametrize("way", [{"top_k": 1}, {"temperature": 0.001}, {"top_p": 1e-6}, {"epsilon": 0.9999}], ids=str)
def test_what_draws_from_one_piece_is_greedy_search(kind, candidates, way):
    greedy = outputs(worker(kind), BATCH, candidates=candidates, longest=LONGEST)
    assert samples(worker(kind), BATCH, 2, candidates=candidates, **way) == [best * 2 for best in greedy]


def test_scores_are_those_of_the_model_whatever_pieces_are_drawn_from():
    """As in beam search: log probability, with the end, over length."""
    found = samples(worker(), BATCH[:30], 3, temperature=2.0, top_p=0.9)
    for source, each in zip(BATCH, found, strict=False):
        scored = worker().score([source] * 3, [pieces for pieces, _ in each])
        for (pieces, score), probability in zip(each, scored, strict=True):
            length = min(len(pieces) + 1, LONGEST)
            assert score == pytest.approx(probability[:length].sum() / length, rel=1e-4, abs=1e-4)


def test_scores_change_no_draw():
    scored, unscored = (samples(worker(), BATCH, 3, scores=on) for on in (True, False))
    assert [[pieces for pieces, _ in each] for each in scored] == [[pieces for pieces, _ in each] for each in unscored]


def test_frequent_translations_are_drawn_again():
    """All samples are there, equal ones among them, in the order of their numbers."""
    (found,) = samples(worker(), [SOURCE], MOST, longest=1)
    piece, times = Counter(pieces[0] for pieces, _ in found if pieces).most_common(1)[0]
    assert len(found) == MOST
    assert times == pytest.approx(MOST * probabilities()[piece], abs=4 * math.sqrt(MOST))


@ways
def test_a_sample_is_the_same_among_fewer_and_more(way):
    few, more = (samples(worker(), BATCH[:40], count, **way) for count in (4, 8))
    assert few == [each[:4] for each in more]
    assert sum(len({str(each) for each in found}) > 1 for found in more) > 20


def test_seeds_and_sentences_have_draws_of_their_own():
    hot = {"temperature": 50.0, "shortest": 1}
    numbers = {samples(worker(), [SOURCE], 1, seed=seed, **hot)[0][0][0][0] for seed in range(40)}
    numbers |= {samples(worker(), [source], 1, **hot)[0][0][0][0] for source in BATCH[:40]}
    assert len(numbers) > 40


# The same bytes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("candidates", ["all", "sentence"])
def test_batches_and_threads_change_no_byte(kind, candidates):
    way = {"temperature": 1.5, "top_p": 0.98, "candidates": candidates}
    expected = samples(worker(kind), BATCH, 3, **way)
    for threads, size in itertools.product((1, 2), (1, 7, 64)):
        by = worker(kind, threads)
        parts = (samples(by, BATCH[first : first + size], 3, **way) for first in range(0, len(BATCH), size))
        assert [each for part in parts for each in part] == expected


def test_more_samples_than_are_decoded_at_a_time_change_no_byte():
    """In a batch of 150 sentences with 100 samples each, sentences wait for others to end."""
    found = samples(worker(), BATCH, 100, temperature=2.0)
    assert found[5::40] == [samples(worker(), [source], 100, temperature=2.0)[0] for source in BATCH[5::40]]


def test_copied_keys_change_no_byte():
    assert samples(worker(), BATCH, 3, without={"shared_cache"}) == samples(worker(), BATCH, 3)


def by_set(root, kind):
    return [samples(worker(kind, root=root), BATCH, 2, **way) for way in WAYS.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_instruction_sets_change_no_byte(kind):
    """All but the portable one, which rounds otherwise: a draw beside the border of two pieces may take the other."""
    portable, *others = (called(by_set, folders(), kind, NMT_ISA=name) for name in engine.available_sets())
    assert all(found == others[0] for found in others)
    pairs = [*zip(itertools.chain(*portable), itertools.chain(*others[0]), strict=True)] if others else []
    same = sum([pieces for pieces, _ in one] == [pieces for pieces, _ in other] for one, other in pairs)
    assert same >= 0.97 * len(pairs)


# With other options


def test_samples_go_on_behind_a_prefix_and_have_attention():
    prefixes = [source[:2] for source in BATCH]
    for prefix, each in zip(prefixes, samples(worker(), BATCH, 3, prefixes), strict=True):
        assert all(pieces[: len(prefix)] == prefix for pieces, _ in each)
    found = worker().translate(BATCH, engine.Options(samples=3, longest=LONGEST, attention_layer=0))
    for source, each in zip(BATCH, found, strict=True):
        for sample in each:
            assert sample.attention.shape == (min(len(sample.pieces) + 1, LONGEST), len(source))


def test_lengths_and_blocked_pieces_hold_for_samples():
    for each in samples(worker(), BATCH, 3, shortest=5, longest=9, blocked_ngram=1, temperature=2.0):
        assert all(5 <= len(pieces) <= 9 and len({*pieces}) == len(pieces) for pieces, _ in each)


@pytest.mark.parametrize("candidates", ["all", "sentence"])
def test_samples_of_two_copies_of_a_model_are_its_own(candidates):
    both = engine.Worker([model(folders(), "float32")] * 2)
    found, own = (samples(by, BATCH, 2, top_p=0.99, candidates=candidates) for by in (both, worker()))
    same = sum([p for p, _ in a] == [p for p, _ in b] for a, b in zip(found, own, strict=True))
    assert same >= len(BATCH) - 1  # probabilities differ by rounding


REFUSED = {
    "-1 samples": ({"samples": -1}, "from 1 to 1,024 samples, or 0 for a search, not -1"),
    "1025 samples": ({"samples": 1025}, "from 1 to 1,024 samples, or 0 for a search, not 1025"),
    "a beam": ({"samples": 2, "beam_size": 4}, "samples are drawn without a beam, not with one of 4"),
    "no temperature": ({"temperature": 0.0}, "the temperature must be from 0.001 to 1,000, not 0.0"),
    "no number": ({"temperature": math.nan}, "the temperature must be from 0.001 to 1,000, not nan"),
    "top -1": ({"top_k": -1}, "the pieces to draw from must be 1, or more, or 0 for all, not -1"),
    "an empty nucleus": ({"top_p": 0.0}, "the probability of the nucleus must be above 0, and at most 1, not 0.0"),
    "a large nucleus": ({"top_p": 1.5}, "the probability of the nucleus must be above 0, and at most 1, not 1.5"),
    "epsilon 1": ({"epsilon": 1.0}, "epsilon, a probability, must be from 0 to below 1, not 1.0"),
    "a long seed": ({"seed": 2**31}, "seed: 2147483648 is no number of 32 bits"),
}


@pytest.mark.parametrize(("way", "message"), REFUSED.values(), ids=REFUSED)
def test_other_values_are_one_line(way, message):
    by = worker()
    with pytest.raises(engine.EngineError, match=message) as refused:
        by.translate(BATCH, engine.Options(**{"samples": 1, **way}))
    assert "\n" not in str(refused.value)
    assert samples(by, BATCH[:5], 2) == samples(worker(), BATCH[:5], 2)
