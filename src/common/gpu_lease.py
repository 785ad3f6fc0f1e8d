"""Locks of this machine's GPUs, and CUDA's libraries.

Snakemake counts the GPUs of jobs (``--resources gpu=4``) but does not assign them: all jobs would take the first. So a
process locks those that it takes. A cluster shows a job only its own GPUs, so it does not wait there.

TensorFlow 2.13 and CTranslate2 open ``libcublas.so.11`` and the like by name, without pip's folders. A library that the
process has already loaded is found by its name.
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
SECONDS = 5.0  # between two attempts to lock
HELD: list[AbstractContextManager[object]] = []  # the locks of this process

CUDA_OF_TENSORFLOW = (  # CUDA 11.8 and cuDNN 8.6; without all of them it uses no GPU
    "libcudart.so.11.0", "libcublasLt.so.11", "libcublas.so.11", "libcufft.so.10", "libcurand.so.10",
    "libcusparse.so.11", "libcusolver.so.11", "libcudnn.so.8",
)  # fmt: skip
CUDA_OF_CTRANSLATE2 = ("libcublasLt.so.12", "libcublas.so.12")


@cache
def lease(count: int) -> None:
    """Take ``count`` GPUs until this process ends, and name them in CUDA_VISIBLE_DEVICES; wait until they are free.

    Call it before CUDA starts. On a machine with fewer GPUs it does nothing: the library that needs them has the error.
    """
    names = visible()
    if len(names) < count:
        return
    folder = Path(tempfile.gettempdir()) / f"nmt-frontier-gpus-{os.getuid()}"
    with lock(folder / "queue"):  # the job that chooses is not overtaken; which one is next is left to chance
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
    """The GPUs in CUDA_VISIBLE_DEVICES, or all; none without NVIDIA's driver.

    Numbers become UUIDs: on a cluster, the same number is another GPU in each job.
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
    """Lock a file until this process ends; False if another process has locked it."""
    try:
        HELD.append(lock(path, timeout=0))
    except Timeout:
        return False
    return True


def load_cuda(names: Iterable[str]) -> None:
    """Load libraries in this order, which is that of their dependencies; skip those that pip did not install."""
    for name in names:
        for path in Path(sysconfig.get_path("purelib")).glob(f"nvidia/*/lib/{name}"):
            ctypes.CDLL(str(path))
