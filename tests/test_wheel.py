"""The wheel that `make install` has built, alone in an environment with its dependencies."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import native
import pytest
from models import folders, sentences

from nmt_frontier import Translator

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
TRANSLATE = "import sys; from nmt_frontier.command import main; main(sys.argv[1:])"


@pytest.fixture(scope="module")
def wheel():
    if not (found := [*(ROOT / "build" / "wheel").glob("*.whl")]):
        pytest.skip("make install has built no wheel here")
    return found[0]


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """The Python of an environment with the wheel and what it depends on, in the versions of the lock."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    lock = (ROOT / "requirements.lock").read_text()
    needed = [re.search(rf"^{name}==\S+", lock, re.MULTILINE)[0] for name in ("numpy", "sentencepiece", "msgspec")]
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *needed, wheel], check=True)
    return folder / "bin" / "python"


def called(python, *arguments, text=None):
    # -I: no PYTHONPATH, and the folder of the tests is not on the path.
    return subprocess.run(
        [python, "-I", "-c", TRANSLATE, *map(str, arguments)], input=text, capture_output=True, text=True, check=False
    )


def test_it_is_of_any_python_3_and_of_this_package_alone(wheel):
    assert wheel.name.split("-")[2] == "py3"
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
        assert {name.partition("-")[0] for name in names} == {"nmt_frontier"}
        assert {"nmt_frontier/engine.so", "nmt_frontier/py.typed"} <= {*archive.namelist()}


@pytest.mark.parametrize("options", [{}, {"beam_size": 4}, {"html": True, "recase": True}])
def test_it_translates_the_same_bytes(bare, options):
    lines = [*sentences(20), "A <b>DOG</b> RUNS"]
    expected = "".join(f"{line}\n" for line in Translator(native.folders() / "int8", **options).translate(lines))
    given = [part for name, value in options.items()
             for part in (f"--{name.replace('_', '-')}", *([value] if value is not True else []))]  # fmt: skip
    done = called(bare, "translate", "--model", native.folders() / "int8", *given, text="\n".join(lines))
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_it_imports_a_model_and_names_what_it_lacks(bare, tmp_path):
    source = folders()["float32"]
    done = called(bare, "import", source, "--output", tmp_path / "mine")
    assert done.returncode == 0 and f"wrote {tmp_path}/mine/native-int8" in done.stdout, done.stderr
    found = called(bare, "translate", "--model", tmp_path / "mine" / "native-int8", text="a b\n")
    assert found.returncode == 0 and found.stdout.count("\n") == 1
    assert "decoded by  native" in called(bare, "describe", tmp_path / "mine" / "native-int8").stdout
    refused = called(bare, "translate", "--model", source, text="a b\n")
    assert "is for CTranslate2; install nmt-frontier-pipeline, which decodes with it" in refused.stderr
