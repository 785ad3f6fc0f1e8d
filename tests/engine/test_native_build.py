"""The engine built for tests: with sanitizers it accesses no foreign memory and has no undefined behaviour, and with
emulated instructions the sets that this CPU lacks compute the same.
"""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fully_connected
import numpy as np
import plain_transformer
import pytest
import recurrent
from native import KINDS, called, engine, engine_options, folders, kernels, outputs, sentences, worker

import nmt_frontier
from export import translate_command
from nmt_frontier.model import native_weights
from nmt_frontier.model.native_files import LIBRARY

PACKAGE = Path(nmt_frontier.__file__).parent
COMPILER = os.environ.get("CXX") or shutil.which("g++")


def library(name):
    """The path of a library of the compiler; its bare name if the compiler lacks it."""
    if not COMPILER:
        return name
    done = subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name


# Sets share all code but a few instructions, and those of AVX512 take minutes to compile with sanitizers.
EMULATED = ("avxvnni", "amx")
SETS = ["portable", "avx2", *EMULATED] if "avx2" in engine.available_sets() else ["portable"]
SANITIZED = [name for name in SETS if name != "avxvnni"]  # which is avx2 but for one instruction


def built(folder, package, *options):
    """Build a library with options of CMake, and with SETS, some of them emulated. Returns its package's folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake and ninja of the environment
    environment = {**os.environ, "PATH": path, "CXX": COMPILER}
    target, library = ("emulated/engine.so",) * 2 if len(SETS) > 1 else ("library", "libnmt_frontier.so")
    cores = str(len(os.sched_getaffinity(0)))
    subprocess.run(
        ["cmake", "-S", translate_command.ENGINE, "-B", folder, "-G", "Ninja", *options], check=True, env=environment
    )
    call = ["cmake", "--build", folder, "--target", target, "--parallel", cores]
    subprocess.run(call, check=True, env=environment)
    copy = shutil.copytree(PACKAGE, package / "nmt_frontier", ignore=shutil.ignore_patterns("source"))
    shutil.copy(folder / library, copy / LIBRARY.name)
    return str(package)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """The environment in which a package with a sanitized library is found and loaded."""
    if not os.path.isabs(library("libasan.so")):
        pytest.skip("there is no g++ with AddressSanitizer here")
    # The standard library checks its indices, too: a vector has more memory than elements.
    real = ";".join(name for name in SETS if name not in EMULATED)
    options = [f"-DNMT_SETS={real}", "-DNMT_SANITIZE=ON", "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS"]
    package = built(tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("package"), *options)
    # Python is not built with sanitizers: their library must be loaded first, and see C++'s exceptions.
    preloaded = f"{library('libasan.so')} {library('libstdc++.so')}"
    return {"PYTHONPATH": package, "LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"}


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    """The environment in which a package with emulated instructions is found and loaded.

    Most of it is what the command of submissions needs, too.
    """
    if not COMPILER or len(SETS) == 1:
        pytest.skip("there is no g++ here, or no AVX2")
    with translate_command.locked():
        return {"PYTHONPATH": built(translate_command.engine_build(), tmp_path_factory.mktemp("package"))}


def check(root, package, folder):
    """Decode in every way, and read damaged files."""
    from test_native_architectures import COMMON, LONG, SOURCES, TARGETS, opened
    from test_native_files import fuzz
    from test_native_kernels import LIMITS, cases, product

    root, folder = Path(root), Path(folder)
    assert Path(engine.__file__).is_relative_to(package)
    batch, prefixes = sentences(16), sentences(16, seed=2, longest=3)
    batch[0] = batch[0] * 50  # passes a block of the encoder and a page of keys
    for kind in KINDS:
        for threads in (1, 3):
            one = worker(kind, threads, root)
            for beam in (1, 4):
                for candidates in ("all", "sentence", "batch"):
                    outputs(one, batch, prefixes, beam_size=beam, candidates=candidates, blocked_ngram=2, longest=20)
                outputs(one, batch, beam_size=beam, attention_layer=0, wu=True, shortest=3, longest=40)
                outputs(one, batch, beam_size=beam, without={"remove_finished"}, longest=20)
            for way in ({}, {"top_k": 9, "top_p": 0.9}, {"epsilon": 0.01, "candidates": "sentence"}):
                outputs(one, batch, prefixes, samples=5, temperature=2.0, attention_layer=0, longest=20, **way)
            one.score(batch, prefixes, engine_options("sentence"))
            one.stop()
            with pytest.raises(engine.EngineError, match="stopped"):
                outputs(one, batch, beam_size=4)
            with pytest.raises(engine.EngineError, match="no source piece"):
                outputs(one, [*batch, [121]])
        outputs(worker(kind, root=root), [[5] * 1000], longest=3)
    models = recurrent.model(), recurrent.model("gru", 1, decoder_layers=2), fully_connected.model()
    computed = {"without": {"piece_products", "source_products", "equal_states", "polynomials"}}
    for kind in KINDS:
        for number, model in enumerate(models):
            path = folder / f"recurrent-{kind}-{number}"
            model.write(kind, path)
            one = engine.Worker(engine.Model(path / native_weights.NAME))
            for beam in (1, 4):
                outputs(one, batch, prefixes, beam_size=beam, longest=20, attention_layer=0)
                for options in ({}, computed):
                    outputs(one, batch, beam_size=beam, longest=20, **options)
            outputs(one, batch, prefixes, samples=5, temperature=2.0, longest=20)
            one.score(batch, prefixes)
    for name, options in COMMON.items():
        for kind in KINDS:
            one = opened(plain_transformer.model(**options), kind, folder / name)
            outputs(one, SOURCES, TARGETS, beam_size=4, longest=10)
            one.score(SOURCES, TARGETS)
    outputs(opened(plain_transformer.model(**COMMON["T5"]), "int8", folder / "long", 3), [LONG], beam_size=4, longest=5)
    for kind in LIMITS:
        for _, tensors, rows, scales, exact in cases(kind, 48, 80):
            for count in range(1, len(rows) + 1):
                assert (product(kind, tensors, rows[:count], scales[:count]) == exact[:count]).all()
        kernels.quantise(exact, kind.split()[-1])
    fuzz(root, folder, range(600))


@pytest.mark.long
@pytest.mark.parametrize("name", SANITIZED)
def test_the_engine_passes_sanitizers(sanitized, tmp_path, name):
    called(check, folders(), sanitized["PYTHONPATH"], tmp_path, NMT_ISA=name, **sanitized)


def everything(package, root):
    """What test_native_kernels computes, and products of more shapes: tiles have 16 rows of 64 bytes."""
    from test_native_kernels import computed, digest, linear

    assert Path(engine.__file__).is_relative_to(package)
    products = {}
    for inputs in (16, 48, 64, 96, 160, 192, 256, 512):
        random = np.random.default_rng(inputs)
        matrix, bias = random.normal(size=(144, inputs)).astype(np.float32), random.normal(size=144)
        for channels in (16, 32, 48, 80, 144):
            tensors = linear(matrix[:channels], "int8", bias[:channels])
            for count in (1, 2, 3, 13, 16, 17, 31, 32, 33, 47, 49, 100, 128, 131, 145, 300):
                rows, scale = kernels.quantise(random.normal(size=(count, inputs)).astype(np.float32), "int8")
                ways = itertools.product((True, False), ("usual", "amx"))  # amx: with any number of rows
                found = [kernels.product(tensors, "int8", rows, scale, shifted, tile=tile) for shifted, tile in ways]
                products[f"{inputs} inputs, {channels} outputs, {count} rows"] = digest(found)
    return {**computed(root), "products": products}


@pytest.mark.long
def test_emulated_sets_compute_the_same_bytes(emulated):
    sets = ("avx2", *EMULATED)
    found = [called(everything, emulated["PYTHONPATH"], folders(), NMT_ISA=name, **emulated) for name in sets]
    assert tuple(one.pop("isa") for one in found) == sets
    assert found.count(found[0]) == len(sets)
