"""The runtime needs numpy, SentencePiece and msgspec, and nothing else of this project."""

import subprocess
import sys
from pathlib import Path

import nmt_frontier

ALONE = """
import importlib, pkgutil, sys

ALLOWED = {*sys.stdlib_module_names, "nmt_frontier", "numpy", "sentencepiece", "msgspec"}

# The command itself; the engine's library; what is for transformers.
APART = ("nmt_frontier.__main__", "nmt_frontier.engine", "nmt_frontier.huggingface")

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
import nmt_frontier
for module in pkgutil.walk_packages(nmt_frontier.__path__, "nmt_frontier."):
    if module.name not in APART:
        importlib.import_module(module.name)
print("done")
"""


def test_every_module_is_imported_without_anything_else():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_the_modules_are_named():
    """Each in the text of its package."""
    root = Path(nmt_frontier.__file__).parent
    for path in root.rglob("*.py"):
        if not path.name.startswith("__"):
            assert f"``{path.stem}``" in (path.parent / "__init__.py").read_text(), path
