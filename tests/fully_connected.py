"""Native files of recurrent models with fully connected layers on top, random weights, written without OpenNMT-tf."""

from pathlib import Path

import numpy as np

from export.float_model import FloatModel
from formats.native_model import Vocabulary

UNITS, EMBEDDING, LAYER, PIECES = 32, 16, 48, 121  # as many pieces as tests.models


def model(layers: int = 2) -> FloatModel:
    generator = np.random.default_rng(1)
    sizes = {"decoder.contexts": (3 * UNITS, 2 * UNITS), "start": (UNITS, 2 * UNITS)}
    sizes |= {"attention.queries": (UNITS, UNITS), "attention.keys": (UNITS, 2 * UNITS)}
    for name in ("encoder.forward.0", "encoder.backward.0", "decoder.0"):
        sizes |= {f"{name}.inputs": (3 * UNITS, EMBEDDING), f"{name}.states": (3 * UNITS, UNITS)}
    for layer in range(layers):
        sizes[f"layers.{layer}.inner"] = LAYER, LAYER if layer else UNITS
    sizes["layers.0.projection"] = LAYER, UNITS
    products = {
        name: (generator.normal(0, 0.3, size), generator.normal(0, 0.1, size[0])) for name, size in sizes.items()
    }
    metadata = {
        "architecture": "fully-connected", "units": UNITS, "embedding_units": EMBEDDING,
        "fully_connected_layers": layers, "fully_connected_units": LAYER,
        "source_factor": 1.0, "target_factor": 1.0, "start": 1, "end": 2, "start_from_zero": False,
    }  # fmt: skip
    widths = {"source": EMBEDDING, "target": EMBEDDING, "output": LAYER}
    embeddings = {side: (side, generator.normal(size=(PIECES, width))) for side, width in widths.items()}
    pieces = [str(number) for number in range(PIECES)]
    combination = {"attention.combination": generator.normal(size=UNITS)}
    return FloatModel(
        Path("random"), metadata, products, combination, embeddings, generator.normal(size=PIECES),
        Vocabulary(pieces, pieces, "0"),
    )  # fmt: skip
