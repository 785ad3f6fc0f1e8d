"""The runtime needs numpy, SentencePiece and msgspec, and nothing else of this project."""

import subprocess
import sys
from pathlib import Path

import pytest

from nmt_frontier.errors import UserError
from nmt_frontier.files import yaml_value
from nmt_frontier.progress import progress
from nmt_frontier.text.sentences import splitter
from nmt_frontier.text.tokenizers import HuggingFace, MosesBPE

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


def test_a_terminal_without_tqdm_has_plain_lines(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert [*progress(iter("ab"), "translating")] == ["a", "b"]
    assert capsys.readouterr().err.startswith("translating: 2 lines")


@pytest.mark.parametrize(
    ("package", "call", "remedy"),
    [
        ("sentencex", lambda: splitter("en"), "pip install sentencex"),
        ("tokenizers", lambda: HuggingFace(Path("x")), "pip install tokenizers"),
        ("sacremoses", lambda: MosesBPE(Path("x"), "en"), "pip install sacremoses subword-nmt"),
        ("yaml", lambda: yaml_value("a: 1"), "pip install PyYAML"),
    ],
)
def test_what_lacks_a_package_names_the_command_that_installs_it(monkeypatch, package, call, remedy):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=remedy):
        call()
