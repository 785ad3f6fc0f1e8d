"""A base image of Debian, made with debootstrap where no registry of images can be reached.

Debian 12 (bookworm) has Python 3.11. The archive is kept in ``build/images`` and used again.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError
from common.files import atomic_path
from export.translate_command import ROOT

RELEASE = "bookworm"
NOT_NEEDED = ("var/cache", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")


def made(name: str, packages: Sequence[str]) -> Path:
    """The tar archive of a minimal Debian with these packages, as the root user makes it, once.

    Raises UserError where debootstrap is missing or fails, as it does for other users.
    """
    contents = hashlib.sha256(",".join(packages).encode()).hexdigest()[:8]
    path = ROOT / "build" / "images" / f"{RELEASE}-{name}-{contents}.tar"
    if path.exists():
        return path
    if not shutil.which("debootstrap"):
        raise UserError("debootstrap is missing (Debian: apt-get install debootstrap); or name an image with --base")
    with tempfile.TemporaryDirectory() as scratch, atomic_path(path) as part:
        root = Path(scratch) / "root"
        options = ["--variant=minbase", f"--include={','.join(packages)}"]
        _run(["debootstrap", *options, RELEASE, str(root)])
        for folder in NOT_NEEDED:
            shutil.rmtree(root / folder, ignore_errors=True)
            (root / folder).mkdir(parents=True)
        owners = ["--numeric-owner", "--exclude=./dev/*"]
        _run(["tar", "--create", "--file", str(part), "--directory", str(root), *owners, "."])
    return path


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-3:])
        raise UserError(
            f"{command[0]} failed, which needs root and Debian's packages; or name an image with --base:\n{end}"
        )
