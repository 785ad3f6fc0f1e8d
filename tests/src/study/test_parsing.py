"""Reading the workflow is a function of the study: no process, no library that computes, no kept result, no machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cpus import CPUS, pretend
from snakefile import ROOT, TINY, arguments_of, succeeded

from nmt_frontier import machine
from nmt_frontier.search.native import Native
from study import config, schema
from study.configuration import typed
from study.job_limits import Requests
from study.plan import StudyPlan
from study.schema import config_hash

STUDIES = [*sorted(ROOT.glob("configs/*.yaml")), *sorted(ROOT.glob("tests/studies/*.yaml"))]
PURE = Path(__file__).parents[2] / "pure.py"


def pure(*arguments, cwd):
    return subprocess.run([sys.executable, PURE, *arguments_of(*arguments)], cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def study(tmp_path):
    """The tiny study after a run of an earlier version, which kept the engine that it took."""
    note = tmp_path / "results/test-tiny/distillation.json"
    note.parent.mkdir(parents=True)
    note.write_text('{"engine": "ctranslate2", "compute_type": "float32"}')
    return TINY


@pytest.mark.slow
def test_a_dry_run_starts_nothing_and_reads_no_results(tmp_path, monkeypatch, study):
    monkeypatch.delenv("NMT_FRONTIER_RATES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = succeeded(pure("-n", "-p", "all", "--configfile", study, cwd=tmp_path))
    assert "not pure" not in run.stderr and "from rates that ship with the package" in run.stderr
    assert "--model results/test-tiny/systems/teacher/native/native-int8" in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("import tensorflow", "import"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        (f"open({str(ROOT / 'results/reference/benchmarks/stages.json')!r})", "open"),
    ],
)
def test_what_is_not_pure_is_noticed(tmp_path, line, event):
    (tmp_path / "Snakefile").write_text(f"{line}\nrule all:\n    output: 'x'\n    shell: 'touch x'\n")
    run = subprocess.run([sys.executable, PURE, "-n"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode and f"not pure: {event}" in run.stderr


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_is_the_same_on_every_machine(path, tmp_path, monkeypatch):
    """Whatever CPU it has, what is installed, and what was run there."""
    monkeypatch.setattr(schema, "RESULTS", tmp_path)
    monkeypatch.setenv("NMT_FRONTIER_RATES", "none")
    found = []
    for name, installed, cores in zip(CPUS, (True, False, True), (1, 2, 96), strict=True):
        pretend(name, tmp_path, monkeypatch)
        monkeypatch.setattr(machine, "cores", lambda cores=cores: tuple(range(cores)))
        monkeypatch.setattr(Native, "supported", classmethod(lambda cls, there=installed: [*cls.types] * there))
        loaded = config.load(path)
        plan = StudyPlan(typed(loaded))
        formats = {system: plan.models.formats(system) for system in (*plan.systems.measured, *plan.systems.untrained)}
        teachers = [plan.teachers.model(name) for name in plan.systems.teachers]
        minutes = Requests(typed(loaded)).minutes("translate_shard")
        found.append((loaded, config_hash(typed(loaded)), formats, teachers, minutes))
        note = tmp_path / plan.name / "distillation.json"  # of an earlier version
        note.parent.mkdir(exist_ok=True)
        note.write_text(json.dumps({"engine": "ctranslate2", "compute_type": f"float{cores}"}))
    assert found[0] == found[1] == found[2]
