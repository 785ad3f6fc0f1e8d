"""CUDA's libraries where pip put them (requirements-gpu.lock), for programs that look for them by name alone.

TensorFlow 2.13 and CTranslate2 open ``libcublas.so.11`` and the like, which the system looks for in its own folders and
in LD_LIBRARY_PATH. But a library that the process has loaded already is found by its name, wherever its file is.
"""

import ctypes
import sysconfig
from collections.abc import Iterable
from pathlib import Path

TENSORFLOW = (  # CUDA 11.8 and cuDNN 8.6; it uses no GPU if one of them is missing
    "libcudart.so.11.0", "libcublasLt.so.11", "libcublas.so.11", "libcufft.so.10", "libcurand.so.10",
    "libcusparse.so.11", "libcusolver.so.11", "libcudnn.so.8",
)  # fmt: skip
CTRANSLATE2 = ("libcublasLt.so.12", "libcublas.so.12")


def load(names: Iterable[str]) -> None:
    """Load libraries, each after those that it needs. One that pip did not install is left to the system."""
    for name in names:
        for path in Path(sysconfig.get_path("purelib")).glob(f"nvidia/*/lib/{name}"):
            ctypes.CDLL(str(path))
