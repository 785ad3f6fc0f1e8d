"""Updates with rounded weights: as an export rounds them, with gradients for the weights they are rounded from."""

import numpy as np
import pytest
import tensorflow as tf
from training_settings import TOKENS, VALUES, model, typed

from export import read_opennmt_tf
from nmt_frontier.model import native_quantization, native_weights
from nmt_frontier.model.native_quantization import INT4_INPUTS
from train.dataset import dataset
from train.quantization import RoundedWeights
from train.replicas import PARAMETERS, FirstBatches
from train.trainer import ResumableTrainer

WORDS = [f"w{number}" for number in range(40)]
WIDE = VALUES | {"units": 64, "ffn_units": 96, "share_embeddings": True}
SHAPES = {"padded heads": VALUES, "shared embeddings": WIDE, "ssru": WIDE | {"decoder": "ssru"}}


def random_model(folder, values):
    """A model whose rows of weights differ in size; in some all weights are so large that their sums are bounded."""
    made, generator = model(folder, WORDS, values), np.random.default_rng(1)
    made.create_variables()
    for variable in made.trainable_variables:
        value = generator.normal(size=variable.shape) * generator.choice([0.01, 0.1], variable.shape[-1])
        variable.assign(np.where(generator.random(variable.shape[-1]) < 0.2, np.sign(value), value))
    return made


def exported(made, folder):
    """The matrices of the model by their names, and whether an export bounds them."""
    found = read_opennmt_tf.of_model(made, read_opennmt_tf.vocabulary(folder), folder)
    sides = {side: matrix for side, (_, matrix) in found.embeddings.items()}
    tied = {side: origin for side, (origin, _) in found.embeddings.items()}
    matrices = {name: (weights.copy(), True) for name, (weights, _) in found.products.items()}
    return matrices | {
        f"rows of {side}": (matrix.copy(), tied[side] == tied["output"]) for side, matrix in sides.items()
    }


def of_type(weights, kind, bounded):
    """The weights as the engine multiplies by them."""
    if native_weights.of_product(kind, weights.shape[1]) == "int4":
        integers, steps, scale = native_quantization.halved(weights)
        return integers * np.repeat(steps * scale[:, None], INT4_INPUTS, axis=1)
    integers, scale = native_quantization.quantized(weights.astype(np.float32), "int8", bounded)
    return integers * scale[:, None]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("padded heads", "int8"), ("shared embeddings", "int8"), ("shared embeddings", "int4"), ("ssru", "int4")],
)
def test_weights_are_rounded_as_an_export_rounds_them(tmp_path, name, kind):
    made = random_model(tmp_path, SHAPES[name])
    before, weights = exported(made, tmp_path), RoundedWeights(made, kind)
    weights.round()
    found = exported(made, tmp_path)
    assert len(found) > 8
    coarser = 0
    for part, (matrix, bounded) in before.items():
        of_part = native_weights.ROWS.get(kind, kind) if part.startswith("rows") else kind
        expected = of_type(matrix, of_part, bounded)
        assert not np.allclose(expected, matrix, atol=1e-6), part
        assert found[part][0] == pytest.approx(expected, abs=1e-6), part
        coarser += not np.array_equal(expected, of_type(matrix, of_part, False))
    assert coarser or kind == "int4"  # the bound of the engine's sums was reached
    weights.restore()
    assert all((matrix == before[part][0]).all() for part, (matrix, _) in exported(made, tmp_path).items())


def test_gradients_of_rounded_weights_change_the_exact_ones(tmp_path):
    """Also over two batches an update, and from update to update."""
    lines = "".join(f"{' '.join(WORDS[n : n + 3 + n % 4])}\n" for n in range(30))
    for side in ("source", "target"):
        (tmp_path / side).write_text(lines)
    made = random_model(tmp_path, WIDE)
    made.initialize(
        {f"{side}_vocabulary": str(tmp_path / "vocabulary.txt") for side in ("source", "target")}, PARAMETERS
    )
    batches = FirstBatches(dataset(made, typed(TOKENS), tmp_path / "source", tmp_path / "target", 30), 2)
    optimizer = made.get_optimizer()
    made.create_variables(optimizer=optimizer)
    variables, exact = made.trainable_variables, [variable.numpy() for variable in made.trainable_variables]
    rounded = RoundedWeights(made, "int8")
    trainer = ResumableTrainer(made, optimizer)
    trainer.rounded = rounded
    trainer(batches, max_step=2, accum_steps=2, save_steps=None, eval_steps=None)
    trained = [variable.numpy() for variable in variables]
    for variable, value in zip(variables, exact, strict=True):
        variable.assign(value)
    for _ in range(2):
        rounded.round()
        results = [made.compute_gradients(*batch, optimizer, normalize_loss=False) for batch in batches._batches]
        rounded.restore()
        size = sum(float(samples) for _, _, samples in results)
        for number, variable in enumerate(variables):
            total = tf.add_n([tf.convert_to_tensor(gradients[number]) for _, gradients, _ in results])
            variable.assign_sub(PARAMETERS["learning_rate"] * total / size)
    for variable, value in zip(variables, trained, strict=True):
        assert value == pytest.approx(variable.numpy(), abs=1e-4)
