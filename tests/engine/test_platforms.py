"""The engine of another system computes the same bytes: for AArch64 under qemu, for Windows under wine."""

import functools
import importlib.util
import itertools
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import models
import numpy as np
import pytest
from native import KINDS, called, engine, engine_options, folders, kernels, sentences, worker
from test_native_kernels import ACTIVATIONS, LIMITS, NOT_FINITE, PRODUCTS, ROWS, cases, is_shifted, product, stored

from export import translate_command
from nmt_frontier import Translator
from nmt_frontier.errors import UserError
from nmt_frontier.model import native_weights

ENGINE = Path(__file__).parents[2] / "engine"
SIZES = [(16, 128), (48, 80), (64, 48)]  # inputs, outputs
WAYS = [(1, 0), (4, 0), (1, 3)]  # beam size, samples


def packed(*values):
    """Numbers as int32, arrays as they are."""
    return b"".join(struct.pack("<i", value) if isinstance(value, int) else bytes(value) for value in values)


def products():
    """The arguments of products at their extremes, and what they are here."""
    for kind, size in itertools.product(PRODUCTS, SIZES):
        for name, tensors, rows, scales, _ in cases(kind, *size):
            weights, steps = tensors["weight"].tobytes(), tensors.get("steps", np.zeros(0)).tobytes()
            offset = tensors.get("offset", np.zeros(size[1], np.int32)).tobytes()
            number = kernels.TYPES[native_weights.of_product(stored(kind), size[0])]
            head = packed(number, *size, ROWS, int(is_shifted(kind)), len(weights), weights, len(steps), steps)
            tail = packed(rows.nbytes, rows.tobytes(), scales.tobytes())
            call = head + tensors["scale"].tobytes() + offset + tensors["bias"].tobytes() + tail
            here = [product(kind, tensors, rows[:count], scales[:count]) for count in range(1, ROWS + 1)]
            yield f"{name} {kind} {size}", packed(1) + call, here


def quantised():
    for kind, rows in itertools.product(LIMITS, [*ACTIVATIONS, NOT_FINITE]):
        signed, rows = kind != "unsigned int8", np.abs(rows).astype(np.float32)
        found = kernels.quantise(rows, stored(kind), signed)
        call = packed(2, kernels.TYPES[stored(kind)], found[0].itemsize, *rows.shape, int(signed), rows.tobytes())
        yield f"activations in {kind}", call, found


def translations(root):
    batch = sentences(30)
    lengths, pieces = ([len(s) for s in batch], [*itertools.chain(*batch)])
    for kind, (beam, samples) in itertools.product(KINDS, WAYS):
        path = os.fsencode(Path(root, kind, native_weights.NAME)) + b"\0"
        call = packed(3, len(path), path, beam, samples, len(batch), *lengths, len(pieces), *pieces)
        options = engine_options(beam_size=beam, samples=samples, longest=40, scores=True)
        found = [h for hypotheses in worker(kind, 2, root).translate(batch, options) for h in hypotheses]
        numbers = np.array([*itertools.chain(*(h.pieces for h in found))], np.int32)
        yield f"{kind} {beam} {samples}", call, [numbers, np.array([h.score for h in found], np.float32)]


def write(root, folder):
    """Write calls for the driver, and their results here. Returns their names."""
    made = [*products(), *quantised(), *translations(root)]
    Path(folder, "calls").write_bytes(b"".join(call for _, call, _ in made) + packed(0))
    results = [np.ascontiguousarray(one).tobytes() for _, _, here in made for one in here]
    Path(folder, "expected").write_bytes(b"".join(packed(len(one), one) for one in results))
    return [name for name, _, _ in made]


def results(path):
    """The results in a file, one for each call and array."""
    data, place, found = path.read_bytes(), 0, []
    while place < len(data):
        (size,) = struct.unpack_from("<i", data, place)
        found.append(data[place + 4 : place + 4 + size])
        place += 4 + size
    return found


@functools.cache
def expected(folder, isa):
    """A folder with calls, and with the results of an instruction set of this CPU."""
    (own := folder / isa).mkdir()
    called(write, folders(), own, NMT_ISA=isa)  # in a process of its own, which chooses a set once
    return own


def check(call, isa, own, folder):
    """Run a driver and compare all results; isa: the set that it must choose, or that the environment names."""
    path = folder / "results"
    done = subprocess.run([*call, own / "calls", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [isa]), done.stderr
    found, here = results(path), results(own / "expected")
    assert len(found) == len(here) > 1000
    assert [i for i, pair in enumerate(zip(found, here, strict=True)) if pair[0] != pair[1]] == []


def driver(folder, *options):
    """Build the driver for another system in CMake's folder, which options make."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if options:
        subprocess.run(["cmake", "-S", ENGINE, "-B", folder, "-G", "Ninja", *options], check=True, env=environment)
    subprocess.run(["cmake", "--build", folder, "--target", "driver"], check=True, env=environment)
    return next(path for path in (folder / "driver", folder / "driver.exe") if path.exists())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("calls")


@pytest.fixture(scope="module")
def program():
    """That of submissions, for AArch64."""
    if not shutil.which("qemu-aarch64") or not shutil.which("aarch64-linux-gnu-g++"):
        pytest.skip("there is no qemu-user here, or no g++ for AArch64")
    try:
        translate_command.sources()
    except UserError as error:
        pytest.skip(f"cannot be made here: {error}")
    return translate_command.build("aarch64")


@pytest.fixture(scope="module")
def arm(program):
    """The driver, of the same objects."""
    with translate_command.locked():
        return driver(translate_command.engine_build("aarch64"))


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    """With two of its sets: the others take minutes to compile."""
    if not shutil.which("wine") or importlib.util.find_spec("ziglang") is None:
        pytest.skip("there is no Wine here, or no ziglang")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.syspath_prepend(ENGINE)
    wheels, folder = importlib.import_module("wheels"), tmp_path_factory.mktemp("windows")
    platform = wheels.PLATFORMS["win_amd64"]
    compiler, toolchain = wheels.zig(folder, platform.target), wheels.toolchain(platform, folder)
    monkeypatch.undo()
    options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    return driver(folder / "build", *options, "-DNMT_SETS=portable;avx2")


FUSED = pytest.mark.skipif("avx2" not in engine.available_sets(), reason="this CPU has no fused multiply-add")
LINES = ["", "a", "\u1100\u1161 e\u0301", "x" * 9000, "a\u2028b", "\ufeff42", *models.sentences(100, seed=7)]


@pytest.mark.long
@FUSED
@pytest.mark.parametrize(("kind", "cpu"), [("int8", "cortex-a72"), ("int4", "neoverse-n1"), ("float32", "max")])
def test_the_program_of_submissions_writes_the_same_text_on_aarch64(program, kind, cpu):
    text = "".join(f"{line}\n" for line in LINES).encode() + b"a \xff b"
    call = ["qemu-aarch64", "-cpu", cpu, program, folders() / kind, "CPU-MT", "throughput"]
    done = subprocess.run(call, input=text, capture_output=True, check=False)
    expected = [f"{line}\n" for line in Translator(folders() / kind).translate([*LINES, "a \ufffd b"])]
    assert done.stdout.decode() == "".join(expected), done.stderr
    assert len({*expected}) > 20 and b"1 broken bytes replaced by U+FFFD" in done.stderr


@pytest.mark.long
@FUSED
@pytest.mark.parametrize(("cpu", "isa"), [("cortex-a72", "neon"), ("neoverse-n1", "dotprod"), ("max", "i8mm")])
def test_each_set_of_aarch64_computes_the_bytes_of_avx2(arm, folder, tmp_path, cpu, isa):
    check(["qemu-aarch64", "-cpu", cpu, arm], isa, expected(folder, "avx2"), tmp_path)


@pytest.mark.long
def test_the_portable_set_computes_the_same_bytes_on_aarch64(arm, folder, tmp_path, monkeypatch):
    own = expected(folder, "portable")
    monkeypatch.setenv("NMT_ISA", "portable")
    check(["qemu-aarch64", arm], "portable", own, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("isa", ["portable", "avx2"])
def test_windows_computes_the_same_bytes(windows, folder, tmp_path, monkeypatch, isa):
    if isa not in engine.available_sets():
        pytest.skip("this CPU has no AVX2")
    monkeypatch.setenv("WINEPREFIX", str(tmp_path / "wine"))
    monkeypatch.setenv("NMT_ISA", isa)
    check(["wine", windows], isa, expected(folder, isa), tmp_path)
