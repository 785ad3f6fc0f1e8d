"""Recurrent models of OpenNMT-tf in onnxruntime, in float32 and in its dynamic int8: the peer of engine_recurrent.py.

A model becomes two graphs: the encoder with everything that is computed once a sentence, and one step of the decoder.
All layers are ONNX's LSTM, for which onnxruntime has an operator of its own in 8 bits, and the output layer has the
rows of the candidates only. What remains for Python is a greedy loop that passes arrays from step to step.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from common.errors import UserError

START = 1  # <s>, as in every vocabulary of OpenNMT-tf's
OPSET, IR = 17, 8
ENCODER, STEP = "encoder.onnx", "step.onnx"


class Graph:
    """Nodes and weights of an ONNX graph as they are added. Inputs and outputs are tensors by their names."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def weights(self, values: np.ndarray | list[int]) -> str:
        name = f"weights.{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def several(self, outputs: int, operator: str, *inputs: str, **attributes: Any) -> list[str]:
        names = [f"{operator}.{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return self.several(1, operator, *inputs, **attributes)[0]

    def named(self, name: str, value: str) -> None:
        """Give a tensor the name of an output of the graph."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def squeeze(self, value: str, axis: int) -> str:
        return self.node("Squeeze", value, self.weights([axis]))

    def unsqueeze(self, value: str, axis: int) -> str:
        return self.node("Unsqueeze", value, self.weights([axis]))

    def product(self, value: str, kernel: Any, bias: Any = None) -> str:
        """A dense layer; kernel: [inputs, outputs]."""
        found = self.node("MatMul", value, self.weights(np.asarray(kernel)))
        return found if bias is None else self.node("Add", found, self.weights(np.asarray(bias)))

    def lstm(self, value: str, cell: Any, lengths: str = "", state: Sequence[str] = ("", ""), **attributes: Any) -> Any:
        """A layer of a Keras cell over [length, batch, units]: outputs [length, 1, batch, units], last h, last c."""
        kernel, recurrent, bias = (_gates(weights) for weights in (cell.kernel, cell.recurrent_kernel, cell.bias))
        biases = np.concatenate([bias, np.zeros_like(bias)])
        weights = [self.weights(array[None]) for array in (kernel, recurrent, biases)]
        return self.several(3, "LSTM", value, *weights, lengths, *state, hidden_size=cell.units, **attributes)

    def write(self, path: Path, inputs: dict[str, tuple[int, list[Any]]], outputs: dict[str, int]) -> None:
        """inputs: type and shape of each; outputs: type of each."""
        taken = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
        given = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
        graph = helper.make_graph(self._nodes, path.stem, taken, given, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        onnx.save(model, path)


def _gates(weights: Any) -> np.ndarray:
    """Outputs first, and the gates in ONNX's order: Keras has input, forget, cell, output, ONNX input, output, forget,
    cell."""
    gates = np.split(np.asarray(weights), 4, axis=-1)
    return np.concatenate([gates[number] for number in (0, 3, 1, 2)], axis=-1).T


def write(model: Any, candidates: Sequence[int], folder: Path, integers: bool) -> None:
    """Write the graphs of a loaded model of OpenNMT-tf into a new folder.

    candidates: the pieces that the output layer scores. integers: quantise all weights dynamically. Raises UserError
    for a model other than one of LSTM cells with a bidirectional encoder (formats.shape.Recurrent).
    """
    import tensorflow as tf

    recurrent = hasattr(model.decoder, "attention_mechanism") and model.encoder.rnn.bidirectional
    if not recurrent or not all(
        isinstance(cell, tf.keras.layers.LSTMCell) for cell in _cells(model.decoder.cell._cell)
    ):
        raise UserError("the peer in onnxruntime is for LSTM cells with a bidirectional encoder")
    folder.mkdir(parents=True)
    _write_encoder(model, folder / ENCODER)
    _write_step(model, candidates, folder / STEP)
    if integers:
        for path in (folder / ENCODER, folder / STEP):
            quantize_dynamic(path, path, weight_type=QuantType.QInt8)


def _cells(stack: Any) -> list[Any]:
    """Keras's cells of a stack; OpenNMT-tf wraps them where there is dropout."""
    return [getattr(cell, "cell", cell) for cell in stack.cells]


def _write_encoder(model: Any, path: Path) -> None:
    """ids [batch, length] and lengths [batch] to keys [batch, units, length], values [batch, length, units], states."""
    graph, layer, decoder = Graph(), model.encoder.rnn.rnn, model.decoder
    embedded = graph.node("Gather", graph.weights(np.asarray(model.features_inputter.embedding)), "ids")
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
    start = graph.product(
        graph.node("Concat", *joined, axis=-1), decoder.bridge.linear.kernel, decoder.bridge.linear.bias
    )
    memory = graph.node("Transpose", graph.node("Concat", *memories, axis=-1), perm=[1, 0, 2])
    keys = graph.product(memory, decoder.attention_mechanism.memory_layer.kernel)
    graph.named("keys", graph.node("Transpose", keys, perm=[0, 2, 1]))
    graph.named("values", memory)
    count = 2 * len(_cells(decoder.cell._cell))
    sizes = graph.weights([decoder.cell.output_size] * count)
    for number, state in enumerate(graph.several(count, "Split", start, sizes, axis=-1)):
        graph.named(f"state.{number}", graph.unsqueeze(state, 0))
    inputs = {"ids": (TensorProto.INT64, ["batch", "length"]), "lengths": (TensorProto.INT32, ["batch"])}
    outputs = ["keys", "values", *(f"state.{number}" for number in range(count))]
    graph.write(path, inputs, dict.fromkeys(outputs, TensorProto.FLOAT))


def _write_step(model: Any, candidates: Sequence[int], path: Path) -> None:
    """The last piece [batch], the attention's output [batch, units] and the states to those behind them."""
    graph, decoder = Graph(), model.decoder
    units = decoder.cell.output_size
    embedded = graph.node("Gather", graph.weights(np.asarray(model.labels_inputter.embedding)), "last")
    value, states = graph.unsqueeze(graph.node("Concat", embedded, "attention", axis=-1), 0), []
    for number, cell in enumerate(_cells(decoder.cell._cell)):
        state = [f"state.{2 * number}", f"state.{2 * number + 1}"]
        _, *found = graph.lstm(value, cell, state=state)
        value = found[0]
        states += found
    query = graph.node("Transpose", value, perm=[1, 0, 2])
    scores = graph.node("Add", graph.node("MatMul", query, "keys"), "mask")
    context = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), "values")
    joined = graph.squeeze(graph.node("Concat", query, context, axis=-1), 1)
    attention = graph.node("Tanh", graph.product(joined, decoder.cell._attention_layers[0].kernel))
    weights, bias = output_layer(decoder.output_layer)
    scored = graph.product(attention, weights[:, candidates], bias[candidates])
    best = graph.node("ArgMax", scored, axis=-1, keepdims=0)
    graph.named("next", graph.node("Gather", graph.weights(np.asarray(candidates, np.int64)), best))
    graph.named("next.attention", attention)
    for number, state in enumerate(states):
        graph.named(f"next.state.{number}", state)
    real = TensorProto.FLOAT
    shapes = {f"state.{number}": [1, "batch", units] for number in range(len(states))}
    shapes |= {"attention": ["batch", units], "keys": ["batch", units, "length"]}
    shapes |= {"values": ["batch", "length", None], "mask": ["batch", 1, "length"]}
    inputs = {"last": (TensorProto.INT64, ["batch"])} | {name: (real, shape) for name, shape in shapes.items()}
    outputs = {"next": TensorProto.INT64} | dict.fromkeys(["next.attention"], real)
    graph.write(path, inputs, outputs | {f"next.state.{number}": real for number in range(len(states))})


def output_layer(layer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights [units, pieces] and bias of OpenNMT-tf's last layer, whose weights may be tied to the embeddings."""
    tied = layer.weight is not None
    return np.asarray(layer.weight).T if tied else np.asarray(layer.kernel), np.asarray(layer.bias)


class Translator:
    """Greedy search with the graphs of a folder, on one thread."""

    def __init__(self, folder: Path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._encoder, self._step = (
            onnxruntime.InferenceSession(folder / name, options, ["CPUExecutionProvider"]) for name in (ENCODER, STEP)
        )
        self._states = [output.name for output in self._encoder.get_outputs() if output.name.startswith("state.")]

    def translate(self, sources: Sequence[Sequence[int]], longest: int, end: int | None = None) -> list[list[int]]:
        """Translations of a batch without their end. Without an ``end`` all have ``longest`` pieces."""
        lengths = np.array([len(source) for source in sources], np.int32)
        inside = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(inside.shape, np.int64)
        ids[inside] = [*chain.from_iterable(sources)]
        keys, values, *states = self._encoder.run(None, {"ids": ids, "lengths": lengths})
        fixed = {"keys": keys, "values": values, "mask": np.where(inside, 0, -np.inf).astype(np.float32)[:, None]}
        last, attention = np.full(len(sources), START), np.zeros((len(sources), keys.shape[1]), np.float32)
        said, running = [], np.full(len(sources), True)
        while len(said) < longest and running.any():
            changing = {"last": last, "attention": attention, **dict(zip(self._states, states, strict=True))}
            last, attention, *states = self._step.run(None, {**fixed, **changing})
            said.append(last)
            running &= last != end
        rows = np.stack(said, axis=1).tolist()
        return [row[: row.index(end)] if end in row else row for row in rows]
