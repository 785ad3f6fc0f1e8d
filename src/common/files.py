"""Atomic outputs, JSON and checksums."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary path beside ``path``, which is renamed to ``path`` when the block ends without an error.

    The block creates a file or a folder there. An existing folder cannot be replaced in one step, so it is renamed
    first, and renamed back if the replacement fails.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part, old = (path.with_name(f".{path.name}.{os.getpid()}.{name}") for name in ("part", "old"))
    try:
        yield part
        if path.is_dir():
            os.replace(path, old)
        os.replace(part, path)
    finally:
        if old.exists() and not path.exists():
            os.replace(old, path)
        shutil.rmtree(old, ignore_errors=True)
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def write_text(path: str | os.PathLike, text: str) -> None:
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | os.PathLike) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def sha256(path: str | os.PathLike) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
