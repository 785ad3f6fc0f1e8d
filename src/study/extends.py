"""Configuration files as YAML, merged with the files that they extend."""

from pathlib import Path
from typing import Any

import yaml

from common.errors import UserError
from study.schema import Config

ANOTHER = {"like", "model", "cell"}  # keys of a shape that make it another one; the numbers of its base do not fit it


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses duplicate keys: PyYAML keeps the last one silently, and a second corpus of the same name is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        for position, (key, _) in enumerate(node.value):
            if key.value in keys[:position]:
                raise yaml.MarkedYAMLError(problem=f"key '{key.value}' is there twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


def read(path: Path) -> Config:
    """What ``written`` gives, without the keys that are null."""
    return without_nulls(written(path))


def written(path: Path) -> Config:
    """The file merged with its base; a key that is null there stays, as it may switch off what a study inherits.

    Raises UserError for a file that is missing, is not YAML in UTF-8, or extends itself.
    """
    return _extended(path, ())


def without_nulls(value: Any) -> Any:
    """Null means "as if the key were absent", so a study can drop a corpus of its base."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}


def merged(base: Any, top: Any, key: str = "") -> Any:
    """``top`` over ``base``: mappings are merged key by key; any other value, and a shape of another kind, replaces
    the one below. key: that of both values.
    """
    if not (isinstance(base, dict) and isinstance(top, dict)) or (key == "shape" and ANOTHER & top.keys()):
        return top
    return base | {name: merged(base.get(name), value, name) for name, value in top.items()}


def _extended(path: Path, extending: tuple[Path, ...]) -> Config:
    if path.resolve() in extending:
        raise UserError(f"{extending[0]}: extends: {path} is its own base")
    config = _parsed(path)
    base = config.pop("extends", None)
    if base is None:
        return config
    if not isinstance(base, str):
        raise UserError(f"{path}: extends: {base!r} is not the name of a file")
    if not (path.parent / base).is_file():
        raise UserError(f"{path}: extends: no file {path.parent / base}")
    return merged(_extended(path.parent / base, (*extending, path.resolve())), config)


def _parsed(path: Path) -> Config:
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise UserError(f"{path}:{line} not YAML: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: not a mapping of keys to values")
    return config
