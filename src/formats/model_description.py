"""``model_description.py``, the Python file from which OpenNMT-tf builds a model.

formats.shape fills in the templates' names in braces: layers, units, ``dropout`` as a share, ``sharing`` ALL or NONE.
"""

import json
from collections.abc import Mapping


def own_model(module: str, name: str, values: Mapping[str, object]) -> str:
    """The text for a model of ``layers``: its module, its class, and the arguments of the class."""
    texts = {key: json.dumps(value) if isinstance(value, str) else value for key, value in values.items()}
    arguments = "".join(f"        {key}={text},\n" for key, text in texts.items())
    return OWN.format(module=module, name=name, arguments=arguments)


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
OWN = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
from layers.{module} import {name}


def model():
    return {name}(
{arguments}    )
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
CATALOG = '''"""Written by train.train; OpenNMT-tf builds the model from it."""
import opennmt


def model():
    return opennmt.models.get_model_from_catalog("{model}")
'''
