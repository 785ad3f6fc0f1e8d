"""A path that is not there is the first thing that a command says, whatever it would do with it."""

import ast
import importlib
import sys
from pathlib import Path

import pytest
from snakefile import ROOT

from nmt_frontier.command_line import named_path, there
from nmt_frontier.errors import UserError

WRITTEN = {
    "--output", "--outputs", "--cache", "--csv", "--headline", "--averaged", "--runs", "--rejected", "--translations",
    "--docs", "--checksums", "--record", "--log",
}  # fmt: skip
OTHERS = {  # of single commands: what they write, and what need not be there
    ("train/vocabulary.py", "--model"), ("train/vocabulary.py", "--vocabulary"), ("train/train.py", "--learning"),
    ("export/untrained.py", "--learning"), ("export/shortlist.py", "--map"),
    ("study/new/__main__.py", "data"),  # which has a message of its own for all of them
    ("report/pages.py", "--studies"), ("report/study_page/__main__.py", "--front-page"),
    ("report/study_page/__main__.py", "--try-page"),
    ("report/study_page/__main__.py", "--benchmarks"),
    ("distill/teacher.py", "--stand-ins"),  # of some teachers
    ("distill/ask.py", "--answers"),  # a folder that it makes
    ("papers/fastseq2021/whole_decoding.py", "--folder"),
}  # fmt: skip


def options():
    """The option, the type and the file of every argument of a command."""
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "papers").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                values = [key.value for key in node.keywords if key.arg == "type"]
                types = [value.id for value in values if isinstance(value, ast.Name)]
                if types and isinstance(node.args[0], ast.Constant):
                    yield str(path.relative_to(ROOT)).removeprefix("src/"), node.args[0].value, types[0]


OPTIONS = list(options())
READ = {file: (name, kind) for file, name, kind in OPTIONS if kind in ("there", "named_path") and name[0] == "-"}
COMMANDS = sorted(
    file for file in READ if "def main()" in (ROOT / ("" if "papers" in file else "src") / file).read_text()
)
SUBCOMMANDS = {"corpora/alignment/__main__.py": ["apply"], "export/vocabulary_map/__main__.py": ["grid"]}


def test_every_path_that_is_read_must_be_there():
    unchecked = [(file, name) for file, name, kind in OPTIONS if kind == "Path" and name not in WRITTEN]
    assert len(OPTIONS) > 200 and {*unchecked} - OTHERS == set()
    assert {(file, name) for file, name, kind in OPTIONS if kind == "Path"} >= OTHERS


@pytest.mark.slow
@pytest.mark.parametrize("file", COMMANDS)
def test_every_command_says_so(file, monkeypatch):
    """Before anything else, also before it misses other options."""
    name, kind = READ[file]
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    path = "name=" * (kind == "named_path") + "/nonexistent"
    monkeypatch.setattr(sys, "argv", [file, *SUBCOMMANDS.get(file, []), name, path, path, path])
    with pytest.raises(UserError, match=r"^/nonexistent: No such file or directory$"):
        module.main()


def test_what_is_there_is_a_path(tmp_path):
    assert there(str(tmp_path)) == tmp_path
    assert named_path(f"name={tmp_path}") == ("name", Path(tmp_path))
