"""The wheel that `make install` has built, alone in an environment with its dependencies."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import native
import pytest
from models import MADE, folders, sentences

from nmt_frontier import Translator

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
TRANSLATE = "import sys; from nmt_frontier.command import main; main(sys.argv[1:])"


# The tests of the runtime, which import nothing else of this project.
RUNTIME = [
    *("marian_file", "markup", "model_huggingface", "model_marian", "native_architectures"),
    *("native_ensemble", "native_faults", "native_files", "native_kernels", "native_threads", "numbered", "pipeline"),
    *("resume", "runtime", "threads", "translate"),
]
NUMPY = "numpy==2.4.6"  # the tests beside this one have the oldest that the runtime takes


@pytest.fixture(scope="module")
def wheel():
    """For any Linux, if `make wheel` has built it."""
    if not (found := [*(ROOT / "build").glob("dist/*.whl"), *(ROOT / "build").glob("wheel/*.whl")]):
        pytest.skip("make install has built no wheel here")
    return found[0]


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """The Python of an environment with the wheel and what it depends on, and what its tests need."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, NUMPY, f"{wheel}[import,sentences]", "pytest", "pytest-timeout", "hypothesis"], check=True)
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
        parts = (
            "engine.so",
            "py.typed",
            "source/CMakeLists.txt",
            "source/examples/translate.c",
            "include/nmt_frontier.h",
        )
        parts += ("cmake/nmt_frontierConfig.cmake", "pkgconfig/nmt_frontier.pc", "source/bindings/nmt_frontier.pc.in")
        assert {f"nmt_frontier/{name}" for name in parts} <= {*archive.namelist()}


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


def test_its_tests_pass_without_the_pipeline(bare, tmp_path):
    """A copy of them, so that nothing of the checkout is found; with models that OpenNMT-tf has made here."""
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(native.folders(), tmp_path / "made" / "native")
    for name, folder in folders().items():
        shutil.copytree(folder, tmp_path / "made" / "models" / name)
    environment = {**os.environ, MADE: str(tmp_path / "made")}
    files = [f"tests/engine/test_{name}.py" for name in RUNTIME]
    call = [bare, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *files]
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-5000:]
