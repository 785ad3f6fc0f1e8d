"""The layers that OpenNMT-tf lacks: training and step-by-step decoding give the same outputs."""

import numpy as np
import pytest
import tensorflow as tf
from decoders import built, log_probabilities
from hypothesis import given, settings
from hypothesis import strategies as st
from opennmt.optimizers.utils import make_optimizer
from opennmt.utils.checkpoint import Checkpoint

from formats.shape import DECODERS
from layers.embeddings import embedder
from layers.history_decoder import running_means, scan

SHAPE = {"encoder_layers": 1, "decoder_layers": 2, "units": 16, "ffn_units": 24, "heads": 2}
KINDS = [kind for kind in DECODERS if kind != "self-attention"]
CONDITIONAL = {"encoder_transitions": 2, "decoder_transitions": 3, "units": 16, "embedding_units": 16}
CONNECTED = {"fully_connected_layers": 3, "fully_connected_units": 32, "units": 16, "embedding_units": 16}
SHAPES = {kind: SHAPE | {"decoder": kind} for kind in KINDS}
SHAPES |= {"conditional": CONDITIONAL, "fully connected": CONNECTED}
GRU = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "units": 16, "embedding_units": 16}
RESUMED = {  # the GRU cell stands for LSTM; the other averaging decoders have fewer weights
    name: SHAPES[name] for name in ("averaging", "ssru", "conditional", "fully connected")
} | {"gru": GRU}


@settings(max_examples=20, deadline=None)
@given(length=st.integers(1, 40), seed=st.integers(0, 100))
def test_a_scan_is_the_recurrence(length, seed):
    generator = np.random.default_rng(seed)
    kept, fresh = generator.random((2, 3, length, 4), np.float32)
    cell, states = np.zeros((3, 4), np.float32), []
    for t in range(length):
        cell = kept[:, t] * cell + fresh[:, t]
        states.append(cell)
    np.testing.assert_allclose(scan(tf.constant(kept), tf.constant(fresh)), np.stack(states, 1), rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(length=st.integers(1, 40), seed=st.integers(0, 100))
def test_running_means(length, seed):
    x = np.random.default_rng(seed).normal(size=(2, length, 3)).astype(np.float32)
    expected = np.cumsum(x, axis=1) / np.arange(1, length + 1)[None, :, None]
    np.testing.assert_allclose(running_means(tf.constant(x)), expected, rtol=1e-4, atol=1e-5)


def test_a_scan_has_the_gradient_of_the_recurrence():
    kept, fresh = (tf.Variable(tf.random.stateless_uniform([2, 7, 3], [1, seed])) for seed in range(2))
    with tf.GradientTape(persistent=True) as tape:
        at_once = tf.reduce_sum(scan(kept, fresh) ** 2)
        cell, total = tf.zeros([2, 3]), 0.0
        for t in range(7):
            cell = kept[:, t] * cell + fresh[:, t]
            total += tf.reduce_sum(cell**2)
    for variable in (kept, fresh):
        np.testing.assert_allclose(tape.gradient(at_once, variable), tape.gradient(total, variable), rtol=1e-4)


@pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES)
@pytest.mark.slow
def test_steps_give_the_outputs_of_training(values):
    """Greedy search keeps states from step to step; training computes all positions at once."""
    model, _ = built(values)
    sources = [[5, 6, 7], [8], [30, 31, 32, 33, 34]]
    model.params.update(beam_width=1, maximum_decoding_length=12)
    lengths = tf.constant([len(source) for source in sources])
    _, found = model({"ids": tf.ragged.constant(sources, dtype=tf.int64).to_tensor(), "length": lengths})
    tokens = model.labels_inputter.tokens_to_ids.lookup(found["tokens"])[:, 0].numpy()
    for source, translation, length in zip(sources, tokens, found["length"][:, 0], strict=True):
        pieces = translation[:length].tolist()
        for step in range(length):
            assert log_probabilities(model, [source], [pieces[:step]])[0].argmax() == pieces[step]


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_reorders_what_a_layer_keeps(kind):
    model, _ = built(SHAPE | {"decoder": kind})
    states = model.decoder._get_initial_state(2, tf.float32)
    tf.nest.assert_same_structure(states, model.decoder._get_state_reorder_flags())


def gradients(model):
    """Gradients of the summed cross-entropy with dropout, of all trainable variables."""
    ids = tf.constant([[5, 6, 7, 8], [9, 10, 11, 0]], tf.int64)
    lengths = tf.constant([4, 3])
    with tf.GradientTape() as tape:
        inputs = model.features_inputter({"ids": ids, "length": lengths})
        memory, state, lengths = model.encoder(inputs, sequence_length=lengths, training=True)
        start = model.decoder.initial_state(memory=memory, memory_sequence_length=lengths, initial_state=state)
        logits, *_ = model.decoder(model.labels_inputter({"ids": ids, "length": lengths}), lengths, state=start,
                                   training=True)  # fmt: skip
        loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(ids, logits))
    return tape.gradient(loss, model.trainable_variables)


@pytest.mark.parametrize("values", [CONDITIONAL, CONNECTED], ids=["conditional", "fully connected"])
def test_every_weight_of_a_recurrent_model_learns(values):
    model, _ = built(values, sure=0.3)
    for variable, gradient in zip(model.trainable_variables, gradients(model), strict=True):
        assert np.abs(tf.convert_to_tensor(gradient)).max() > 0, variable.name


def trained(model, optimizer, steps):
    """The weights after these updates; the number of an update seeds its dropout, as a checkpoint does."""
    for step in steps:
        tf.random.set_seed(step)
        optimizer.apply_gradients(zip(gradients(model), model.trainable_variables, strict=True))
    return [variable.numpy() for variable in model.variables]


@pytest.mark.parametrize("values", RESUMED.values(), ids=RESUMED)
@pytest.mark.slow
def test_a_training_continues_from_a_checkpoint_exactly(values, tmp_path):
    """Two steps, and two more in a model that began with other weights, are four: a checkpoint has everything."""
    (model, _), (other, _) = (built(values, seed=seed, sure=0.3) for seed in (1, 2))
    optimizer, fresh = (make_optimizer("Adam", 0.01) for _ in range(2))
    half = trained(model, optimizer, (1, 2))
    Checkpoint(model, optimizer, str(tmp_path)).save(2)
    expected = trained(model, optimizer, (3, 4))
    Checkpoint(other, fresh, str(tmp_path)).restore()
    found = trained(other, fresh, (3, 4))
    assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))
    assert sum(not np.array_equal(*pair) for pair in zip(half, expected, strict=True)) > 8


@pytest.mark.parametrize(("shared", "deviation"), [(False, 1.0), (True, 0.1)])
def test_embeddings_are_large_unless_the_softmax_shares_them(shared, deviation, tmp_path):
    (tmp_path / "vocabulary.txt").write_text("\n".join(map(str, range(300))) + "\n")
    inputter = embedder(64, shared)
    inputter.initialize({"vocabulary": str(tmp_path / "vocabulary.txt")})
    inputter.build(None)
    assert np.std(inputter.embedding.numpy()) == pytest.approx(deviation, rel=0.3)
