"""An engine is one class: this one is defined here, and exported, used and measured like any other."""

import json
import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
from descriptions import described, of_type
from models import sentencepiece_model, sentences

from decode import engines
from export.model_folder import __main__ as model_folder_program
from findings import captions
from formats import measurement, records
from measure import benchmark, contenders, protocol, run
from nmt_frontier.command import translate
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256, write_json
from nmt_frontier.making import make
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Engine, version
from nmt_frontier.translator import LineTokenizer, Translator

pytestmark = pytest.mark.slow

LINES = sentences(12, seed=7)
CORE = min(os.sched_getaffinity(0))


class Backwards(Engine):
    """Reverses the pieces of a sentence, and keeps those that its map allows."""

    name = "backwards"
    label = "Back-wards"
    packages = ("numpy", "no_such_package")
    types = ("upper", "lower")
    weights = "case.txt"
    files: ClassVar = {"case.txt": "upper or lower", "allowed.txt": "the pieces that may be used"}
    map_file = "allowed.txt"

    @classmethod
    def fast(cls, quantization):
        return quantization == "lower"

    @classmethod
    def write_map(cls, source, folder):
        (folder / cls.map_file).write_text(source.read_text())

    @classmethod
    def read_map(cls, folder, sources):
        return VocabularyMap({(): (folder / cls.map_file).read_text().split()})

    def __init__(self, folder, description, search):
        self.effective_compute_type = (folder / self.weights).read_text().strip()
        self._allowed = {*(folder / self.map_file).read_text().split()} if search.vocabulary_map else None

    def decode(self, batch):
        allowed = self._allowed
        return [[piece for piece in sentence[::-1] if allowed is None or piece in allowed] for sentence in batch]


@pytest.fixture
def main(monkeypatch):
    """Run a command of a module in this process, which knows the engine, and restore its cores and handlers."""
    cores, handler = os.sched_getaffinity(0), signal.getsignal(signal.SIGTERM)
    monkeypatch.setitem(engines.ENGINES, Backwards.name, Backwards)
    installed = loading.named
    monkeypatch.setattr(loading, "named", lambda name: Backwards if name == Backwards.name else installed(name))

    def command(module, *arguments):
        monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
        try:
            module.main() if module is not translate else module.main([*map(str, arguments)])
        finally:
            os.sched_setaffinity(0, cores)
            signal.signal(signal.SIGTERM, handler)

    return command


@pytest.fixture
def exported(main, tmp_path):
    """A model folder made by the command, with a map that allows every second piece of the text."""
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "case.txt").write_text("lower\n")
    (tmp_path / "sp.model").write_bytes(sentencepiece_model())
    write_json(tmp_path / "learning.json", {"shape": "none", "parameters": 1, "steps": 2})
    description = {"study": "s", "system": "tiny", "role": "student", "source": "en", "target": "de"}
    (tmp_path / "map.txt").write_text(" ".join(allowed(tmp_path)))
    options = ["--engine", "backwards", "--weights", tmp_path / "weights", "--sentencepiece", tmp_path / "sp.model"]
    options += ["--map", tmp_path / "map.txt", "--learning", tmp_path / "learning.json", "--quantization", "lower"]
    main(model_folder_program, *options, "--description", json.dumps(description), "--output", tmp_path / "lower")
    return tmp_path / "lower"


def tokenizer(folder):
    shutil.copy(folder / "sp.model", folder / "sentencepiece.model")
    return LineTokenizer(folder)


def allowed(folder):
    pieces = tokenizer(folder)
    return sorted({piece for line in LINES for piece in pieces.encode(line)})[::2]


def reversed_text(folder, mapped):
    """The engine's translations of LINES."""
    pieces, kept = LineTokenizer(folder), {*(folder / "allowed.txt").read_text().split()}
    reverse = ([piece for piece in pieces.encode(line)[::-1] if not mapped or piece in kept] for line in LINES)
    return [pieces.decode(sentence) for sentence in reverse]


def test_export(exported):
    files = {"case.txt", "allowed.txt", "sentencepiece.model"}
    assert {path.name for path in exported.iterdir()} == files | {"model.json", "README.md"}
    description = read_json(exported / "model.json")
    expected = {"engine": "backwards", "quantization": "lower", "vocabulary_map": True}
    assert expected.items() <= description.items()
    assert description["sha256"] == {name: sha256(exported / name) for name in files}
    readme = (exported / "README.md").read_text()
    assert "for the engine backwards" in readme and "| `allowed.txt` | the pieces that may be used |" in readme


def test_export_without_weights(main, tmp_path):
    (tmp_path / "weights").mkdir()
    description = of_type("lower", "backwards", role="student")
    with pytest.raises(UserError, match=r"weights: no weights of Back-wards in it, case\.txt is missing"):
        make(description, tmp_path / "weights", tmp_path / "x", None, tmp_path / "model")


@pytest.mark.parametrize("mapped", [True, False])
def test_decode(exported, main, tmp_path, mapped):
    expected = reversed_text(exported, mapped)
    assert len({*expected}) > 5 and (expected == reversed_text(exported, False)) is not mapped
    assert [*Translator(exported, vocabulary_map=mapped).translate(LINES)] == expected
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES))
    options = ["--model", exported, "--input", tmp_path / "in", "--output", tmp_path / "out"]
    main(translate, *options, *([] if mapped else ["--no-vocabulary-map"]))
    assert (tmp_path / "out").read_text() == "".join(f"{line}\n" for line in expected)


def test_the_interface_checks_for_every_engine(exported):
    with pytest.raises(UserError, match="Back-wards decodes on the CPU here; leave out --device"):
        Translator(exported, device="cuda")
    (exported / "case.txt").write_text("upper\n")
    with pytest.raises(UserError, match=r"case\.txt: damaged, or not the one this model was exported with"):
        Translator(exported)
    (exported / "allowed.txt").unlink()
    with pytest.raises(UserError, match=r"its vocabulary map allowed\.txt is missing; decode with --no-voc"):
        Translator(exported)


@pytest.fixture
def in_process(main, monkeypatch):
    """Runs of measure.protocol in this process, which knows the engine."""
    subprocess_run = subprocess.run

    def started(command, **options):
        if "measure.run" not in command:
            return subprocess_run(command, **options)
        main(run, *command[command.index("measure.run") + 1 :])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", started)


@pytest.fixture
def measured(main, in_process, tmp_path):
    """Measure models on LINES; the records."""

    def records_of(*models, runs):
        records.write(tmp_path / "test.tsv.zst", zip(LINES, LINES, strict=True))
        options = ["--models", *models, "--test-sets", f"test={tmp_path / 'test.tsv.zst'}", "--beam-sizes", 1]
        options += ["--runs", runs, "--cores", CORE, "--noise", 1000, "--study", "s"]
        main(benchmark, *options, "--translations", tmp_path / "runs", "--output", tmp_path / "measurements.json")
        return measurement.read(tmp_path / "measurements.json")

    return records_of


def test_measure(exported, measured, tmp_path, monkeypatch):
    monkeypatch.setattr(contenders, "speed", lambda run: 1.0)  # milliseconds of decoding: the machine beats one of them
    upper = shutil.copytree(exported, tmp_path / "upper")
    write_json(upper / "model.json", read_json(upper / "model.json") | {"quantization": "upper"})
    found = measured(exported, upper, runs=2)
    keys = [(record.decoding.compute_type, record.decoding.vocabulary_map, record.timing.runs) for record in found]
    assert keys == [("lower", False, 2), ("lower", True, 2), ("upper", False, 1), ("upper", True, 1)]  # one is native
    for record in found:
        assert (record.decoding.engine, record.decoding.engine_label) == ("backwards", "Back-wards")
        assert record.decoding.engine_version == version("numpy") and record.signature.startswith("engine:back")
        mapped = record.decoding.vocabulary_map
        assert record.timing.candidates == (len({*allowed(tmp_path)} | {"<unk>", "<s>", "</s>"}) if mapped else None)
        assert (tmp_path / record.decoding.output).read_text().splitlines() == reversed_text(exported, mapped)
        assert captions.configuration(record).startswith("Back-wards ")
    bytes_ = {record.decoding.vocabulary_map: record.decoding.model_bytes for record in found}
    assert bytes_[True] - bytes_[False] == (exported / "allowed.txt").stat().st_size


def test_a_run_warms_up_before_its_clock(exported, measured, monkeypatch):
    decoded, translated = [], Backwards.translate
    monkeypatch.setattr(Backwards, "translate", lambda self, batch: [decoded.extend(batch), translated(self, batch)][1])
    measured(exported, runs=1)
    assert len(decoded) == 2 * (run.WARM_UP_SENTENCES + len(LINES))  # with the map, and without


def test_a_map_that_is_not_there_is_not_measured(exported):
    (exported / "allowed.txt").unlink()
    with pytest.raises(UserError, match="is to be decoded with a vocabulary map, and has none"):
        protocol.check([protocol.Configuration(*described(exported), vocabulary_map=True)])


def test_classes_answer_without_loading_an_engine():
    program = """
import sys
import export.model_folder, measure.run
from decode import engines
from decode.engines import ENGINES
print(engines.folders({"units": 32}, ["float16", "int8"], ENGINES))
print(engines.folders({"cell": "lstm"}, ["int8"], ENGINES))
for engine in ENGINES.values():
    assert engine.label and engine.types and engine.files and engine.packages and engine.weights
    assert {engine.map_file} - {None} <= {*engine.files}
print([name for name in ("ctranslate2", "tensorflow", "opennmt", "_pymarian") if name in sys.modules])
"""
    printed = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    assert printed == ["['opennmt-tf', 'float16', 'int8', 'native-int8']", "['opennmt-tf']", "[]"]
