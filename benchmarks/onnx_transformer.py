"""A Transformer in onnxruntime or OpenVINO, from the weights of the native engine: peers of engine.py.

Two graphs: the encoder with the keys and values that the decoder attends to, and one step of the decoder, whose own
keys and values grow by one position. Greedy search is a loop in Python; when half of the sentences have ended, only the
others go on. With a vocabulary map the output layer has the rows of the batch's candidates. These change from batch to
batch, so neither engine computes it in 8 bits. int8 is the fastest way of each that was tried: onnxruntime quantises
all other products dynamically; OpenVINO has their weights in 8 bits, and is slower with onnxruntime's graph.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from nmt_frontier.errors import UserError
from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.model.native_packing import padded
from nmt_frontier.search.engine import Batch

OPSET, IR = 17, 8
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
ENCODER, STEP = "encoder.onnx", "step.onnx"
ENGINES = ("onnxruntime", "openvino")

Run = Callable[[Mapping[str, Any]], list[Any]]


class Nodes:
    """An ONNX graph as nodes and weights are added. Inputs and outputs of nodes are tensors by their names."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def constant(self, values: Any) -> str:
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), f"weights.{len(self._weights)}"))
        return self._weights[-1].name

    def several(self, outputs: int, operator: str, *inputs: str, **attributes: Any) -> list[str]:
        names = [f"{operator}.{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return self.several(1, operator, *inputs, **attributes)[0]

    def named(self, name: str, value: str) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def write(self, path: Path, inputs: dict[str, tuple[int, list[Any]]], outputs: dict[str, int]) -> None:
        taken = [helper.make_tensor_value_info(name, *of) for name, of in inputs.items()]
        given = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
        graph = helper.make_graph(self._nodes, path.stem, taken, given, self._weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR), path)


class Graph(Nodes):
    """One side of a Transformer."""

    def __init__(self, model: FloatModel, side: str, integers: bool = False):
        super().__init__()
        self._model, self._side, self._integers, numbers = model, side, integers, model.metadata
        self.heads, self._size = int(numbers[f"{side}_heads"]), int(numbers[f"{side}_head_units"])

    def embedded(self, side: str, pieces: str, positions: str) -> str:
        """The last row is zero: the start of models whose first embedding is."""
        table = self._model.embeddings[side][1] * np.float32(self._model.metadata[f"{side}_factor"])
        rows = np.concatenate([table, np.zeros_like(table[:1])]).astype(np.float32)
        return self.node("Add", self.node("Gather", self.constant(rows), pieces), positions)

    def product(self, name: str, value: str, scale: float = 1.0, of: int = 0) -> str:
        """scale: of the first of ``of`` groups of outputs."""
        weights, bias = (array.astype(np.float32).copy() for array in self._model.products[name])
        for array in (weights, bias):
            array[: len(array) // of if of else 0] *= np.float32(scale)
        return self.node("Add", self.node("MatMul", value, self.matrix(weights)), self.constant(bias))

    def matrix(self, weights: np.ndarray) -> str:
        """Weights, [outputs, inputs], as the second factor of a product."""
        if not self._integers:
            return self.constant(weights.T)
        scale = np.maximum(np.abs(weights).max(axis=1) / 127, 1e-9).astype(np.float32)
        rounded = self.constant(np.rint(weights / scale[:, None]).astype(np.int8).T)
        return self.node("DequantizeLinear", rounded, self.constant(scale), axis=1)

    def norm(self, name: str, value: str) -> str:
        vectors = (
            self.constant(self._model.vectors[f"{name}.{part}"].astype(np.float32)) for part in ("scale", "bias")
        )
        return self.node("LayerNormalization", value, *vectors, epsilon=float(self._model.metadata["epsilon"]))

    def residual(self, name: str, value: str, layer: Callable[[str], str]) -> str:
        if self._model.metadata["pre_norm"]:
            return self.node("Add", value, layer(self.norm(name, value)))
        return self.norm(name, self.node("Add", value, layer(value)))

    def last_norm(self, value: str) -> str:
        return self.norm(f"{self._side}.norm", value) if self._model.metadata["pre_norm"] else value

    def split(self, value: str, transposed: tuple[bool, ...]) -> list[str]:
        """Outputs in parts: [batch, heads, length, units], or [batch, heads, units, length] where transposed."""
        width, parts = self.heads * padded(self._size), len(transposed)
        found = self.several(parts, "Split", value, self.constant([width] * parts), axis=-1) if parts > 1 else [value]
        shape = self.constant([0, -1, self.heads, padded(self._size)])
        return [
            self.node("Transpose", self.node("Reshape", part, shape), perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3])
            for part, turned in zip(found, transposed, strict=True)
        ]

    def attended(self, name: str, queries: str, keys: str, values: str, mask: str = "") -> str:
        scores = self.node("MatMul", queries, keys)
        scores = self.node("Add", scores, mask) if mask else scores
        context = self.node("MatMul", self.node("Softmax", scores, axis=-1), values)
        shape = self.constant([0, -1, self.heads * padded(self._size)])
        joined = self.node("Reshape", self.node("Transpose", context, perm=[0, 2, 1, 3]), shape)
        return self.product(f"{name}.output", joined)

    def queries(self, name: str, value: str, groups: int) -> list[str]:
        outputs = self.product(f"{name}.queries", value, self._size**-0.5, groups)
        return self.split(outputs, (False, True, False)[:groups])

    def feed_forward(self, name: str, value: str) -> str:
        def layer(inputs: str) -> str:
            inner = self.product(f"{name}.inner", inputs)
            if self._model.metadata.get("swish"):
                return self.product(f"{name}.outer", self.node("Mul", inner, self.node("Sigmoid", inner)))
            return self.product(f"{name}.outer", self.node("Relu", inner))

        return self.residual(f"{name}.norm", value, layer)


def write(model: FloatModel, folder: Path, engine: str, kind: str, mapped: bool) -> None:
    """Write both graphs. Raises UserError for a model other than a Transformer with self-attention."""
    if model.metadata["architecture"] != "transformer" or model.metadata.get("decoder", "self-attention") != (
        "self-attention"
    ):
        raise UserError("onnxruntime and OpenVINO decode Transformers with self-attention here")
    integers = kind == "int8" and engine == "openvino"
    _write_encoder(Graph(model, "encoder", integers), model, folder / ENCODER)
    _write_step(Graph(model, "decoder", integers), model, folder / STEP, mapped)
    for path in (folder / ENCODER, folder / STEP) if kind == "int8" and not integers else ():
        quantize_dynamic(path, path, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8)


def _layers(model: FloatModel, side: str) -> range:
    return range(int(model.metadata[f"{side}_layers"]))


def _write_encoder(graph: Graph, model: FloatModel, path: Path) -> None:
    value = graph.embedded("source", "pieces", "positions")
    for number in _layers(model, "encoder"):
        name = f"encoder.{number}"

        def attention(inputs: str, name: str = f"{name}.self") -> str:
            return graph.attended(name, *graph.queries(name, inputs, 3), "mask")

        value = graph.residual(f"{name}.self.norm", value, attention)
        value = graph.feed_forward(f"{name}.feed_forward", value)
    value, outputs = graph.last_norm(value), {}
    for number in _layers(model, "decoder"):
        keys, values = graph.split(graph.product(f"decoder.{number}.source.memory", value), (True, False))
        for name, tensor in ((f"keys.{number}", keys), (f"values.{number}", values)):
            graph.named(name, tensor)
            outputs[name] = FLOAT
    inputs = {"pieces": (INT, ["batch", "length"]), "positions": (FLOAT, ["length", None])}
    graph.write(path, inputs | {"mask": (FLOAT, ["batch", 1, 1, "length"])}, outputs)


def _write_step(graph: Graph, model: FloatModel, path: Path, mapped: bool) -> None:
    inputs: dict[str, tuple[int, list[Any]]] = {"last": (INT, ["batch", 1]), "positions": (FLOAT, [1, None])}
    inputs["mask"], outputs = (FLOAT, ["batch", 1, 1, "length"]), {"scores": FLOAT}
    size = padded(int(model.metadata["decoder_head_units"]))
    value = graph.embedded("target", "last", "positions")
    for number in _layers(model, "decoder"):
        name = f"decoder.{number}"
        for part, turned in (("keys", True), ("values", False)):
            for kind, length in ((part, "length"), (f"own.{part}", "before")):
                shape = [size, length] if turned else [length, size]
                inputs[f"{kind}.{number}"] = FLOAT, ["batch", graph.heads, *shape]
            outputs[f"next.{part}.{number}"] = FLOAT

        def own(rows: str, name: str = f"{name}.self", number: int = number) -> str:
            query, key, found = graph.queries(name, rows, 3)
            keys = graph.node("Concat", f"own.keys.{number}", key, axis=3)
            values = graph.node("Concat", f"own.values.{number}", found, axis=2)
            graph.named(f"next.keys.{number}", keys)
            graph.named(f"next.values.{number}", values)
            return graph.attended(name, query, keys, values)

        def source(rows: str, name: str = f"{name}.source", number: int = number) -> str:
            (query,) = graph.queries(name, rows, 1)
            return graph.attended(name, query, f"keys.{number}", f"values.{number}", "mask")

        value = graph.residual(f"{name}.self.norm", value, own)
        value = graph.residual(f"{name}.source.norm", value, source)
        value = graph.feed_forward(f"{name}.feed_forward", value)
    output, bias = "output", "bias"
    if mapped:
        inputs |= {output: (FLOAT, [None, "candidates"]), bias: (FLOAT, ["candidates"])}
    else:
        output = graph.matrix(model.embeddings["output"][1].astype(np.float32))
        bias = graph.constant(model.output_bias.astype(np.float32))
    scores = graph.node("Add", graph.node("MatMul", graph.last_norm(value), output), bias)
    graph.named("scores", scores)
    graph.write(path, inputs, outputs)


def session(path: Path) -> Any:
    """A graph in onnxruntime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])


def _onnxruntime(path: Path) -> Run:
    loaded = session(path)
    return lambda feeds: loaded.run(None, feeds)


def _openvino(path: Path) -> Run:
    import openvino

    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    # By default it computes in bfloat16, here several times as slow, and its fused attention (snippets) is wrong from
    # 16 positions on. A group as large as a row lets it multiply in 8 bits.
    settings |= {"INFERENCE_PRECISION_HINT": "f32", "SNIPPETS_MODE": "DISABLE"}
    settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = str(2**64 - 1)
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    return lambda feeds: [*compiled(feeds, share_inputs=True).values()]


def positions(model: FloatModel, count: int) -> np.ndarray:
    """Those of the file, or OpenNMT-tf's: sines, then cosines, from 1."""
    if "positions" in model.vectors:
        return model.vectors["positions"][:count].astype(np.float32)
    half = int(model.metadata["units"]) // 2
    angles = np.arange(1, count + 1)[:, None] * np.exp(-np.log(1e4) / (half - 1) * np.arange(half))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


class Translator:
    """Greedy search with one of ENGINES on one thread.

    folder: empty, for the graphs. longest: pieces of a translation. candidates: the target pieces of a batch, by
    number, in ascending order; None for a model without a map.
    """

    def __init__(
        self,
        model: FloatModel,
        engine: str,
        kind: str,
        folder: Path,
        longest: int,
        candidates: Callable[[Batch], np.ndarray] | None,
    ):
        write(model, folder, engine, kind, candidates is not None)
        load = {"onnxruntime": _onnxruntime, "openvino": _openvino}[engine]
        self._encoder, self._step = load(folder / ENCODER), load(folder / STEP)
        self._model, self._candidates, self._longest = model, candidates, longest
        self._positions = positions(model, max(longest, 1024))
        self._rows, self._bias = model.embeddings["output"][1].astype(np.float32), model.output_bias.astype(np.float32)
        self._end, start = int(model.metadata["end"]), int(model.metadata["start"])
        self._start = len(self._rows) if model.metadata["start_from_zero"] else start

    def translate(self, batch: Batch) -> Batch:
        sources = [self._model.vocabulary.numbers(sentence) for sentence in batch]
        lengths = np.array([*map(len, sources)])
        inside = np.arange(lengths.max()) < lengths[:, None]
        pieces = np.zeros(inside.shape, np.int64)
        pieces[inside] = np.concatenate(sources)
        mask = np.where(inside, 0, -1e9).astype(np.float32)[:, None, None]
        memory = self._encoder({"pieces": pieces, "positions": self._positions[: inside.shape[1]], "mask": mask})
        feeds = {f"{'keys' if n % 2 == 0 else 'values'}.{n // 2}": tensor for n, tensor in enumerate(memory)}
        places = None
        if self._candidates:
            places = self._candidates(batch)
            feeds |= {"output": np.ascontiguousarray(self._rows[places].T), "bias": self._bias[places]}
        said = self._search(feeds | {"mask": mask}, places)
        return [self._model.vocabulary.pieces(sentence) for sentence in said]

    def _search(self, feeds: dict[str, Any], places: np.ndarray | None) -> list[list[int]]:
        count = len(feeds["mask"])
        own = [f"own.{name}" for name in feeds if name.startswith(("keys", "values"))]
        shapes = {name: feeds[name.removeprefix("own.")].shape for name in own}
        for name, (_, heads, first, second) in shapes.items():
            empty = (count, heads, first, 0) if "keys" in name else (count, heads, 0, second)
            feeds[name] = np.zeros(empty, np.float32)
        said: list[list[int]] = [[] for _ in range(count)]
        alive, last = np.arange(count), np.full((count, 1), self._start)
        for step in range(self._longest):
            scores, *states = self._step({**feeds, "last": last, "positions": self._positions[step : step + 1]})
            feeds |= dict(zip(own, states, strict=True))
            best = scores.argmax(axis=-1)
            last = best if places is None else places[best]
            for sentence, piece in zip(alive, last[:, 0], strict=True):
                if not said[sentence] or said[sentence][-1] != self._end:
                    said[sentence].append(int(piece))
            running = np.array([said[sentence][-1] != self._end for sentence in alive])
            if not running.any():
                break
            if 2 * running.sum() <= len(running):
                alive, last = alive[running], last[running]
                kept = {name: feeds[name][running] for name in feeds if name not in ("output", "bias")}
                feeds |= kept
        return [sentence[:-1] if sentence[-1:] == [self._end] else sentence for sentence in said]
