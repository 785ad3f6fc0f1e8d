"""OpenNMT-tf on TensorFlow: the baseline, with the graph and the loop of its own inference.

Beam search follows the rules of CTranslate2 (decode.engines.opennmt_tf_search), greedy search is OpenNMT-tf's own.
TensorFlow takes as many threads, inside and between operations, as the process may use cores.
"""
# ruff: noqa: E402 (TensorFlow reads its environment, and warns, when it is imported)

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
warnings.filterwarnings("ignore", module="tensorflow_addons")

import opennmt
import tensorflow as tf
from opennmt.utils.checkpoint import Checkpoint
from opennmt.utils.decoding import DecodingResult

from decode.engines import Batch, Engine, Search
from decode.engines.opennmt_tf_search import BeamSearch
from formats.decoding import longest_output
from formats.errors import UserError

tf.get_logger().setLevel("ERROR")


class OpenNMTTF(Engine):
    name = "opennmt-tf"
    version = opennmt.__version__
    effective_compute_type = "float32"

    def __init__(self, folder: Path, description: dict[str, Any], search: Search):
        if search.vocabulary_map:
            raise UserError(f"{folder}: OpenNMT-tf has no vocabulary map; decode with --no-vocabulary-map")
        vocabulary, most = str(folder / "vocabulary.txt"), longest_output(description)
        try:
            model = opennmt.load_model(str(folder))
            model.initialize(
                {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary},
                params={
                    "beam_width": search.beam_size,
                    "maximum_decoding_length": most,
                },
            )
            checkpoint = Checkpoint(model, model_dir=str(folder)).restore(weights_only=True)
            model.create_variables()
        except (ValueError, LookupError, OSError, SyntaxError, tf.errors.OpError) as error:
            raise UserError(f"{folder}: OpenNMT-tf cannot load this model, a file is damaged: {error}") from error
        if checkpoint is None:
            raise UserError(f"{folder}: no checkpoint in this folder; export the model again")
        if search.beam_size > 1:
            model.decoder.dynamic_decode = searching(model.decoder.dynamic_decode, search, most)
        self._infer = model.serve_function()

    def translate(self, batch: Batch) -> Batch:
        lengths = [len(sentence) for sentence in batch]
        padded = [sentence + [""] * (max(lengths) - len(sentence)) for sentence in batch]
        predictions = self._infer({"tokens": tf.constant(padded), "length": tf.constant(lengths)})
        best = predictions["tokens"][:, 0].numpy(), predictions["length"][:, 0].numpy()
        return [[piece.decode() for piece in pieces[:length]] for pieces, length in zip(*best, strict=True)]


def searching(dynamic_decode: Callable, search: Search, most: int) -> Callable:
    """OpenNMT-tf's ``Decoder.dynamic_decode`` with our beam search, for which OpenNMT-tf has no option."""
    strategy = BeamSearch(search.beam_size, search.length_penalty, maximum=most)

    def decode(*args: Any, **options: Any) -> DecodingResult:
        return dynamic_decode(*args, **{**options, "decoding_strategy": strategy})

    return decode
