"""Build a submission as an image (an OCI archive), and list what each of its layers takes.

``podman load -i IMAGE``, ``skopeo copy oci-archive:IMAGE docker-daemon:NAME`` and ``apptainer build`` read the archive.
<name>.SIZES.md beside it is made of the archive itself. It needs buildah.
"""

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tabulate import tabulate

from common.errors import UserError, command
from common.files import atomic_path, write_text
from export import oci_archive, submission
from export.oci_archive import Layer
from export.translate_command import ROOT

MADE = "build/images/python.tar"  # Debian with Python, where no registry can be reached: `make` makes it
BASE = ROOT / MADE
MODEL = ("model",)  # what the layer of the model holds


class Buildah:
    """buildah with a storage of its own, so that no setting of the machine matters and nothing stays behind."""

    def __init__(self, folder: Path):
        if not shutil.which("buildah"):
            raise UserError(
                "buildah is missing (Debian: apt-get install buildah); or docker build the submission's folder"
            )
        self.options = ["--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]

    def run(self, *arguments: str | Path) -> str:
        """What a command of buildah prints, without the break at its end. Raises UserError where it fails."""
        done = subprocess.run(
            ["buildah", *self.options, *map(str, arguments)], capture_output=True, text=True, check=False
        )
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


def build(folder: Path, output: Path, base: str | None = None) -> list[Layer]:
    """Build the Dockerfile of a submission's folder; write the archive and ``<name>.SIZES.md`` beside it.

    base: an image to begin with, where the Dockerfile asks for one; by default BASE, or without it the Dockerfile's.
    Returns the layers. Raises UserError where buildah is missing or fails.
    """
    base = base or (f"oci-archive:{BASE}" if BASE.exists() else None)
    recipe = (folder / "Dockerfile").read_text(encoding="utf-8")
    with buildah(output) as tool, atomic_path(output) as part:
        arguments = ["--build-arg", f"BASE={base}"] if base and "ARG BASE" in recipe else []
        image = tool.run("bud", "--quiet", "--layers", *arguments, folder).splitlines()[-1]
        tool.run("push", "--quiet", image, f"oci-archive:{part}")
        layers = oci_archive.layers(part)
    of_base = len(layers) - recipe.count("\nCOPY ")  # each has a layer of its own
    write_text(output.with_name(f"{output.name.removesuffix('.tar')}.SIZES.md"), sizes(layers, of_base))
    return layers


def sizes(layers: list[Layer], of_base: int) -> str:
    """SIZES.md. of_base: the number of layers of the base image."""
    own, others = layers[of_base:], [layer for layer in layers if layer.holds != MODEL]
    rows = [(_name(layer, base=place < of_base), [layer]) for place, layer in enumerate(layers)]
    rows += [
        ("**all**", layers),
        ("**without the base**", own),
        ("**without the model**", others),
        ("**without base and model**", [layer for layer in own if layer in others]),
    ]
    cells = [
        (name, *_bytes([layer.files for layer in some]), *_bytes([layer.packed for layer in some]))
        for name, some in rows
    ]
    heads = ["layer", "bytes of files", "MB", "bytes in the archive", "MB"]
    return tabulate(cells, heads, "pipe", colalign=("left",), disable_numparse=True) + "\n"


def _name(layer: Layer, base: bool) -> str:
    return "the base image" if base else ", ".join(f"`{name}`" for name in layer.holds)


def _bytes(sizes: list[int]) -> tuple[str, str]:
    return f"{sum(sizes):,}", f"{sum(sizes) / 1e6:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of the native engine or CTranslate2")
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
