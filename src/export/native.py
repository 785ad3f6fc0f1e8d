"""Convert a CTranslate2 model with float32 weights to the native engine, in several types of weights at once.

CTranslate2's converters read models of OpenNMT-tf, Marian and others, so that all of these reach the native engine
through one format. What the engine does not compute is refused by name.
"""

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError, command
from common.files import atomic_path, read_json
from common.progress import progress
from formats import ctranslate2_model, native_model

RELU = 0  # CTranslate2's number of the activation
NO_ATTRIBUTE = object()
# Attributes without meaning for a model whose ABSENT ones are 0.
IGNORED = {"decoder/alignment_heads", "decoder/alignment_layer", "decoder/alibi_use_positive_positions",
           "decoder/scale_alibi", "encoder/embeddings_merge"}  # fmt: skip
ABSENT = ("decoder/alibi", "decoder/multi_query_attention", "encoder/multi_query_attention")


class Weights:
    """The variables of a CTranslate2 model, each taken once, so that none is forgotten."""

    def __init__(self, folder: Path):
        model = ctranslate2_model.read(folder)
        if model.specification != "TransformerSpec":
            raise UserError(f"{folder}: the native engine has no {model.specification}")
        self.folder = folder
        self.variables = {name: variable.array() for name, variable in model.variables.items()}
        self.aliases = model.aliases
        self.left = {*self.variables}

    def __contains__(self, name: str) -> bool:
        return self.aliases.get(name, name) in self.variables

    def name(self, name: str) -> str:
        """The name under which a variable is stored: layers may share weights."""
        return self.aliases.get(name, name)

    def take(self, name: str) -> np.ndarray:
        stored = self.name(name)
        if stored not in self.variables:
            raise UserError(f"{self.folder}: has no variable {name}; the native engine needs it")
        self.left.discard(stored)
        array = self.variables[stored]
        if array.ndim and array.dtype != np.float32:
            raise UserError(f"{self.folder}: {name} is {array.dtype}; convert a model with float32 weights")
        return array

    def attribute(self, name: str, default: Any = NO_ATTRIBUTE) -> Any:
        """A number that is stored as a variable."""
        if name not in self and default is not NO_ATTRIBUTE:
            return default
        return self.take(name).item()

    def check_all_taken(self) -> None:
        """Raises UserError for a variable that nobody asked for: a part of the model that would be left out."""
        if left := sorted(self.left - IGNORED):
            raise UserError(f"{self.folder}: the native engine does not know {', '.join(left[:5])}")


class Converter:
    """The tensors and metadata of one model; its weights are read once for all types.

    folder: of a CTranslate2 converter, float32. Raises UserError for a model that the engine cannot compute.
    """

    def __init__(self, folder: Path):
        self._weights = weights = Weights(folder)
        config, source, target = _read(folder)
        for name in ABSENT:
            if weights.attribute(name, 0):
                raise UserError(f"{folder}: the native engine has no {name.partition('/')[2]}")
        for side in ("encoder", "decoder"):
            if (activation := weights.attribute(f"{side}/activation", RELU)) != RELU:
                raise UserError(f"{folder}: the native engine has no activation {activation}, only relu")
        self._source = self._rows("encoder/embeddings_0" if "encoder/embeddings_0/weight" in weights else
                                  "encoder/embeddings")  # fmt: skip
        self._target = self._rows("decoder/embeddings")
        self._output = self._rows("decoder/projection")
        bias = "decoder/projection/bias"
        self._output_bias = weights.take(bias) if bias in weights else np.zeros(len(self._output[1]), np.float32)
        units = self._target[1].shape[1]
        if units % native_model.PANEL:
            raise UserError(f"{folder}: has {units} units; the native engine needs a multiple of {native_model.PANEL}")
        self._heads = {side: weights.attribute(f"{side}/num_heads") for side in ("encoder", "decoder")}
        self._head_units = {side: units // heads for side, heads in self._heads.items()}
        self._layers = {side: self._count(side) for side in ("encoder", "decoder")}
        pre_norm = bool(weights.attribute("encoder/pre_norm"))
        if pre_norm != bool(weights.attribute("decoder/pre_norm")):
            raise UserError(f"{folder}: only one side normalises before its layers")
        start_from_zero = bool(weights.attribute("decoder/start_from_zero_embedding", 0))
        start = config["eos_token" if start_from_zero else "decoder_start_token"] or config["bos_token"]
        self._ffn_units: int | None = None
        self._matrices = self._products(pre_norm)
        if (positions := self._positions()) is not None:
            self._matrices["positions"] = positions
        self.metadata = {
            "architecture": "transformer",
            "units": units,
            "feed_forward_units": self._ffn_units,
            "encoder_layers": self._layers["encoder"],
            "decoder_layers": self._layers["decoder"],
            "encoder_heads": self._heads["encoder"],
            "decoder_heads": self._heads["decoder"],
            "encoder_head_units": self._head_units["encoder"],
            "decoder_head_units": self._head_units["decoder"],
            "source_pieces": len(source),
            "target_pieces": len(target),
            "start": target.index(start),
            "end": target.index(config["eos_token"]),
            "pre_norm": pre_norm,
            "start_from_zero": start_from_zero,
            "source_factor": self._factor("encoder", units),
            "target_factor": self._factor("decoder", units),
            "epsilon": config.get("layer_norm_epsilon") or 1e-5,
        }
        prefix = [config["bos_token"]] if config.get("add_source_bos") else []
        suffix = [config["eos_token"]] if config.get("add_source_eos") else []
        self.vocabulary = native_model.Vocabulary(source, target, config["unk_token"], prefix, suffix)
        self._check_sizes(source, target)
        weights.check_all_taken()

    def _check_sizes(self, source: list[str], target: list[str]) -> None:
        """Raises UserError for a vocabulary that does not fit its embeddings."""
        matrices = {
            "source": (self._source, source),
            "target": (self._target, target),
            "output": (self._output, target),
        }
        for name, ((_, matrix), vocabulary) in matrices.items():
            if len(matrix) != len(vocabulary):
                sizes = f"{len(matrix)} rows for {len(vocabulary)} pieces"
                raise UserError(f"{self._weights.folder}: its {name} embeddings have {sizes}; a file is damaged")

    def _count(self, side: str) -> int:
        names = [re.match(rf"{side}/layer_(\d+)/", name) for name in self._weights.variables]
        return 1 + max(int(match[1]) for match in names if match)

    def _rows(self, name: str) -> tuple[str, np.ndarray]:
        """The name under which a matrix of embeddings is stored, and the matrix."""
        return self._weights.name(f"{name}/weight"), self._weights.take(f"{name}/weight")

    def _factor(self, side: str, units: int) -> float:
        """What embeddings are multiplied with: the square root of the units, a number, or 1."""
        scale = self._weights.attribute(f"{side}/scale_embeddings", 1)
        factor = float(np.sqrt(np.float32(units))) if scale is True or scale == 1 else float(scale or 1)
        return factor

    def _positions(self) -> np.ndarray | None:
        """Encodings that the model brings, of both sides, as Marian's models do; OpenNMT-tf's bring none."""
        tables = []
        for side in ("encoder", "decoder"):
            name = f"{side}/position_encodings/encodings"
            tables.append(self._weights.take(name) if name in self._weights else None)
        source, target = tables
        if (source is None) != (target is None) or (source is not None and not np.array_equal(source, target)):
            raise UserError(f"{self._weights.folder}: the positions of its two sides differ")
        return source

    def _products(self, pre_norm: bool) -> dict[str, tuple[np.ndarray, np.ndarray] | np.ndarray]:
        """The matrices with their biases, and the vectors of layer normalisation, by their names in the file."""
        weights, found = self._weights, {}

        def dense(name: str) -> tuple[np.ndarray, np.ndarray]:
            matrix, bias = weights.take(f"{name}/weight"), f"{name}/bias"
            return matrix, weights.take(bias) if bias in weights else np.zeros(len(matrix), np.float32)

        def norm(to: str, name: str) -> None:
            found[f"{to}.scale"], found[f"{to}.bias"] = weights.take(f"{name}/gamma"), weights.take(f"{name}/beta")

        for side, layers in self._layers.items():
            heads, size = self._heads[side], self._head_units[side]
            for layer in range(layers):
                old, new = f"{side}/layer_{layer}", f"{side}.{layer}"
                found[f"{new}.self.queries"] = _wide(*dense(f"{old}/self_attention/linear_0"), 3 * heads, size)
                found[f"{new}.self.output"] = _narrow(*dense(f"{old}/self_attention/linear_1"), heads, size)
                norm(f"{new}.self.norm", f"{old}/self_attention/layer_norm")
                if side == "decoder":
                    found[f"{new}.source.queries"] = _wide(*dense(f"{old}/attention/linear_0"), heads, size)
                    found[f"{new}.source.memory"] = _wide(*dense(f"{old}/attention/linear_1"), 2 * heads, size)
                    found[f"{new}.source.output"] = _narrow(*dense(f"{old}/attention/linear_2"), heads, size)
                    norm(f"{new}.source.norm", f"{old}/attention/layer_norm")
                inner, outer = dense(f"{old}/ffn/linear_0"), dense(f"{old}/ffn/linear_1")
                if self._ffn_units not in (None, native_model.padded(len(inner[0]))):
                    raise UserError(f"{weights.folder}: its layers have feed-forward units of several sizes")
                self._ffn_units = native_model.padded(len(inner[0]))
                found[f"{new}.feed_forward.inner"] = (
                    native_model.pad(inner[0], self._ffn_units, inner[0].shape[1]),
                    native_model.pad(inner[1], self._ffn_units),
                )
                found[f"{new}.feed_forward.outer"] = (
                    native_model.pad(outer[0], len(outer[0]), self._ffn_units),
                    outer[1],
                )
                norm(f"{new}.feed_forward.norm", f"{old}/ffn/layer_norm")
            if pre_norm:
                norm(f"{side}.norm", f"{side}/layer_norm")
        return found

    def tensors(self, kind: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
        """The tensors in a type, and metadata that name those of embeddings, of which some may be tied."""
        tensors: dict[str, np.ndarray] = {}
        for name, value in self._matrices.items():
            if isinstance(value, tuple):
                tensors |= native_model.linear(name, *value, kind)
            else:
                tensors[name] = value.astype(np.float32)
        stored: dict[str, str] = {}
        for name, (origin, matrix) in (("output", self._output), ("source", self._source), ("target", self._target)):
            if origin not in stored:
                stored[origin] = name
                tensors |= native_model.rows(name, matrix, kind, bounded=name == "output")
        entries = native_model.padded(len(self._output[1]))
        tensors["output.bias"] = native_model.pad(self._output_bias.astype(np.float32), entries)
        if kind == "int8":
            tensors["output.offset"] = native_model.offset(tensors["output.rows"])
        sides = {"output": self._output, "source": self._source, "target": self._target}
        return tensors, {f"rows.{name}": stored[origin] for name, (origin, _) in sides.items()}

    def write(self, kind: str, folder: Path) -> None:
        """Write the weights in a type, and the vocabularies, into a new folder."""
        folder.mkdir(parents=True)
        tensors, places = self.tensors(kind)
        native_model.write(folder / native_model.NAME, tensors, {**self.metadata, **places, "type": kind})
        self.vocabulary.write(folder)


def _read(folder: Path) -> tuple[dict[str, Any], list[str], list[str]]:
    """The configuration of a model, its source and its target vocabulary, which may be one. Raises UserError."""
    joint = folder / "shared_vocabulary.json"
    paths = [joint] if joint.exists() else [folder / f"{side}_vocabulary.json" for side in ("source", "target")]
    try:
        config, *vocabularies = (read_json(path) for path in (folder / "config.json", *paths))
        if missing := {"bos_token", "eos_token", "unk_token", "decoder_start_token"} - {*config}:
            raise ValueError(f"config.json lacks {', '.join(sorted(missing))}")
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{folder}: a file is missing or damaged ({error}); convert the model again") from None
    return config, vocabularies[0], vocabularies[-1]


def _wide(weights: np.ndarray, bias: np.ndarray, heads: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Pad the outputs of each head to a multiple of 16. weights: [heads x size, inputs]."""
    wide = native_model.padded(size)
    return (
        native_model.pad(weights.reshape(heads, size, -1), heads, wide, weights.shape[1]).reshape(heads * wide, -1),
        native_model.pad(bias.reshape(heads, size), heads, wide).reshape(-1),
    )


def _narrow(weights: np.ndarray, bias: np.ndarray, heads: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Pad the inputs of each head to a multiple of 16. weights: [outputs, heads x size]."""
    wide, outputs = native_model.padded(size), len(weights)
    return native_model.pad(weights.reshape(outputs, heads, size), outputs, heads, wide).reshape(outputs, -1), bias


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of export.convert with float32 weights")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="folders, whose names end in -TYPE")
    args = parser.parse_args()

    kinds = {output: output.name.rpartition("-")[2] for output in args.outputs}
    if foreign := [str(output) for output, kind in kinds.items() if kind not in native_model.TYPES]:
        raise UserError(f"--outputs {foreign[0]}: its name must end in -{', -'.join(native_model.TYPES)}")
    converter = Converter(args.model)
    for output, kind in progress(kinds.items(), "converting", total=len(kinds), unit="type"):
        with atomic_path(output) as part:
            converter.write(kind, part)


if __name__ == "__main__":
    command(main)
