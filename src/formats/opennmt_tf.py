"""OpenNMT-tf's files: ``vocabulary.txt``, and folders with a checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.files import StrPath

_, START, END = CONTROL = ("<blank>", "<s>", "</s>")  # the first entries of every file
UNKNOWN = "<unk>"  # not in the file: OpenNMT-tf adds it as the last entry


def read_vocabulary(path: StrPath) -> list[str]:
    """The entries of a file, separated by line feeds only: a piece may contain other line separators."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]


def load_checkpoint(folder: Path, search: Mapping[str, object] | None = None) -> Any:
    """Load a model of train.train. search: decoding parameters. Raises UserError for damage or no checkpoint."""
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    vocabulary = str(folder / "vocabulary.txt")
    first_bytes.check_files([folder / "checkpoint", folder / "vocabulary.txt", *sorted(folder.glob("*ckpt*"))])
    try:
        model = opennmt.load_model(str(folder))
        model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}, params=search)
        restored = Checkpoint(model, model_dir=str(folder)).restore(weights_only=True)
        model.create_variables()
    except (ValueError, LookupError, OSError, RuntimeError, SyntaxError, tf.errors.OpError) as error:
        problem = "a file is damaged, or the vocabulary is not that of the checkpoint"
        raise UserError(f"{folder}: OpenNMT-tf cannot load this model: {problem}: {error}") from error
    if restored is None:
        raise UserError(f"{folder}: no checkpoint in this folder; train the system or export the model again")
    return model
