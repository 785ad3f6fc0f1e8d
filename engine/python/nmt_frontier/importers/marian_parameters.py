"""The weights and options of Marian's model.npz or model.bin. Each weight is taken once, so that none is forgotten."""

import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.files import yaml_value
from nmt_frontier.importers import marian_binary
from nmt_frontier.importers.float_model import Product, check_widths, finite
from nmt_frontier.importers.marian_binary import END, UNKNOWN
from nmt_frontier.model.native_vocabulary import Vocabulary

CONFIG = "special:model.yml"  # the entry that holds Marian's options
ALPHAS = "_QuantMultA"  # ends the names of fixed scales of inputs, which the native engine does not need
DAMAGED = (OSError, TypeError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)

# Options with a meaning for every computation, and the one value of each that the engine computes.
ONLY = {"input-types": [], "layer-normalization": False, "lemma-dim-emb": 0, "right-left": False, "ulr": False}


class MarianOptions(dict[str, Any]):
    """Marian's options. Raises UserError for one that the file does not have."""

    def __init__(self, options: Mapping[str, Any], path: Path):
        super().__init__(options)
        self._path = path

    def __missing__(self, option: str) -> Any:
        raise UserError(f"{self._path}: its options lack {option}; the native engine needs what Marian 1.12 writes")


class Parameters:
    """The weights and options of a model.npz or model.bin.

    integers: whether its matrices are 8 or 16-bit integers. Raises UserError for a file that is missing or damaged.
    """

    def __init__(self, path: Path):
        self.path, self.integers, binary = path, False, ".bin" in path.suffixes
        first_bytes.check_files([path])
        try:
            self.weights: dict[str, NDArray[Any]]
            if binary:
                items = marian_binary.read(path)
                self.integers = any(item.integers for item in items.values())
                self.weights = {name: item.value for name, item in items.items() if not name.endswith(ALPHAS)}
            else:
                self.weights = dict(np.load(path))
            self.config = MarianOptions(yaml_value(self.weights.pop(CONFIG).tobytes().rstrip(b"\0")), path)
        except DAMAGED as error:
            raise UserError(
                f"{path}: not a model.{'bin' if binary else 'npz'} of Marian's, or damaged: {error}"
            ) from None
        self._left = {*self.weights}

    def __contains__(self, name: str) -> bool:
        return name in self.weights

    def count(self) -> int:
        """The number of parameters."""
        return sum(weight.size for weight in self.weights.values())

    def rename(self, new: Callable[[str], str | None]) -> None:
        """Give all weights other names; those without one are left out."""
        self.weights = {to: weight for name, weight in self.weights.items() if (to := new(name))}
        self._left = {*self.weights}

    def take(self, name: str, masks: bool = False) -> NDArray[Any]:
        """A matrix as it is stored, or a vector, which Marian stores as a matrix of one row. masks: of ``finite``."""
        if name not in self.weights:
            raise UserError(f"{self.path}: has no weights {name}; the native engine needs them")
        self._left.discard(name)
        array = finite(self.path, name, self.weights[name], masks)
        return array[0] if len(array) == 1 else array

    def dense(self, weights: str, bias: str | None = None) -> Product:
        """A product, whose matrix Marian stores as [inputs, outputs]."""
        matrix = self.take(weights).T
        return matrix, np.zeros(len(matrix), np.float32) if bias is None else self.take(bias)

    def joined(self, prefix: str, names: str) -> Product:
        """The products that the letters name, which share their input, stacked."""
        products = [self.dense(f"{prefix}_W{name}", f"{prefix}_b{name}") for name in names]
        return np.concatenate([weights for weights, _ in products]), np.concatenate([bias for _, bias in products])

    def embeddings(self, output: str) -> tuple[dict[str, tuple[str, NDArray[Any]]], NDArray[Any]]:
        """FloatModel.embeddings, and the output layer's bias. output: prefix of that layer's names."""
        own = {"source": "encoder_Wemb", "target": "decoder_Wemb"}
        names = {side: name if name in self else "Wemb" for side, name in own.items()}
        matrices = {side: (name, self.take(name)) for side, name in names.items()}
        if self.config["tied-embeddings"] or self.config["tied-embeddings-all"]:
            matrices["output"] = matrices["target"]
        elif f"{output}_W" in self:  # as older versions wrote it
            matrices["output"] = output, self.take(f"{output}_W").T
        else:
            matrices["output"] = output, self.take(f"{output}_Wt")
        entries = len(matrices["output"][1])
        omitted = self.config.get("output-omit-bias")
        bias = np.zeros(entries, np.float32) if omitted else self.take(f"{output}_b", masks=True)
        return matrices, bias

    def check_widths(self, shape: Mapping[str, Any]) -> None:
        """Raises UserError for widths that the native engine does not compute (nmt_frontier.importers.float_model)."""
        check_widths(self.path, shape, "Marian")

    def check(self, only: Mapping[str, Any]) -> None:
        """Raises UserError for an option with a value other than the one given."""
        for option, value in only.items():
            if (found := self.config.get(option, value)) != value:
                raise UserError(f"{self.path}: the native engine does not compute models with --{option} {found}")

    def check_all_taken(self) -> None:
        """Raises UserError for weights that nobody asked for: a part of the model that would be left out."""
        if left := sorted(self._left):
            raise UserError(f"{self.path}: the native engine does not know {', '.join(left[:5])}")


def read_pieces(vocabulary: Path, side: int, parameters: Parameters) -> list[str]:
    """The pieces of a vocab.yml or vocab.spm by number. side: 0 for the source, 1 for the target.

    Raises UserError for a file that is missing, damaged or not this model's.
    """
    first_bytes.check_files([vocabulary])
    kind = "vocab.spm" if ".spm" in vocabulary.suffixes else "vocab.yml"
    try:
        found: list[str]
        if kind == "vocab.spm":
            model = SentencePieceProcessor(model_proto=marian_binary.content(vocabulary))
            found = [model.id_to_piece(number) for number in range(model.get_piece_size())]
        else:
            found = _listed(vocabulary)
    except (OSError, ValueError, AttributeError, RuntimeError, EOFError, zlib.error) as error:
        raise UserError(f"{vocabulary}: missing, or not a {kind} of Marian's: {error}") from None
    if len(found) != parameters.config["dim-vocabs"][side] or found[:2] != [END, UNKNOWN]:
        raise UserError(f"{vocabulary}: not the vocabulary of {parameters.path}")
    return found


def _listed(vocabulary: Path) -> list[str]:
    """The pieces of a vocab.yml in the order of their numbers. All are text, also ``yes``, ``~`` and ``<<``."""
    numbers = yaml_value(vocabulary.read_text(encoding="utf-8"), scalars=False)
    return sorted(numbers, key=lambda piece: int(numbers[piece]))


def framing(target: list[str]) -> dict[str, object]:
    """The metadata of how a translation begins and ends: Marian's decoders begin with zeros."""
    end = target.index(END)
    return {"start": end, "end": end, "start_from_zero": True}


def vocabulary(source: list[str], target: list[str]) -> Vocabulary:
    return Vocabulary(source, target, UNKNOWN, suffix=[END])
