"""What holds for all packages: files that they need beside their code, what they say of themselves, their import."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nmt_frontier

ROOT = Path(__file__).parents[2]
RUNTIME = Path(nmt_frontier.__file__).parent
CODE = [*(ROOT / "src").iterdir(), ROOT / "papers"]
FACES = sorted(path for folder in (*CODE, RUNTIME) for path in folder.rglob("__init__.py"))
# These libraries change the environment when they are imported, so they come first.
IMPORTS = """
import importlib, os, sys
import opennmt, sacremoses
before = dict(os.environ)
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "triton", "transformers", "_pymarian"):  # optional
            raise
    assert dict(os.environ) == before, name
"""


def named(path):
    """The package of a face, or the module of a file."""
    above = RUNTIME.parent if RUNTIME in path.parents else ROOT if ROOT / "papers" in path.parents else ROOT / "src"
    return ".".join(path.relative_to(above).with_suffix("").parts).removesuffix(".__init__")


def test_every_file_beside_the_code_is_installed():
    """A wheel holds what `package-data` names; an editable install works without files that it forgets."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    installed = {
        path
        for package, patterns in data.items()
        for pattern in patterns
        for path in (ROOT / "src" / package.replace(".", "/")).glob(pattern)
    }
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files = [path for path in files if ".egg-info" not in str(path)]
    there = {path for path in files if path.suffix != ".py" or not (path.parent / "__init__.py").exists()}
    assert ROOT / "src/study/rates.json" in there and there <= installed


@pytest.mark.parametrize("face", FACES, ids=named)
def test_a_package_names_its_modules_and_no_others(face):
    modules = {path.stem for path in face.parent.glob("*.py") if not path.stem.startswith("__")}
    modules |= {path.parent.name for path in face.parent.glob("*/__init__.py")}
    text = face.read_text()
    assert [name for name in sorted(modules) if f"``{name}``" not in text] == []
    assert set(re.findall(r"^- ``(\w+)``:", text, re.MULTILINE)) <= modules


@pytest.mark.slow
def test_no_import_changes_the_environment():
    files = [path for face in FACES for path in face.parent.glob("*.py") if path.stem != "__main__"]
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "PYTHONPATH")}
    done = subprocess.run([sys.executable, "-c", IMPORTS, *map(named, files)], env=kept, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
