"""Segmentations are drawn by their probabilities, the same in every process, and reach the batches of a training."""

import random
from collections import Counter
from contextlib import nullcontext
from itertools import pairwise
from math import exp

import pytest
import tensorflow as tf
from training_settings import TOKENS, model, typed

from nmt_frontier.errors import UserError
from nmt_frontier.text.tokenizers import pieces
from train import vocabulary
from train.dataset import dataset
from train.segmentation import Segmentations, drawn, words

SYLLABLES = ["ha", "hu", "ka", "ko", "sch", "an", "en", "er", "un", "te", "ze", "ke"]
generator = random.Random(1)
TEXT = [
    " ".join("".join(generator.choices(SYLLABLES, k=generator.randint(1, 3))) for _ in range(5)) for _ in range(200)
]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    """Models of the text, by their type."""
    folder = tmp_path_factory.mktemp("tokenizers")
    for kind in ("unigram", "bpe"):
        (folder / kind).write_bytes(vocabulary.train(TEXT, kind, 40, 1.0, 1, symbols=["⟦1⟧"]))
    return folder


@pytest.fixture(scope="module")
def processor(tokenizers):
    return pieces(tokenizers / "unigram")


def test_segmentations_are_drawn_by_a_power_of_their_probabilities(tokenizers, processor):
    """Of one word, and of another beside it, on which the first does not depend."""
    segmentations, best = Segmentations(tokenizers / "unigram", 0.2, 1), processor.nbest_encode_as_pieces("kanten", 64)
    scores = [sum(processor.get_score(processor.piece_to_id(piece)) for piece in found) for found in best]
    weights = [exp(0.2 * score) for score in scores]
    expected = {" ".join(found): weight / sum(weights) for found, weight in zip(best, weights, strict=True)}
    line = " ".join(processor.encode("kanten unter", out_type=str))
    count = Counter(next(words(segmentations.draw(line, f"0 {number}"))) for number in range(4000))
    assert set(count) <= set(expected) and len(count) > 6
    for found, probability in expected.items():
        assert count[found] / 4000 == pytest.approx(probability, abs=0.03)


def test_a_draw_depends_on_seed_and_place_alone(tokenizers, processor):
    lines = [" ".join(processor.encode(text, out_type=str)) for text in TEXT]
    drawn = {
        (seed, reading): [first.draw(line, f"{reading} {number}") for number, line in enumerate(lines)]
        for seed, reading in ((1, 0), (1, 1), (2, 0))
        for first in [Segmentations(tokenizers / "unigram", 0.2, seed)]
    }
    assert all(first != second for first, second in pairwise(drawn.values()))
    assert drawn[1, 0][:2] == ["▁en ▁ ko ▁ te an ▁ te hu ▁ze", "▁an te ▁un ▁ un ka ▁ze ▁ ha"]
    for texts in drawn.values():
        assert [processor.decode(line.split(" ")) for line in texts] == TEXT


def test_what_sentencepiece_splits_otherwise_stays_as_it_is(tokenizers):
    """Characters without a piece, symbols, no-break spaces, and pieces of another model."""
    segmentations = Segmentations(tokenizers / "unigram", 0.01, 1)
    for line in ("▁ ☃", "▁ ⟦1⟧", "▁kan ten\u00a0x", "▁", "ten ▁☃ x", "", "<0xE2> <0x98>"):
        assert segmentations.draw(line, "0") == line


def test_a_model_without_probabilities_is_refused(tokenizers):
    with pytest.raises(UserError, match=r"training.sampling: .*bpe has no probabilities of pieces; it takes a unigram"):
        Segmentations(tokenizers / "bpe", 0.5, 1)


def test_every_pass_reads_other_segmentations(tokenizers, processor, tmp_path):
    """Source and target are drawn apart; pairs stay together; outside, the model reads what is in the files."""
    lines = [" ".join(processor.encode(text, out_type=str)) for text in TEXT]
    for side in ("source", "target"):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines))
    made = model(tmp_path, [processor.id_to_piece(number) for number in range(3, len(processor))])
    segmentations = Segmentations(tokenizers / "unigram", 0.2, 1)

    def pairs(context=None):
        tf.random.set_seed(1)
        with context or nullcontext():
            batches = dataset(made, typed(TOKENS), tmp_path / "source", tmp_path / "target", len(lines))
        read = [
            (source["tokens"][row, : source["length"][row]], target["tokens"][row, : target["length"][row] - 1])
            for source, target in batches
            for row in range(len(source["length"]))
        ]
        return [tuple(" ".join(piece.decode() for piece in side.numpy()) for side in pair) for pair in read]

    plain = pairs()
    first, again, second = (pairs(drawn(made, segmentations, reading)) for reading in (0, 0, 1))
    assert first == again != second and pairs() == plain and {*plain} == {(line, line) for line in lines}
    numbered = [*zip(*([segmentations.draw(line, f"0 {side} {number}") for number, line in enumerate(lines)]
                       for side in ("source", "target")), strict=True)]  # fmt: skip
    assert sorted(first) == sorted(numbered) and all(source != target for source, target in numbered[:9])
