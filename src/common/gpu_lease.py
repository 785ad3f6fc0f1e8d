"""GPUs of this machine, each for one process at a time, and CUDA's libraries for it.

Snakemake counts the GPUs that jobs ask for (``--resources gpu=4``) and does not say which ones a job gets: all would
take the first. So a process locks those that it takes. A cluster shows a job only its own GPUs, and nobody waits.

TensorFlow 2.13 and CTranslate2 open ``libcublas.so.11`` and the like, which the system looks for in its own folders and
in LD_LIBRARY_PATH. But a library that the process has loaded already is found by its name, wherever its file is.
"""

import ctypes
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from filelock import Timeout

from common.folder_lock import lock

VISIBLE = "CUDA_VISIBLE_DEVICES"
SECONDS = 5.0  # from one look for free GPUs to the next
HELD: list[AbstractContextManager[object]] = []  # locks of this process, which are dropped with the list

CUDA_OF_TENSORFLOW = (  # CUDA 11.8 and cuDNN 8.6; it uses no GPU if one of them is missing
    "libcudart.so.11.0", "libcublasLt.so.11", "libcublas.so.11", "libcufft.so.10", "libcurand.so.10",
    "libcusparse.so.11", "libcusolver.so.11", "libcudnn.so.8",
)  # fmt: skip
CUDA_OF_CTRANSLATE2 = ("libcublasLt.so.12", "libcublas.so.12")


@cache
def lease(count: int) -> None:
    """Take ``count`` GPUs until this process ends; wait until so many are free. Call it before CUDA starts.

    CUDA_VISIBLE_DEVICES names them afterwards. Where there are not so many, nothing changes: the library that looks for
    them has the error. Later calls with the same ``count`` do nothing.
    """
    names = visible()
    if len(names) < count:
        return
    folder = Path(tempfile.gettempdir()) / f"nmt-frontier-gpus-{os.getuid()}"
    with lock(folder / "queue"):  # one process chooses at a time, so that many small jobs hold up no large one
        taken = take(names, count, folder)
    os.environ[VISIBLE] = ",".join(sorted(taken, key=names.index))


def take(names: list[str], count: int, folder: Path) -> list[str]:
    """Lock the first ``count`` of ``names`` that become free."""
    taken: list[str] = []
    while True:
        for name in names:
            if name not in taken and len(taken) < count and locked(folder / name.replace("/", "-")):
                taken.append(name)
        if len(taken) == count:
            return taken
        print(f"waiting for {count - len(taken)} of {len(names)} GPUs, which other jobs use", file=sys.stderr)
        time.sleep(SECONDS)


def visible() -> list[str]:
    """The GPUs that this process may use: as CUDA_VISIBLE_DEVICES names them, by UUID where it gives a number.

    A number means another GPU in each job of a cluster; the UUID is that of the device. Empty without NVIDIA's driver.
    """
    try:
        query = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
        found = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []
    if (chosen := os.environ.get(VISIBLE)) is None:
        return found
    uuids = {str(number): uuid for number, uuid in enumerate(found)}
    return [uuids.get(name, name) for name in chosen.replace(" ", "").split(",") if name]


def locked(path: Path) -> bool:
    """Lock a file until this process ends, however it ends; False if another process has it."""
    try:
        HELD.append(lock(path, timeout=0))
    except Timeout:
        return False
    return True


def load_cuda(names: Iterable[str]) -> None:
    """Load libraries, each after those that it needs. One that pip did not install is left to the system."""
    for name in names:
        for path in Path(sysconfig.get_path("purelib")).glob(f"nvidia/*/lib/{name}"):
            ctypes.CDLL(str(path))
