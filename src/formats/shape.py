"""The shape of a Transformer as data, and as the Python file that OpenNMT-tf reads it from."""

from dataclasses import asdict, dataclass

_DESCRIPTION = '''"""Written by distill.train; OpenNMT-tf builds the model from it."""
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


@dataclass(frozen=True)
class Shape:
    """Layers, units and heads; ``share_embeddings`` ties source, target and softmax weights."""

    encoder_layers: int
    decoder_layers: int
    units: int
    ffn_units: int
    heads: int
    share_embeddings: bool = False

    def __str__(self) -> str:
        shared = " shared" if self.share_embeddings else ""
        return f"{self.encoder_layers}:{self.decoder_layers} d{self.units} ff{self.ffn_units} h{self.heads}{shared}"

    def model_description(self, dropout: float) -> str:
        """The source of a ``model_description.py``, the one file OpenNMT-tf needs to build the model."""
        values = asdict(self)
        sharing = "ALL" if values.pop("share_embeddings") else "NONE"
        return _DESCRIPTION.format(**values, dropout=dropout, sharing=sharing)
