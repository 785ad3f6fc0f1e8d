"""Descriptions of model folders."""

import json

from nmt_frontier.model.model_folder import Description


def of_type(quantization: str, engine: str = "native", **fields) -> Description:
    """A description with the fields that every folder has."""
    return Description(**{"engine": engine, "quantization": quantization, "vocabulary_map": False} | fields)


def described(*folders):
    from measure.configuration import ModelFolder  # inside: the tests of the runtime have no pipeline

    return [ModelFolder.read(folder) for folder in folders]


def redescribe(folder, **changes):
    """Change ``model.json``, as damage or another version does; a value of None drops its key."""
    path = folder / "model.json"
    changed = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in changed.items() if changes.get(key, value) is not None}))
