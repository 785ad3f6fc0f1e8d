"""Model folders are complete and movable; a failed export leaves none."""

import importlib
import importlib.metadata
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import ctranslate2
import huggingface_models
import models
import pytest
import sentencepiece
import yaml
from measured import replaced

from export import submission
from export.package import package
from findings import best_model
from formats import measurement
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256, write_json
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export
from nmt_frontier.making import make
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search.pipeline import MAXIMUM_INPUT
from nmt_frontier.translator import Translator

DESCRIPTION = {
    "engine": "ctranslate2", "study": "s", "system": "tiny", "role": "student", "source": "en", "target": "de",
    "shape": "2:1 d96", "parameters": 1234567, "quantization": "int8", "vocabulary_map": True,
}  # fmt: skip


@pytest.fixture
def weights(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"weights")
    write_json(folder / "shared_vocabulary.json", ["<blank>", "<s>", "</s>", "a", "b", "<unk>"])
    (tmp_path / "sp.model").write_bytes(b"pieces")
    (tmp_path / "map.txt").write_text("\ta b\n")
    return folder


def made(tmp_path, vmap=None):
    files = tmp_path / "weights", tmp_path / "sp.model", vmap and tmp_path / vmap
    make(Description(**DESCRIPTION), *files, tmp_path / "model")
    return tmp_path / "model"


def test_folder_holds_everything_and_a_description(weights, tmp_path):
    (weights / ".snakemake_timestamp").touch()
    (weights / "__pycache__").mkdir()  # Python compiles what it reads, and again after a copy
    (weights / "__pycache__/model_description.cpython-311.pyc").touch()
    folder = made(tmp_path, "map.txt")
    assert {path.name for path in folder.iterdir()} == {
        "model.bin", "shared_vocabulary.json", "sentencepiece.model", "vmap.txt", "model.json", "README.md",
    }  # fmt: skip
    listed = ("model.bin", "sentencepiece.model", "shared_vocabulary.json", "vmap.txt")
    checksums = {name: sha256(folder / name) for name in listed}
    assert json.loads((folder / "model.json").read_text()) == {**DESCRIPTION, "sha256": checksums}
    readme = (folder / "README.md").read_text()
    assert "1,234,567 parameters" in readme and "sequence-level distillation" in readme and "`vmap.txt`" in readme


def test_the_map_of_another_model_is_refused(weights, tmp_path):
    (tmp_path / "map.txt").write_text("\ta b\na\tb c\n")
    with pytest.raises(UserError, match=r"map\.txt: line 2: 'c' is no piece of the model's vocabulary"):
        made(tmp_path, "map.txt")
    assert not (tmp_path / "model").exists()


def test_a_folder_without_map_is_never_replaced_by_a_bad_one(weights, tmp_path):
    folder = made(tmp_path)
    assert not (folder / "vmap.txt").exists() and "vmap.txt" not in (folder / "README.md").read_text()
    with pytest.raises(FileNotFoundError):
        made(tmp_path, "absent map")
    (weights / "model.bin").unlink()
    with pytest.raises(UserError, match=r"no weights of CTranslate2 in it, model\.bin is missing"):
        made(tmp_path)
    assert (folder / "model.bin").read_bytes() == b"weights"
    assert not list(tmp_path.glob(".*part"))


RECORDS = measurement.read(Path(__file__).parents[2] / "data" / "measurements.json")
CORPORA = [
    {"name": "some", "role": "train", "licence": "CC BY 4.0", "url": ["https://example.org/some.en.gz"]},
    {
        "name": "parts",
        "role": "monolingual",
        "licence": "unknown",
        "url": [["https://example.org/1", "https://e.org/2"]],
    },
    {"name": "file", "role": "train", "licence": "unknown", "url": None},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model folder with the name of a measured system."""
    folder = tmp_path_factory.mktemp("made") / "int8"
    shutil.copytree(models.folders()["int8"], folder)
    write_json(folder / "model.json", {**read_json(folder / "model.json"), "system": "deep"})
    return folder


def unpacked(tmp_path, model, name="deep-int8", records=RECORDS, teachers=()):
    """The folder in the package of a model."""
    package(model, records, CORPORA, [*teachers], archive := tmp_path / "new" / f"{name}.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path / "unpacked", filter="data")
    return tmp_path / "unpacked" / name


def test_the_archive_opens_in_ctranslate2_and_its_checksums_hold(model, tmp_path):
    folder = unpacked(tmp_path, model, teachers=["teacher"])
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)
    listed = {line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    source = pieces.encode(models.sentences(1)[0], out_type=str)
    found = [ctranslate2.Translator(str(path)).translate_batch([source])[0].hypotheses for path in (folder, model)]
    assert found[0] == found[1] != [[]]


def test_the_model_card_has_scores_licences_and_readable_front_matter(model, tmp_path):
    folder = unpacked(tmp_path, model, teachers=["teacher"])
    card, licence = ((folder / name).read_text() for name in ("README.md", "LICENSE.md"))
    front = yaml.safe_load(card.split("---")[1])
    assert front["language"] == ["en", "de"] and front["library_name"] == "ctranslate2"
    own = [
        r
        for r in RECORDS
        if (r.system.name, r.decoding.engine, r.decoding.compute_type) == ("deep", "ctranslate2", "int8")
    ]
    assert own and all(f"{record.scores.bleu:.2f}" in card for record in own)
    assert "| some" in card and "CC BY 4.0" in card and "https://example.org/some.en.gz" in card
    assert "https://example.org/1 https://e.org/2" in card
    assert "| teacher" in card and own[0].scores.bleu_signature in card
    best = "With int8 greedy map it is the best model of its study: "
    assert best + best_model.RULE in " ".join(card.split())
    assert (front["license"], front["license_name"], front["license_link"]) == ("other", "see-data", "LICENSE.md")
    assert "| some" in licence and "CC BY 4.0" in licence and "translations by teacher" in licence


def test_the_model_card_of_a_control_that_is_not_the_best_model(model, tmp_path):
    other = [replaced(record, dev_bleu=1.0) if record.system.name == "deep" else record for record in RECORDS]
    card = (unpacked(tmp_path, model, records=other) / "README.md").read_text()
    assert "best model" not in card and "| teacher" not in card and "translations by" not in card


def native_folder(system):
    """A folder of a model that CTranslate2 does not run: a GRU, or a Transformer with the decoder ``system``."""
    recurrent = importlib.import_module("recurrent")
    if system == "gru":
        return recurrent.folders()["int8"]
    decoders, reader = map(importlib.import_module, ("decoders", "export.read_opennmt_tf"))  # they load TensorFlow
    values = {"encoder_layers": 1, "decoder_layers": 1, "units": 32, "ffn_units": 64, "heads": 2, "decoder": system}
    network = reader.of_model(*decoders.built(values, words=recurrent.PIECES - 4), Path("random"))
    return recurrent.made(system, network, ["int8"])["int8"]


@pytest.mark.parametrize("system", ["gru", "averaging", "ssru"])
@pytest.mark.slow
def test_a_model_that_only_the_native_engine_has_is_packaged_and_translates(system, tmp_path):
    pytest.importorskip("native")
    folder, name = native_folder(system), f"{system}-int8"
    own = [record for record in RECORDS if (record.system.name, record.decoding.compute_type) == ("deep", "int8")]
    own = [replaced(record, system=system, engine="native") for record in own]
    copy = unpacked(tmp_path, folder, name, own)
    card = (copy / "README.md").read_text()
    assert f"nmt-frontier translate --model {name}" in card and "ctranslate2" not in card
    lines = models.sentences(5)
    outputs = [[*Translator(path).translate(lines)] for path in (copy, folder)]
    assert outputs[0] == outputs[1] and any(outputs[0])


def test_a_packaged_model_takes_marks_of_languages(tmp_path):
    pytest.importorskip("native")
    huggingface_models.marked(tmp_path / "opus-mt-en-gem")
    export(tmp_path / "opus-mt-en-gem", tmp_path / "gem", ["int8"], ImportOptions())
    own = [replaced(record, system="gem", engine="native") for record in RECORDS if record.system.name == "deep"]
    copy = unpacked(tmp_path, tmp_path / "gem/native-int8", "gem-int8", own)
    lines = [f"{mark}{line}" for line in models.sentences(5) for mark in ("", ">>deu<< ")]
    outputs = [[*Translator(path).translate(lines)] for path in (copy, tmp_path / "gem/native-int8")]
    assert outputs[0] == outputs[1] and outputs[0][::2] != outputs[0][1::2]
    with pytest.raises(UserError, match="begins with >>fra<<"):
        [*Translator(copy).translate([f">>fra<< {lines[0]}"])]


def test_equal_models_give_equal_archives(model, tmp_path):
    archives = [tmp_path / number / "deep.tar.gz" for number in "12"]
    for archive in archives:
        package(model, RECORDS, CORPORA, [], archive)
    assert archives[0].read_bytes() == archives[1].read_bytes()


def test_a_model_without_measurements_is_not_packaged(model, tmp_path):
    others = [record for record in RECORDS if record.system.name != "deep"]
    with pytest.raises(UserError, match=r"no measurement of .*'deep'"):
        package(model, others, CORPORA, [], tmp_path / "x.tar.gz")
    with pytest.raises(UserError, match=r"has to end in \.tar\.gz"):
        package(model, RECORDS, CORPORA, [], tmp_path / "x.zip")
    assert not list(tmp_path.iterdir())


def packed(model, folder):
    package(model, RECORDS, CORPORA, [], folder / "x.tar.gz")


def submitting(model, folder):
    submission.make(model, folder / "x")


@pytest.mark.parametrize("hand_on", [packed, submitting])
@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.bin", None, "int8: CTranslate2 cannot load this model, a file is damaged"),
        ("shared_vocabulary.json", b"[", "CTranslate2 cannot load this model"),
        ("sentencepiece.model", b"x", "not a SentencePiece model"),
        ("vmap.txt", b"\tnone", r"vmap\.txt: line 1: 'none' is no piece of the"),
    ],
)
def test_a_damaged_model_is_not_handed_on(model, tmp_path, hand_on, file, content, message):
    broken = shutil.copytree(model, tmp_path / "int8")
    (broken / file).write_bytes(content or (model / file).read_bytes()[:-100])
    with pytest.raises(UserError, match=message):
        hand_on(broken, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["int8"]


@pytest.mark.parametrize("hand_on", [packed, submitting])
def test_what_is_handed_on_is_a_ctranslate2_model(tmp_path, hand_on):
    with pytest.raises(UserError, match="is for opennmt-tf"):
        hand_on(models.folders()["opennmt-tf"], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def submitted(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("submission") / "deep"
    submission.make(model, folder)
    return folder


def counts(errors: bytes) -> bytes:
    """The errors of a submission without the warning of inexact sums, which it writes on a CPU without VNNI."""
    return b"".join(line for line in errors.splitlines(True) if not line.startswith(b"warning: model: "))


def run(submission: Path, *arguments: str, text: bytes = b"") -> subprocess.CompletedProcess:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [submission / "run.sh", *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False, env=environment)


@pytest.mark.parametrize("call", [("CPU-ST", "throughput"), ("CPU-MT", "throughput"), ("CPU-ST", "latency")])
def test_a_submission_translates_as_the_model_does(submitted, model, call):
    lines = [*models.sentences(40), "", "a", *models.sentences(20, seed=2)]
    found = run(submitted, *call, text="\n".join(lines).encode()).stdout.decode().split("\n")
    # The candidates of the tiny map are the same for all sentences, so batches do not matter.
    assert found == [*Translator(model, beam_size=1, vocabulary_map=True).translate(lines), ""]
    assert len({*found}) > 5 and found[40] == ""


def test_a_submission_does_not_translate_with_a_damaged_model(submitted, tmp_path):
    copy = shutil.copytree(submitted, tmp_path / "copy")
    weights, description = copy / "model/model.bin", copy / "model/model.json"
    write_json(description, {**read_json(description), "sha256": {"model.bin": sha256(weights)}})
    data = bytearray(weights.read_bytes())
    data[-100] ^= 1
    weights.write_bytes(data)
    done = run(copy, "CPU-ST", "throughput", text=b"a\n")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert b"model.bin: damaged" in done.stderr


def test_a_submission_warns_where_8_bits_are_not_exact(submitted, monkeypatch):
    monkeypatch.setenv("CT2_USE_MKL", "0")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    done = run(submitted, "CPU-ST", "throughput", text=b"a\n")
    assert done.returncode == 0 and b"does not add 8-bit products exactly" in done.stderr


def test_a_submission_reads_broken_bytes_and_prints_its_usage(submitted):
    done = run(submitted, "CPU-ST", "throughput", text=b"a \xff b\n")
    assert done.stdout.count(b"\n") == 1 and counts(done.stderr) == b"1 broken bytes replaced by U+FFFD\n"
    wrong = run(submitted, "TPU", "latency")
    assert wrong.returncode and b"usage: run.sh CPU-ST|CPU-MT|GPU" in wrong.stderr


@pytest.mark.parametrize("task", ["throughput", "latency"])
def test_a_submission_cuts_a_line_that_never_ends(submitted, monkeypatch, capsysbinary, task):
    lengths = []

    class Recorder:
        def __init__(self, *_, **__): ...

        def translate_iterable(self, sources, **_):
            for source in sources:
                lengths.append(len(source))
                yield SimpleNamespace(hypotheses=[source[:1]])

        def translate_batch(self, sources, **_):
            return [*self.translate_iterable(sources)]

    monkeypatch.setattr(ctranslate2, "Translator", Recorder)
    monkeypatch.setattr(os, "environ", {**os.environ})  # the script changes it
    monkeypatch.setattr(sys, "argv", ["translate.py", "CPU-ST", task])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a " * 2000 + b"\na\n")))
    monkeypatch.syspath_prepend(submitted)  # as for a script: cpu.py and sentence.py are beside it
    runpy.run_path(str(submitted / "translate.py"), run_name="__main__")
    output, errors = capsysbinary.readouterr()
    assert lengths[0] == MAXIMUM_INPUT > 10 > lengths[1] and output.count(b"\n") == 2
    assert counts(errors) == b"1 lines longer than 1000 pieces cut there\n"


def test_a_submission_needs_no_other_libraries(submitted):
    """Option -S hides all site-packages but those that run.sh names."""
    command = [sys.executable, "-S", submitted / "translate.py", "CPU-ST", "throughput"]
    environment = {**os.environ, "PYTHONPATH": str(submitted / "libraries")}
    done = subprocess.run(command, input=b"a\nb\n", capture_output=True, env=environment)
    assert done.stdout.count(b"\n") == 2, done.stderr


@pytest.mark.slow
def test_a_submission_for_gpus_names_what_it_lacks(submitted, model, tmp_path):
    if not ctranslate2.get_cuda_device_count():
        done = run(submitted, "GPU", "throughput", text=b"a\n")
        assert (done.returncode, done.stdout) == (1, b"") and b"no GPU is visible here" in done.stderr
    try:
        importlib.metadata.version("nvidia-cublas-cu12")
    except importlib.metadata.PackageNotFoundError:
        with pytest.raises(UserError, match=r"nvidia-cublas-cu12 is not installed .* -r requirements-gpu\.lock"):
            submission.make(model, tmp_path / "x", "gpu")
        assert not list(tmp_path.iterdir())
