"""Misuse of the native engine, and a build that could not work, is one line; limits have one source."""

import gc
import re
import runpy
import shutil
import subprocess
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from native import engine, folders, outputs, sentences, worker

from nmt_frontier import limits
from nmt_frontier.model import native_files, native_map, native_packing, native_quantization, native_weights

ENGINE = Path(__file__).parents[2] / "engine"
LONG, SHORT = sentences(300, seed=5, longest=60), sentences(4, seed=6)


# Threads


def test_a_second_thread_on_a_worker_is_refused():
    one, start = worker(), threading.Barrier(2)
    expected = outputs(worker(), LONG, beam_size=8)

    def decode():
        start.wait()
        try:
            return outputs(one, LONG, beam_size=8)
        except engine.EngineError as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        found = [call.result() for call in [pool.submit(decode) for _ in range(2)]]
    assert expected in found
    assert "another thread uses this worker; open a worker for each thread" in found
    assert outputs(one, LONG, beam_size=8) == expected


def test_results_are_the_caller_s_until_its_next_call(monkeypatch):
    """Another thread may use the worker as soon as a call has ended, before its results are read."""
    one, read = worker(), engine._hypotheses
    expected, other = outputs(one, SHORT), LONG[:50]

    def read_late(*arguments):
        monkeypatch.setattr(engine, "_hypotheses", read)
        with ThreadPoolExecutor(1) as pool:
            assert len(pool.submit(outputs, one, other).result()) == len(other)
        return read(*arguments)

    monkeypatch.setattr(engine, "_hypotheses", read_late)
    assert outputs(one, SHORT) == expected


def test_tiles_of_a_model_in_use_are_not_changed():
    changed = engine.Model(folders() / "int8" / native_weights.NAME)
    tile = "nmt_choose_tile", changed._handle, 16, 16, 1
    expected = outputs(worker("int8"), SHORT)
    user = engine.Worker(changed, threads=2)
    with pytest.raises(engine.EngineError, match="the model has workers; choose tiles and packing before you open one"):
        engine._call(*tile)
    assert outputs(user, SHORT) == expected
    del user
    gc.collect()
    engine._call(*tile)
    assert outputs(engine.Worker(changed), SHORT) == expected


# Parts that Python cannot reach


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed, which compiles the parts")
    program = tmp_path_factory.mktemp("parts") / "parts"
    sources = [Path(__file__).parents[1] / "data" / "engine_parts.cpp", *ENGINE.glob("*/team.cpp")]
    subprocess.run(["g++", "-std=c++17", "-O1", "-pthread", f"-I{ENGINE}", *sources, "-o", program], check=True)

    def run(part: str, text: bytes = b"") -> tuple[str, int]:
        done = subprocess.run([program, part], input=text, capture_output=True, check=False)
        return done.stdout.decode(), done.returncode

    return run


JSON = {
    "a number": (b"-1.5e+3", "read"),
    "a nested value": (b'{"a": [1, {"b": null}], "c": "d"}', "read"),
    "only NUL": (b"\0", "the text lacks a value"),
    "NUL in a list": (b"[\0\0]", "the text lacks a value"),
    "NUL behind a number": (b"1\0", "read the start"),
    "NUL in a string": (b'"a\0"', "the text has a control character in a string"),
    "NUL in an escape": (b'"\\\0"', "the text has an escape that JSON does not know"),
    "no end": (b"[1", "the text lacks a ']'"),
    "very deep": (b"[" * 1000, "the text is nested too deeply"),
}


@pytest.mark.parametrize(("text", "printed"), JSON.values(), ids=JSON)
def test_json(parts, text, printed):
    assert parts("json", text) == (printed, 0)


def test_a_buffer_does_not_grow_while_pointers_into_it_are_in_use(parts):
    assert parts("growth") == ("kept grown ", -6)  # ends by an assertion


def test_pages_are_shared_until_one_table_writes(parts):
    assert parts("pages") == ("11 1bc 11", 0)


def test_threads_share_work_without_allocation_and_pass_on_exceptions(parts):
    assert parts("work") == ("303 303 303 0 part 1", 0)


# Builds


@pytest.mark.parametrize(
    ("sets", "message"),
    [("avx2", "NMT_SETS lacks 'portable'"), ("portable;avx3", "NMT_SETS: 'avx3' is none of portable")],
)
def test_a_build_without_the_portable_set_is_refused(tmp_path, sets, message):
    if not shutil.which("cmake") or not shutil.which("c++"):
        pytest.skip("there is no CMake or no C++ compiler here")
    call = ["cmake", "-S", ENGINE, "-B", tmp_path, f"-DNMT_SETS={sets}"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode and message in " ".join(done.stderr.split())


def test_tables_of_another_unicode_are_refused(tmp_path, monkeypatch):
    tables = ENGINE / "text" / "nfc_tables.py"
    monkeypatch.setattr(sys, "argv", ["nfc_tables.py", str(tmp_path / "tables")])
    runpy.run_path(str(tables), run_name="__main__")
    assert "kDecompositions" in (tmp_path / "tables").read_text()
    monkeypatch.setattr(unicodedata, "unidata_version", "15.1.0")
    with pytest.raises(SystemExit, match=r"^nfc_tables.py: needs Unicode 14\.0\.0, .* this Python has 15\.1\.0$"):
        runpy.run_path(str(tables), run_name="__main__")


# Limits

NUMBERS = {
    "kMostUnits": native_files.MOST_UNITS,
    "kPanel": native_packing.PANEL,
    "kShortInput": native_quantization.INT16_INPUT,
    "kLaneBound": native_quantization.INT8_LANE,
    "kLongest": native_map.LONGEST,
    "kMaximumInput": limits.MAXIMUM_INPUT,
    "kMaximumCharacters": limits.MAXIMUM_CHARACTERS,
    "kMaximumOutput": limits.MAXIMUM_OUTPUT,
    "kBatchTokens": limits.ONE_CORE,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_limit_is_the_same_number_in_both_languages(name):
    sources = [path.read_text() for path in ENGINE.glob("*/*") if path.suffix in (".h", ".cpp")]
    found = [int(number) for text in sources for number in re.findall(rf"constexpr \w+ {name} = (\d+);", text)]
    assert found == [NUMBERS[name]]
