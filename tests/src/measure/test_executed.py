"""A kept run holds exactly as long as the code that made it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from models import folders, sentences

import measure
import nmt_frontier
from formats import records
from formats.decoding_options import DecodingOptions
from measure import code_fingerprint
from measure.task import RunTask

CORE = min(os.sched_getaffinity(0))
PROGRAM = "import json, used; from measure import code_fingerprint; print(json.dumps(code_fingerprint.checksums()))"
EXECUTED = [f"nmt_frontier/{name}.py" for name in ("__init__", "command_line", "errors", "files")]
EXECUTED += [f"measure/{name}.py" for name in ("__init__", "code_fingerprint", "timing_loop")]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project: the module under test, a module that the program imports, a script, and an idle module."""
    for name in EXECUTED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        root = nmt_frontier if name.startswith("nmt_frontier/") else measure
        shutil.copy(Path(root.__file__).parents[1] / name, tmp_path / name)
    (tmp_path / "used.py").write_text("import tokenize\n")
    (tmp_path / "worker.py").write_text("input()\n")
    (tmp_path / "idle.py").touch()
    monkeypatch.setattr(code_fingerprint, "SOURCES", tmp_path)
    monkeypatch.setattr(code_fingerprint, "RUNTIME", tmp_path / "nmt_frontier")
    return tmp_path


def run(project, program=PROGRAM):
    environment = {**os.environ, "PYTHONPATH": str(project)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_what_is_imported_is_executed_and_the_script_of_a_living_child(project):
    assert set(run(project)) == {*EXECUTED, "used.py"}
    start = "subprocess.Popen([sys.executable, 'worker.py'], stdin=-1, cwd={!r})"
    for script, expected in (("worker.py", False), (f"{project}/worker.py", True)):
        child = start.replace("worker.py", script).format(str(project))
        found = run(project, f"import subprocess, sys; child = {child}; {PROGRAM}; child.kill()")
        assert ("worker.py" in found) == expected


def test_a_result_holds_until_a_file_that_it_executed_changes(project):
    found = run(project)
    assert code_fingerprint.unchanged(found)
    (project / "idle.py").write_text("1\n")
    os.utime(project / "used.py")
    assert code_fingerprint.unchanged(found)
    (project / "used.py").write_text("import tokenize  # edited\n")
    assert not code_fingerprint.unchanged(found)
    (project / "used.py").unlink()
    assert not code_fingerprint.unchanged(found) and not code_fingerprint.unchanged({})


def test_a_file_that_is_edited_while_it_runs_holds_for_nothing(project):
    edited = f"import used, os, time; os.utime({str(project / 'used.py')!r}, (time.time() + 9, time.time() + 9)); "
    found = run(project, edited + PROGRAM)
    assert found["used.py"] is None and found["measure/timing_loop.py"] and not code_fingerprint.unchanged(found)


@pytest.mark.parametrize(("kind", "engine"), [("int8", "ctranslate2"), ("opennmt-tf", "opennmt_tf")])
@pytest.mark.slow
def test_a_run_knows_the_code_of_its_engine(kind, engine, tmp_path):
    lines = sentences(3)
    records.write(tmp_path / "t.tsv.zst", zip(lines, lines, strict=True))
    how = DecodingOptions(vocabulary_map=True, cores=(CORE,))
    task = RunTask(folders()[kind], how, [("t", tmp_path / "t.tsv.zst")], tmp_path / "run.json")
    subprocess.run(task.command(tmp_path / "task.json"), check=True)
    code = json.loads((tmp_path / "run.json").read_text())["code"]
    needed = {"measure/run", "measure/task", "measure/timing_loop", "nmt_frontier/text/tokenizers"}
    needed |= {"nmt_frontier/search/pipeline", "nmt_frontier/translator"}
    assert {f"{name}.py" for name in (*needed, f"decode/engines/{engine}")} <= set(code)
    others = {"ctranslate2", "marian", "opennmt_tf"} - {engine}
    assert not {f"decode/engines/{other}.py" for other in others} & set(code)
    assert not {name for name in code if name.startswith(("report/", "experiments/"))}
    assert code_fingerprint.unchanged(code)


def test_engines_are_loaded_on_the_clock():
    """measure.run imports no engine's library before it loads an engine."""
    program = "import sys, measure.run; print([name for name in ('ctranslate2', 'tensorflow') if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program]) == b"[]\n"
