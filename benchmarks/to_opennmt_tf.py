"""Turn the CTranslate2 model of a Transformer into a checkpoint of OpenNMT-tf, for `start_from` of a study.

Only float32 and float16 weights can be turned back. The folder gets what `train.train` writes: the checkpoint,
model_description.py and vocabulary.txt.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from formats.shape import shape
from nmt_frontier.command_line import json_value
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, write_text
from nmt_frontier.importers import ctranslate2_model

Weights = dict[str, np.ndarray]


def read(folder: Path) -> Weights:
    """The weights by name, in float32; those that CTranslate2 shares by all of their names."""
    model = ctranslate2_model.read(folder)
    arrays = {name: variable.array() for name, variable in model.variables.items()}
    weights = {name: array.astype(np.float32) for name, array in arrays.items() if array.dtype.kind == "f"}
    return weights | {name: weights[first] for name, first in model.aliases.items() if first in weights}


def assign(model: Any, weights: Weights) -> None:
    """Assign CTranslate2's weights to a pre-norm Transformer of OpenNMT-tf with one matrix of embeddings."""
    model.labels_inputter.embedding.assign(weights["decoder/embeddings/weight"])
    model.decoder.output_layer.bias.assign(weights["decoder/projection/bias"])
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        norm(stack.layer_norm, weights, f"{side}/layer_norm")
        for number, layer in enumerate(stack.layers):
            name = f"{side}/layer_{number}"
            own = layer.self_attention
            queries_keys_values = own.layer.linear_queries, own.layer.linear_keys, own.layer.linear_values
            linear(queries_keys_values, weights, f"{name}/self_attention/linear_0")
            linear([own.layer.linear_output], weights, f"{name}/self_attention/linear_1")
            norm(own.input_layer_norm, weights, f"{name}/self_attention/layer_norm")
            if side == "decoder":
                (across,) = layer.attention
                linear([across.layer.linear_queries], weights, f"{name}/attention/linear_0")
                linear([across.layer.linear_keys, across.layer.linear_values], weights, f"{name}/attention/linear_1")
                linear([across.layer.linear_output], weights, f"{name}/attention/linear_2")
                norm(across.input_layer_norm, weights, f"{name}/attention/layer_norm")
            linear([layer.ffn.layer.inner], weights, f"{name}/ffn/linear_0")
            linear([layer.ffn.layer.outer], weights, f"{name}/ffn/linear_1")
            norm(layer.ffn.input_layer_norm, weights, f"{name}/ffn/layer_norm")


def linear(layers: Any, weights: Weights, name: str) -> None:
    """Assign dense layers that CTranslate2 stores as one matrix, [outputs, inputs]."""
    parts = len(layers)
    matrices = np.split(weights[f"{name}/weight"], parts)
    for layer, matrix, bias in zip(layers, matrices, np.split(weights[f"{name}/bias"], parts), strict=True):
        layer.kernel.assign(matrix.T)
        layer.bias.assign(bias)


def norm(layer: Any, weights: Weights, name: str) -> None:
    layer.gamma.assign(weights[f"{name}/gamma"])
    layer.beta.assign(weights[f"{name}/beta"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the CTranslate2 model")
    parser.add_argument("--shape", type=json_value, required=True, help="JSON of its shape, as in a configuration")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocabulary.txt of the study")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()

    import opennmt
    from opennmt.utils.checkpoint import Checkpoint

    weights = read(args.model)
    with atomic_path(args.output) as part:
        part.mkdir()
        write_text(part / "model_description.py", shape(args.shape).model_description(0.1))
        shutil.copy(args.vocabulary, part / "vocabulary.txt")
        model = opennmt.load_model(str(part))
        vocabulary = {f"{side}_vocabulary": str(args.vocabulary) for side in ("source", "target")}
        model.initialize(vocabulary)
        model.create_variables()
        try:
            assign(model, weights)
        except (KeyError, ValueError) as error:
            raise UserError(f"{args.model}: not the weights of this shape and vocabulary: {error}") from None
        Checkpoint(model, model_dir=str(part)).save(0)


if __name__ == "__main__":
    command(main)
