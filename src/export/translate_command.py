"""Build the command of submissions to the CPU tracks (engine/command): the native engine in one static program.

Its sources come with the runtime, in the package nmt_frontier.
"""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import nmt_frontier
from common.folder_lock import lock
from nmt_frontier.errors import UserError
from nmt_frontier.files import StrPath, atomic_path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "command"
HERE = platform.machine()
ENGINE = Path(nmt_frontier.__file__).with_name("source")
LOCK = ROOT / "requirements-command.lock"  # SentencePiece's sources
NEEDED = "it needs a C++ compiler that links statically, as g++ with Debian's libc6-dev"


def build(processor: str = HERE) -> Path:
    """Build the program for a kind of processor, by Linux' name of it, again only if its sources changed.

    Raises UserError where SentencePiece's sources cannot be had or nothing compiles them.
    """
    with locked():
        folder, options = engine_build(processor), _cross(processor) if processor != HERE else []
        options += [f"-DSENTENCEPIECE={sources()}/sentencepiece", f"-DPython3_EXECUTABLE={sys.executable}"]
        options += ["--fresh"] if _is_of_others(folder / "CMakeCache.txt") else []
        _run(["cmake", "-G", "Ninja", "-S", ENGINE, "-B", folder, *options])
        _run(["cmake", "--build", folder, "--target", "translate"])
        return folder / "command" / "translate"


def engine_build(processor: str = HERE) -> Path:
    """CMake's folder for a kind of processor."""
    return BUILD / f"engine-{processor}"


def _cross(processor: str) -> list[str]:
    """CMake's options to compile for another kind of processor. Raises UserError where nothing does."""
    found = {name: shutil.which(f"{processor}-linux-gnu-{tool}") for name, tool in (("C", "gcc"), ("CXX", "g++"))}
    if None in found.values():
        package = f"g++-{processor.replace('_', '-')}-linux-gnu"
        raise UserError(f"nothing compiles for {processor} here; with Debian: apt-get install {package}")
    compilers = [f"-DCMAKE_{name}_COMPILER={path}" for name, path in found.items()]
    return ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={processor}", *compilers]


def _is_of_others(cache: Path) -> bool:
    """Whether CMake's cache is of sources that lay elsewhere; what was compiled of those is deleted with it."""
    return cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={ENGINE}\n" not in cache.read_text(encoding="utf-8")


def locked() -> AbstractContextManager[object]:
    """BUILD is this process's own: two jobs of a study may build the program at the same time."""
    return lock(BUILD / ".lock")


def sources() -> Path:
    """SentencePiece's source package, unpacked in BUILD. Raises UserError where pip cannot fetch it."""
    version = LOCK.read_text(encoding="utf-8").split("sentencepiece==", 1)[1].split()[0]
    folder = BUILD / f"sentencepiece-{version}"
    if not folder.exists():
        _fetch(folder)
    return folder


def _fetch(output: Path) -> None:
    """Unpack SentencePiece's source package into a new folder."""
    with tempfile.TemporaryDirectory() as scratch:
        options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes", "--dest", scratch]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *options, "-r", LOCK], "pip must reach its index, once")
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
        with atomic_path(output) as part:
            shutil.copytree(next(path for path in Path(scratch).iterdir() if path.is_dir()), part)


def _run(command: list[StrPath], advice: str = NEEDED) -> None:
    """Run one step of the build. Raises UserError with the end of what it printed."""
    programs = str(Path(sys.executable).parent)  # cmake and ninja of the environment
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise UserError(f"{BUILD}: the command of submissions could not be built; {advice}:\n{end}")
