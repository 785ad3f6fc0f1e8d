"""OpenNMT-tf on TensorFlow: the baseline, with the graph and the loop of its own inference.

Beam search follows CTranslate2's rules (decode.engines.opennmt_tf_search); greedy search is OpenNMT-tf's own.
TensorFlow uses as many threads, within and between operations, as the process may use cores.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from formats import opennmt_tf
from nmt_frontier.errors import UserError
from nmt_frontier.limits import longest_output
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search.engine import Batch, Engine, Search

Tensors = dict[str, Any]  # by name
Inference = Callable[[Tensors], Tensors]


class OpenNMTTF(Engine):
    """Decodes averaged checkpoints of any shape, always in float32."""

    name = "opennmt-tf"
    label = "OpenNMT-tf"
    packages = ("opennmt", "tensorflow")
    types = ("float32",)
    weights = "checkpoint"
    files: ClassVar = {
        "model_description.py": "the shape, as OpenNMT-tf reads it; `checkpoint` and `ckpt-*` are its weights",
    }
    effective_compute_type = "float32"

    @classmethod
    def exported(cls, types: Sequence[str]) -> list[str]:
        return [*cls.types]

    @classmethod
    def folder(cls, quantization: str) -> str:
        return cls.name

    def __init__(self, folder: Path, description: Description, search: Search):
        if search.threads > 1:
            raise UserError(f"{folder}: OpenNMT-tf uses all cores in any case; leave out --threads")
        # TensorFlow reads its environment, and tensorflow_addons warns, at import.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        warnings.filterwarnings("ignore", module="tensorflow_addons")
        import tensorflow as tf

        tf.get_logger().setLevel("ERROR")
        longest = longest_output(description)
        lengths = {"beam_width": search.beam_size, "maximum_decoding_length": longest}
        model = opennmt_tf.load_checkpoint(folder, lengths)
        if search.beam_size > 1:
            model.decoder.dynamic_decode = with_beam_search(model.decoder.dynamic_decode, search, longest)
        self._tf, self._model, self._infer = tf, model, inference(model)

    def decode(self, batch: Batch) -> Batch:
        lengths = [len(sentence) for sentence in batch]
        padded = [sentence + [""] * (max(lengths) - len(sentence)) for sentence in batch]
        features = {"tokens": self._tf.constant(padded), "length": self._tf.constant(lengths)}
        try:
            predictions = self._infer(features)
        except self._tf.errors.OperatorNotAllowedInGraphError:  # a user's model has conditions on tensors
            self._infer = self._model.serve_function()
            return self.decode(batch)
        except self._tf.errors.OpError as error:
            raise RuntimeError(str(error).splitlines()[0]) from error
        best = predictions["tokens"][:, 0].numpy(), predictions["length"][:, 0].numpy()
        return [[piece.decode() for piece in pieces[:length]] for pieces, length in zip(*best, strict=True)]


def inference(model: Any) -> Inference:
    """OpenNMT-tf's ``serve_function`` without AutoGraph, whose rewriting takes longer than tracing the model.

    OpenNMT-tf's models need it only for one loop (opennmt_tf_search).
    """
    import tensorflow as tf

    specs = model.features_inputter.input_signature()
    signature = {name: tf.TensorSpec.from_spec(spec, name=name) for name, spec in specs.items()}

    def run(features: Tensors) -> Tensors:
        predictions: Tensors = model.infer(model.features_inputter.make_features(features=features.copy()))
        return predictions

    graph: Inference = tf.function(run, input_signature=(signature,), autograph=False)
    return graph


def with_beam_search(dynamic_decode: Callable[..., Any], search: Search, longest: int) -> Callable[..., Any]:
    """OpenNMT-tf's ``Decoder.dynamic_decode`` with the beam search of opennmt_tf_search.

    longest: maximum length of a hypothesis in pieces.
    """
    from decode.engines.opennmt_tf_search import BeamSearch  # a subclass of OpenNMT-tf's

    strategy = BeamSearch(search.beam_size, search.length_penalty, maximum=longest)

    def decode(*args: Any, **options: Any) -> Any:
        return dynamic_decode(*args, **{**options, "decoding_strategy": strategy})

    return decode
