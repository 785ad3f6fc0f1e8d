"""The notebooks run from top to bottom on the fixture, and change nothing."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from formats import best_model

pytestmark = pytest.mark.slow

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
FIXTURE = Path(__file__).parent / "data" / "measurements.json"


def run(path, cwd):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(cwd)}}).execute()
    return notebook


def outputs(notebook):
    """All that the cells displayed, as text."""
    shown = (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    return "\n".join(data.get("text/plain", "") for data in shown)


@pytest.fixture
def study(tmp_path, monkeypatch):
    shutil.copy(FIXTURE, tmp_path)
    monkeypatch.setenv("STUDY_DIR", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    return tmp_path


def test_explore_a_study(study):
    notebook = run(NOTEBOOKS / "01-explore-a-study.ipynb", NOTEBOOKS)
    text = outputs(notebook)
    assert "deep-control" in text and "speed-up" in text
    pictures = [o for cell in notebook.cells for o in cell.get("outputs", []) if "image/png" in o.get("data", {})]
    assert len(pictures) == 2
    printed = "".join(o.get("text", "") for cell in notebook.cells for o in cell.get("outputs", []))
    assert f"deep int8 greedy map: {best_model.RULE}.\n" in printed
    assert [path.name for path in study.iterdir()] == ["measurements.json"]
    assert (study / "measurements.json").read_bytes() == FIXTURE.read_bytes()


def test_a_study_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_DIR", str(tmp_path / "none"))
    with pytest.raises(Exception, match="set STUDY_DIR"):
        run(NOTEBOOKS / "01-explore-a-study.ipynb", NOTEBOOKS)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_saved_without_outputs(path):
    """What a run shows belongs to its study, not into the repository."""
    cells = nbformat.read(path, as_version=4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
