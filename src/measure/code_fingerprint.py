"""The code of this project that a measurement executed: its result is reused while that code is unchanged."""

import sys
import time
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

import nmt_frontier
from measure.timing_loop import living
from nmt_frontier.files import sha256

SOURCES = Path(__file__).resolve().parents[1]  # src
RUNTIME = Path(nmt_frontier.__file__).resolve().parent  # installed
STARTED = time.time()


def checksums(unused: Collection[str] = ()) -> dict[str, str | None]:
    """SHA-256 of every file of this project that this process has imported or a living child was started with.

    None for a file edited after this process began: the executed version is unknown. unused: names of modules to leave
    out, as they were imported only.
    """
    modules = [module for name, module in list(sys.modules.items()) if name not in unused]
    imported = [vars(module).get("__file__") for module in modules if isinstance(module, ModuleType)]
    scripts = [argument for line in living("cmdline") for argument in line.split("\0") if argument.endswith(".py")]
    paths = {Path(name).resolve() for name in (*imported, *scripts) if name}
    return {
        name: sha256(path) if path.stat().st_mtime < STARTED else None
        for path in sorted(paths)
        if (name := _name(path)) and path.is_file()
    }


def _name(path: Path) -> str | None:
    """The name of a file of this project; None for another one."""
    if path.is_relative_to(RUNTIME):
        return str(Path(RUNTIME.name) / path.relative_to(RUNTIME))
    return str(path.relative_to(SOURCES)) if path.is_relative_to(SOURCES) else None


def unchanged(executed: dict[str, str | None]) -> bool:
    """Whether the files of ``checksums`` are still the same; False if there are no checksums."""
    roots = {True: RUNTIME.parent, False: SOURCES}
    paths = {roots[Path(name).parts[0] == RUNTIME.name] / name: checksum for name, checksum in executed.items()}
    return bool(paths) and all(path.is_file() and sha256(path) == checksum for path, checksum in paths.items())
