"""The native engine computes what a Transformer in plain NumPy does, with every option and in every type."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native import KINDS, called, engine, kernels, outputs
from plain_transformer import ACTIVATIONS, PIECES, Plain, model

from nmt_frontier.model import native_weights, safetensors

RANDOM = np.random.default_rng(1)
# One piece, one page of positions and its edges, and more than a block of rows.
SOURCES, TARGETS = (
    [RANDOM.integers(3, PIECES, size).tolist() for size in sizes]
    for sizes in ((1, 5, 16, 17, 70), (17, 1, 0, 33, 4))
)  # fmt: skip
LONG = RANDOM.integers(3, PIECES, 613).tolist()  # attention is computed in blocks
PREFIXES = [target[:2] for target in TARGETS]  # of 0 to 2 pieces
OPTIONS = {
    "activation": st.sampled_from([*ACTIVATIONS]), "norm": st.sampled_from(["layer", "rms"]),
    **{name: st.booleans() for name in ("gated_feed_forward", "pre_norm", "final_norms", "embedding_norm")},
    "positions": st.sampled_from(["both", "sides", "none", "relative"]),
}  # fmt: skip
BART = {"activation": "gelu", "embedding_norm": True}
T5 = {"norm": "rms", "pre_norm": True, "final_norms": True, "positions": "relative"}
COMMON = {
    "BART": BART,
    "mBART": BART | {"pre_norm": True, "final_norms": True},
    "T5": T5,
    "T5 1.1": T5 | {"activation": "gelu_tanh", "gated_feed_forward": True},
    "SwiGLU": {"activation": "swish", "gated_feed_forward": True, "positions": "none"},
}
LIMITS = {"float32": 1e-5, "int16": 0.01, "int8": 0.2, "int4": 0.8}  # of the mean error, in standard deviations


def opened(made, kind, folder, threads=1):
    made.write(kind, Path(folder) / kind)
    return engine.Worker(engine.Model(Path(folder) / kind / native_weights.NAME), threads)


def error(made, one):
    """The mean error of log probabilities, in standard deviations of these."""
    plain = Plain(made)
    expected = np.concatenate([plain.log_probabilities(*pair) for pair in zip(SOURCES, TARGETS, strict=True)])
    return np.abs(np.concatenate(one.score(SOURCES, TARGETS)) - expected).mean() / expected.std()


@given(st.fixed_dictionaries(OPTIONS))
@settings(max_examples=40)
def test_every_option_is_computed_as_in_numpy(options):
    made = model(**options)
    with tempfile.TemporaryDirectory() as folder:
        assert error(made, opened(made, "float32", folder)) < LIMITS["float32"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", COMMON.values(), ids=COMMON)
def test_common_models_are_computed_in_every_type(options, kind, tmp_path):
    """Steps of a search, with the past in pages, compute what scoring does for all positions at once."""
    made = model(**options)
    one = opened(made, kind, tmp_path)
    assert error(made, one) < LIMITS[kind]
    found = [hypotheses[0] for hypotheses in outputs(one, SOURCES, longest=30, length_penalty=0)]
    scores = one.score(SOURCES, [pieces for pieces, _ in found])
    for (pieces, score), of_pieces in zip(found, scores, strict=True):
        assert score == pytest.approx(of_pieces[: None if len(pieces) < 30 else -1].sum(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", COMMON.values(), ids=COMMON)
def test_a_sentence_is_translated_the_same_alone_and_with_threads(options, kind, tmp_path):
    one, three = (opened(model(**options), kind, tmp_path / str(threads), threads) for threads in (1, 3))
    for beam in (1, 4):
        pairs = zip(SOURCES, PREFIXES, strict=True)
        expected = [outputs(one, [source], [prefix], beam_size=beam)[0] for source, prefix in pairs]
        assert [outputs(worker, SOURCES, PREFIXES, beam_size=beam) for worker in (one, three)] == [expected] * 2
        for prefix, hypotheses in zip(PREFIXES, expected, strict=True):
            assert len(hypotheses) == beam and all(pieces[: len(prefix)] == prefix for pieces, _ in hypotheses)


def test_long_sources_are_computed_in_blocks(tmp_path):
    """Threads divide the queries at other places, so that other ones are left over behind the blocks."""
    made = model(**T5)
    one, three = (opened(made, "float32", tmp_path / str(threads), threads) for threads in (1, 3))
    (found,) = one.score([LONG], [TARGETS[0]])
    np.testing.assert_allclose(found, Plain(made).log_probabilities(LONG, TARGETS[0]), rtol=1e-4)
    longest = (LONG * 7)[:4096]
    assert outputs(one, [longest], longest=5) == outputs(three, [longest], longest=5)
    with pytest.raises(engine.EngineError, match="a sentence has 4097 pieces, the engine takes 4096"):
        outputs(one, [[*longest, 3]])


def translated(folder):
    """What an instruction set computes for the models in a folder, as text."""
    paths = sorted(Path(folder).rglob(native_weights.NAME))
    workers = [engine.Worker(engine.Model(path)) for path in paths]
    return [
        str((outputs(one, [*SOURCES, LONG], beam_size=4), [*map(bytes, one.score(SOURCES, TARGETS))]))
        for one in workers
    ]


@pytest.mark.skipif(len(engine.available_sets()) < 3, reason="this CPU has no two sets with fused multiply-add")
@pytest.mark.slow
def test_instruction_sets_compute_the_same_bytes(tmp_path):
    for name, options in COMMON.items():
        for kind in KINDS:
            model(**options).write(kind, tmp_path / name / kind)
    _, *fused = engine.available_sets()
    found = [called(translated, tmp_path, NMT_ISA=name) for name in fused]
    assert found == [found[0]] * len(fused)


SPREAD = np.concatenate([np.linspace(-15, 15, 4000), np.logspace(-8, 2, 48), -np.logspace(-8, 2, 48)])


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_exact(name):
    """gelu has the error that kernels/activations.h states; the others have that of a sigmoid."""
    rows = SPREAD.astype(np.float32).astype(float)
    with np.errstate(over="ignore"):
        expected = ACTIVATIONS[name](rows)
    found = kernels.activate(name, rows.reshape(4, -1)).ravel()
    if name == "gelu":
        np.testing.assert_allclose(found, expected, rtol=0, atol=4e-7 + 6e-8 * np.maximum(rows, 0).max())
        inner = (np.abs(rows) < 10) & (rows != 0)
        np.testing.assert_allclose(found[inner], expected[inner], rtol=1e-5)
    else:
        np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-6 * np.abs(rows).max())
    factors = np.random.default_rng(2).normal(size=(4, SPREAD.size // 4))
    gated = kernels.activate(name, np.concatenate([rows.reshape(4, -1), factors], axis=1), gated=True)
    assert (gated == found.reshape(4, -1) * factors.astype(np.float32)).all()


FAULTS = {  # metadata of another value, or tensors that are missing, and the end of the message
    "activation": ({"activation": "elu"}, "its activation 'elu' is unknown to this version of the engine"),
    "norm": ({"norm": "batch"}, "its norm 'batch' is unknown to this version of the engine"),
    "positions": ({"positions": "rotary"}, "its positions are neither stored nor 'none'"),
    "gated": ({"gated_feed_forward": "2"}, "'gated_feed_forward' is '2', not a number from 0 to 1"),
    "units": ({"decoder_feed_forward_units": "40"}, "its units are no multiple of 16"),
    "inner": ({"gated_feed_forward": "1"}, "'encoder.0.feed_forward.inner.weight' is F32 3 32 16 1 where the model"),
    "final norms": ({"final_norms": "1"}, "'encoder.norm.scale' is missing"),
    "embedding norm": ({"embedding_norm": "1"}, "'encoder.embedding_norm.scale' is missing"),
    "buckets": ({"relative_buckets": "7", "relative_distance": "20"}, "its relative positions have an odd number of"),
    "far": ({"relative_buckets": "8", "relative_distance": "4"}, "'relative_distance' is '4', not a number from 5 to"),
    "relative": ({"relative_buckets": "8", "relative_distance": "20"}, "'encoder.relative' is missing"),
    "side": ("encoder.positions", "'encoder.positions' is missing"),
    "bias": ("encoder.0.self.norm.bias", "'encoder.0.self.norm.bias' is missing"),
}


@pytest.mark.parametrize(("change", "message"), FAULTS.values(), ids=FAULTS)
def test_a_file_that_lacks_what_it_names_is_one_line(change, message, tmp_path):
    model().write("float32", tmp_path / "whole")
    path = tmp_path / "whole" / native_weights.NAME
    tensors, metadata = safetensors.read(path), safetensors.metadata(path)
    if isinstance(change, str):
        del tensors[change]
    else:
        metadata |= change
    safetensors.write(tmp_path / "changed", tensors, metadata)
    with pytest.raises(engine.EngineError) as caught:
        engine.Model(tmp_path / "changed")
    assert str(caught.value).startswith(f"{tmp_path / 'changed'}: {message}") and "\n" not in str(caught.value)
