"""`make reference` keeps what belongs to the study."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def finished(tmp_path):
    """Two finished studies; the log of the one whose name begins like the other's is the newer one."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    logs = tmp_path / ".snakemake/log"
    logs.mkdir(parents=True)
    for age, (name, study) in enumerate([("3", "x-fr"), ("2", "x"), ("1", "x")]):
        report = tmp_path / f"results/{study}/report"
        report.mkdir(parents=True, exist_ok=True)
        (report / "table.md").write_text(study)
        (report / "corpora.html").write_text("samples of the text")
        log = logs / f"{name}.snakemake.log"
        log.write_text(f"run {name}\noutput: {tmp_path}/results/{study}/report/table.md\n")
        os.utime(log, (1e9 - age, 1e9 - age))
    (logs / "4.snakemake.log").write_text("Nothing to be done\n")
    return tmp_path


def make(folder, study):
    return subprocess.run(["make", "reference", f"STUDY={study}"], cwd=folder, capture_output=True, text=True)


def test_the_log_is_the_newest_of_this_study(finished):
    done = make(finished, "x")
    assert done.returncode == 0, done.stderr
    kept = finished / "results/reference/x"
    assert {path.name for path in kept.iterdir()} == {"table.md", "run.log"}
    assert (kept / "run.log").read_text() == "run 2\noutput: results/x/report/table.md\n"


def test_a_study_without_a_log_is_refused(finished):
    done = make(finished, "y")
    assert done.returncode != 0 and "no log of y" in done.stderr
    assert not (finished / "results/reference/y").exists()
