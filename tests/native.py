"""Model folders of the native engine for tests, made once a session, and workers that decode with them.

Whatever imports this module is skipped without the engine. A process of its own gets ``root``, where the folders are.
"""

import atexit
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from msgspec.structs import replace

from nmt_frontier.files import read_json
from nmt_frontier.model import native_map, native_weights
from nmt_frontier.model.model_folder import describe
from nmt_frontier.model.native_vocabulary import Vocabulary

REASON = "the native engine is not installed here; CTranslate2 decodes instead"
engine = pytest.importorskip("nmt_frontier.bindings", reason=REASON)
kernels = pytest.importorskip("nmt_frontier.kernels", reason=REASON)

KINDS = native_weights.TYPES
TESTS = Path(__file__).parent
WORDS = range(3, 120)  # the pieces of tests.models that are no control tokens


@functools.cache
def folders() -> Path:
    """A folder of model folders: ``ctranslate2`` in float32 and one for each of KINDS, all with the same map."""
    from models import MADE  # inside: a process that only decodes needs no exporter
    from models import folders as models

    from nmt_frontier.importers import read_ctranslate2
    from nmt_frontier.making import make

    if made := os.environ.get(MADE):
        return Path(made, "native")
    root = Path(tempfile.mkdtemp(prefix="native-models-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    source = models()["float32"]
    exact = shutil.copytree(source, root / "ctranslate2")
    (exact / "vmap.txt").write_text(random_map(read_json(exact / "shared_vocabulary.json")), encoding="utf-8")
    model = read_ctranslate2.read(exact)
    for kind in KINDS:
        model.write(kind, root / "weights" / kind)
        description = replace(describe(source), engine="native", quantization=kind)
        tokenizer = source / "sentencepiece.model"
        make(description, root / "weights" / kind, tokenizer, exact / "vmap.txt", root / kind)
    return root


@functools.cache
def with_symbols(words: int) -> Path:
    """A folder in float32 whose vocabulary has symbols. words: pieces that its map allows beside a source's symbols."""
    from models import folders as models
    from models import opennmt_model
    from models import sentences as texts

    from export import read_opennmt_tf
    from nmt_frontier.making import make
    from nmt_frontier.text.items import SYMBOLS
    from train.vocabulary import entries, train

    root = Path(tempfile.mkdtemp(prefix="native-symbols-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    tokenizer = train(texts(300), "unigram", 200, 1.0, 1, symbols=SYMBOLS)
    (root / "tokenizer").write_bytes(tokenizer)
    pieces = [*entries(tokenizer)]
    opennmt_model(root / "opennmt-tf", pieces)
    known = [piece for piece in pieces[3:] if "⟦" not in piece][:words]
    lines = [f"\t{' '.join(known)}\n", *(f"{symbol}\t{symbol}\n" for symbol in SYMBOLS)]
    (root / "map").write_text("".join(lines), encoding="utf-8")
    read_opennmt_tf.read(root / "opennmt-tf").write("float32", root / "weights")
    description = replace(describe(models()["float32"]), engine="native", quantization="float32", system="s")
    make(description, root / "weights", root / "tokenizer", root / "map", root / "native-float32")
    return root / "native-float32"


def random_map(pieces: list[str], seed: int = 1) -> str:
    """A vocabulary map with n-grams of one to three of these pieces."""
    generator = random.Random(seed)
    words = [pieces[number] for number in WORDS]
    ngrams = {(word,) for word in words}
    ngrams |= {tuple(generator.choices(words, k=size)) for size in (2, 3) for _ in range(2000)}
    lines = [f"{' '.join(ngram)}\t{' '.join(generator.sample(words, 3))}\n" for ngram in sorted(ngrams)]
    return "".join(["\t" + " ".join(generator.sample(words, 10)) + "\n", *lines])


@functools.cache
def model(root: Path | str, kind: str) -> engine.Model:
    folder = Path(root) / kind
    return engine.Model(folder / native_weights.NAME, folder / native_map.NAME)


def worker(kind: str = "float32", threads: int = 1, root: Path | str | None = None) -> engine.Worker:
    return engine.Worker(model(root or folders(), kind), threads)


def vocabulary() -> Vocabulary:
    return Vocabulary.read(folders() / "float32")


def sentences(count: int, seed: int = 1, longest: int = 20) -> list[list[int]]:
    """Random sentences as numbers."""
    generator = random.Random(seed)
    return [generator.choices(WORDS, k=generator.randint(1, longest)) for _ in range(count)]


def engine_options(candidates: str = "all", without: Collection[str] = (), **others: object) -> engine.Options:
    """candidates: ``all``, or those of the map for each ``sentence`` or for the whole ``batch``."""
    without = {*without, *(["map_per_sentence"] if candidates == "batch" else [])}
    return engine.Options(vocabulary_map=candidates != "all", without=frozenset(without), **others)


def outputs(
    worker: engine.Worker, batch: list[list[int]], prefixes: list[list[int]] | None = None, **given
) -> list[list]:
    """Pieces and score of each hypothesis of each sentence; n-best is the beam size unless it is given."""
    given = {"scores": True, "longest": 40, "n_best": given.get("beam_size", 1), **given}
    found = worker.translate(batch, engine_options(**given), prefixes)
    return [[(hypothesis.pieces, hypothesis.score) for hypothesis in hypotheses] for hypotheses in found]


def translated(folder: Path | str, batch: list[list[int]]) -> list[list]:
    """The outputs of each type's model in a folder."""
    models = [engine.Model(Path(folder, kind, native_weights.NAME)) for kind in KINDS]
    return [outputs(engine.Worker(model), batch, beam_size=3, longest=20) for model in models]


def run(code: str, *arguments: object, **environment: str) -> str:
    """The output of Python code in a process of its own, which finds the modules of tests; a crash fails the test."""
    path = [environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH"), str(TESTS), str(TESTS / "engine")]
    call = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    ending = f"{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    assert done.returncode == 0, f"ended with {done.returncode} (a negative number is a signal): {ending}"
    return done.stdout


def called(function: Callable, *arguments: object, **environment: str) -> object:
    """What a function of a test module returns in a process of its own, as JSON; paths are passed as strings."""
    module, name = function.__module__, function.__name__
    code = f"import json, sys, {module}; print(json.dumps({module}.{name}(*json.loads(sys.argv[1]))))"
    return json.loads(run(code, json.dumps(arguments, default=str), **environment).splitlines()[-1])
