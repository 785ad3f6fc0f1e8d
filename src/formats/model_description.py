"""Templates of ``model_description.py``, the Python file from which OpenNMT-tf builds a model.

formats.shape fills in the names in braces: layers, units, ``dropout`` as a share, ``sharing`` ALL or NONE.
"""

TRANSFORMER = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
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
HISTORY = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
from layers.history_decoder import HistoryTransformer


def model():
    return HistoryTransformer(
        decoder="{decoder}",
        encoder_layers={encoder_layers},
        decoder_layers={decoder_layers},
        units={units},
        ffn_units={ffn_units},
        heads={heads},
        share_embeddings={share_embeddings},
        dropout={dropout},
    )
'''
RECURRENT = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
import opennmt
import tensorflow as tf
import tensorflow_addons as tfa
from layers.embeddings import embedder


def model():
    return opennmt.models.SequenceToSequence(
        source_inputter=embedder({embedding_units}, shared={share_embeddings}),
        target_inputter=embedder({embedding_units}, shared={share_embeddings}),
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
CONDITIONAL = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
from layers.conditional_gru import ConditionalGRU


def model():
    return ConditionalGRU(
        encoder_transitions={encoder_transitions},
        decoder_transitions={decoder_transitions},
        units={units},
        embedding_units={embedding_units},
        share_embeddings={share_embeddings},
        dropout={dropout},
    )
'''
FULLY_CONNECTED = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
from layers.fully_connected import FullyConnectedGRU


def model():
    return FullyConnectedGRU(
        fully_connected_layers={fully_connected_layers},
        fully_connected_units={fully_connected_units},
        units={units},
        embedding_units={embedding_units},
        share_embeddings={share_embeddings},
        dropout={dropout},
    )
'''
CATALOG = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
import opennmt


def model():
    return opennmt.models.get_model_from_catalog("{model}")
'''
