"""Outputs that appear whole or not at all, and checksums."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it into place when the block ends without an error.

    The block may make a file or a folder there. What is already at ``path`` is replaced only then: a folder, which
    cannot be replaced in one step, stands aside meanwhile.
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
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | os.PathLike) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def sha256(path: str | os.PathLike) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
