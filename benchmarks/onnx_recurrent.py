"""Recurrent models of OpenNMT-tf in onnxruntime, in its dynamic int8: the peer of engine_recurrent.py.

A model becomes two graphs: the encoder with everything that is computed once a sentence, and one step of the decoder.
All layers are ONNX's LSTM, for which onnxruntime has an operator in 8 bits, and the output layer has only the rows of
the candidates. Greedy search is a loop in Python that passes arrays from step to step.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto
from onnx_transformer import ENCODER, FLOAT, INT, STEP, Nodes, session
from onnxruntime.quantization import QuantType, quantize_dynamic

from nmt_frontier.errors import UserError


class Graph(Nodes):
    def squeeze(self, value: str, axis: int) -> str:
        return self.node("Squeeze", value, self.constant([axis]))

    def unsqueeze(self, value: str, axis: int) -> str:
        return self.node("Unsqueeze", value, self.constant([axis]))

    def product(self, value: str, kernel: Any, bias: Any = None) -> str:
        """A dense layer; kernel: [inputs, outputs]."""
        found = self.node("MatMul", value, self.constant(np.asarray(kernel)))
        return found if bias is None else self.node("Add", found, self.constant(np.asarray(bias)))

    def lstm(
        self, value: str, cell: Any, lengths: str = "", state: Sequence[str] = ("", ""), **attributes: Any
    ) -> list[str]:
        """A layer of a Keras cell over [length, batch, units]: outputs [length, 1, batch, units], last h, last c."""
        kernel, recurrent, bias = (_gates(weights) for weights in (cell.kernel, cell.recurrent_kernel, cell.bias))
        arrays = kernel, recurrent, np.concatenate([bias, np.zeros_like(bias)])
        weights = [self.constant(array[None]) for array in arrays]
        return self.several(3, "LSTM", value, *weights, lengths, *state, hidden_size=cell.units, **attributes)


def _gates(weights: Any) -> np.ndarray:
    """Outputs first, and the gates in ONNX's order. Keras has input, forget, cell, output; ONNX input, output, forget,
    cell."""
    gates = np.split(np.asarray(weights), 4, axis=-1)
    return np.concatenate([gates[number] for number in (0, 3, 1, 2)], axis=-1).T


def _cells(stack: Any) -> list[Any]:
    """Keras's cells of a stack; OpenNMT-tf wraps them if there is dropout."""
    return [getattr(cell, "cell", cell) for cell in stack.cells]


def write(model: Any, candidates: Sequence[int], folder: Path) -> None:
    """Write the graphs of a loaded model of OpenNMT-tf in int8 into a new folder.

    candidates: the pieces that the output layer scores. Raises UserError for a model other than one of LSTM cells with
    a bidirectional encoder (formats.shape.Recurrent).
    """
    import tensorflow as tf

    recurrent = hasattr(model.decoder, "attention_mechanism") and model.encoder.rnn.bidirectional
    cells = _cells(model.decoder.cell._cell) if recurrent else [None]
    if not all(isinstance(cell, tf.keras.layers.LSTMCell) for cell in cells):
        raise UserError("onnxruntime decodes LSTM cells with a bidirectional encoder here")
    folder.mkdir(parents=True)
    _write_encoder(model, folder / ENCODER)
    _write_step(model, candidates, folder / STEP)
    for path in (folder / ENCODER, folder / STEP):
        quantize_dynamic(path, path, weight_type=QuantType.QInt8)


def _write_encoder(model: Any, path: Path) -> None:
    """ids [batch, length] and lengths [batch] to keys [batch, units, length], values [batch, length, units], states."""
    graph, layer, decoder = Graph(), model.encoder.rnn.rnn, model.decoder
    embedded = graph.node("Gather", graph.constant(np.asarray(model.features_inputter.embedding)), "ids")
    inputs = graph.node("Transpose", embedded, perm=[1, 0, 2])
    memories, states = [], []
    for direction, cells in (("forward", layer.forward_layer.cell), ("reverse", layer.backward_layer.cell)):
        value, found = inputs, []
        for cell in _cells(cells):
            outputs, *last = graph.lstm(value, cell, "lengths", direction=direction)
            value = graph.squeeze(outputs, 1)
            found += [graph.squeeze(state, 0) for state in last]
        memories.append(value)
        states.append(found)
    joined = chain.from_iterable(zip(*states, strict=True))  # of each state, both directions
    bridge = decoder.bridge.linear
    start = graph.product(graph.node("Concat", *joined, axis=-1), bridge.kernel, bridge.bias)
    memory = graph.node("Transpose", graph.node("Concat", *memories, axis=-1), perm=[1, 0, 2])
    keys = graph.product(memory, decoder.attention_mechanism.memory_layer.kernel)
    graph.named("keys", graph.node("Transpose", keys, perm=[0, 2, 1]))
    graph.named("values", memory)
    count = 2 * len(_cells(decoder.cell._cell))
    sizes = graph.constant([decoder.cell.output_size] * count)
    for number, state in enumerate(graph.several(count, "Split", start, sizes, axis=-1)):
        graph.named(f"state.{number}", graph.unsqueeze(state, 0))
    outputs = ["keys", "values", *(f"state.{number}" for number in range(count))]
    given = {"ids": (INT, ["batch", "length"]), "lengths": (TensorProto.INT32, ["batch"])}
    graph.write(path, given, dict.fromkeys(outputs, FLOAT))


def _write_step(model: Any, candidates: Sequence[int], path: Path) -> None:
    """The last piece [batch], the attention's output [batch, units] and the states to the next ones."""
    graph, decoder = Graph(), model.decoder
    units = decoder.cell.output_size
    embedded = graph.node("Gather", graph.constant(np.asarray(model.labels_inputter.embedding)), "last")
    value, states = graph.unsqueeze(graph.node("Concat", embedded, "attention", axis=-1), 0), []
    for number, cell in enumerate(_cells(decoder.cell._cell)):
        _, *found = graph.lstm(value, cell, state=[f"state.{2 * number}", f"state.{2 * number + 1}"])
        value = found[0]
        states += found
    query = graph.node("Transpose", value, perm=[1, 0, 2])
    scores = graph.node("Add", graph.node("MatMul", query, "keys"), "mask")
    context = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), "values")
    joined = graph.squeeze(graph.node("Concat", query, context, axis=-1), 1)
    attention = graph.node("Tanh", graph.product(joined, decoder.cell._attention_layers[0].kernel))
    weights, bias = _output_layer(decoder.output_layer)
    scored = graph.product(attention, weights[:, candidates], bias[candidates])
    best = graph.node("ArgMax", scored, axis=-1, keepdims=0)
    graph.named("next", graph.node("Gather", graph.constant(np.asarray(candidates, np.int64)), best))
    graph.named("next.attention", attention)
    for number, state in enumerate(states):
        graph.named(f"next.state.{number}", state)
    shapes: dict[str, list[Any]] = {f"state.{number}": [1, "batch", units] for number in range(len(states))}
    shapes |= {"attention": ["batch", units], "keys": ["batch", units, "length"]}
    shapes |= {"values": ["batch", "length", None], "mask": ["batch", 1, "length"]}
    inputs = {"last": (INT, ["batch"])} | {name: (FLOAT, shape) for name, shape in shapes.items()}
    outputs = {"next": INT, "next.attention": FLOAT}
    graph.write(path, inputs, outputs | {f"next.state.{number}": FLOAT for number in range(len(states))})


def _output_layer(layer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights [units, pieces] and bias of OpenNMT-tf's last layer, whose weights may be tied to the embeddings."""
    tied = layer.weight is not None
    return np.asarray(layer.weight).T if tied else np.asarray(layer.kernel), np.asarray(layer.bias)


class Translator:
    """Greedy search with the graphs of a folder; every translation has as many pieces."""

    def __init__(self, folder: Path, start: int):
        self._encoder, self._step, self._start = session(folder / ENCODER), session(folder / STEP), start
        self._states = [output.name for output in self._encoder.get_outputs() if output.name.startswith("state.")]

    def translate(self, sources: Sequence[Sequence[int]], pieces: int) -> list[list[int]]:
        lengths = np.array([*map(len, sources)], np.int32)
        inside = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(inside.shape, np.int64)
        ids[inside] = [*chain.from_iterable(sources)]
        keys, values, *states = self._encoder.run(None, {"ids": ids, "lengths": lengths})
        fixed = {"keys": keys, "values": values, "mask": np.where(inside, 0, -np.inf).astype(np.float32)[:, None]}
        last, attention = np.full(len(sources), self._start), np.zeros((len(sources), keys.shape[1]), np.float32)
        found = []
        for _ in range(pieces):
            changing = {"last": last, "attention": attention, **dict(zip(self._states, states, strict=True))}
            last, attention, *states = self._step.run(None, {**fixed, **changing})
            found.append(last)
        return np.stack(found, axis=1).tolist()
