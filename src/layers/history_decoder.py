"""A Transformer whose decoder looks back at what was said in another way than by self-attention."""

from typing import Any

import opennmt
import tensorflow as tf
from opennmt.decoders import SelfAttentionDecoder
from opennmt.layers.transformer import SelfAttentionDecoderLayer, TransformerLayerWrapper

from layers.averaging import Averaging
from layers.simple_recurrence import SimpleRecurrence

AVERAGING = {  # whether there is a feed-forward layer behind the mean, and a gate
    "averaging": (True, True),
    "averaging-gated": (False, True),
    "averaging-ungated": (True, False),
    "averaging-plain": (False, False),
}
SSRU = "ssru"


class HistoryDecoder(SelfAttentionDecoder):
    """OpenNMT-tf's decoder with ``history`` in place of self-attention: a key of AVERAGING, or SSRU."""

    def __init__(self, history: str, num_layers: int, units: int, heads: int, ffn_units: int, dropout: float):
        options = {"dropout": dropout, "attention_dropout": dropout, "ffn_dropout": dropout}
        super().__init__(0, units, heads, ffn_units, **options)
        self.history = history
        self.layers = [_layer(history, units, heads, ffn_units, dropout, options) for _ in range(num_layers)]

    def _get_initial_state(self, batch_size: Any, dtype: tf.DType, initial_state: Any = None) -> list[dict[str, Any]]:
        states = super()._get_initial_state(batch_size, dtype, initial_state)
        for layer, state in zip(self.layers, states, strict=True):
            state["self_kv"] = layer.self_attention.layer.initial_state(batch_size, dtype)
        return states

    def _get_state_reorder_flags(self) -> list[dict[str, Any]]:
        flags = super()._get_state_reorder_flags()
        for layer, flag in zip(self.layers, flags, strict=True):
            flag["self_kv"] = tuple(True for _ in layer.self_attention.layer.initial_state(1, tf.float32))
        return flags


def _layer(
    history: str, units: int, heads: int, ffn_units: int, dropout: float, options: dict[str, float]
) -> SelfAttentionDecoderLayer:
    layer = SelfAttentionDecoderLayer(units, heads, ffn_units, **options)
    if history == SSRU:
        sublayer = SimpleRecurrence(units)
    else:
        deep, gated = AVERAGING[history]
        sublayer = Averaging(units, deep, gated, dropout)
    layer.self_attention = TransformerLayerWrapper(sublayer, dropout)
    return layer


class HistoryTransformer(opennmt.models.Transformer):
    """A Transformer with a HistoryDecoder. The arguments are those of formats.shape.Transformer, dropout as a share."""

    def __init__(
        self, decoder: str, encoder_layers: int, decoder_layers: int, units: int, ffn_units: int, heads: int,
        share_embeddings: bool, dropout: float,
    ):  # fmt: skip
        sharing = opennmt.models.EmbeddingsSharingLevel
        super().__init__(
            num_layers=(encoder_layers, 0),
            num_units=units,
            num_heads=heads,
            ffn_inner_dim=ffn_units,
            dropout=dropout,
            attention_dropout=dropout,
            ffn_dropout=dropout,
            share_embeddings=sharing.ALL if share_embeddings else sharing.NONE,
        )
        self.decoder = HistoryDecoder(decoder, decoder_layers, units, heads, ffn_units, dropout)
