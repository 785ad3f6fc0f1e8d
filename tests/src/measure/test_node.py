"""Nothing is timed beside neighbours, or on another CPU than the study names."""

import os
from contextlib import nullcontext

import pytest

from measure import exclusive_node
from nmt_frontier import machine
from nmt_frontier.errors import UserError

SHARED = "job 7 shares its node.*--exclusive"


@pytest.mark.parametrize(
    ("squeue", "error"), [("echo NO", None), ("echo OK", SHARED), ("echo", SHARED), ("exit 1", "cannot ask Slurm")]
)
def test_a_job_that_times_is_alone_on_its_node(tmp_path, monkeypatch, squeue, error):
    (tmp_path / "squeue").write_text(f"#!/bin/sh\n{squeue}\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    exclusive_node.check_alone()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with pytest.raises(UserError, match=error) if error else nullcontext():
        exclusive_node.check_alone()


def test_the_cpu_is_the_one_that_the_study_names(monkeypatch):
    monkeypatch.setattr(machine, "describe", lambda: {"cpu": "AMD EPYC 7R13 Processor"})
    exclusive_node.check_cpu("EPYC 7R13")
    with pytest.raises(UserError, match=r"decoding.cpu: Xeon, but \S+ has AMD EPYC 7R13 Processor"):
        exclusive_node.check_cpu("Xeon")
