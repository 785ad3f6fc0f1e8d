"""The code of this project that a measurement executed: its result is reused while that code is unchanged."""

import sys
import time
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

from common.files import sha256
from measure.timing_loop import living

SOURCES = Path(__file__).resolve().parents[1]  # src
STARTED = time.time()


def checksums(unused: Collection[str] = ()) -> dict[str, str | None]:
    """SHA-256 of every file below SOURCES that this process has imported or a living child was started with.

    None for a file edited after this process began: the executed version is unknown. unused: names of modules to leave
    out, as they were imported only.
    """
    modules = [module for name, module in list(sys.modules.items()) if name not in unused]
    imported = [vars(module).get("__file__") for module in modules if isinstance(module, ModuleType)]
    scripts = [argument for line in living("cmdline") for argument in line.split("\0") if argument.endswith(".py")]
    paths = {Path(name).resolve() for name in (*imported, *scripts) if name}
    return {
        str(path.relative_to(SOURCES)): sha256(path) if path.stat().st_mtime < STARTED else None
        for path in sorted(paths)
        if path.is_relative_to(SOURCES) and path.is_file()
    }


def unchanged(executed: dict[str, str | None]) -> bool:
    """Whether the files of ``checksums`` are still the same; False if there are no checksums."""
    paths = {SOURCES / name: checksum for name, checksum in executed.items()}
    return bool(paths) and all(path.is_file() and sha256(path) == checksum for path, checksum in paths.items())
