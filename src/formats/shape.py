"""The shape of a model: layers, units, heads or cells, its number of parameters, its description for OpenNMT-tf."""

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from formats.model_description import CATALOG, RECURRENT, TRANSFORMER, own_model
from nmt_frontier.files import read_yaml
from nmt_frontier.model import shape_text
from nmt_frontier.model.native_files import PANEL
from nmt_frontier.model.shape_text import SELF_ATTENTION

# How a Transformer's decoder reads previous outputs (layers.history_decoder): by self-attention; as the mean of all
# inputs with a feed-forward layer and a gate, with only one of them, or plain; by a simple recurrent cell.
DECODERS = (SELF_ATTENTION, "averaging", "averaging-gated", "averaging-ungated", "averaging-plain", "ssru")
Values = dict[str, Any]  # of a shape, by the names of its fields

CELLS = ("lstm", "gru")  # of a recurrent model


@dataclass(frozen=True)
class TransformerShape:
    """A Transformer (Vaswani et al. 2017). ``share_embeddings`` ties source, target and softmax weights.

    units: of embeddings and layers; ffn_units: inside the feed-forward layers; decoder: one of DECODERS. Raises
    ValueError for odd units, for heads that do not divide them, and for an unknown decoder.
    """

    encoder_layers: int
    decoder_layers: int
    units: int
    ffn_units: int
    heads: int
    share_embeddings: bool = False
    decoder: str = SELF_ATTENTION

    def __post_init__(self) -> None:
        if self.units % 2:
            raise ValueError(f"units {self.units} is odd; OpenNMT-tf's positions need an even number")
        if self.units % self.heads:
            raise ValueError(f"units {self.units} is not a multiple of heads {self.heads}; {self._fitting()}")
        if self.decoder not in DECODERS:
            raise ValueError(f"decoder {self.decoder} is unknown; there are {', '.join(DECODERS)}")

    def _fitting(self) -> str:
        """Advice: the next smaller number of heads, or the next larger one of units that fits the native engine."""
        heads = next((heads for heads in range(self.heads, 1, -1) if self.units % heads == 0), 1)
        multiple = math.lcm(self.heads, PANEL)
        return f"take heads {heads}, or units {-(-self.units // multiple) * multiple}"

    def __str__(self) -> str:
        return shape_text.transformer(**asdict(self))

    def model_description(self, dropout: float) -> str:
        """The text of ``model_description.py``. dropout: the share of units that training drops, everywhere."""
        if self.decoder != SELF_ATTENTION:
            values = {"decoder": self.decoder} | asdict(self) | {"dropout": dropout}
            return own_model("history_decoder", "HistoryTransformer", values)
        sharing = "ALL" if self.share_embeddings else "NONE"
        return TRANSFORMER.format(**asdict(self), dropout=dropout, sharing=sharing)

    def parameters(self, entries: int) -> int:
        """The number of trainable parameters with a joint vocabulary of ``entries``, <unk> included."""
        attention = 4 * (self.units + 1) * self.units
        feed_forward = (self.units + 1) * self.ffn_units + (self.ffn_units + 1) * self.units
        norm = 2 * self.units
        encoder = self.encoder_layers * (attention + feed_forward + 2 * norm) + norm
        gates = 2 * (self.units + 1) * self.units
        history = {
            SELF_ATTENTION: attention,
            "averaging": 2 * gates,  # its feed-forward layer has ``units`` inside and is as large as the gates
            "averaging-gated": gates,
            "averaging-ungated": gates,
            "averaging-plain": 0,
            "ssru": gates - self.units,  # the candidate state has no bias
        }[self.decoder]
        decoder = self.decoder_layers * (history + attention + feed_forward + 3 * norm) + norm
        return encoder + decoder + _embeddings(entries, self.units, self.units, self.share_embeddings)


@dataclass(frozen=True)
class RecurrentShape:
    """LSTM or GRU layers and Luong's attention (Luong et al. 2015). units: of a layer, both directions together."""

    cell: str
    encoder_layers: int
    decoder_layers: int
    units: int
    embedding_units: int
    bidirectional: bool = False
    share_embeddings: bool = False

    def __post_init__(self) -> None:
        if self.cell not in CELLS:
            raise ValueError(f"cell {self.cell} is unknown; there are {', '.join(CELLS)}")
        if self.bidirectional and self.units % 2:
            raise ValueError(f"units {self.units} cannot be halved, one half for each direction")
        _require_width(self, "units")

    def __str__(self) -> str:
        name = ("bi" if self.bidirectional else "") + self.cell.upper()
        shared = " shared" if self.share_embeddings else ""
        return f"{name} {self.encoder_layers}:{self.decoder_layers} d{self.units} e{self.embedding_units}{shared}"

    @property
    def direction_units(self) -> int:
        return self.units // 2 if self.bidirectional else self.units

    @property
    def bridge(self) -> str:
        """How the decoder's states start: as copies of the encoder's if they fit, else as a projection."""
        fits = self.encoder_layers == self.decoder_layers and not self.bidirectional
        return "CopyBridge" if fits else "DenseBridge"

    def model_description(self, dropout: float) -> str:
        """As for a Transformer; dropout acts between layers and on the decoder's output."""
        values = asdict(self) | {"cell": self.cell.upper(), "sharing": "ALL" if self.share_embeddings else "NONE"}
        return RECURRENT.format(**values, direction_units=self.direction_units, bridge=self.bridge, dropout=dropout)

    def parameters(self, entries: int) -> int:
        """As for a Transformer."""
        units, embedding, directions = self.units, self.embedding_units, 2 if self.bidirectional else 1
        # Each direction has its own stack of layers: OpenNMT-tf joins the directions above the last layer.
        inputs = [embedding, *[self.direction_units] * (self.encoder_layers - 1)]
        encoder = sum(directions * self._cell(size, self.direction_units) for size in inputs)
        # The first layer reads the attention's output, too (input feeding).
        inputs = [embedding + units, *[units] * (self.decoder_layers - 1)]
        decoder = sum(self._cell(size, units) for size in inputs)
        attention = units * units + 2 * units * units
        states = 2 if self.cell == "lstm" else 1
        encoder_states, decoder_states = (states * units * n for n in (self.encoder_layers, self.decoder_layers))
        bridge = (encoder_states + 1) * decoder_states if self.bridge == "DenseBridge" else 0
        embeddings = _embeddings(entries, embedding, units, self.share_embeddings)
        return encoder + decoder + attention + bridge + embeddings

    def _cell(self, inputs: int, units: int) -> int:
        gates, biases = (4, 1) if self.cell == "lstm" else (3, 2)  # Keras' GRU has a bias for each of two products
        return gates * units * (inputs + units + biases)


@dataclass(frozen=True)
class ConditionalShape:
    """Nematus' conditional GRU: one layer in both directions, and a decoder that attends inside its step.

    A step of the encoder passes ``encoder_transitions`` gated recurrent units, one of the decoder
    ``decoder_transitions``, with additive attention after the first (Sennrich et al. 2017, "Nematus", and "The
    University of Edinburgh's Neural MT Systems for WMT17"). units: of a state, in each direction.
    """

    encoder_transitions: int
    decoder_transitions: int
    units: int
    embedding_units: int
    share_embeddings: bool = False

    def __post_init__(self) -> None:
        if self.decoder_transitions < 2:
            raise ValueError("decoder_transitions: at least 2 are needed, one of them behind the attention")

    def __str__(self) -> str:
        return shape_text.conditional(**asdict(self))

    def model_description(self, dropout: float) -> str:
        """As for a Transformer; dropout acts on embeddings, on the encoder's states and on the decoder's output."""
        return own_model("conditional_gru", "ConditionalGRU", asdict(self) | {"dropout": dropout})

    def parameters(self, entries: int) -> int:
        """As for a Transformer."""
        units, embedding, contexts = self.units, self.embedding_units, 2 * self.units
        transition = 3 * units * (units + 1)
        encoder = 2 * (self.encoder_transitions * transition + 3 * units * embedding)
        decoder = self.decoder_transitions * transition + 3 * units * (embedding + contexts)
        attention = units * contexts + contexts * contexts + 2 * contexts
        start = (contexts + 1) * units
        hidden = (embedding + units + contexts + 3) * embedding
        embeddings = _embeddings(entries, embedding, embedding, self.share_embeddings)
        return encoder + decoder + attention + start + hidden + embeddings


@dataclass(frozen=True)
class FullyConnectedShape:
    """A recurrent bottom and fully connected layers on top (Devlin 2017, "Sharp Models on Dull Hardware").

    The encoder is a gated recurrent layer in both directions, the decoder one such unit with additive attention and
    ``fully_connected_layers`` of ``fully_connected_units`` above it, with residual connections. units: of a state, in
    each direction.
    """

    fully_connected_layers: int
    fully_connected_units: int
    units: int
    embedding_units: int
    share_embeddings: bool = False

    def __post_init__(self) -> None:
        _require_width(self, "fully_connected_units")

    def __str__(self) -> str:
        shared = " shared" if self.share_embeddings else ""
        layers = f"{self.fully_connected_layers}x{self.fully_connected_units}"
        return f"GRU d{self.units} e{self.embedding_units} FC {layers}{shared}"

    def model_description(self, dropout: float) -> str:
        """As for a Transformer; dropout acts on embeddings, on the encoder's states and after every layer on top."""
        return own_model("fully_connected", "FullyConnectedGRU", asdict(self) | {"dropout": dropout})

    def parameters(self, entries: int) -> int:
        """As for a Transformer."""
        units, embedding, contexts, layer = self.units, self.embedding_units, 2 * self.units, self.fully_connected_units
        unit = 3 * units * (units + embedding + 1)
        attention = units * units + (contexts + 1) * units + units
        start = (contexts + 1) * units
        layers = (units + 1) * layer + (self.fully_connected_layers - 1) * (layer + 1) * layer
        projection = units * layer if units != layer else 0
        embeddings = _embeddings(entries, embedding, layer, self.share_embeddings)
        return 3 * unit + 3 * units * contexts + attention + start + layers + projection + embeddings


@dataclass(frozen=True)
class CustomShape:
    """A model of OpenNMT-tf's catalogue by name, or a ``.py`` file with a function ``model``."""

    model: str

    def __str__(self) -> str:
        return self.model

    @property
    def file(self) -> Path | None:
        return Path(self.model) if self.model.endswith(".py") else None

    def model_description(self, dropout: float) -> str:
        """As for a Transformer, without the dropout. Raises ValueError for a file that cannot be read."""
        if self.file is None:
            return CATALOG.format(model=self.model)
        try:
            return self.file.read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(f"no model description: {error}") from None

    def parameters(self, entries: int) -> None:
        """None: unknown before OpenNMT-tf builds the model."""


Shape = TransformerShape | RecurrentShape | ConditionalShape | FullyConnectedShape | CustomShape
KINDS: dict[str, tuple[type[Shape], str]] = {
    "model": (CustomShape, "model of the catalogue"),
    "cell": (RecurrentShape, "recurrent model"),
    "decoder_transitions": (ConditionalShape, "conditional recurrent model"),
    "fully_connected_layers": (FullyConnectedShape, "recurrent model with fully connected layers"),
}


def shape(values: Values) -> Shape:
    """The shape of these values; None and False count as absent. Raises ValueError for missing or wrong values."""
    given = present(values)
    kind, name = _kind(given)
    required = [field.name for field in fields(kind) if field.default is MISSING]
    if foreign := sorted(given.keys() - {field.name for field in fields(kind)}):
        raise ValueError(f"{', '.join(foreign)}: not of a {name}")
    if missing := [key for key in required if key not in given]:
        raise ValueError(f"{', '.join(missing)} missing; a {name} needs {', '.join(required)}")
    return kind(**given)


def self_attention(values: Mapping[str, Any] | None) -> bool:
    """Whether this is a Transformer whose decoder has self-attention, or a model by its name."""
    values = present(values or {})
    return (
        _kind(values)[0] in (TransformerShape, CustomShape) and values.get("decoder", SELF_ATTENTION) == SELF_ATTENTION
    )


def architecture(values: Mapping[str, Any]) -> str:
    """The architecture, for messages: ``averaging decoder``, ``recurrent model``, ``Transformer``."""
    values = present(values)
    kind, name = _kind(values)
    decoder = values.get("decoder", SELF_ATTENTION)
    return f"{decoder} decoder" if kind is TransformerShape and decoder != SELF_ATTENTION else name


_LAYERS = r"(?P<encoder_layers>\d+):(?P<decoder_layers>\d+)"
_WIDTHS = r"d(?P<units>\d+) e(?P<embedding_units>\d+)"
NOTATIONS: dict[type[Shape], str] = {  # of the texts, without the end " shared"
    TransformerShape: rf"{_LAYERS} d(?P<units>\d+) ff(?P<ffn_units>\d+) h(?P<heads>\d+)"
    rf"( (?P<decoder>{'|'.join(DECODERS)}))?",
    RecurrentShape: rf"(?P<bidirectional>bi)?(?P<cell>GRU|LSTM) {_LAYERS} {_WIDTHS}",
    ConditionalShape: rf"conditional GRU (?P<encoder_transitions>\d+):(?P<decoder_transitions>\d+) {_WIDTHS}",
    FullyConnectedShape: rf"GRU {_WIDTHS} FC (?P<fully_connected_layers>\d+)x(?P<fully_connected_units>\d+)",
}


def of_text(text: str) -> tuple[type[Shape], Values]:
    """The kind of the shape that a text names, as records and model.json have it, and its values.

    Values of models from elsewhere may be none that the kind takes. Text without this form is a name: ``CustomShape``.
    """
    for kind, notation in NOTATIONS.items():
        if found := re.fullmatch(f"{notation}(?P<share_embeddings> shared)?", text):
            given = {name: value for name, value in found.groupdict().items() if value}
            flags = {"bidirectional", "share_embeddings"}
            return kind, {name: name in flags or _read(value) for name, value in given.items()}
    return CustomShape, {"model": text}


def _read(value: str) -> int | str:
    return int(value) if value.isdigit() else value.lower()


def decoder_kind(text: str) -> str:
    """The kind of decoder in the text of a shape: one of DECODERS, its recurrent unit, or the name of a model."""
    kind, values = of_text(text)
    if kind is RecurrentShape:
        return str(values["cell"]).upper()
    named = {
        ConditionalShape: "conditional GRU",
        FullyConnectedShape: "GRU below fully connected layers",
        CustomShape: text,
    }
    return named.get(kind) or values.get("decoder", SELF_ATTENTION)


def present(values: Mapping[str, Any]) -> Values:
    """Those that are given: None and False count as absent."""
    return {key: value for key, value in values.items() if value not in (None, False)}


def _kind(present: Values) -> tuple[type[Shape], str]:
    """The class of a shape and its name in messages."""
    return next((KINDS[key] for key in KINDS if key in present), (TransformerShape, "Transformer"))


@cache
def registry() -> dict[str, Values]:
    """The values of the shapes in shapes.yaml, by name."""
    values: dict[str, Values] = read_yaml(Path(__file__).with_name("shapes.yaml"))
    return values


def _require_width(shape: Any, name: str) -> None:
    """Raises ValueError for shared embeddings that are not as wide as the softmax weights."""
    if shape.share_embeddings and shape.embedding_units != getattr(shape, name):
        raise ValueError(f"share_embeddings needs embedding_units equal to {name}, as the softmax weights are tied too")


def _embeddings(entries: int, embedding: int, output: int, shared: bool) -> int:
    """Parameters of source and target embeddings, softmax weights and biases."""
    return entries * embedding + entries if shared else 2 * entries * embedding + entries * output + entries
