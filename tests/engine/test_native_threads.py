"""Threads of a worker share the products of a long sentence and translate like one thread."""

import random

import pytest
from native import KINDS, WORDS, engine, worker

LENGTHS = (70, 400)  # in pieces; attention is shared from 64


def sentence(length):
    generator = random.Random(length)
    return [generator.choice(WORDS) for _ in range(length)]


def translated(by, length, **options):
    options = engine.Options(longest=30, n_best=options.get("beam_size", 1), **options)
    (found,) = by.translate([sentence(length)], options)
    return [(hypothesis.pieces, hypothesis.score) for hypothesis in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam", [1, 4])
def test_a_long_sentence_is_translated_the_same_on_any_number_of_threads(kind, beam):
    expected = [translated(worker(kind), length, beam_size=beam, scores=True) for length in LENGTHS]
    for threads in (2, 3, 5):
        by = worker(kind, threads)
        for _ in range(3):
            assert [translated(by, length, beam_size=beam, scores=True) for length in LENGTHS] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_target_is_scored_the_same_on_any_number_of_threads(kind):
    found = [worker(kind, threads).score([sentence(400)], [sentence(300)])[0].tobytes() for threads in (1, 2, 3)]
    assert len({*found}) == 1


def test_threads_serve_long_sentences_and_batches_in_turn():
    """Threads share products in one call and sentences in the next."""
    alone, together = worker(), worker(threads=3)
    for _ in range(20):
        assert translated(together, 400) == translated(alone, 400)
        batch = [sentence(length) for length in (3, 90, 20, 7)]
        options = engine.Options(longest=10)
        assert together.translate(batch, options) == alone.translate(batch, options)
