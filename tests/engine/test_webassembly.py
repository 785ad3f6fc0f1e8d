"""The engine as WebAssembly computes the bytes of the portable set, in Node; pages are in test_browsers.py."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from models import cut, sentences
from native import KINDS, called, folders

from nmt_frontier import Translator
from nmt_frontier.model import native_weights

pytestmark = pytest.mark.long

ENGINE = Path(__file__).parents[2] / "engine"
CALLS = Path(__file__).with_name("translations.mjs")
RELAXED, BOTH = "--experimental-wasm-relaxed-simd", 20  # Node 20 has it behind this option, later ones always
WAYS = [{}, {"beamSize": 4}]
ODD = ["", "  ", "A DOG RUNS", "Straße: e\u0301 \u200bab", "12:30 !!", "c" * 3000, ">>de<< a b"]
LINES = [*sentences(200, seed=3), *ODD]


@pytest.fixture(scope="module")
def built():
    """web/engine.js and web/engine.wasm of these sources."""
    if not all(map(shutil.which, ("em++", "node"))) or importlib.util.find_spec("ziglang") is None:
        pytest.skip("there is no emscripten here, no Node or no ziglang")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.syspath_prepend(ENGINE)
    webassembly = importlib.import_module("webassembly")
    monkeypatch.undo()
    webassembly.build()
    return webassembly.WEB


def asked(*calls, options=()):
    """The results of calls of translations.mjs."""
    text = json.dumps(calls, default=str)
    done = subprocess.run(["node", *options, CALLS], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def translations(root, kind):
    """Lines of the portable set here, for each of WAYS."""
    return [[*Translator(Path(root, kind), beam_size=way.get("beamSize", 1)).translate(LINES)] for way in WAYS]


@pytest.fixture(scope="module")
def expected():
    return {kind: called(translations, folders(), kind, NMT_ISA="portable") for kind in KINDS}


@pytest.mark.parametrize("instructions", ["simd128", "relaxed"])
def test_it_computes_the_bytes_of_the_portable_set(built, expected, instructions):
    version = int(subprocess.check_output(["node", "-p", "process.versions.node.split('.')[0]"]))
    if version != BOTH and instructions != ("relaxed" if version > BOTH else "simd128"):
        pytest.skip(f"Node {version} computes with the other instructions")
    options = [RELAXED] if version == BOTH and instructions == "relaxed" else []
    calls = [{"action": "translate", "folder": folders() / kind, "lines": LINES, "options": WAYS} for kind in KINDS]
    *results, own = asked(*calls, {"action": "instructions", "folder": folders() / "int8"}, options=options)
    assert own == instructions
    for kind, found in zip(KINDS, results, strict=True):
        assert [[line["text"] for line in lines] for lines in found] == expected[kind], kind
        assert len({*expected[kind][0]}) > 25  # translations that differ


def test_it_tells_what_it_did_to_a_line(built):
    lines = ["a b", "c " * 3000]
    call = {"action": "translate", "folder": folders() / "int8", "lines": lines}
    ((greedy, beam),) = asked({**call, "options": [{"scores": True}, {"beamSize": 4, "nBest": 3, "longest": 3}]})
    assert [line["cut"] for line in greedy] == [False, True] and greedy[0]["replaced"] == 0
    assert all(line["score"] < 0 and "hypotheses" not in line for line in greedy)
    for line in beam:
        scores = [hypothesis["score"] for hypothesis in line["hypotheses"]]
        assert len(scores) == 3 and scores == sorted(scores, reverse=True)
        assert line["text"] == line["hypotheses"][0]["text"]
    assert any(hypothesis["limited"] for line in beam for hypothesis in line["hypotheses"])


def test_what_it_refuses_is_one_line(built, tmp_path):
    damaged, absent, old = (shutil.copytree(folders() / "int8", tmp_path / name) for name in ("cut", "absent", "old"))
    cut(damaged / native_weights.NAME, 0.5)
    (absent / "vocabulary.json").unlink()
    (old / "model.json").write_text('{"format": 2, "engine": "native"}')
    wrong = [{"beam": 2}, {"beamSize": 0}, {"nBest": 2}]
    calls = [{"folder": folder} for folder in (damaged, absent, old)]
    calls += [{"folder": folders() / "int8", "lines": ["a"], "options": options} for options in wrong]
    found = asked(*({"action": "refuse", **call} for call in calls), {"action": "close", "folder": folders() / "int8"})
    for message, part in zip(found, MESSAGES, strict=True):
        assert re.search(part, message) and "\n" not in message, message


MESSAGES = [
    r"weights\.safetensors: ",
    r"vocabulary\.json: missing or empty",
    r"model\.json: made for a later version, of format 2",
    "there is no option 'beam'; there are beamSize, nBest, ",
    "beam",
    "n-best must be from 1 to the beam size, not 2",
    "this translator is closed",
]


def test_memory_is_flat_over_ten_thousand_sentences(built):
    call = {"action": "remember", "folder": folders() / "int8", "lines": sentences(1000, seed=5), "rounds": 10}
    (used,) = asked(call)
    assert used[0] >= 2**24 and {*used} == {used[0]}


def test_its_options_and_results_are_those_of_the_header(built):
    header = (ENGINE / "bindings" / "nmt_frontier.h").read_text(encoding="utf-8")
    script = (built / "translator.js").read_text(encoding="utf-8")
    options, results = (header.split(f"struct nmt_{name} {{")[1].split("}")[0] for name in ("options", "lines"))
    names = re.findall(r"^  (\w+): ", script.split("const OPTIONS = {")[1].split("}")[0], re.MULTILINE)
    found = [re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name) for name in names]
    assert found == re.findall(r"^  \w+ (\w+);", options, re.MULTILINE)[1 : len(found) + 1]
    pointers = re.findall(r'"(\w+)"', script.split("const RESULTS = [")[1].split("]")[0])
    assert pointers == re.findall(r"\* (\w+);", results)


def test_it_is_small_enough_for_the_wheel(built):
    assert (built / "engine.wasm").stat().st_size <= 1_000_000
