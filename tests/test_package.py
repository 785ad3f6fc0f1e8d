"""Files that an installed package needs beside its code."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_file_beside_the_code_is_installed():
    """A wheel holds what `package-data` names; an editable install works without files that it forgets."""
    sources = ROOT / "src"
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    installed = {
        path
        for package, patterns in named.items()
        for pattern in patterns
        for path in (sources / package.replace(".", "/")).glob(pattern)
    }
    files = [path for path in sources.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files = [path for path in files if ".egg-info" not in str(path)]
    there = {path for path in files if path.suffix != ".py" or not (path.parent / "__init__.py").exists()}
    assert sources / "study/config.schema.yaml" in there and there <= installed
