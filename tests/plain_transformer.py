"""A Transformer in plain NumPy with every option that the native engine computes, and random models of it."""

import math
from pathlib import Path

import numpy as np

from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.model.native_vocabulary import Vocabulary

UNITS, HEADS, PIECES, POSITIONS, LAYERS, EPSILON = 32, 2, 44, 640, 2, 1e-6
BUCKETS, FAR = 8, 20  # of relative positions
START, END = 1, 2
PLAIN = {
    "activation": "relu", "gated_feed_forward": False, "feed_forward_units": 48, "decoder_feed_forward_units": 64,
    "norm": "layer", "pre_norm": False, "final_norms": False, "embedding_norm": False,
}  # fmt: skip


def model(positions: str = "sides", seed: int = 1, **options) -> FloatModel:
    """Random weights. positions: both, sides, none or relative. options: metadata, beside those of PLAIN."""
    metadata = PLAIN | options
    random = np.random.default_rng(seed)
    sizes, norms = {}, []
    for side in ("encoder", "decoder"):
        inner = metadata["feed_forward_units" if side == "encoder" else "decoder_feed_forward_units"]
        for layer in (f"{side}.{number}" for number in range(LAYERS)):
            for part in ("self", "source") if side == "decoder" else ("self",):
                sizes[f"{layer}.{part}.queries"] = (1 if part == "source" else 3) * UNITS, UNITS
                sizes[f"{layer}.{part}.output"] = UNITS, UNITS
                if part == "source":
                    sizes[f"{layer}.{part}.memory"] = 2 * UNITS, UNITS
                norms.append(f"{layer}.{part}.norm")
            sizes[f"{layer}.feed_forward.inner"] = inner * (1 + metadata["gated_feed_forward"]), UNITS
            sizes[f"{layer}.feed_forward.outer"] = UNITS, inner
            norms.append(f"{layer}.feed_forward.norm")
        norms += [f"{side}.norm"] * metadata["final_norms"]
        norms += [f"{side}.embedding_norm"] * metadata["embedding_norm"]
    products = {name: (random.normal(0, 0.3, size), random.normal(0, 0.3, size[0])) for name, size in sizes.items()}
    vectors = {f"{name}.scale": random.uniform(0.5, 1.5, UNITS) for name in norms}
    if metadata["norm"] == "layer":
        vectors |= {f"{name}.bias": random.normal(0, 0.3, UNITS) for name in norms}
    stored = {"both": ["positions"], "sides": ["encoder.positions", "decoder.positions"], "none": [], "relative": []}[
        positions
    ]
    vectors |= {name: random.normal(0, 0.5, (POSITIONS, UNITS)) for name in stored}
    metadata |= {} if stored else {"positions": "none"}
    if positions == "relative":
        metadata |= {"relative_buckets": BUCKETS, "relative_distance": FAR}
        vectors |= {f"{side}.relative": random.normal(size=(HEADS, BUCKETS)) for side in ("encoder", "decoder")}
    metadata |= {
        "architecture": "transformer", "units": UNITS, "encoder_heads": HEADS, "decoder_heads": HEADS,
        "encoder_head_units": UNITS // HEADS, "decoder_head_units": UNITS // HEADS, "encoder_layers": LAYERS,
        "decoder_layers": LAYERS, "epsilon": EPSILON, "source_factor": 1.5, "target_factor": 1.5, "start": START,
        "end": END, "start_from_zero": False,
    }  # fmt: skip
    embeddings = {side: (side, random.normal(0, 0.5, (PIECES, UNITS))) for side in ("source", "target", "output")}
    pieces = [str(number) for number in range(PIECES)]
    vocabulary, bias = Vocabulary(pieces, pieces, "0"), random.normal(size=PIECES)
    return FloatModel(Path("random"), metadata, products, vectors, embeddings, bias, vocabulary)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * np.vectorize(lambda value: math.erfc(-value / math.sqrt(2)) / 2)(x),
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
}


class Plain:
    """Computes with the weights of a model in float64, one sentence at a time and without a cache."""

    def __init__(self, model: FloatModel):
        self.model, self.options = model, model.metadata

    def log_probabilities(self, source: list[int], target: list[int]) -> np.ndarray:
        """Of each piece of a target and of its end."""
        memory = self.stack("encoder", self.embedded("source", "encoder", source))
        hidden = self.stack("decoder", self.embedded("target", "decoder", [START, *target]), memory)
        scores = hidden @ self.model.embeddings["output"][1].T + self.model.output_bias
        sums = np.log(np.exp(scores).sum(axis=1))
        return scores[np.arange(len(target) + 1), [*target, END]] - sums

    def embedded(self, table: str, side: str, pieces: list[int]) -> np.ndarray:
        rows = self.model.embeddings[table][1][pieces] * 1.5
        vectors = self.model.vectors
        for name in ("positions", f"{side}.positions"):
            if name in vectors:
                rows = rows + vectors[name][: len(pieces)]
        return self.normalised(f"{side}.embedding_norm", rows) if self.options["embedding_norm"] else rows

    def stack(self, side: str, rows: np.ndarray, memory: np.ndarray | None = None) -> np.ndarray:
        for layer in (f"{side}.{number}" for number in range(LAYERS)):
            rows = self.added(f"{layer}.self", rows, self.self_attention, side)
            if memory is not None:
                rows = self.added(f"{layer}.source", rows, self.source_attention, memory)
            rows = self.added(f"{layer}.feed_forward", rows, self.feed_forward)
        return self.normalised(f"{side}.norm", rows) if self.options["final_norms"] else rows

    def added(self, name: str, rows: np.ndarray, layer, *arguments) -> np.ndarray:
        if self.options["pre_norm"]:
            return rows + layer(name, self.normalised(f"{name}.norm", rows), *arguments)
        return self.normalised(f"{name}.norm", rows + layer(name, rows, *arguments))

    def normalised(self, name: str, rows: np.ndarray) -> np.ndarray:
        bias = 0
        if self.options["norm"] == "layer":
            rows, bias = rows - rows.mean(axis=1, keepdims=True), self.model.vectors[f"{name}.bias"]
        size = np.sqrt((rows**2).mean(axis=1, keepdims=True) + EPSILON)
        return rows / size * self.model.vectors[f"{name}.scale"] + bias

    def product(self, name: str, rows: np.ndarray) -> np.ndarray:
        weights, bias = self.model.products[name]
        return rows @ weights.T + bias

    def feed_forward(self, name: str, rows: np.ndarray) -> np.ndarray:
        rows, factor = self.product(f"{name}.inner", rows), 1
        if self.options["gated_feed_forward"]:
            rows, factor = np.split(rows, 2, axis=1)
        return self.product(f"{name}.outer", ACTIVATIONS[self.options["activation"]](rows) * factor)

    def self_attention(self, name: str, rows: np.ndarray, side: str) -> np.ndarray:
        queries, keys, values = np.split(self.product(f"{name}.queries", rows), 3, axis=1)
        bias = self.relative(side, len(rows))
        if side == "decoder":
            bias = bias + np.triu(np.full((len(rows), len(rows)), -np.inf), 1)
        return self.attended(name, queries, keys, values, bias)

    def relative(self, side: str, length: int) -> np.ndarray:
        """The bias of each head for each distance; buckets from half of them on grow up to FAR."""
        if f"{side}.relative" not in self.model.vectors:
            return np.zeros((HEADS, length, length))
        buckets = self.model.vectors[f"{side}.relative"]
        if side == "encoder":
            before, after = np.split(buckets, 2, axis=1)
        else:
            before = after = buckets
        size = before.shape[1]
        near = size // 2
        starts = [near * (FAR / near) ** (number / (size - near)) for number in range(1, size - near)]
        numbers = [near + sum(distance >= start - 1e-9 for start in starts) for distance in range(near, length)]
        numbers = np.array([*range(near), *numbers])[:length]
        distances = np.arange(length)[None, :] - np.arange(length)[:, None]  # of a key after its query
        return np.where(distances > 0, after[:, numbers[abs(distances)]], before[:, numbers[abs(distances)]])

    def source_attention(self, name: str, rows: np.ndarray, memory: np.ndarray) -> np.ndarray:
        keys, values = np.split(self.product(f"{name}.memory", memory), 2, axis=1)
        return self.attended(name, self.product(f"{name}.queries", rows), keys, values, 0)

    def attended(self, name: str, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, bias) -> np.ndarray:
        """bias: added to the scores, [heads, queries, keys] or what becomes that."""
        queries, keys, values = (rows.reshape(len(rows), HEADS, -1).swapaxes(0, 1) for rows in (queries, keys, values))
        scores = queries @ keys.swapaxes(1, 2) / math.sqrt(UNITS // HEADS) + bias
        powers = np.exp(scores - scores.max(axis=2, keepdims=True))
        contexts = powers / powers.sum(axis=2, keepdims=True) @ values
        return self.product(f"{name}.output", contexts.swapaxes(0, 1).reshape(len(contexts[0]), UNITS))
