"""A model with float32 weights: readers return it, and the native engine's file is written from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.model import native_quantization, native_weights
from nmt_frontier.model.native_packing import pad, pad_inputs, pad_outputs, padded
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search.native import Native

Product = tuple[NDArray[Any], NDArray[Any]]  # weights [outputs, inputs], bias [outputs]
Norm = tuple[NDArray[Any], NDArray[Any] | None]  # scale and bias of a normalisation, [units]; no bias without a mean

# Products and vectors by the engine's names, and metadata of the native file.
Layers = tuple[dict[str, Product], dict[str, NDArray[Any]], dict[str, object]]

NEVER = -1e9  # the bias of a piece that is never said
UNSCALED = {"source_factor": 1.0, "target_factor": 1.0}  # metadata of a model that does not scale its embeddings


@dataclass
class FloatModel:
    """Weights by their names in the native file, padded to multiples of 16 (nmt_frontier.model.native_packing).

    origin: the file or folder, for messages. metadata: of the file, without the type. products: matrices with their
    biases. vectors: of layer normalisation and positions, as they are stored. embeddings: the matrix of ``source``,
    ``target`` and ``output``, [pieces, units], with the name of what it is tied to; equal names are stored once.
    integers: whether matrices were integers before; in 8 bits these are kept where the engine's bound allows it.
    Raises UserError for embeddings that do not fit their vocabulary.
    """

    origin: Path
    metadata: dict[str, object]
    products: dict[str, Product]
    vectors: dict[str, NDArray[Any]]
    embeddings: dict[str, tuple[str, NDArray[Any]]]
    output_bias: NDArray[Any]
    vocabulary: Vocabulary
    integers: bool = False

    def __post_init__(self) -> None:
        pieces = {"source": self.vocabulary.source, "target": self.vocabulary.target, "output": self.vocabulary.target}
        for side, (_, matrix) in self.embeddings.items():
            if len(matrix) != len(pieces[side]):
                sizes = f"{len(matrix)} rows for {len(pieces[side])} pieces"
                raise UserError(f"{self.origin}: its {side} embeddings have {sizes}; a file is damaged")
        self.metadata |= {"source_pieces": len(pieces["source"]), "target_pieces": len(pieces["target"])}

    def tensors(self, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """The tensors in a type, and metadata that name those of the embeddings; tied ones share a name."""
        tensors = {name: value.astype(np.float32) for name, value in self.vectors.items()}
        for name, (weights, bias) in self.products.items():
            tensors |= native_weights.linear(name, weights, bias, kind, self.integers)
        kind = native_weights.ROWS.get(kind, kind)
        stored: dict[str, str] = {}
        for side in ("output", "source", "target"):  # the output layer's first: its integers are bounded
            origin, matrix = self.embeddings[side]
            if origin not in stored:
                stored[origin] = side
                tensors |= native_weights.rows(side, matrix, kind, side == "output", self.integers)
        entries = padded(len(self.output_bias))
        tensors["output.bias"] = pad(self.output_bias.astype(np.float32), entries)
        if kind == "int8":
            tensors["output.offset"] = native_quantization.offset(tensors["output.rows"])
        return tensors, {f"rows.{side}": stored[origin] for side, (origin, _) in self.embeddings.items()}

    def coarser(self) -> tuple[int, int]:
        """Of how many 8-bit channels of products the integers are not kept, because their sums could overflow."""
        changed = total = 0
        for matrix in [*(weights for weights, _ in self.products.values()), self.embeddings["output"][1]]:
            step = native_quantization.steps(matrix)
            integers = np.rint(matrix / np.where(step > 0, step, 1)[:, None])
            kept = (step > 0) & (native_quantization.lane_sum(integers) <= native_quantization.INT8_LANE)
            used = matrix.any(axis=1)
            changed, total = changed + int((used & ~kept).sum()), total + int(used.sum())
        return changed, total

    def write(self, kind: str, folder: Path) -> None:
        """Write the weights in a type, and the vocabularies, into a new folder."""
        folder.mkdir(parents=True)
        tensors, places = self.tensors(kind)
        native_weights.write(folder / native_weights.NAME, tensors, {**self.metadata, **places, "type": kind})
        self.vocabulary.write(folder)


class LayerWeights:
    """Products and vectors of a Transformer's layers by the engine's names, with every head padded.

    history: metadata of a decoder without self-attention.
    """

    def __init__(self) -> None:
        self.products: dict[str, Product] = {}
        self.vectors: dict[str, NDArray[Any]] = {}
        self.history: dict[str, object] = {}

    def attention(
        self, name: str, heads: int, queries: Product, output: Product, norm: Norm, memory: Product | None = None
    ) -> None:
        """memory: keys and values of the source; without it the attention sees itself, and queries hold all three."""
        self.products[f"{name}.queries"] = pad_outputs(*queries, heads if memory else 3 * heads)
        if memory:
            self.products[f"{name}.memory"] = pad_outputs(*memory, 2 * heads)
        self.products[f"{name}.output"] = pad_inputs(output[0], heads), output[1]
        self.norm(f"{name}.norm", norm)

    def feed_forward(self, name: str, inner: Product, outer: Product, parts: int = 1) -> None:
        """parts: 2 if the inner product is what goes through the activation, and a linear factor."""
        self.products[f"{name}.inner"] = pad_outputs(*inner, parts)
        self.products[f"{name}.outer"] = pad_inputs(outer[0], 1), outer[1]

    def norm(self, name: str, norm: Norm) -> None:
        self.vectors[f"{name}.scale"], bias = norm
        if bias is not None:
            self.vectors[f"{name}.bias"] = bias


def finite(origin: Path, name: str, weights: Any, masks: bool = False) -> NDArray[np.float32]:
    """Weights in float32. Raises UserError by the name of the tensor for weights that are not finite there.

    origin: the file or folder. masks: this is the bias of an output layer, where -inf forbids a piece: it gets NEVER.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found: NDArray[np.float32] = np.asarray(weights).astype(np.float32)
    found = np.maximum(found, np.float32(NEVER)) if masks else found  # NaN stays
    if wrong := found.size - np.count_nonzero(np.isfinite(found)):
        counts = f"{wrong:,} of the {found.size:,} numbers of {name} are not finite (NaN or infinite)"
        raise UserError(f"{origin}: {counts}; get the model again, or take a checkpoint from before they appeared")
    return found


def check_widths(origin: Path, shape: Mapping[str, Any], others: str = "") -> None:
    """Raises UserError for widths that the native engine does not compute.

    origin: the file or folder. shape: as for ``Engine.lacks``. others: the engine that decodes it, for people.
    """
    if lacks := Native.lacks(shape):
        raise UserError(f"{origin}: {Native.label} {lacks}" + (f"; {others} decodes it" if others else ""))


def dense(layer: Any) -> Product:
    """The weights of a dense layer, [outputs, inputs], and its bias, zeros if it has none."""
    return product(layer.kernel, layer.bias)


def product(kernel: Any, bias: Any | None) -> Product:
    """A kernel of Keras, [inputs, outputs], and a bias, zeros for None."""
    weights = np.asarray(kernel).T
    return weights, np.zeros(len(weights), np.float32) if bias is None else np.asarray(bias)


def joined(*layers: Any) -> Product:
    """Dense layers that share their inputs, as one product."""
    weights, biases = zip(*map(dense, layers), strict=True)
    return np.concatenate(weights), np.concatenate(biases)
