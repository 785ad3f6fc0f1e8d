"""The native engine, built with sanitizers, accesses no foreign memory and has no undefined behaviour."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import fully_connected
import pytest
import recurrent
from native import KINDS, called, engine, engine_options, folders, kernels, outputs, sentences, worker

from formats import native_model

SOURCE = Path(__file__).parents[1] / "engine"
COMPILER = os.environ.get("CXX") or shutil.which("g++")


def library(name):
    """The path of a library of the compiler; its bare name if the compiler lacks it."""
    if not COMPILER:
        return name
    done = subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name


# Sets share all code but a few instructions, and those of AVX512 take minutes to compile with sanitizers.
SETS = [name for name in ("portable", "avx2") if name in engine.available_sets()]


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """The environment in which a package with a sanitized library is found and loaded."""
    if not os.path.isabs(library("libasan.so")):
        pytest.skip("there is no g++ with AddressSanitizer here")
    build, package = (tmp_path_factory.mktemp(name) for name in ("build", "package"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake and ninja of the environment
    environment = {**os.environ, "PATH": path, "CXX": COMPILER}
    # The standard library checks its indices, too: a vector has more memory than elements.
    options = ["-DNMT_SANITIZE=ON", f"-DNMT_SETS={';'.join(SETS)}", "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS"]
    cores = str(len(os.sched_getaffinity(0)))
    subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", *options], check=True, env=environment)
    subprocess.run(["cmake", "--build", build, "--parallel", cores], check=True, env=environment)
    copy = shutil.copytree(SOURCE / "python" / "nmt_frontier_engine", package / "nmt_frontier_engine")
    shutil.copy(build / "nmt_frontier_engine.so", copy)
    # Python is not built with sanitizers: their library must be loaded first, and see C++'s exceptions.
    preloaded = f"{library('libasan.so')} {library('libstdc++.so')}"
    return {"PYTHONPATH": str(package), "LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"}


def check(root, package, folder):
    """Decode in every way, and read damaged files."""
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
            one = engine.Worker(engine.Model(path / native_model.NAME))
            for beam in (1, 4):
                outputs(one, batch, prefixes, beam_size=beam, longest=20, attention_layer=0)
                for options in ({}, computed):
                    outputs(one, batch, beam_size=beam, longest=20, **options)
            one.score(batch, prefixes)
    for kind in LIMITS:
        for _, tensors, rows, scales, exact in cases(kind, 48, 80):
            for count in range(1, len(rows) + 1):
                assert (product(kind, tensors, rows[:count], scales[:count]) == exact[:count]).all()
        kernels.quantise(exact, kind.split()[-1])
    fuzz(root, folder, range(1000))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_engine_passes_sanitizers(sanitized, tmp_path, name):
    called(check, folders(), sanitized["PYTHONPATH"], tmp_path, NMT_ISA=name, **sanitized)
