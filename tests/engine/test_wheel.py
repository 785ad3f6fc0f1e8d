"""The wheel that `make install` has built, alone in an environment with its dependencies."""

import os
import platform
import re
import shutil
import struct
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
    """For any Linux, if `make wheels` has built it."""
    names = f"dist/*-manylinux_*_{platform.machine()}.whl", "wheel/*.whl"
    if not (found := [path for name in names for path in (ROOT / "build").glob(name)]):
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


def for_machine(library):
    """The machine that a library is for, as tags of wheels name it."""
    if library[:4] == b"\x7fELF":
        return "linux", {62: "x86_64", 183: "aarch64"}[struct.unpack_from("<H", library, 18)[0]]
    if library[:4] == b"\xcf\xfa\xed\xfe":  # Mach-O of 64 bits
        return "macosx", {0x01000007: "x86_64", 0x0100000C: "arm64"}[struct.unpack_from("<I", library, 4)[0]]
    header = struct.unpack_from("<I", library, 0x3C)[0]
    assert library[:2] == b"MZ" and library[header : header + 4] == b"PE\0\0"
    return "win", {0x8664: "amd64"}[struct.unpack_from("<H", library, header + 4)[0]]


def library_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.fullmatch(r"nmt_frontier/engine\.(so|dll)", name))
        return archive.read(name)


def test_each_wheel_has_the_library_of_its_tag_with_the_whole_interface():
    if not (wheels := [*(ROOT / "build" / "dist").glob("*.whl")]):
        pytest.skip("make wheels has built none here")
    headers = ((ROOT / "engine/bindings" / name).read_text() for name in ("nmt_frontier.h", "c_api.h"))
    interface = re.findall(r"^NMT_EXPORT.*?(nmt_\w+)\(", "".join(headers), re.MULTILINE)
    assert len(interface) > 30
    for path in wheels:
        library = library_of(path)
        system, machine = for_machine(library)
        assert re.search(rf"-py3-none-(many)?{system}_(.+_)?{machine}\.whl$", path.name), (path.name, system, machine)
        assert [name for name in interface if name.encode() not in library] == [], path.name
        assert not re.search(rb"lib(std)?c\+\+(-6)?\.(so|dll|1\.dylib)|libgcc_s", library), path.name  # of C++: inside


def of_macos(library):
    """The least macOS of a Mach-O library, and what it loads (mach-o/loader.h)."""
    (commands,), place, least, loaded = struct.unpack_from("<I", library, 16), 32, "", []
    for _ in range(commands):
        kind, size, first, second = struct.unpack_from("<IIII", library, place)
        if kind == 0x32 and first == 1:  # LC_BUILD_VERSION, PLATFORM_MACOS
            least = f"{second >> 16}_{second >> 8 & 0xFF}"
        if kind & 0x7FFFFFFF in (0x0C, 0x18, 0x1F, 0x23):  # LC_LOAD_DYLIB, also weak, exported again or upward
            loaded.append(library[place + first : place + size].rstrip(b"\0").decode())
        place += size
    return least, loaded


def test_a_wheel_for_macos_needs_the_version_of_its_tag_and_the_system_alone():
    if not (wheels := [*(ROOT / "build" / "dist").glob("*-macosx_*.whl")]):
        pytest.skip("make wheels has built none for macOS here")
    for path in wheels:
        least, loaded = of_macos(library_of(path))
        assert f"-macosx_{least}_" in path.name, (path.name, least)
        assert loaded == ["/usr/lib/libSystem.B.dylib"], path.name


def test_each_wheel_has_the_engine_for_browsers():
    if not (wheels := [*(ROOT / "build" / "dist").glob("*.whl")]) or not shutil.which("em++"):
        pytest.skip("make wheels has built none here, or there is no emscripten")
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            assert archive.getinfo("nmt_frontier/web/engine.wasm").file_size <= 1_000_000, path.name
            assert {"nmt_frontier/web/engine.js", "nmt_frontier/web/translator.js"} <= {*archive.namelist()}, path.name


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
