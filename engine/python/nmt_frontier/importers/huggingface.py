"""Read models from folders of Hugging Face: safetensors, no torch and no pickle.

Each family of architectures is a module; names of weights, positions and the first input of the decoder are those of
transformers.
"""

from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import huggingface_bart, huggingface_t5
from nmt_frontier.importers.found import Found, ImportOptions
from nmt_frontier.importers.huggingface_folder import CONFIG

FAMILIES = (huggingface_bart, huggingface_t5)  # modules with KINDS, names by `model_type`, and `read`


def recognised(source: Path) -> bool:
    """Whether this is a folder with a configuration of transformers."""
    try:
        return source.is_dir() and "model_type" in read_json(source / CONFIG)
    except (OSError, ValueError, TypeError):
        return False


def read(source: Path, options: ImportOptions) -> Found:
    """The model. Raises UserError for files that are missing, do not fit, or that the native engine cannot compute."""
    kind = read_json(source / CONFIG)["model_type"]
    for family in FAMILIES:
        if kind in [*family.KINDS]:  # a damaged file may hold anything
            found: Found = family.read(source, options)
            return found
    known = ", ".join(name for family in FAMILIES for name in family.KINDS)
    raise UserError(f"{source}: is a model of type {kind}; of Hugging Face's this reads {known}")
