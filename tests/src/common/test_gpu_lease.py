"""Jobs on one machine take different GPUs. nvidia-smi is a script here."""

import os
import subprocess
import sys

import pytest

JOB = """
import os, sys, time
from common import gpu_lease
gpu_lease.SECONDS = 0.1
gpu_lease.lease(int(sys.argv[1]))
gpu_lease.lease(int(sys.argv[1]))
print(os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def machine(tmp_path):
    """Starts jobs on a machine with two GPUs."""
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho GPU-a\necho GPU-b\n")
    smi.chmod(0o755)
    jobs, pipes = [], dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    environment |= {"PATH": f"{smi.parent}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}

    def start(count, **variables):
        command = [sys.executable, "-c", JOB, str(count)]
        jobs.append(subprocess.Popen(command, env=environment | variables, text=True, **pipes))
        return jobs[-1]

    yield start
    for job in jobs:
        job.kill()
        job.wait()


def gpus(job):
    return job.stdout.readline().strip()


@pytest.mark.slow
def test_jobs_get_different_gpus_and_wait_for_free_ones(machine):
    first, second = machine(1), machine(1)
    assert {gpus(first), gpus(second)} == {"GPU-a", "GPU-b"}
    both = machine(2)
    assert both.stderr.readline() == "waiting for 2 of 2 GPUs, which other jobs use\n"
    first.kill()  # a job that is killed gives its GPU back
    assert both.stderr.readline() and both.poll() is None
    second.stdin.close()  # and so does one that ends
    assert gpus(both) == "GPU-a,GPU-b"
    later = machine(1)
    both.stdin.close()
    assert gpus(later) in ("GPU-a", "GPU-b")


def test_only_gpus_that_the_environment_shows_are_taken(machine):
    assert gpus(machine(1, CUDA_VISIBLE_DEVICES="1")) == "GPU-b"
    assert gpus(machine(1, CUDA_VISIBLE_DEVICES="1,0")) == "GPU-a"
    assert gpus(machine(1, CUDA_VISIBLE_DEVICES="MIG-c")) == "MIG-c"


@pytest.mark.parametrize(
    ("count", "variables", "left"),
    [(3, {}, "None"), (2, {"CUDA_VISIBLE_DEVICES": "0"}, "0"), (1, {"CUDA_VISIBLE_DEVICES": ""}, "")],
)
def test_too_few_gpus_are_left_to_the_library_that_needs_them(machine, count, variables, left):
    assert gpus(machine(count, **variables)) == left


def test_without_a_driver_nothing_is_taken(machine, tmp_path):
    (tmp_path / "bin/nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    assert gpus(machine(1)) == "None"
