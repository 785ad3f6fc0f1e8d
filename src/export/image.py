"""Build a submission as an image (an OCI archive), and list what each of its layers takes.

``podman load -i IMAGE``, ``skopeo copy oci-archive:IMAGE docker-daemon:NAME`` and ``apptainer build`` read the archive.
<name>.SIZES.md beside it has sizes that are read from the archive. It needs buildah.
"""

import argparse
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tabulate import tabulate

from export import submission
from export.translate_command import ROOT
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, write_text

MADE = "build/images/python.tar"  # Debian with Python, where no registry can be reached: `make` makes it
BASE = ROOT / MADE
MODEL = ("model",)  # Layer.holds of the model's layer


@dataclass(frozen=True)
class ImageLayer:
    """holds: names at the top. files: bytes of its files, unpacked. packed: bytes in the archive."""

    holds: tuple[str, ...]
    files: int
    packed: int


class Buildah:
    """buildah with a storage of its own, so that no setting of the machine matters and nothing stays behind."""

    def __init__(self, folder: Path):
        if not shutil.which("buildah"):
            install = "Debian: apt-get install buildah"
            raise UserError(f"buildah is missing ({install}); or docker build the submission's folder")
        self.options = ["--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]

    def run(self, *arguments: str | Path) -> str:
        """What a command of buildah prints, without the break at its end. Raises UserError where it fails."""
        command = ["buildah", *self.options, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            end = "\n".join(done.stderr.splitlines()[-3:])
            raise UserError(
                f"buildah {arguments[0]} failed; as another user than root, try `buildah unshare`; where no registry"
                f" can be reached, first `make {MADE}`:\n{end}"
            )
        return done.stdout.strip()


@contextmanager
def buildah(near: Path) -> Iterator[Buildah]:
    """near: its storage is made beside this path, as images may be larger than the folder for temporary files."""
    near.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=near.parent, prefix=".buildah-"))
    try:
        yield Buildah(folder)
    finally:
        subprocess.run(["chmod", "-R", "u+w", folder], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def build(folder: Path, output: Path, base: str | None = None) -> list[ImageLayer]:
    """Build the Dockerfile of a submission's folder; write the archive and ``<name>.SIZES.md`` beside it.

    base: the base image, if the Dockerfile takes one; by default BASE if it exists, else the Dockerfile's own.
    Returns the layers. Raises UserError where buildah is missing or fails.
    """
    base = base or (f"oci-archive:{BASE}" if BASE.exists() else None)
    recipe = (folder / "Dockerfile").read_text(encoding="utf-8")
    with buildah(output) as tool, atomic_path(output) as part:
        arguments = ["--build-arg", f"BASE={base}"] if base and "ARG BASE" in recipe else []
        image = tool.run("bud", "--quiet", "--layers", *arguments, folder).splitlines()[-1]
        tool.run("push", "--quiet", image, f"oci-archive:{part}")
        found = layers(part)
    of_base = len(found) - recipe.count("\nCOPY ")  # each has a layer of its own
    write_text(output.with_name(f"{output.name.removesuffix('.tar')}.SIZES.md"), sizes(found, of_base))
    return found


def layers(archive: Path) -> list[ImageLayer]:
    """The layers of the only image of an OCI archive, the base first (github.com/opencontainers/image-spec)."""

    with tarfile.open(archive) as outer:

        def member(name: str) -> IO[bytes]:
            if file := outer.extractfile(name):
                return file
            raise UserError(f"{archive}: {name} is no file")

        def blob(digest: str) -> IO[bytes]:
            return member(f"blobs/{digest.replace(':', '/')}")

        index = json.load(member("index.json"))
        manifest = json.load(blob(index["manifests"][0]["digest"]))
        return [_layer(blob(entry["digest"]), entry["size"]) for entry in manifest["layers"]]


def _layer(file: IO[bytes], packed: int) -> ImageLayer:
    with tarfile.open(fileobj=file, mode="r:*") as files:
        members = files.getmembers()
    names = {PurePosixPath("/", member.name).parts[1] for member in members if member.name.strip("./")}
    return ImageLayer(tuple(sorted(names)), sum(member.size for member in members if member.isreg()), packed)


def sizes(layers: list[ImageLayer], of_base: int) -> str:
    """SIZES.md. of_base: the number of layers of the base image."""
    own, others = layers[of_base:], [layer for layer in layers if layer.holds != MODEL]
    names = ["the base image"] * of_base + [", ".join(f"`{name}`" for name in layer.holds) for layer in own]
    rows = [
        *zip(names, ([layer] for layer in layers), strict=True),
        ("**all**", layers),
        ("**without the base**", own),
        ("**without the model**", others),
        ("**without base and model**", [layer for layer in own if layer in others]),
    ]
    counts = ((name, [layer.files for layer in some], [layer.packed for layer in some]) for name, some in rows)
    cells = [(name, *_bytes(files), *_bytes(packed)) for name, files, packed in counts]
    heads = ["layer", "bytes of files", "MB", "bytes in the archive", "MB"]
    return f"{tabulate(cells, heads, 'pipe', colalign=('left',), disable_numparse=True)}\n"


def _bytes(sizes: list[int]) -> tuple[str, str]:
    return f"{sum(sizes):,}", f"{sum(sizes) / 1e6:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of the native engine or CTranslate2")
    parser.add_argument("--hardware", choices=submission.HARDWARE, default="cpu", help="gpu: CTranslate2 with cuBLAS")
    parser.add_argument("--base", metavar="IMAGE", help=f"with Python 3.11 (default: {MADE}, if it is there)")
    parser.add_argument("--output", type=Path, required=True, help="archive to write, *.tar")
    args = parser.parse_args()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.output.parent, prefix=".submission-") as scratch:
        folder = Path(scratch) / "submission"
        submission.make(args.model, folder, args.hardware)
        build(folder, args.output, args.base)


if __name__ == "__main__":
    command(main)
