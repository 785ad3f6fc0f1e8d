"""Atomic outputs, JSON and checksums."""

import errno
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nmt_frontier.errors import UserError

Document = TypeVar("Document")
StrPath = str | os.PathLike[str]

HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
PROCESSES = Path("/proc")  # of Linux
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_path(path: StrPath) -> Iterator[Path]:
    """A temporary path beside ``path`` for a file or folder, renamed to ``path`` when the block ends without an error.

    An existing folder cannot be replaced in one step, so it is renamed first, and renamed back if that fails. What
    killed processes left is deleted. Raises UserError for a device or a pipe, which a file would replace, for a path
    without a name, and at the end of the block if a file would replace a folder.
    """
    path = Path(path)
    if not path.name:
        raise UserError(f"{path}: has no name of its own; name a file or a folder")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"{path}: is neither a file nor a folder; name another output")
    path.parent.mkdir(parents=True, exist_ok=True)
    _delete_abandoned(path)
    part, old = (path.with_name(f".{path.name}.{HOST}.{os.getpid()}.{name}") for name in ("part", "old"))
    try:
        yield part
        if path.is_dir():
            if part.is_file():
                raise UserError(f"{path}: is a folder; name a file")
            os.replace(path, old)
        os.replace(part, path)
        if old.exists():  # replaced: `finally` must not restore it
            os.replace(old, part)
    except OSError as error:
        if error.errno in FULL:  # the system names no file, or the one that was copied
            error.filename = str(path)
        raise
    finally:
        if old.exists() and not path.exists():
            os.replace(old, path)
        _delete(part)


def _delete_abandoned(path: Path) -> None:
    """Delete what dead processes of this machine left; restore a folder that was renamed but not replaced."""
    for found in path.parent.glob(f".{glob.escape(path.name)}.{glob.escape(HOST)}.*"):
        *_, process, kind = found.name.split(".")
        if kind not in ("part", "old") or _runs(process):
            continue
        if kind == "old" and not path.exists():
            with suppress(FileNotFoundError):  # another process was first
                os.replace(found, path)
        else:
            _delete(found)


def _runs(process: str) -> bool:
    """Whether a process of this machine is there; on Windows, where asking it would end it, all are."""
    if PROCESSES.exists():
        return Path(PROCESSES, process).exists()
    try:
        if os.name == "posix":
            os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:  # of another user
        pass
    return True


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_text(path: StrPath, text: str) -> None:
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: StrPath, value: Any) -> None:
    """Write JSON; a ``msgspec.Struct`` in it becomes an object with its fields in order."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, default=msgspec.to_builtins) + "\n")


def read_json(path: StrPath) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def typed(value: Any, kind: type[Document], problem: str) -> Document:
    """JSON as this type. Raises UserError with the problem, the file and what to do, and with the wrong field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UserError(f"{problem} ({error})") from None


def document(path: Path, kind: type[Document], problem: str) -> Document:
    """The JSON of a file as this type. Raises UserError with the path and the problem for another file."""
    try:
        content = read_json(path)
    except ValueError:
        content = None
    return typed(content, kind, f"{path}: {problem}")


def read_yaml(path: StrPath) -> Any:
    """The content of a YAML file of the project. Raises as ``yaml_value``."""
    return yaml_value(Path(path).read_text(encoding="utf-8"))


def yaml_value(text: str | bytes, scalars: bool = True) -> Any:
    """The value of a YAML text; libyaml, where PyYAML has it, takes a seventh of the time.

    scalars: False leaves ``yes``, ``1`` and the like as text. Raises ValueError for what is no YAML, and UserError if
    PyYAML is not installed.
    """
    try:
        import yaml  # inside: to decode needs none
    except ImportError as error:
        raise UserError(f"YAML is read with PyYAML ({error}): pip install PyYAML") from None
    names = ("CSafeLoader", "SafeLoader") if scalars else ("CBaseLoader", "BaseLoader")
    loader = next(getattr(yaml, name) for name in names if hasattr(yaml, name))
    try:
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def sha256(path: StrPath) -> str:
    with open(path, "rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()
