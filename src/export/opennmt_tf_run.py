"""Read a run of OpenNMT-tf: model_description.py, vocabulary.txt and a checkpoint. Its code and TensorFlow load it."""

import math
from pathlib import Path

from export import read_opennmt_tf
from formats import opennmt_tf
from nmt_frontier.importers.found import Found, ImportOptions, tokenizer_files, transformer


def recognised(source: Path) -> bool:
    """Whether this is a folder in which OpenNMT-tf trained."""
    return (source / "model_description.py").is_file()


def read(source: Path, options: ImportOptions) -> Found:
    """The model of the last checkpoint. Raises UserError for files that are missing, damaged or do not fit."""
    tokenizer = tokenizer_files(source, options, "its vocabulary is a list of pieces")
    loaded = opennmt_tf.load_checkpoint(source)
    model = read_opennmt_tf.of_model(loaded, read_opennmt_tf.vocabulary(source), source)
    is_transformer = model.metadata["architecture"] == "transformer"
    return Found(
        toolkit="OpenNMT-tf",
        model=model,
        shape=transformer(model) if is_transformer else type(loaded).__name__,
        parameters=sum(math.prod(variable.shape) for variable in loaded.trainable_variables),
        tokenizer=tokenizer,
    )
