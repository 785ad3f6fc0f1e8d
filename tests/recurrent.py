"""Native files of recurrent models with random weights, written without OpenNMT-tf."""

from pathlib import Path

import numpy as np

from export.float_model import FloatModel
from formats.native_model import Vocabulary

UNITS, EMBEDDING, PIECES = 32, 48, 121  # as many pieces as tests.models
GATES = {"lstm": 4, "gru": 3}


def model(cell: str = "lstm", directions: int = 2, encoder_layers: int = 2, decoder_layers: int = 1) -> FloatModel:
    """A model of this shape, with a bridge unless the decoder can start with the encoder's states."""
    generator, gates, states = np.random.default_rng(1), GATES[cell], 2 if cell == "lstm" else 1
    bridge = encoder_layers != decoder_layers
    sizes = {"attention.keys": (UNITS, UNITS), "attention.hidden": (UNITS, 2 * UNITS)}
    sizes["decoder.feedback"] = gates * UNITS, UNITS
    if bridge:
        sizes["bridge"] = (states * decoder_layers * UNITS, states * encoder_layers * UNITS)
    stacks = [(f"encoder.{name}", EMBEDDING, UNITS // directions, encoder_layers) for name in ("forward", "backward")]
    for name, inputs, units, layers in [*stacks[:directions], ("decoder", EMBEDDING, UNITS, decoder_layers)]:
        for layer in range(layers):
            sizes[f"{name}.{layer}.inputs"] = gates * units, units if layer else inputs
            sizes[f"{name}.{layer}.states"] = gates * units, units
    products = {
        name: (generator.normal(0, 0.3, size), generator.normal(0, 0.1, size[0])) for name, size in sizes.items()
    }
    metadata = {
        "architecture": "recurrent", "cell": cell, "units": UNITS, "embedding_units": EMBEDDING,
        "directions": directions, "encoder_layers": encoder_layers, "decoder_layers": decoder_layers, "bridge": bridge,
        "source_factor": 1.0, "target_factor": 1.0, "start": 1, "end": 2, "start_from_zero": False,
    }  # fmt: skip
    widths = {"source": EMBEDDING, "target": EMBEDDING, "output": UNITS}
    embeddings = {side: (side, generator.normal(size=(PIECES, width))) for side, width in widths.items()}
    pieces = [str(number) for number in range(PIECES)]
    vocabulary = Vocabulary(pieces, pieces, "0")
    return FloatModel(Path("random"), metadata, products, {}, embeddings, generator.normal(size=PIECES), vocabulary)
