"""The shape of a model in words, as ``model.json`` has it."""

from collections.abc import Mapping
from typing import Any

SELF_ATTENTION = "self-attention"


def text(values: Mapping[str, Any]) -> str:
    """The shape with these values: of a conditional GRU if they have its transitions, else of a Transformer."""
    return (conditional if "decoder_transitions" in values else transformer)(**values)


def transformer(
    encoder_layers: int,
    decoder_layers: int,
    units: int,
    ffn_units: int,
    heads: int,
    share_embeddings: bool = False,
    decoder: str = SELF_ATTENTION,
) -> str:
    """As in ``6:6 d512 ff2048 h8 shared``. decoder: how it reads what it has written."""
    kind = "" if decoder == SELF_ATTENTION else f" {decoder}"
    shared = " shared" * share_embeddings
    return f"{encoder_layers}:{decoder_layers} d{units} ff{ffn_units} h{heads}{kind}{shared}"


def conditional(
    encoder_transitions: int, decoder_transitions: int, units: int, embedding_units: int, share_embeddings: bool = False
) -> str:
    """As in ``conditional GRU 1:2 d1024 e512 shared``."""
    shared = " shared" * share_embeddings
    return f"conditional GRU {encoder_transitions}:{decoder_transitions} d{units} e{embedding_units}{shared}"
