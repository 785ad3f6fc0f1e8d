"""Build the pipeline as an image (an OCI archive): Debian, Python 3.11, what the locks name, the engine, this checkout.

What goes in is the last commit. pip must reach its index while it is built; arguments behind ``--`` are for
``buildah bud``, such as ``--volume`` for a configuration of pip. It needs buildah.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError, command
from common.files import atomic_path
from export import base_image
from export.image import Buildah, buildah
from export.translate_command import ROOT

CONTAINERFILE = ROOT / "images" / "pipeline" / "Containerfile"
BASE = ("pipeline", ("ca-certificates", "g++", "make", "python3-venv"))  # name and packages of Debian


def build(tool: Buildah, output: Path, base: str | None, options: Sequence[str]) -> None:
    """Write the archive. base: an image of Debian; by default one is made with debootstrap. Raises UserError."""
    base = base or tool.imported(base_image.made(*BASE))
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".context-") as context:
        archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], capture_output=True, check=False)
        if archive.returncode:
            raise UserError(f"{ROOT}: no git checkout; the image is made of its last commit")
        subprocess.run(["tar", "--extract", "--directory", context], input=archive.stdout, check=True)
        arguments = ["--isolation", "chroot", "--build-arg", f"BASE={base}", "--file", CONTAINERFILE, *options]
        image = tool.run("bud", "--quiet", *arguments, context).splitlines()[-1]
    with atomic_path(output) as part:
        tool.run("push", "--quiet", image, f"oci-archive:{part}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="IMAGE", help="Debian 12 (default: made with debootstrap)")
    parser.add_argument("--output", type=Path, required=True, help="archive to write, *.tar")
    parser.add_argument("options", nargs="*", help="of buildah bud, behind --")
    args = parser.parse_args()
    with buildah(args.output) as tool:
        build(tool, args.output, args.base, args.options)


if __name__ == "__main__":
    command(main)
