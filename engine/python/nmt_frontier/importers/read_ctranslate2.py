"""Read a CTranslate2 model, of any version and type of weights, for the native engine.

A model with anything that the native engine does not compute is refused, by its name.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.ctranslate2_weights import FLAGS, OUTPUT_BIAS, STRINGS, CTranslate2Weights
from nmt_frontier.importers.float_model import FloatModel, LayerWeights, Norm, Product, check_widths, finite
from nmt_frontier.importers.found import Config
from nmt_frontier.model.native_vocabulary import Vocabulary

# Metadata of the activations, by CTranslate2's numbers.
ACTIVATIONS: dict[int, dict[str, object]] = {
    0: {}, 1: {"activation": "gelu_tanh"}, 2: {"swish": True}, 3: {"activation": "gelu"},
}  # fmt: skip
CONFIGURED = 6  # the first version with a config.json
ABSENT = ("decoder/alibi", "decoder/multi_query_attention", "encoder/multi_query_attention")


def read(folder: Path) -> FloatModel:
    """The model in a folder of a CTranslate2 converter, float32. Raises UserError for one that it cannot run."""
    weights = CTranslate2Weights(folder)
    config, source, target = _files(folder, weights)
    for name in ABSENT:
        if weights.attribute(name, 0):
            raise UserError(f"{folder}: the native engine has no {name.partition('/')[2]}")
    embeddings, output_bias = _embeddings(weights)
    units = embeddings["target"][1].shape[1]
    check_widths(folder, {"units": units}, "CTranslate2")
    layers = CTranslate2Layers(weights)
    start_from_zero = bool(weights.attribute("decoder/start_from_zero_embedding", 0))
    start = config["eos_token" if start_from_zero else "decoder_start_token"] or config["bos_token"]
    metadata = {
        "architecture": "transformer",
        "units": units,
        "feed_forward_units": layers.feed_forward_units,
        **{f"{side}_layers": count for side, count in layers.counts.items()},
        **{f"{side}_heads": heads for side, heads in layers.heads.items()},
        **{f"{side}_head_units": size for side, size in layers.head_units.items()},
        "start": target.index(start),
        "end": target.index(config["eos_token"]),
        "pre_norm": layers.pre_norm,
        "start_from_zero": start_from_zero,
        "source_factor": _factor(weights, "encoder", units),
        "target_factor": _factor(weights, "decoder", units),
        "epsilon": config.get("layer_norm_epsilon") or (1e-6 if "norm" in layers.metadata else 1e-5),
        **_activation(weights),
        **layers.metadata,
    }
    prefix, suffix = ([config[f"{name}_token"]] if config.get(f"add_source_{name}") else [] for name in ("bos", "eos"))
    vocabulary = Vocabulary(source, target, config["unk_token"], prefix, suffix)
    model = FloatModel(
        folder, metadata, layers.products, layers.vectors, embeddings, output_bias, vocabulary, weights.integers
    )
    weights.check_all_taken()
    return model


def check_finite(folder: Path, origin: Path) -> None:
    """Raises UserError for a model with weights that are not finite, also one that only CTranslate2 decodes."""
    for name, array in ctranslate2_model.arrays(folder).items():
        if np.issubdtype(array.dtype, np.floating):
            finite(origin, name, array, masks=name == OUTPUT_BIAS)


def _activation(weights: CTranslate2Weights) -> dict[str, object]:
    """Metadata of the activation. Raises UserError for one that the engine lacks, and for sides that differ."""
    encoder, decoder = (int(weights.attribute(f"{side}/activation", 0)) for side in ("encoder", "decoder"))
    for activation in (encoder, decoder):
        if activation not in ACTIVATIONS:
            known = "only relu, swish and two forms of gelu"
            raise UserError(f"{weights.folder}: the native engine has no activation {activation}, {known}")
    if encoder != decoder:
        raise UserError(f"{weights.folder}: the activations of its two sides differ")
    return ACTIVATIONS[encoder]


def _embeddings(weights: CTranslate2Weights) -> tuple[dict[str, tuple[str, NDArray[Any]]], NDArray[Any]]:
    """FloatModel.embeddings, and the bias of the output layer, zeros if it has none."""
    first = "encoder/embeddings_0" if "encoder/embeddings_0/weight" in weights else "encoder/embeddings"
    names = {"source": first, "target": "decoder/embeddings", "output": "decoder/projection"}
    embeddings = {
        side: (weights.name(f"{name}/weight"), weights.take(f"{name}/weight")) for side, name in names.items()
    }
    if "decoder/scale_outputs" in weights:
        name, matrix = embeddings["output"]
        embeddings["output"] = f"{name}, scaled", matrix * np.float32(weights.attribute("decoder/scale_outputs"))
    return embeddings, weights.dense("decoder/projection")[1]


class CTranslate2Layers(LayerWeights):
    """The layers of both sides, with the numbers of the metadata."""

    def __init__(self, weights: CTranslate2Weights):
        super().__init__()
        self._weights = weights
        self.pre_norm = bool(weights.attribute("encoder/pre_norm", True))
        if self.pre_norm != bool(weights.attribute("decoder/pre_norm", True)):
            raise UserError(f"{weights.folder}: only one side normalises before its layers")
        self.heads = {side: weights.attribute(f"{side}/num_heads", 8) for side in ("encoder", "decoder")}
        self.counts = {side: _count(weights, side) for side in self.heads}
        self.head_units: dict[str, int] = {}
        self.inner_units: dict[str, int] = {}
        rms = "encoder/layer_0/ffn/layer_norm/beta" not in weights
        self.metadata: dict[str, object] = {"norm": "rms"} if rms else {}
        for side, count in self.counts.items():
            for layer in range(count):
                self._layer(side, f"{side}/layer_{layer}", f"{side}.{layer}")
            if self.pre_norm:
                self.norm(f"{side}.norm", self._norm(side))
            if f"{side}/layernorm_embedding/gamma" in weights:
                self.norm(f"{side}.embedding_norm", self._norm(side, "layernorm_embedding"))
                self.metadata["embedding_norm"] = True
            self._positions(side)
        source, target = (self.vectors.get(f"{side}.positions") for side in self.counts)
        if (source is None) != (target is None):
            raise UserError(f"{weights.folder}: only one side has positions")
        if source is not None and target is not None and np.array_equal(source, target):
            self.vectors["positions"] = self.vectors.pop("encoder.positions")
            del self.vectors["decoder.positions"]
        self.feed_forward_units = self.inner_units["encoder"]
        if self.inner_units["decoder"] != self.feed_forward_units:
            self.metadata["decoder_feed_forward_units"] = self.inner_units["decoder"]

    def _layer(self, side: str, old: str, new: str) -> None:
        heads = self.heads[side]
        queries, output = self._dense(f"{old}/self_attention", 2)
        self.head_units[side] = len(queries[1]) // heads // 3
        queries = self._scaled(f"{old}/self_attention", queries, side)
        self.attention(f"{new}.self", heads, queries, output, self._norm(f"{old}/self_attention"))
        if side == "decoder":
            queries, memory, output = self._dense(f"{old}/attention", 3)
            queries = self._scaled(f"{old}/attention", queries, side)
            self.attention(f"{new}.source", heads, queries, output, self._norm(f"{old}/attention"), memory)
        inner, outer = self._dense(f"{old}/ffn", 2)
        parts = [inner, *([self._weights.dense(f"{old}/ffn/linear_0_noact")] if self._gated(old) else [])]
        inner = np.concatenate([weights for weights, _ in parts]), np.concatenate([bias for _, bias in parts])
        self.feed_forward(f"{new}.feed_forward", inner, outer, len(parts))
        self.norm(f"{new}.feed_forward.norm", self._norm(f"{old}/ffn"))
        units = len(self.products[f"{new}.feed_forward.inner"][1]) // len(parts)
        if self.inner_units.setdefault(side, units) != units:
            raise UserError(f"{self._weights.folder}: its layers have feed-forward units of several sizes")

    def _gated(self, layer: str) -> bool:
        if found := f"{layer}/ffn/linear_0_noact/weight" in self._weights:
            self.metadata["gated_feed_forward"] = True
        return found

    def _scaled(self, layer: str, queries: Product, side: str) -> Product:
        """Queries whose scores get another scale than the usual one, which the engine applies; T5 has none."""
        if (scale := f"{layer}/queries_scale") not in self._weights:
            return queries
        matrix, bias = (array.copy() for array in queries)
        rows = self.heads[side] * self.head_units[side]
        factor = np.float32(self._weights.attribute(scale) * self.head_units[side] ** 0.5)
        matrix[:rows] *= factor
        bias[:rows] *= factor
        return matrix, bias

    def _positions(self, side: str) -> None:
        """Position encodings in the file, as Marian's models have them, relative ones of T5, or none (OpenNMT-tf)."""
        layers = [f"{side}/layer_{layer}/self_attention/relative_attention" for layer in range(self.counts[side])]
        if f"{layers[0]}_bias" in self._weights:
            biases = [self._weights.take(f"{layer}_bias") for layer in layers]
            distance, *_ = [self._weights.attribute(f"{layer}_max_distance") for layer in layers]
            if not all(np.array_equal(bias, biases[0]) for bias in biases):
                raise UserError(f"{self._weights.folder}: its layers have relative positions of their own")
            self.vectors[f"{side}.relative"] = np.ascontiguousarray(biases[0].T)
            buckets = len(biases[0])
            self.metadata |= {"positions": "none", "relative_buckets": buckets, "relative_distance": distance}
        elif (name := f"{side}/position_encodings/encodings") in self._weights:
            self.vectors[f"{side}.positions"] = self._weights.take(name)

    def _dense(self, layer: str, count: int) -> Iterator[Product]:
        """The first dense layers of a layer."""
        return (self._weights.dense(f"{layer}/linear_{number}") for number in range(count))

    def _norm(self, layer: str, name: str = "layer_norm") -> Norm:
        scale = self._weights.take(f"{layer}/{name}/gamma")
        return scale, None if self.metadata.get("norm") == "rms" else self._weights.take(f"{layer}/{name}/beta")


def _count(weights: CTranslate2Weights, side: str) -> int:
    """The number of layers of a side."""
    stored = [*weights.variables, *weights.aliases]  # a layer equal to an earlier one is stored as aliases
    names = [re.match(rf"{side}/layer_(\d+)/", name) for name in stored]
    return 1 + max(int(match[1]) for match in names if match)


def _factor(weights: CTranslate2Weights, side: str, units: int) -> float:
    """The factor of the embeddings: the square root of the units, a number, or 1."""
    names = [f"{side}/scale_embeddings", f"{side}/embeddings/multiply_by_sqrt_depth"]  # the second of old versions
    name = next((name for name in names if name in weights), names[0])
    scale = weights.take(name) if name in weights else np.int8(True)
    if np.issubdtype(scale.dtype, np.floating):
        return float(scale)
    return float(np.sqrt(np.float32(units))) if scale else 1.0  # a switch


def _config_of_variables(weights: CTranslate2Weights) -> Config:
    """The configuration of versions before 6, as CTranslate2 reads it from variables."""
    given = {name: bool(weights.attribute(name, default)) for name, default in FLAGS.items()}
    config: Config = {
        name: bytes(weights.variables[name]).rstrip(b"\0").decode() if name in weights else default
        for name, default in STRINGS.items()
    }
    config |= {f"add_source_{name}": given[f"with_source_{name}"] for name in ("bos", "eos")}
    config["decoder_start_token"] = config["bos_token" if given["with_target_bos"] else "eos_token"]
    return config


def _files(folder: Path, weights: CTranslate2Weights) -> tuple[Config, list[str], list[str]]:
    """The configuration of a model, its source and its target vocabulary, which may be one. Raises UserError."""
    suffix = ".txt" if any(folder.glob("*_vocabulary.txt")) else ".json"
    joint = folder / f"shared_vocabulary{suffix}"
    paths = [joint] if joint.exists() else [folder / f"{side}_vocabulary{suffix}" for side in ("source", "target")]
    first_bytes.check_files([folder / "config.json", *paths])
    try:
        old = weights.version < CONFIGURED
        config = _config_of_variables(weights) if old else read_json(folder / "config.json")
        vocabularies = [_vocabulary(path, config.get("unk_token", "")) for path in paths]
        if missing := {"bos_token", "eos_token", "unk_token", "decoder_start_token"} - {*config}:
            raise ValueError(f"config.json lacks {', '.join(sorted(missing))}")
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{folder}: a file is missing or damaged ({error}); convert the model again") from None
    return config, vocabularies[0], vocabularies[-1]


def _vocabulary(path: Path, unknown: str) -> list[str]:
    """The pieces of a file, with the unknown piece, which CTranslate2 appends where it is missing."""
    pieces: list[str] = read_json(path) if path.suffix == ".json" else path.read_text(encoding="utf-8").split("\n")
    pieces = pieces[:-1] if path.suffix == ".txt" and pieces[-1] == "" else pieces
    return pieces if unknown in pieces else [*pieces, unknown]
