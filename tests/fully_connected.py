"""Native files of recurrent models with fully connected layers on top, random weights, written without OpenNMT-tf."""

from recurrent import random_model

from nmt_frontier.importers.float_model import FloatModel

UNITS, EMBEDDING, LAYER = 32, 16, 48


def model(layers: int = 2) -> FloatModel:
    sizes = {"decoder.contexts": (3 * UNITS, 2 * UNITS), "start": (UNITS, 2 * UNITS)}
    sizes |= {"attention.queries": (UNITS, UNITS), "attention.keys": (UNITS, 2 * UNITS)}
    for name in ("encoder.forward.0", "encoder.backward.0", "decoder.0"):
        sizes |= {f"{name}.inputs": (3 * UNITS, EMBEDDING), f"{name}.states": (3 * UNITS, UNITS)}
    for layer in range(layers):
        sizes[f"layers.{layer}.inner"] = LAYER, LAYER if layer else UNITS
    sizes["layers.0.projection"] = LAYER, UNITS
    metadata = {"architecture": "fully-connected", "units": UNITS}
    metadata |= {"fully_connected_layers": layers, "fully_connected_units": LAYER}
    return random_model(metadata, sizes, EMBEDDING, LAYER, {"attention.combination": UNITS})
