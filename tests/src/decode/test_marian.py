"""Marian decodes as the other engines do, with the same weights, and every fault is a message of one line."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sentencepiece
from ctranslate2.converters.marian import load_vocab
from descriptions import redescribe
from models import sentencepiece_model, sentences
from phrase_tables import run

from export import marian as export
from export.model_folder import Origin
from formats import marian, opennmt_tf
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_text
from nmt_frontier.importers import marian_parameters, marian_shortlist, read_marian
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
from nmt_frontier.translator import LineTokenizer
from train.vocabulary import entries

pytestmark = pytest.mark.slow

SHAPE = dict(encoder_layers=1, decoder_layers=1, units=64, ffn_units=64, heads=2, share_embeddings=True)
DESCRIPTION = {"study": "test", "system": "tiny", "role": "student", "source": "en", "target": "de"}


def training(copier, output, shape):
    call = ["train.marian", "--source", copier / "text", "--target", copier / "text"]
    return [*call, "--vocabulary", copier / "vocabulary.txt", "--shape", json.dumps(shape), "--output", output]


@pytest.fixture(scope="module")
def copier(tmp_path_factory):
    """Model folders by name, of a model that has learned for seconds to copy its source."""
    copier = tmp_path_factory.mktemp("marian")
    (copier / "sentencepiece.model").write_bytes(model := sentencepiece_model())
    write_text(copier / "vocabulary.txt", "".join(f"{entry}\n" for entry in entries(model)))
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    lines = [" ".join(processor.encode(line, out_type=str)) for line in sentences(100)]
    write_text(copier / "text", "".join(f"{line}\n" for line in lines))
    run(*training(copier, copier / "trained", SHAPE), "--updates", 150, "--batch-tokens", 300, "--warmup", 30)

    pieces = load_vocab(copier / "trained" / "vocab.yml")[2:]
    write_text(copier / "lex.txt", "".join(f"{pieces[-1 - n]} {piece} 0.5\n" for n, piece in enumerate(pieces[::3])))
    call = ["--model", copier / "trained" / "model.npz", "--vocabulary", copier / "trained" / "vocab.yml"]
    call += ["--sentencepiece", copier / "sentencepiece.model", "--shortlist", copier / "lex.txt"]
    call += ["--types", *marian.TYPES, "--description", json.dumps(DESCRIPTION), "--output", copier]
    run("export.marian", *call)
    return copier


@pytest.fixture(scope="module")
def batch(copier):
    tokenizer = LineTokenizer(copier / "float32")
    return [tokenizer.encode(line) for line in sentences(40)]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("name", ["float32", "native-float32"])
def test_all_engines_translate_alike(copier, batch, name, beam_size, mapped):
    if not loading.of(copier / name).supported():
        pytest.skip(f"{loading.of(copier / name).label} is not installed here")
    search = Search(beam_size=beam_size, vocabulary_map=mapped)
    peer = loading.load(copier / "marian-float32", search)
    other = loading.load(copier / name, replace(search, without=frozenset({"map_per_sentence"})))  # as in Marian
    outputs = peer.translate(batch)
    assert peer.version[0].isdigit() and peer.effective_compute_type == "float32"
    equal = sum(map(list.__eq__, outputs, other.translate(batch)))
    # Rounding may decide between the two best words, and beams end differently.
    assert equal >= (len(batch) - 1 if beam_size == 1 else len(batch) / 2)
    assert len(set(map(tuple, outputs))) > 10 and 3 < np.mean([*map(len, outputs)]) < 100


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_rounded_weights(copier, batch, kind):
    exact, rounded = (loading.load(copier / f"marian-{name}", Search()) for name in ("float32", kind))
    assert rounded.effective_compute_type == kind
    sizes = [(copier / f"marian-{name}" / "model.bin").stat().st_size for name in (kind, "float32")]
    assert sizes[0] < 0.8 * sizes[1]
    equal = sum(map(list.__eq__, exact.translate(batch), rounded.translate(batch)))
    assert equal > len(batch) * (0.5 if kind == "int16" else 0.1)


def test_a_training_of_other_settings_is_refused(copier):
    """Else its checkpoints would silently be continued with another vocabulary or rate."""
    call = [sys.executable, "-m", *map(str, training(copier, copier / "trained", SHAPE)), "--seed", "2"]
    before = (copier / "trained/vocab.yml").stat().st_mtime_ns
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 1 and "a training of other settings or data was begun there" in done.stderr
    assert (copier / "trained/vocab.yml").stat().st_mtime_ns == before


def test_a_recurrent_model_has_no_rounded_folder_of_marians(copier, tmp_path):
    values = {"encoder_transitions": 2, "decoder_transitions": 3, "units": 64, "embedding_units": 64}
    run(*training(copier, tmp_path, values), "--updates", 30, "--batch-tokens", 300)
    files = tmp_path / "model.npz", tmp_path / "vocab.yml", copier / "sentencepiece.model", copier / "lex.txt"
    export.export(*files, ["float32", "int8"], Origin(**DESCRIPTION), out := tmp_path / "out")
    assert {folder.name for folder in out.iterdir()} == {"marian-float32", "native-float32", "native-int8"}
    assert json.loads((out / "native-int8" / "model.json").read_text())["shape"] == "conditional GRU 2:3 d64 e64"
    tokenizer = LineTokenizer(out / "native-float32")
    batch = [tokenizer.encode(line) for line in sentences(30)]
    search = Search(vocabulary_map=True, without=frozenset({"map_per_sentence"}))
    peer, native = (loading.load(out / f"{name}-float32", search).translate(batch) for name in ("marian", "native"))
    assert sum(map(list.__eq__, peer, native)) >= 29


def test_workers_are_processes_that_end_with_the_engine(copier, batch):
    engine = loading.load(copier / "marian-float32", Search(workers=2))
    workers = [engine._idle.get() for _ in range(2)]
    processes = [worker._process for worker in workers]
    assert [process.poll() for process in processes] == [None] * 2
    del engine, workers
    assert [process.wait(10) for process in processes] == [-signal.SIGKILL] * 2


def test_a_batch_is_as_long_as_the_limit_allows(copier, tmp_path, batch):
    folder = shutil.copytree(copier / "marian-float32", tmp_path / "copy")
    redescribe(folder, max_decoding_length=3)
    outputs = loading.load(folder, Search()).translate([*batch, ["▁a"] * 1000])
    assert max(map(len, outputs)) == 3 and len(outputs) == len(batch) + 1


def test_a_worker_killed(copier, batch):
    engine = loading.load(copier / "marian-float32", Search())
    engine._idle.put(worker := engine._idle.get())
    os.kill(worker._process.pid, signal.SIGKILL)
    for _ in range(2):  # the next batch does not wait for ever
        with pytest.raises(UserError, match="marian-float32: Marian stopped: killed by signal 9"):
            engine.translate(batch)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.bin", b"weights" * 9, "model.bin: damaged, or not the one"),
        ("model.bin", None, "a file is damaged: Model file does not exist"),
        ("vocab.yml", b'"</s>": 0\n', "vocab.yml: damaged, or not the one"),
        ("vocab.yml", None, "a file is damaged: Vocabulary"),
        ("shortlist.bin", b"list", "shortlist.bin: damaged, or not the one"),
        ("shortlist.bin", None, r"shortlist.bin is missing; decode with --no-voc"),
    ],
)
def test_a_damaged_folder(copier, tmp_path, file, content, message):
    folder = shutil.copytree(copier / "marian-int8", tmp_path / "model")
    (folder / file).write_bytes(content) if content else (folder / file).unlink()
    with pytest.raises(UserError, match=message):
        loading.load(folder, Search(vocabulary_map=True))


def test_what_marian_cannot_do(copier, tmp_path):
    folder = shutil.copytree(copier / "marian-int8", tmp_path / "model")
    redescribe(folder, quantization="float16")
    with pytest.raises(UserError, match="Marian does not compute in float16; it supports float32, int16, int8"):
        loading.load(folder, Search())


@pytest.mark.optional("pymarian")
def test_a_training_that_fails_names_the_cause(tmp_path):
    with pytest.raises(UserError, match=r"Marian's train failed: .*absent"):
        marian.run("train", "--train-sets", tmp_path / "absent", tmp_path / "absent", log=tmp_path / "log")


def test_without_pymarian(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    description = {"engine": "marian", "quantization": "int8", "vocabulary_map": False}
    (tmp_path / "model.json").write_text(json.dumps(description))
    with pytest.raises(UserError, match=r"pymarian, which is not installed: pip install -r requirements-marian\.lock"):
        loading.load(tmp_path, Search())


@pytest.mark.parametrize(
    ("log", "status", "message"),
    [
        (b"[now] Error: no memory\n[now] Error: Aborted from f\n", -6, "no memory"),
        (b"\xff\n", -9, "killed by signal 9"),
        (b"", 1, "ended with status 1"),
    ],
)
def test_why_marian_ended(log, status, message):
    assert marian.complaint(log, status) == message


def test_the_vocabulary_is_read_alike_by_ctranslate2(tmp_path):
    pieces = ["▁a", '"', "'", "\\", ":", "#", "? ", "-", "1", "▁ä", "null", "yes", "~", "<<", "=", "{", "😀", "1e3"]
    write_text(tmp_path / "vocabulary.txt", "\n".join([*opennmt_tf.CONTROL, *pieces, ""]))
    marian.write_vocabulary(marian.entries(tmp_path / "vocabulary.txt"), tmp_path / "vocab.yml")
    sizes = SimpleNamespace(path="", config={"dim-vocabs": [len(pieces) + 2] * 2})
    read = load_vocab(tmp_path / "vocab.yml"), marian_parameters.read_pieces(tmp_path / "vocab.yml", 0, sizes)
    assert [*read] == [["</s>", "<unk>", *pieces]] * 2
    with pytest.raises(UserError, match=r"begins with <blank>, <s>, </s>"):
        marian.entries(tmp_path / "vocab.yml")


def test_the_map_has_the_candidates_of_the_shortlist(tmp_path):
    pieces = [f"p{number}" for number in range(300)]
    lines = [f"p{target} p7 0.{target:03}\n" for target in range(200)]
    ties = [f"p{target} p10 0.1\n" for target in range(150)]
    write_text(tmp_path / "lex.txt", "".join([*lines, "p250 p8 0.5\n", "NULL p9 0.5\n", *ties]))
    _, found = marian_shortlist.candidates(tmp_path / "lex.txt", pieces, pieces)
    assert found["p7"] == {"p7", *pieces[100:200]} and found["p8"] == {"p8", "p250"} and found["p9"] == {"p9"}
    assert found["p10"] == {"p10", *pieces[50:150]}
    assert marian_shortlist.vocabulary_map(tmp_path / "lex.txt", pieces, pieces).startswith(
        "\t" + " ".join(pieces[:100]) + "\np0\tp0\n"
    )


@pytest.mark.parametrize("line", ["p1 p2", "p1 p2 x", "p1 absent 0.5", "absent p1 0.5"])
def test_a_shortlist_of_another_model(tmp_path, line):
    write_text(tmp_path / "lex.txt", f"p1 p2 0.5\n{line}\n")
    with pytest.raises(UserError, match=r"lex\.txt: line 2 is not `target source probability` with pieces of"):
        marian_shortlist.candidates(tmp_path / "lex.txt", *[["p1", "p2"]] * 2)


def test_the_waves_of_the_positions_are_marians():
    table = read_marian.positions(8)
    assert table.shape == (read_marian.POSITIONS, 8)
    assert table[5] == pytest.approx([f(5 / 10_000 ** (k / 3)) for f in (np.sin, np.cos) for k in range(4)], abs=1e-6)


@pytest.mark.parametrize("content", [None, b"PK\3\4", b"weights"])
def test_a_file_that_holds_no_model(tmp_path, content):
    if content:
        (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(UserError, match=r"model\.npz: not a model\.npz of Marian's, or damaged"):
        marian_parameters.Parameters(tmp_path / "model.npz")


def test_a_vocabulary_of_another_model(copier, tmp_path):
    marian.write_vocabulary(["</s>", "<unk>", "a"], tmp_path / "vocab.yml")
    model, vocabulary = copier / "trained" / "model.npz", tmp_path / "vocab.yml"
    with pytest.raises(UserError, match=r"vocab\.yml: not the vocabulary of .*model\.npz"):
        export.export(
            model, vocabulary, copier / "sentencepiece.model", None, ["int8"], Origin(**DESCRIPTION), tmp_path / "out"
        )
