"""The shape of a model as data, and as the Python file that OpenNMT-tf reads it from."""

from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_TRANSFORMER = '''"""Written by distill.train; OpenNMT-tf builds the model from it."""
import opennmt


def model():
    return opennmt.models.Transformer(
        num_layers=({encoder_layers}, {decoder_layers}),
        num_units={units},
        num_heads={heads},
        ffn_inner_dim={ffn_units},
        dropout={dropout},
        attention_dropout={dropout},
        ffn_dropout={dropout},
        share_embeddings=opennmt.models.EmbeddingsSharingLevel.{sharing},
    )
'''
_RECURRENT = '''"""Written by distill.train; OpenNMT-tf builds the model from it."""
import opennmt
import tensorflow as tf
import tensorflow_addons as tfa


def model():
    return opennmt.models.SequenceToSequence(
        source_inputter=opennmt.inputters.WordEmbedder(embedding_size={embedding_units}),
        target_inputter=opennmt.inputters.WordEmbedder(embedding_size={embedding_units}),
        encoder=opennmt.encoders.RNNEncoder(
            {encoder_layers},
            {direction_units},
            bidirectional={bidirectional},
            cell_class=tf.keras.layers.{cell}Cell,
            dropout={dropout},
        ),
        decoder=opennmt.decoders.AttentionalRNNDecoder(
            {decoder_layers},
            {units},
            bridge_class=opennmt.layers.{bridge},
            attention_mechanism_class=tfa.seq2seq.LuongAttention,
            cell_class=tf.keras.layers.{cell}Cell,
            dropout={dropout},
        ),
        share_embeddings=opennmt.models.EmbeddingsSharingLevel.{sharing},
    )
'''
_CATALOG = '''"""Written by distill.train; OpenNMT-tf builds the model from it."""
import opennmt


def model():
    return opennmt.models.get_model_from_catalog("{model}")
'''


@dataclass(frozen=True)
class Transformer:
    """Layers, units and heads; ``share_embeddings`` ties source, target and softmax weights."""

    encoder_layers: int
    decoder_layers: int
    units: int
    ffn_units: int
    heads: int
    share_embeddings: bool = False

    def __post_init__(self) -> None:
        if self.units % self.heads:
            raise ValueError(f"units {self.units} is not a multiple of heads {self.heads}")

    def __str__(self) -> str:
        shared = " shared" if self.share_embeddings else ""
        return f"{self.encoder_layers}:{self.decoder_layers} d{self.units} ff{self.ffn_units} h{self.heads}{shared}"

    def model_description(self, dropout: float) -> str:
        """The source of a ``model_description.py``, the one file OpenNMT-tf needs to build the model."""
        sharing = "ALL" if self.share_embeddings else "NONE"
        return _TRANSFORMER.format(**asdict(self), dropout=dropout, sharing=sharing)

    def parameters(self, entries: int) -> int:
        """Trainable parameters with a joint vocabulary of so many ``entries``, <unk> counted."""
        attention = 4 * (self.units + 1) * self.units
        feed_forward = (self.units + 1) * self.ffn_units + (self.ffn_units + 1) * self.units
        norm = 2 * self.units
        encoder = self.encoder_layers * (attention + feed_forward + 2 * norm) + norm
        decoder = self.decoder_layers * (2 * attention + feed_forward + 3 * norm) + norm
        return encoder + decoder + _embeddings(entries, self.units, self.units, self.share_embeddings)


@dataclass(frozen=True)
class Recurrent:
    """Layers of LSTM or GRU cells with Luong's attention above the decoder; ``units`` of both directions together."""

    cell: str
    encoder_layers: int
    decoder_layers: int
    units: int
    embedding_units: int
    bidirectional: bool = False
    share_embeddings: bool = False

    def __post_init__(self) -> None:
        if self.bidirectional and self.units % 2:
            raise ValueError(f"units {self.units} cannot be halved, one half for each direction")
        if self.share_embeddings and self.embedding_units != self.units:
            raise ValueError(
                "share_embeddings needs embedding_units equal to units, as the softmax weights are tied too"
            )

    def __str__(self) -> str:
        name = ("bi" if self.bidirectional else "") + self.cell.upper()
        shared = " shared" if self.share_embeddings else ""
        return f"{name} {self.encoder_layers}:{self.decoder_layers} d{self.units} e{self.embedding_units}{shared}"

    @property
    def direction_units(self) -> int:
        return self.units // 2 if self.bidirectional else self.units

    @property
    def bridge(self) -> str:
        """How the decoder's states begin: the encoder's where they fit, else a projection of them."""
        fits = self.encoder_layers == self.decoder_layers and not self.bidirectional
        return "CopyBridge" if fits else "DenseBridge"

    def model_description(self, dropout: float) -> str:
        """As for a Transformer; dropout is between layers and on the decoder's output."""
        return _RECURRENT.format(
            **{**asdict(self), "cell": self.cell.upper()},
            direction_units=self.direction_units,
            bridge=self.bridge,
            dropout=dropout,
            sharing="ALL" if self.share_embeddings else "NONE",
        )

    def parameters(self, entries: int) -> int:
        """Trainable parameters, as for a Transformer."""
        units, embedding, directions = self.units, self.embedding_units, 2 if self.bidirectional else 1
        # A stack of layers for each direction, side by side: OpenNMT-tf joins the directions above the last layer.
        inputs = [embedding, *[self.direction_units] * (self.encoder_layers - 1)]
        encoder = sum(directions * self._cell(size, self.direction_units) for size in inputs)
        # The attention's output joins the embedding at the first layer (input feeding).
        inputs = [embedding + units, *[units] * (self.decoder_layers - 1)]
        decoder = sum(self._cell(size, units) for size in inputs)
        attention = units * units + 2 * units * units
        states = 2 if self.cell == "lstm" else 1
        from_, to = states * units * self.encoder_layers, states * units * self.decoder_layers
        bridge = (from_ + 1) * to if self.bridge == "DenseBridge" else 0
        embeddings = _embeddings(entries, embedding, units, self.share_embeddings)
        return encoder + decoder + attention + bridge + embeddings

    def _cell(self, inputs: int, units: int) -> int:
        gates, biases = (4, 1) if self.cell == "lstm" else (3, 2)  # Keras's GRU has a bias for either product
        return gates * units * (inputs + units + biases)


@dataclass(frozen=True)
class Custom:
    """A model of OpenNMT-tf's catalogue by its name, or a Python file with a function ``model``."""

    model: str

    def __str__(self) -> str:
        return self.model

    @property
    def file(self) -> Path | None:
        return Path(self.model) if self.model.endswith(".py") else None

    def model_description(self, dropout: float) -> str:
        """As for a Transformer. Raises ValueError for a file that is not there."""
        if self.file is None:
            return _CATALOG.format(model=self.model)
        try:
            return self.file.read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(f"no model description: {error}") from None

    def parameters(self, entries: int) -> None:
        """Not known before it is built."""


Shape = Transformer | Recurrent | Custom
KINDS = {"model": (Custom, "model of the catalogue"), "cell": (Recurrent, "recurrent model")}


def shape(values: dict[str, Any]) -> Shape:
    """The shape of these values; of the kind that their keys tell; those that are None do not count.

    Raises ValueError for a value that is missing or makes no sense.
    """
    given = {key: value for key, value in values.items() if value not in (None, False)}
    kind, name = next((KINDS[key] for key in KINDS if key in given), (Transformer, "Transformer"))
    known = {field.name: field.default is MISSING for field in fields(kind)}
    if foreign := sorted(given.keys() - known):
        raise ValueError(f"{', '.join(foreign)}: not of a {name}")
    if missing := [key for key, needed in known.items() if needed and key not in given]:
        raise ValueError(
            f"{', '.join(missing)} missing; a {name} needs {', '.join(key for key in known if known[key])}"
        )
    return kind(**given)


@cache
def registry() -> dict[str, dict[str, Any]]:
    """The values of the named shapes (shapes.yaml)."""
    return yaml.safe_load(Path(__file__).with_name("shapes.yaml").read_text(encoding="utf-8"))


def _embeddings(entries: int, embedding: int, output: int, shared: bool) -> int:
    """Source and target embeddings, softmax weights and its biases."""
    return entries * embedding + entries if shared else 2 * entries * embedding + entries * output + entries
