"""`make reference` keeps what belongs to the study, and its pages come back from that."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_frontier.files import read_json, write_json
from report.keep import rounded

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "results/reference/mixed-gpu"


@pytest.fixture
def finished(tmp_path):
    """Two finished studies; the log of the one whose name begins like the other's is the newer one."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    logs = tmp_path / ".snakemake/log"
    logs.mkdir(parents=True)
    for age, (name, study) in enumerate([("3", "x-fr"), ("2", "x"), ("1", "x")]):
        folder = tmp_path / f"results/{study}"
        report = folder / "report"
        for part in ("systems", "corpora", "alignment"):
            shutil.copytree(KEPT / part, folder / part, dirs_exist_ok=True)
        counts = folder / "corpora/clean/lo-help.json"
        write_json(counts, read_json(counts) | {"samples": {"empty": ["the text itself"]}})
        for part in ("measurements", "translations"):
            shutil.copy(KEPT / f"{part}.json", folder)
        report.mkdir(exist_ok=True)
        for part in ("page", "samples", "gap", "maps.timing"):
            shutil.copy(KEPT / f"{part}.json", report)
        (report / "table.md").write_text(study)
        log = logs / f"{name}.snakemake.log"
        job = f"rule x:\n    log: x.log\n    output: results/{study}/report/table.md\n"
        log.write_text(f"run {name}\n{job}{tmp_path}/a\n")
        os.utime(log, (1e9 - age, 1e9 - age))
    (logs / "4.snakemake.log").write_text("Nothing to be done\n")
    return tmp_path


def make(folder, study):
    """With the Python that runs the tests."""
    command = ["make", "reference", f"STUDY={study}", f"BIN={Path(sys.executable).parent}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_json_and_the_newest_log_of_this_study_are_kept(finished):
    done = make(finished, "x")
    assert done.returncode == 0, done.stderr
    kept = finished / "results/reference/x"
    assert (kept / "run.log").read_text() == "run 2\nrule x:\n    log: x.log\na\n"
    names = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
    assert names >= {"measurements.json", "page.json", "gap.json", "systems/tiny/learning.json", "translations.json"}
    assert "table.md" not in names and len(names) > 15
    assert (kept / "measurements.json").read_text() == (KEPT / "measurements.json").read_text()
    assert "samples" not in json.loads((kept / "corpora/clean/lo-help.json").read_text())  # text of others
    assert "the text itself" not in "".join(path.read_text() for path in kept.rglob("*.json"))


def test_numbers_are_kept_with_seven_digits():
    document = {"seconds": [1.2345678912, 98765432.1, 0.1], "lines": 123456789, "name": "1.23456789012", "none": None}
    kept = {"seconds": [1.234568, 98765430.0, 0.1], "lines": 123456789, "name": "1.23456789012", "none": None}
    assert rounded(document) == kept and rounded(kept) == kept


def test_a_study_of_which_only_a_part_was_made_is_kept(finished):
    for path in ("report/page.json", "report/samples.json", "measurements.json"):
        (finished / "results/x" / path).unlink()
    done = make(finished, "x")
    assert done.returncode == 0, done.stderr
    kept = finished / "results/reference/x"
    assert (kept / "gap.json").exists() and not (kept / "translations.json").exists()
    about, whole = read_json(kept / "page.json"), read_json(KEPT / "page.json")
    assert about.keys() == whole.keys()
    for names in ("trained", "corpora"):
        assert sorted(about[names]) == sorted(whole[names])
        assert all((kept / f"systems/{name}/learning.json").exists() for name in about["trained"])


def test_a_study_without_a_log_is_refused(finished):
    done = make(finished, "y")
    assert done.returncode != 0 and "no log of y" in done.stderr
    assert not (finished / "results/reference/y").exists()
