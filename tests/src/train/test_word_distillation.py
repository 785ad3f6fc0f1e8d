"""Word-level distillation: the loss by its definition, words that stay with their pairs, trainings that are killed."""

import random

import numpy as np
import pytest
import tensorflow as tf
from test_training import (  # noqa: F401 (fixtures)
    SHORT,
    STUDY,
    data,
    finish,
    left_by_kills,
    optimised_graphs,
    plain_graphs,
    refused,
    run,
    same,
    same_training,
    training,
    weights,
)
from training_settings import TOKENS, entry, model, typed

from formats import word_probabilities
from train import word_distillation
from train.dataset import dataset
from train.settings import WordsSection
from train.word_distillation import WORDS, Taught, cross_entropy

PIECES = 300


def decoded(model_words, line):
    """What a line becomes: numbers and bytes of probabilities, int (positions, k)."""
    coded = tf.io.decode_raw(tf.io.decode_base64(tf.strings.split(line)), tf.uint8, fixed_length=model_words.k * 3)
    coded = tf.reshape(coded, [-1, model_words.k, 3]).numpy().astype(int)
    return coded[..., 0] + 256 * coded[..., 1], coded[..., 2]


def random_words(generator, positions, k, spread=3.0, pieces=PIECES):
    """The k most probable of as many pieces at each position, and all log probabilities."""
    logits = generator.normal(0, spread, (positions, pieces))
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    best = np.argsort(-logs, axis=-1)[:, :k].astype(np.int32)
    return best, np.take_along_axis(logs, best, -1).astype(np.float32), logs


def test_a_line_keeps_pieces_and_probabilities():
    """But for those whose probability rounds to 0, as it is below 1/510; the first one is always there."""
    numbers, logs, _ = random_words(np.random.default_rng(1), 50, 6, pieces=65_536)
    logs[0] = np.log(1e-9)
    found, shares = decoded(WordsSection(k=6), line := word_probabilities.line(numbers, logs))
    expected = np.rint(np.exp(logs) * 255)
    expected[0, 0] = 1
    assert (shares == expected).all() and (found == np.where(shares > 0, numbers, 0)).all()
    assert np.abs(shares / 255 - np.exp(logs))[1:].max() <= 1 / 510 + 1e-6
    assert len(line) == 4 * (shares > 0).sum() + len(numbers) - 1 and set(line).isdisjoint("\t\n+/=")


def wanted(labels, words, smoothing, weight, vocabulary):
    """The distribution that the loss is the distance to, by its definition, float64 (positions, vocabulary)."""
    rows = []
    for label, coded in zip(labels, words.astype(int), strict=True):
        own = np.full(vocabulary, smoothing / (vocabulary - 1))
        own[label] = 1 - smoothing
        kept = {one[0] + 256 * one[1]: one[2] / 255 for one in coded if one[2]}
        total = sum(kept.values())
        taught = np.full(vocabulary, max(1 - total, 0) / (vocabulary - len(kept)))
        for piece, probability in kept.items():
            taught[piece] = probability / max(total, 1)
        rows.append((1 - weight) * own + weight * taught if kept else own)
    return np.array(rows)


@pytest.mark.parametrize(("weight", "smoothing", "k"), [(0.5, 0.1, 4), (1.0, 0.1, 8), (0.3, 0.0, 1)])
def test_loss_and_gradient_are_those_of_the_definition(weight, smoothing, k):
    """Positions without words have the usual loss; probabilities whose bytes exceed 1 together are scaled down."""
    generator = np.random.default_rng(2)
    numbers, logs, _ = random_words(generator, 40, k)
    line = word_probabilities.line(numbers, logs)
    coded = tf.io.decode_raw(tf.io.decode_base64(tf.strings.split(line)), tf.uint8, fixed_length=k * 3)
    words = np.concatenate([tf.reshape(coded, [-1, k, 3]).numpy(), np.zeros((3, k, 3), np.uint8)])
    words[5, :, 2] = min(255 // k + 1, 255)
    labels = generator.integers(0, PIECES, len(words))
    labels[:10] = numbers[:10, 0]  # of which the teacher is sure, too
    logits = tf.Variable(generator.normal(0, 3, (len(words), PIECES)).astype(np.float32))
    with tf.GradientTape() as tape:
        losses = cross_entropy(logits, Taught(tf.constant(labels), tf.constant(words)), smoothing, weight)
    logs = tf.nn.log_softmax(tf.cast(logits, tf.float64)).numpy()
    expected = wanted(labels, words, smoothing, weight, PIECES)
    np.testing.assert_allclose(expected.sum(-1), 1)
    np.testing.assert_allclose(losses, -(expected * logs).sum(-1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tape.gradient(losses, logits), np.exp(logs) - expected, atol=1e-6)


def write_words(path, targets, k, seed=1, pieces=30, empty=()):
    """Random words for each of these targets, and none for some."""
    generator = np.random.default_rng(seed)
    best = (random_words(generator, len(target) + 1, k, pieces=pieces)[:2] for target in targets)
    lines = ("" if number in empty else word_probabilities.line(*each) for number, each in enumerate(best))
    path.write_text("".join(f"{line}\n" for line in lines))


def test_words_stay_with_their_pairs_in_batches(tmp_path):
    """The words of a target are its own pieces, so that they can be checked; a line without any becomes zeros."""
    generator, k = random.Random(1), 2
    targets = [[generator.randrange(3, 53) for _ in range(1 + n % 7)] for n in range(60)]
    text = "".join(f"{' '.join(f'w{piece - 3}' for piece in target)}\n" for target in targets)
    (tmp_path / "source").write_text(text)
    (tmp_path / "target").write_text(text)
    with open(tmp_path / "words", "w") as file:
        for number, target in enumerate(targets):
            numbers = np.array([[piece, number] for piece in [*target, 2]])
            file.write(word_probabilities.line(numbers, np.log(np.full(numbers.shape, 0.4))) * (number % 5 > 0) + "\n")
    made = model(tmp_path / "model", [f"w{n}" for n in range(50)])
    word_distillation.register(made, WordsSection(k=k))
    files, seen = [tmp_path / name for name in ("source", "target")], set()
    for _, labels in dataset(made, typed(TOKENS), *files, 60, {WORDS: tmp_path / "words"}):
        for ids, length, words in zip(*(labels[name].numpy() for name in ("ids_out", "length", WORDS)), strict=True):
            assert not words[length:].any()
            if words.any():
                numbers = set(words[:length, 1, 0].tolist())
                assert len(numbers) == 1 and (words[:length, 0, 0] == ids[:length]).all()
                seen |= numbers
    assert seen == {number for number in range(60) if number % 5}


def test_words_of_other_targets_are_an_error(tmp_path):
    (tmp_path / "text").write_text("w1 w2\nw3\n")
    write_words(tmp_path / "words", [[4, 5, 6], [6]], 2)
    made = model(tmp_path / "model", [f"w{n}" for n in range(9)])
    word_distillation.register(made, WordsSection(k=2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="words of other targets than these"):
        [*dataset(made, typed(TOKENS), tmp_path / "text", tmp_path / "text", 2, {WORDS: tmp_path / "words"})]


def with_words(data, k):  # noqa: F811
    """The options of a training that names random words for both epochs of ``data``."""
    for epoch in (1, 2):
        targets = [line.split() for line in (data / f"{epoch}.target").read_text().splitlines()]
        write_words(data / f"{epoch}.words", targets, k, epoch, empty={3})
    return ["--words", data / "1.words", data / "2.words"]


@pytest.mark.slow
@pytest.mark.usefixtures("optimised_graphs")
def test_a_killed_training_with_words_ends_with_the_weights_of_one_that_was_not(data, tmp_path):  # noqa: F811
    """In each phase, one of which accumulates; and the words change what is learned."""
    options, words = with_words(data, 4), {"words": {"k": 4, "weight": 0.7}}
    command = training(data, tmp_path / "finished", None, STUDY, *options, **words)
    (left,) = left_by_kills(command, tmp_path / "finished", 24)
    finish(data, left, None, STUDY, *options, **words)
    same_training(tmp_path / "finished", left)
    finish(data, tmp_path / "without", None, STUDY)
    assert not same(weights(tmp_path / "finished" / "averaged"), weights(tmp_path / "without" / "averaged"))


@pytest.mark.slow
def test_words_and_the_settings_that_want_them_need_each_other(data, tmp_path):  # noqa: F811
    refused("--words are for settings with words", data, tmp_path, None, SHORT, *with_words(data, 2))
    done = run(data, tmp_path, None, SHORT, words={"k": 2})
    assert done.returncode == 1 and "--words are for settings with words" in done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("optimised_graphs")
def test_two_replicas_learn_words_as_one_device_that_accumulates(data, tmp_path):  # noqa: F811
    alike = STUDY | entry(steps=6) | {"checkpoint_steps": 6, "validation_steps": 6, "averages": [1], "dropout": 0}
    alike |= {"optimizer": "sgd", "learning_rate": 0.1, "decay": "constant", "average_last": 1}
    options, words = with_words(data, 4), {"words": {"k": 4}}
    finish(data, tmp_path / "one", None, alike | {"accumulate": 2}, *options, **words)
    finish(data, tmp_path / "two", None, alike | {"gpus": 2}, *options, **words)
    one, two = (weights(tmp_path / name / "averaged") for name in ("one", "two"))
    assert one.keys() == two.keys() and all(np.allclose(one[key], two[key], rtol=0, atol=1e-6) for key in one)
