"""The runtime needs numpy, SentencePiece and msgspec, and nothing else of this project."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_frontier import Translator, files
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

# What Linux has and macOS or Windows lack; the engine's own calls are in engine/platform.
ELSEWHERE = """
import ctypes, os, signal, sys

for module, names in (os, "fork sched_getaffinity sched_setaffinity uname getloadavg"), (signal, "SIGHUP SIGKILL"):
    for name in names.split():
        delattr(module, name)
sys.modules.update(dict.fromkeys(("fcntl", "grp", "mmap", "pwd", "resource")))
sys.platform = "darwin"
from nmt_frontier import files
from pathlib import Path
files.PROCESSES = Path("nowhere")
from nmt_frontier.command import main
main(sys.argv[1:])
"""


def elsewhere(*arguments, text=None):
    call = [sys.executable, "-c", ELSEWHERE, *map(str, arguments)]
    done = subprocess.run(call, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_imports_and_translates_without_what_only_linux_has(tmp_path):
    from models import folders as models  # inside: another system's process needs none of them

    elsewhere("import", models()["float32"], "--output", tmp_path / "mine")
    folder, lines = tmp_path / "mine" / "native-int8", ["a b", "cab"]
    expected = "".join(f"{line}\n" for line in Translator(folder).translate(lines))
    assert elsewhere("translate", "--model", folder, text="a b\ncab\n") == expected
    (tmp_path / "source").write_text("a b\ncab\n")
    elsewhere("translate", "--model", folder, "--input", tmp_path / "source", "--output", tmp_path / "target")
    assert (tmp_path / "target").read_text() == expected


def test_it_imports_the_same_model_without_mapping_files(tmp_path):
    import huggingface_models

    from nmt_frontier.importers.found import ImportOptions
    from nmt_frontier.importers.model import export

    huggingface_models.write(tmp_path / "theirs", "marian")
    export(tmp_path / "theirs", tmp_path / "here", ["int8"], ImportOptions())
    elsewhere("import", tmp_path / "theirs", "--output", tmp_path / "mine")
    found, expected = (tmp_path / name / "native-int8" / "weights.safetensors" for name in ("mine", "here"))
    assert found.read_bytes() == expected.read_bytes()


def test_what_dead_processes_left_is_deleted_where_there_is_no_proc(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PROCESSES", tmp_path / "nowhere")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [tmp_path / f".text.{files.HOST}.{number}.part" for number in (dead.pid, os.getppid(), 1)]
    for path in left:
        path.touch()
    files.write_text(tmp_path / "text", "new")
    assert [path.exists() for path in left] == [False, True, True]


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
