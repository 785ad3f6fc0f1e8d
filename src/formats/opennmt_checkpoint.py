"""Load OpenNMT-tf models: a folder with the averaged checkpoint, its vocabulary and model_description.py."""

from pathlib import Path
from typing import Any

from common.errors import UserError


def load(folder: Path, search: dict[str, Any] | None = None) -> Any:
    """Load the model of a folder that train.train wrote. search: OpenNMT-tf's parameters of decoding.

    Raises UserError for a damaged folder, or one without a checkpoint.
    """
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    vocabulary = str(folder / "vocabulary.txt")
    try:
        model = opennmt.load_model(str(folder))
        model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}, params=search)
        restored = Checkpoint(model, model_dir=str(folder)).restore(weights_only=True)
        model.create_variables()
    except (ValueError, LookupError, OSError, RuntimeError, SyntaxError, tf.errors.OpError) as error:  # damage is any
        problem = "a file is damaged, or the vocabulary is not that of the checkpoint"
        raise UserError(f"{folder}: OpenNMT-tf cannot load this model: {problem}: {error}") from error
    if restored is None:
        raise UserError(f"{folder}: no checkpoint in this folder; train the system or export the model again")
    return model
