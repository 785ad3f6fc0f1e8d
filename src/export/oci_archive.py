"""What an image holds: the layers of an OCI archive, with their bytes
(https://github.com/opencontainers/image-spec).
"""

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any


@dataclass(frozen=True)
class Layer:
    """holds: names at the top. files: bytes of its files, unpacked. packed: bytes in the archive."""

    holds: tuple[str, ...]
    files: int
    packed: int


def layers(archive: Path) -> list[Layer]:
    """The layers of the only image of an archive, the base first."""
    with tarfile.open(archive) as outer:
        manifest = _blob(outer, _json(outer, "index.json")["manifests"][0]["digest"])
        return [_layer(outer, entry) for entry in manifest["layers"]]


def _layer(outer: tarfile.TarFile, entry: dict[str, Any]) -> Layer:
    with tarfile.open(fileobj=outer.extractfile(_place(entry["digest"])), mode="r:*") as files:
        members = files.getmembers()
    names = {PurePosixPath("/", member.name).parts[1] for member in members if member.name.strip("./")}
    return Layer(tuple(sorted(names)), sum(member.size for member in members if member.isreg()), entry["size"])


def _blob(outer: tarfile.TarFile, digest: str) -> Any:
    return _json(outer, _place(digest))


def _place(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _json(outer: tarfile.TarFile, name: str) -> Any:
    return json.load(outer.extractfile(name))
