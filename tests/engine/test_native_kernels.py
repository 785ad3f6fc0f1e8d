"""Products are exact for every weight that the quantiser makes, on every instruction set."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as drawn
from native import KINDS, called, engine, folders, kernels, outputs, sentences, worker

from nmt_frontier.errors import UserError
from nmt_frontier.model import native_packing, native_quantization, native_weights, safetensors
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search

ROWS = 13  # more than any tile has, so that tiles of all sizes are used
SIZES = [(16, 16), (16, 128), (48, 80), (64, 48), (1024, 128), (4096, 80)]  # inputs, outputs
LIMITS = {"int16": (-4095, 4095), "int8": (1, 255), "unsigned int8": (0, 255)}  # of stored inputs
PRODUCTS = {**LIMITS, "int4": (1, 255), "unsigned int4": (0, 255)}  # whose inputs are those of int8


def stored(kind):
    """The type of weights of a key of PRODUCTS."""
    return kind.split()[-1]


def weights(inputs, outputs):
    """Difficult weights, by name."""
    generator = np.random.default_rng(inputs + outputs)
    signs = np.where(np.arange(outputs) % 2, 1, -1)[:, None]
    lane = np.isin(np.arange(inputs) % 8, (0, 1, 4, 5))
    huge = generator.normal(0, 0.01, (outputs, inputs))
    huge[:, inputs // 2] = 100
    found = {
        "one sign": np.ones((outputs, inputs)) * signs,
        "alternating": np.where(np.arange(inputs) % 2, 1, -1) * signs,
        "one lane": np.where(lane, 1, 0) * signs,
        "one huge": huge,
        "random": generator.normal(size=(outputs, inputs)),
    }
    return {name: matrix.astype(np.float32) for name, matrix in found.items()}


def extremes(integers, kind):
    """ROWS stored rows of inputs whose sums are extreme."""
    low, high = PRODUCTS[kind]
    generator = np.random.default_rng(1)
    width = integers.shape[1]
    most = [np.where(sign * integers[channel] > 0, high, low) for channel in (0, -1) for sign in (1, -1)]
    rows = [np.full(width, low), np.full(width, high), *most, *generator.choice([low, high], (3, width))]
    rows += [*generator.integers(low, high, (ROWS - len(rows), width), endpoint=True)]
    return np.array(rows).astype(np.int16 if kind == "int16" else np.uint8)


def linear(matrix, kind, bias=0):
    """The tensors of a product."""
    tensors = native_weights.linear("x", matrix, np.broadcast_to(bias, len(matrix)), kind)
    return {name.removeprefix("x."): tensor for name, tensor in tensors.items()}


def whole(matrix, kind):
    """The integers of weights in a type; in int4, nibbles times steps."""
    if native_weights.of_product(kind, matrix.shape[1]) != "int4":
        return native_quantization.quantized(matrix, "int8" if kind == "int4" else kind)[0]
    nibbles, steps, _ = native_quantization.halved(matrix)
    return nibbles * np.repeat(steps.astype(int), native_quantization.INT4_INPUTS, axis=1)


def is_shifted(kind):
    return kind in ("int8", "int4")


def cases(kind, inputs, outputs):
    """Name, tensors, rows, their scales and the exact product for each of ``weights``. kind: a key of PRODUCTS."""
    for name, matrix in weights(inputs, outputs).items():
        integers, tensors = whole(matrix, stored(kind)), linear(matrix, stored(kind))
        rows = extremes(integers, kind)
        scales = np.random.default_rng(2).uniform(0.1, 2, ROWS).astype(np.float32)
        sums = (rows.astype(np.int64) - 128 * is_shifted(kind)) @ integers.T.astype(np.int64)
        yield name, tensors, rows, scales, sums.astype(np.float32) * (scales[:, None] * tensors["scale"])


def product(kind, tensors, rows, scales):
    stored_in = native_weights.of_product(stored(kind), rows.shape[1])
    return kernels.product(tensors, stored_in, rows, scales, shifted=is_shifted(kind))


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
@pytest.mark.parametrize("kind", PRODUCTS)
def test_products_of_integers_are_exact_at_their_extremes(kind, inputs, outputs):
    for name, tensors, rows, scales, exact in cases(kind, inputs, outputs):
        for count in range(1, ROWS + 1):
            found = product(kind, tensors, rows[:count], scales[:count])
            assert (found == exact[:count]).all(), (name, count)


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_products_of_floats_are_exact_where_floats_are(inputs, outputs):
    generator = np.random.default_rng(1)
    matrix, rows = (generator.integers(-8, 8, (count, inputs), endpoint=True) for count in (outputs, ROWS))
    bias = generator.integers(-99, 99, outputs).astype(np.float32)
    found = product("float32", linear(matrix, "float32", bias), rows.astype(np.float32), np.ones(ROWS, np.float32))
    assert (found == rows @ matrix.T + bias).all()


@pytest.mark.parametrize("kind", ["float32", *PRODUCTS])
def test_a_bias_is_added(kind):
    generator = np.random.default_rng(1)
    bias = generator.normal(size=80).astype(np.float32)
    if kind == "float32":
        matrix, rows = (generator.normal(size=(count, 48)).astype(np.float32) for count in (80, ROWS))
        tensors, scales, exact = linear(matrix, "float32"), np.ones(ROWS, np.float32), rows @ matrix.T
    else:
        _, tensors, rows, scales, exact = [*cases(kind, 48, 80)][-1]
    found = product(kind, {**tensors, "bias": bias}, rows, scales)
    np.testing.assert_allclose(found, exact + bias, rtol=1e-6, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("kind", ["float32", *PRODUCTS])
def test_a_row_does_not_depend_on_how_many_rows_there_are(kind):
    generator = np.random.default_rng(1)
    tensors = linear(weights(64, 80)["random"], stored(kind), generator.normal(size=80))
    floats = np.abs(generator.normal(size=(30, 64)))
    rows, scales = kernels.quantise(floats, stored(kind), signed=not kind.startswith("unsigned"))
    alone = np.concatenate([product(kind, tensors, rows[r : r + 1], scales[r : r + 1]) for r in range(len(rows))])
    for count in range(2, len(rows) + 1):
        assert product(kind, tensors, rows[:count], scales[:count]).tobytes() == alone[:count].tobytes()


floats = st.floats(-1000, 1000, width=32)
matrices = st.integers(1, 4).flatmap(
    lambda panels: drawn.arrays(np.float32, (3, 16 * panels), elements=st.one_of(floats, st.sampled_from([0, 1, -1])))
)


@given(matrices)
def test_no_sum_of_quantised_weights_can_overflow(matrix):
    """By the definition of the lanes in engine/kernels/dots.h."""
    small, small_scale = native_quantization.quantized(matrix, "int8")
    for start in range(0, matrix.shape[1], 8):
        for lane in ((0, 1, 4, 5), (2, 3, 6, 7)):
            met = small[:, [start + place for place in lane]].astype(int)
            assert np.maximum(met, 0).sum(axis=1).max() <= 128 and np.minimum(met, 0).sum(axis=1).min() >= -128
    large, large_scale = native_quantization.quantized(matrix, "int16")
    assert np.abs(large.astype(np.int64)).sum(axis=1).max() * 4095 < 2**31
    for integers, scale in ((small, small_scale), (large, large_scale)):
        assert np.abs(matrix / scale[:, None] - integers).max() <= 0.5 + 1e-2  # the nearest integer


@given(matrices)
def test_no_sum_of_half_bytes_can_overflow(matrix):
    """And no group of inputs has a larger error than with the step that its largest weight alone would give it."""
    matrix = np.tile(matrix, 2)  # inputs in whole groups
    nibbles, steps, scale = native_quantization.halved(matrix)
    assert nibbles.min() >= -8 and nibbles.max() <= 7 and steps.min() >= -127
    assert np.abs(steps.astype(np.int64)).sum(axis=1).max() * 255 * 8 * 32 < 2**31
    groups = matrix.reshape(len(matrix), -1, 32).astype(float)
    found = nibbles.reshape(groups.shape) * (steps * scale[:, None].astype(float))[:, :, None]
    most = np.abs(groups).max(axis=2, keepdims=True)
    usual = np.rint(groups / np.where(most, most, 1) * 7) / 7 * most
    coarser = 8 * scale[:, None, None] / 2  # steps are multiples of the channel's scale
    lost, expected = (np.sqrt(np.square(values - groups).sum(axis=2)) for values in (found, usual))
    assert (lost <= expected + np.sqrt(32) * coarser[:, :, 0] + 1e-6).all()


def exact_with(bounded):
    """Whether a product is exact, with or without the bound on weights."""
    matrix = np.ones((16, 64), np.float32)
    integers, scale = native_quantization.quantized(matrix, "int8", bounded)
    zeros = {"bias": np.zeros(16, np.float32), "offset": native_quantization.offset(integers)}
    tensors = {"weight": native_packing.panels(integers), "scale": np.ones_like(scale), **zeros}
    rows = np.full((1, 64), 255, np.uint8)
    found = product("unsigned int8", tensors, rows, np.ones(1, np.float32))
    return bool((found == 255 * integers.astype(int).sum(axis=1)).all())


@pytest.mark.skipif("avx2" not in engine.available_sets(), reason="only AVX2 and AVX512 without VNNI saturate")
@pytest.mark.slow
def test_the_bound_is_what_keeps_products_from_saturating():
    assert [called(exact_with, bounded, NMT_ISA="avx2") for bounded in (True, False)] == [True, False]


ACTIVATIONS = [
    np.random.default_rng(1).normal(size=(9, 48)) * np.logspace(-6, 6, 9)[:, None],
    np.zeros((2, 48)),
    np.full((2, 48), 1e-12),
    np.random.default_rng(2).choice([-3.5, 3.5, 1.75, 0], (5, 48)),
]


@pytest.mark.parametrize("rows", ACTIVATIONS, ids=["random", "zeros", "tiny", "ties"])
@pytest.mark.parametrize("kind", LIMITS)
def test_activations_become_the_nearest_integers(kind, rows):
    """As in float32 arithmetic; the largest magnitude or value of a row becomes the limit."""
    signed, limit = kind != "unsigned int8", {"int16": 4095, "int8": 127, "unsigned int8": 255}[kind]
    rows = (rows if signed else np.abs(rows)).astype(np.float32)
    most = np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.float32(1e-9))
    found, scale = kernels.quantise(rows, stored(kind), signed)
    expected = np.rint(rows * (np.float32(limit) / most)).astype(int)
    assert (found.astype(int) - 128 * (kind == "int8") == expected).all() and np.abs(expected).max() <= limit
    assert (scale == (most / np.float32(limit))[:, 0]).all()


NOT_FINITE = np.random.default_rng(3).normal(size=(40, 48)).astype(np.float32)
for row, value in enumerate(np.resize([np.nan, -np.nan, np.inf, -np.inf, 3e38, -3e38], len(NOT_FINITE))):
    NOT_FINITE[row, np.random.default_rng(row).integers(48, size=3)] = value


@pytest.mark.parametrize("kind", LIMITS)
def test_activations_that_are_not_finite_become_defined_integers(kind):
    """NaN becomes the largest integer and is left out of the scale; beside infinity, finite values become zero."""
    signed, limit = kind != "unsigned int8", {"int16": 4095, "int8": 127, "unsigned int8": 255}[kind]
    rows, shift = np.ones((3, 48), np.float32), 128 if kind == "int8" else 0
    rows[0, 5], rows[1, 7], rows[2, :] = np.nan, np.inf, np.nan
    found, scale = kernels.quantise(rows if signed else np.abs(rows), stored(kind), signed)
    found = found.astype(int) - shift
    assert (found[0] == limit).all() and (found[2] == limit).all()
    assert found[1, 7] == limit and (np.delete(found[1], 7) == 0).all() and np.isinf(scale[1])
    if signed:
        assert scale[0] == np.float32(1) / np.float32(limit)
        assert scale[2] == np.float32(1e-9) / np.float32(limit)


# Cells


def sigmoid(x):
    return (1 + np.tanh(x / 2)) / 2


SPREAD = np.concatenate([np.linspace(-12, 12, 4000), np.logspace(-6, 3, 48), -np.logspace(-6, 3, 48)])
NO_UNITS = np.zeros(SPREAD.shape)


def test_sigmoid_and_tangent_are_exact_to_a_millionth():
    """A GRU with a state of ones outputs a sigmoid; one whose update gate is closed, a tangent."""
    kept = kernels.gru(np.stack([SPREAD, NO_UNITS, NO_UNITS]), np.zeros((3, len(SPREAD))), NO_UNITS + 1)
    new = kernels.gru(np.stack([NO_UNITS - 200, NO_UNITS, SPREAD]), np.zeros((3, len(SPREAD))), NO_UNITS)
    np.testing.assert_allclose(kept, sigmoid(SPREAD.astype(np.float32).astype(float)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(new, np.tanh(SPREAD.astype(np.float32).astype(float)), rtol=0, atol=1e-6)


def test_cells_are_those_of_keras():
    """Random weights prove the order of gates, biases and states; Keras resets after the product."""
    tensorflow = pytest.importorskip("tensorflow")
    keras = tensorflow.keras
    units, generator = 48, np.random.default_rng(1)
    x, output, cell = generator.normal(size=(3, units)).astype(np.float32)
    for layer, states in ((keras.layers.LSTMCell(units), [output, cell]), (keras.layers.GRUCell(units), [output])):
        layer.build((None, units))
        layer.set_weights([generator.normal(size=weights.shape) for weights in layer.get_weights()])
        _, expected = layer(*tensorflow.nest.map_structure(lambda row: tensorflow.constant(row[None]), (x, states)))
        kernel, recurrent, bias = layer.get_weights()
        if len(states) == 2:
            inputs, products = x @ kernel + bias, output @ recurrent
            found = kernels.lstm(inputs.reshape(4, units), products.reshape(4, units), output, cell)
        else:
            inputs, products = x @ kernel + bias[0], output @ recurrent + bias[1]
            found = [kernels.gru(inputs.reshape(3, units), products.reshape(3, units), output)]
        for one, other in zip(found, expected if len(states) == 2 else [expected], strict=True):
            np.testing.assert_allclose(one, np.ravel(other), rtol=0, atol=3e-6)


@pytest.mark.parametrize(("inputs", "outputs"), [(24, 16), (16, 24), (8, 16)])
def test_a_product_of_other_sizes_is_refused(inputs, outputs):
    tensors = {"weight": np.zeros(outputs * inputs, np.float32), "bias": np.zeros(outputs, np.float32)}
    with pytest.raises(engine.EngineError, match="multiples of 16"):
        product("float32", tensors, np.zeros((1, inputs), np.float32), np.ones(1, np.float32))


OTHER_UNITS = {
    "cell": lambda: kernels.gru(np.zeros((3, 24)), np.zeros((3, 24)), np.zeros(24)),
    "rows": lambda: kernels.quantise(np.ones((1, 20), np.float32), "int8"),
}


@pytest.mark.parametrize("call", OTHER_UNITS.values(), ids=OTHER_UNITS)
def test_other_units_are_refused(call):
    with pytest.raises(engine.EngineError, match="multiple of 16"):
        call()


# Instruction sets. A process chooses its set once, so each set has a process of its own.


OVERFLOWING = ("encoder.0.self.queries", "decoder.0.source.memory", "decoder.0.feed_forward.inner")


def digest(arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def overflowing(root, kind, product, folder):
    """A worker with a model in which the outputs of a product are too large for float32."""
    tensors, name = safetensors.read(Path(root, kind, native_weights.NAME)), f"{product}.scale"
    tensors[name] = np.full_like(tensors[name], 3e38)
    safetensors.write(folder / product, tensors, safetensors.metadata(Path(root, kind, native_weights.NAME)))
    return engine.Worker(engine.Model(folder / product))


def computed(root):
    """Digests of integers, digests of floats, and translations."""
    integers, rounded = {}, {}
    for kind in PRODUCTS:
        sizes = [size for size in SIZES if size[0] < 4096]
        found = [product(kind, *case[1:4]) for size in sizes for case in cases(kind, *size)]
        integers[f"products of {kind}"] = digest(found)
        signed = not kind.startswith("unsigned")
        quantised = [kernels.quantise(np.abs(rows), stored(kind), signed) for rows in ACTIVATIONS]
        integers[f"activations in {kind}"] = digest(array for pair in quantised for array in pair)
        quantised = [kernels.quantise(NOT_FINITE, stored(kind), signed, scale) for scale in (0, 0.5)]
        integers[f"activations that are not finite in {kind}"] = digest(rows for rows, _ in quantised)
    matrix, rows = (np.random.default_rng(1).normal(size=(80, 64)).astype(np.float32) for _ in range(2))
    gates = np.random.default_rng(1).normal(0, 3, (4, 64))
    rounded["cells"] = digest([*kernels.lstm(gates, gates, *gates[:2]), kernels.gru(gates[:3], gates[1:], gates[0])])
    found = product("float32", linear(matrix, "float32"), rows, np.ones(80, np.float32))
    rounded["products of float32"] = digest([found])
    translations = {}
    for kind in KINDS:
        one = worker(kind, root=root)
        for beam, candidates in ((1, "all"), (4, "sentence")):
            found = outputs(one, sentences(40), beam_size=beam, candidates=candidates)
            rounded[f"translations {kind} {beam}"] = digest(
                np.float32(h[1]) for hypotheses in found for h in hypotheses
            )
            translations[f"{kind} {beam}"] = [hypotheses[0][0] for hypotheses in found]
        for name in OVERFLOWING if kind != "float32" else ():
            with tempfile.TemporaryDirectory() as folder:
                one = overflowing(root, kind, name, Path(folder))
                found = [outputs(one, sentences(10), beam_size=beam, longest=10) for beam in (1, 4)]
            pieces = [piece for way in found for hypotheses in way for h in hypotheses for piece in [*h[0], -1]]
            rounded[f"{name} overflows in {kind}"] = digest([np.array(pieces)])
        rounded[f"scores {kind}"] = digest(one.score(sentences(40), sentences(40, seed=2)))
        best = one.best_pieces(sentences(40), sentences(40, seed=2), 8)
        rounded[f"best pieces {kind}"] = digest(array for pair in best for array in pair)
    return {"isa": engine.isa(), "integers": integers, "rounded": rounded, "translations": translations}


@pytest.fixture(scope="module")
def by_set():
    return {name: called(computed, folders(), NMT_ISA=name) for name in engine.available_sets()}


@pytest.mark.parametrize("name", engine.available_sets())
@pytest.mark.slow
def test_the_environment_chooses_the_set_and_integers_are_the_same_on_each(by_set, name):
    assert by_set[name]["isa"] == name
    assert by_set[name]["integers"] == by_set["portable"]["integers"]


@pytest.mark.skipif(len(engine.available_sets()) < 3, reason="this CPU has no two sets with fused multiply-add")
@pytest.mark.slow
def test_everything_is_the_same_with_fused_multiply_add(by_set):
    found = [{**by_set[name], "isa": None} for name in by_set if name != "portable"]
    assert found.count(found[0]) == len(found)


@pytest.mark.skipif(len(engine.available_sets()) < 2, reason="this CPU has one set")
@pytest.mark.slow
def test_the_portable_set_rounds_otherwise_and_translates_nearly_the_same(by_set):
    """Without fused multiply-add floats differ, unless the compiler took this CPU's instructions, as zig does."""
    portable, vector = by_set["portable"], by_set[engine.available_sets()[1]]
    assert portable["rounded"] != vector["rounded"]
    for name, translations in portable["translations"].items():
        same = sum(a == b for a, b in zip(translations, vector["translations"][name], strict=True))
        assert same >= 0.9 * len(translations), name


def refusals(root):
    """Load a model in two ways in a process whose instruction set does not exist."""
    message = "NMT_ISA=avx3: this CPU has portable"
    with pytest.raises(UserError, match=message):
        loading.load(Path(root) / "float32", Search())
    with pytest.raises(engine.EngineError, match=message):
        worker(root=root)
    assert engine.isa() is None


def test_an_unknown_instruction_set_is_one_message():
    called(refusals, folders(), NMT_ISA="avx3")
