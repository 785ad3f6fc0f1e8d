"""The C interface: its examples, built as a user would, its packages, its errors and its promise."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import models
import native
import pytest
from native import engine

import nmt_frontier
from export import translate_command
from nmt_frontier import Translator
from nmt_frontier.command import main
from nmt_frontier.model.native_files import LIBRARY
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.translator import LineTokenizer

ENGINE = Path(__file__).parents[2] / "engine"
HEADER = (ENGINE / "bindings" / "nmt_frontier.h").read_text(encoding="utf-8")
PACKAGE = Path(nmt_frontier.__file__).parent
STRICT = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]
COMPILERS = {"translate.c": ["gcc", "-std=c99", *STRICT], "translate.cpp": ["g++", "-std=c++17", *STRICT]}
PROJECT = """cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C CXX)
find_package(nmt_frontier {version} REQUIRED)
add_executable(of_c {examples}/translate.c)
add_executable(of_cpp {examples}/translate.cpp)
target_compile_features(of_cpp PRIVATE cxx_std_17)
foreach(PROGRAM of_c of_cpp)
  target_link_libraries(${{PROGRAM}} PRIVATE nmt_frontier::nmt_frontier)
endforeach()
"""
LINES = models.sentences(40, seed=7)


def flags(folder: Path) -> list[str]:
    """What pkg-config says of the package there."""
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    call = ["pkg-config", "--cflags", "--libs", "nmt_frontier >= 1.0"]
    return subprocess.run(call, env=environment, capture_output=True, text=True, check=True).stdout.split()


def compiled(example: str, output: Path, package: Path) -> Path:
    """An example, compiled with the flags of a package for pkg-config."""
    compiler, *options = COMPILERS[example]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source, program = ENGINE / "examples" / example, output / example.replace(".", "_")
    subprocess.run([compiler, *options, source, "-o", program, *flags(package)], check=True)
    return program


def asked(option: str, capsys) -> Path:
    """The folder that ``nmt-frontier --cmake-dir`` and the like print."""
    with pytest.raises(SystemExit):
        main([option])
    return Path(capsys.readouterr().out.strip())


def called(program: Path, folder: Path, lines: list[str], **environment: str) -> list[str]:
    text = "".join(f"{line}\n" for line in lines)
    call = [program, folder]
    done = subprocess.run(
        call, input=text, capture_output=True, text=True, env={**os.environ, **environment}, check=True
    )
    return done.stdout.splitlines()


def in_pieces(folder: Path) -> list[str]:
    return [" ".join(LineTokenizer(folder).encode(line)) for line in LINES]


def best_four(folder: Path, lines: list[str]) -> list[str]:
    """The output of the example in C++, by Python's bindings."""
    vocabulary = Vocabulary.read(folder)
    files = folder / "weights.safetensors", folder / "map.safetensors"
    worker = engine.Worker(engine.Model(*files, texts=vocabulary.texts()))
    options = engine.Options(beam_size=4, n_best=4, vocabulary_map=True)
    found = worker.translate([vocabulary.numbers(line.split()) for line in lines], options)
    return [f"{one.score:.4f}\t{' '.join(vocabulary.pieces(one.pieces))}" for hypotheses in found for one in hypotheses]


@pytest.fixture(params=["int8", "float32"])
def folder(request) -> Path:
    return native.folders() / request.param


@pytest.mark.slow
def test_the_example_in_c_writes_what_python_does(folder, tmp_path, capsys):
    program = compiled("translate.c", tmp_path, asked("--pkgconfig-dir", capsys))
    found = [LineTokenizer(folder).decode(line.split()) for line in called(program, folder, in_pieces(folder))]
    assert found == [*Translator(folder).translate(LINES)] and len({*found}) > 9
    assert called(program, folder, ["", "  "]) == ["", ""]
    done = subprocess.run([program, tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}/model.json: missing or empty\n")


@pytest.mark.slow
def test_the_example_in_cpp_gives_the_hypotheses_of_python(folder, tmp_path, capsys):
    program = compiled("translate.cpp", tmp_path, asked("--pkgconfig-dir", capsys))
    lines = in_pieces(folder)
    assert called(program, folder, lines) == best_four(folder, lines)


def project(folder: Path, version: str, prefix: Path) -> subprocess.CompletedProcess[str]:
    """A fresh project of CMake, configured."""
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=version, examples=ENGINE / "examples"))
    call = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"]
    return subprocess.run(call, env=environment(), capture_output=True, text=True, check=False)


def environment() -> dict[str, str]:
    """With CMake and Ninja of the environment."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def built_by_cmake(folder: Path, prefix: Path) -> Path:
    done = project(folder, "1.0", prefix)
    assert done.returncode == 0, done.stderr
    subprocess.run(["cmake", "--build", folder / "build"], env=environment(), check=True)
    return folder / "build"


@pytest.mark.slow
def test_a_fresh_project_of_cmake_finds_the_package(tmp_path, capsys):
    folder, prefix = native.folders() / "int8", asked("--cmake-dir", capsys)
    build = built_by_cmake(tmp_path / "fits", prefix)
    lines = in_pieces(folder)
    assert called(build / "of_cpp", folder, lines) == best_four(folder, lines)
    assert called(build / "of_c", folder, lines)[:3] != lines[:3]
    other = project(tmp_path / "later", "2.0", prefix)
    assert other.returncode and "nmt_frontier" in other.stderr and "2.0" in other.stderr


@pytest.mark.long
def test_a_library_with_sentencepiece_reads_text(tmp_path):
    """Installed apart, from sources, as the page says; the program of submissions has compiled most of it."""
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    translate_command.build()
    prefix, build = tmp_path / "prefix", str(translate_command.engine_build())
    with translate_command.locked():
        subprocess.run(["cmake", "--build", build, "--target", "library"], env=environment(), check=True)
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], env=environment(), check=True)
    library = next(prefix.glob("lib*")).resolve()
    symbols = subprocess.run(["nm", "-DC", library / "libnmt_frontier.so"], capture_output=True, text=True, check=True)
    assert not re.search(r" [TWV] .*sentencepiece::", symbols.stdout)  # a program may have a SentencePiece of its own
    folder, found = native.folders() / "int8", {"LD_LIBRARY_PATH": str(library)}
    expected = [*Translator(folder).translate([*LINES, "42", "A\u0301 x" * 900])]
    program = compiled("translate.c", tmp_path, library / "pkgconfig")
    assert called(program, folder, [*LINES, "42", "A\u0301 x" * 900], **found) == expected
    best = called(built_by_cmake(tmp_path / "project", prefix) / "of_cpp", folder, LINES)
    assert [line.partition("\t")[2] for line in best[::4]] == [*Translator(folder, beam_size=4).translate(LINES)]


# The interface through ctypes: what a program may do wrong, and what it is told.


class Lines(ctypes.Structure):
    _fields_ = [
        ("hypotheses", ctypes.c_int64),
        *((name, ctypes.POINTER(ctypes.c_int32)) for name in ("counts", "cut", "replaced")),
        ("texts", ctypes.POINTER(ctypes.c_char_p)),
        ("sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("scores", ctypes.POINTER(ctypes.c_float)),
        *((name, ctypes.POINTER(ctypes.c_int32)) for name in ("limited", "looped")),
    ]


class Called:
    """A worker of a model folder, by the functions of the interface alone."""

    def __init__(self, folder: Path, count: int = 1):
        self._library, self.error = ctypes.CDLL(str(LIBRARY)), ctypes.create_string_buffer(300)
        self.model, self.worker = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self._call("nmt_open_folder", os.fsencode(folder), ctypes.byref(self.model)), self.message
        handles = (ctypes.c_void_p * count)(*[self.model] * count)
        assert not self._call("nmt_open_worker", handles, count, 1, ctypes.byref(self.worker)), self.message

    @property
    def message(self) -> str:
        return self.error.value.decode()

    def _call(self, name: str, *arguments: object) -> int:
        return getattr(self._library, name)(*arguments, self.error, ctypes.c_size_t(300))

    def translate(self, lines: list[bytes], kind: str = "pieces", size: int | None = None, **options: object) -> Lines:
        """Raises EngineError with the library's message."""
        values = {"beam_size": 1, "n_best": 1, "length_penalty": 1.0, "vocabulary_map": 1, "attention_layer": -1}
        values |= {"attention_head": -1, "temperature": 1.0, "top_p": 1.0, **options}
        given = engine._Options(size or ctypes.sizeof(engine._Options), **values)
        found = ctypes.POINTER(Lines)()
        texts = (ctypes.c_char_p * len(lines))(*lines)
        arguments = self.worker, texts, None, len(lines), ctypes.byref(given), ctypes.byref(found)
        if self._call(f"nmt_translate_{kind}", *arguments):
            raise engine.EngineError(self.message)
        return found.contents

    def __del__(self):
        self._library.nmt_close_worker(self.worker)
        self._library.nmt_close(self.model)


def test_lines_tell_what_was_cut_limited_and_looped(folder):
    one, lines = Called(folder), [line.encode() for line in in_pieces(folder)]
    found = one.translate([*lines, b" ".join([lines[0]] * 1000), b""], longest=3)
    assert found.hypotheses == len(lines) + 2 and found.counts[: len(lines)] == [1] * len(lines)
    assert found.cut[: len(lines) + 2] == [0] * len(lines) + [1, 0] and found.texts[len(lines) + 1] == b""
    assert {len(found.texts[number].split()) for number in range(len(lines)) if found.limited[number]} == {3}
    assert all(found.sizes[number] == len(found.texts[number]) for number in range(len(lines)))
    looped = one.translate(lines)
    translator = Translator(folder)
    assert [*translator.translate(LINES)] and sum(looped.looped[: len(lines)]) == translator.counts["lines_looped"]


def test_a_program_that_knows_fewer_options_gets_the_defaults_of_the_others(folder):
    one, lines = Called(folder), [line.encode() for line in in_pieces(folder)]
    expected = [one.translate(lines).texts[number] for number in range(len(lines))]
    size = engine._Options.longest.offset
    found = one.translate(lines, size=size, longest=2, samples=3)
    assert [found.texts[number] for number in range(len(lines))] == expected
    with pytest.raises(engine.EngineError, match=r"the options have 1000 bytes, not up to 88: begin with NMT_DEFAULTS"):
        one.translate(lines, size=1000)


def test_the_defaults_of_the_header_are_those_of_python(folder):
    values = re.search(r"#define NMT_DEFAULTS\s*\\\s*\{\(int32_t\)sizeof\(nmt_options\), (.*?)\}", HEADER)[1]
    given = [float(value.removesuffix("f")) for value in values.split(",")]
    own = engine._options(engine.Options(longest=0, vocabulary_map=True))
    assert given == [getattr(own, name) for name, _ in engine._FIELDS]


def test_what_is_wrong_is_one_line_and_the_worker_goes_on(folder, tmp_path):
    one = Called(folder)
    for options, message in (
        ({"beam_size": 300}, "the beam size must be from 1 to 256"),
        ({"stop": 9}, "no way to stop"),
    ):
        with pytest.raises(engine.EngineError, match=message):
            one.translate([b"a"], **options)
    if not one._library.nmt_has_text():
        with pytest.raises(
            engine.EngineError, match=r"^this library has no SentencePiece: split lines with it, and call"
        ):
            one.translate([b"a"], "text")
    assert one.translate([b"a"]).hypotheses == 1
    later = shutil.copytree(folder, tmp_path / "later")
    description = (later / "model.json").read_text()
    (later / "model.json").write_text(re.sub(r"^\{", '{"format": 2, ', re.sub(r'"format": \d+,', "", description)))
    with pytest.raises(AssertionError, match=r"model.json: made for a later version, of format 2"):
        Called(later)


def test_an_ensemble_of_a_model_with_itself_is_the_model(folder):
    lines = [line.encode() for line in in_pieces(folder)]
    alone, both = (Called(folder, count).translate(lines) for count in (1, 2))
    assert alone.texts[: len(lines)] == both.texts[: len(lines)]


# What version 1.0 promises: fields are only added, behind these.
PROMISED = {
    "nmt_options": "size beam_size n_best length_penalty wu shortest longest blocked_ngram vocabulary_map scores "
    "attention_layer attention_head stop as_transformers forced_end samples temperature top_k top_p epsilon seed "
    "without",
    "nmt_lines": "hypotheses counts cut replaced texts sizes scores limited looped",
    "nmt_batch": "sentences source_lengths sources prefix_lengths prefixes",
    "nmt_results": "hypotheses total_pieces total_attention counts lengths pieces scores attention_lengths attention "
    "loops piece_scores",
}


@pytest.mark.parametrize("name", PROMISED)
def test_fields_stay_where_the_first_version_has_them(name):
    body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", HEADER, re.DOTALL)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    fields = [
        field.strip(" *") for line in body.split(";") for field in re.findall(r"[*\s](\w+)\s*(?:,|$)", line.strip())
    ]
    promised = PROMISED[name].split()
    assert fields[: len(promised)] == promised
