"""Libraries that pip installed are found by name once they are loaded."""

import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2

PROGRAM = """
import ctypes, sys, sysconfig
from common import gpu_lease
folder, name = sys.argv[1:]
sysconfig.get_path = {"purelib": folder}.get
try:
    sys.exit(f"found too early: {ctypes.CDLL(name)}")
except OSError:
    gpu_lease.load_cuda([name, "libabsent.so.1"])
ctypes.CDLL(name)
"""


def test_a_library_is_found_by_its_name(tmp_path):
    """Any library that the system does not look for by itself; this one is CTranslate2's OpenMP."""
    (library,) = (Path(ctranslate2.__file__).parents[1] / "ctranslate2.libs").glob("libgomp*")
    folder = tmp_path / "nvidia/some/lib"
    folder.mkdir(parents=True)
    shutil.copy(library, folder)
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path, library.name], check=True)
