"""Nothing is timed beside neighbours, or on another CPU than the study names."""

import os

import pytest

from common import machine
from common.errors import UserError
from measure import exclusive_node


@pytest.mark.parametrize(("answer", "error"), [("NO", None), ("OK", "shares its node"), ("", "shares its node")])
def test_a_job_that_times_is_alone_on_its_node(tmp_path, monkeypatch, answer, error):
    (tmp_path / "squeue").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    exclusive_node.check_alone()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    if error is None:
        exclusive_node.check_alone()
    else:
        with pytest.raises(UserError, match=f"job 7 {error}.*--exclusive"):
            exclusive_node.check_alone()


def test_a_controller_that_does_not_answer_is_told(tmp_path, monkeypatch):
    (tmp_path / "squeue").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with pytest.raises(UserError, match="cannot ask Slurm"):
        exclusive_node.check_alone()


def test_the_cpu_is_the_one_that_the_study_names(monkeypatch):
    monkeypatch.setattr(machine, "describe", lambda: {"cpu": "AMD EPYC 7R13 Processor"})
    exclusive_node.check_cpu("EPYC 7R13")
    with pytest.raises(UserError, match=r"decoding.cpu: Xeon, but \S+ has AMD EPYC 7R13 Processor"):
        exclusive_node.check_cpu("Xeon")
