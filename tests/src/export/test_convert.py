"""Conversion to CTranslate2; a conversion that fails leaves an earlier folder as it was."""

import importlib
import json
import resource
import shutil
import signal
import sys
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
from models import folders

from export import convert, read_opennmt_tf, untrained
from formats import conversion, opennmt_tf
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import ctranslate2_model

ROOT = Path(__file__).parents[3]
SHARED = {
    "encoder_layers": 1, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2, "share_embeddings": True,
}  # fmt: skip


@pytest.fixture
def vocabulary(tmp_path):
    (path := tmp_path / "vocabulary.txt").write_text("<blank>\n<s>\n</s>\na\nb\n")
    return path


@pytest.fixture
def checkpoint(tmp_path):
    return shutil.copytree(folders()["opennmt-tf"], tmp_path / "averaged")


@pytest.fixture
def run(checkpoint, tmp_path, monkeypatch):
    """Convert into folders of these types, beside the checkpoint."""

    def converted(*types, model=checkpoint, folder="converted"):
        outputs = [str(tmp_path / folder / type) for type in types]
        monkeypatch.setattr(sys, "argv", ["convert", "--checkpoint", str(model), "--outputs", *outputs])
        convert.main()

    return converted


def test_every_type_opens_and_takes_its_bytes(run, tmp_path):
    run("float32", "float16", "int16", "int8", "int8_float16")
    weights = {path.name: (path / "model.bin").stat().st_size for path in (tmp_path / "converted").iterdir()}
    assert weights["float32"] > 1.8 * weights["float16"] > weights["int8"] > weights["int8_float16"]
    for name in weights:
        assert ctranslate2.Translator(str(tmp_path / "converted" / name)).translate_batch([["a"]])


def test_layers_are_normalised_as_in_opennmt_tf(run, checkpoint, tmp_path):
    run("float32")
    epsilon = read_json(tmp_path / "converted/float32/config.json")["layer_norm_epsilon"]
    layers = opennmt_tf.load_checkpoint(checkpoint).submodules
    assert {layer.epsilon for layer in layers if hasattr(layer, "epsilon")} == {epsilon}


def test_converting_again_gives_the_same_bytes(run, good):
    first = (good / "model.bin").read_bytes()
    run("int8")
    assert (good / "model.bin").read_bytes() == first


@pytest.mark.parametrize("shared", [False, True])
def test_types_made_of_float32_have_the_bytes_of_those_made_of_the_checkpoint(
    run, checkpoint, vocabulary, tmp_path, shared
):
    types = ("int8", "int16", "float16", "int8_float16")
    if shared:  # CTranslate2 stores such weights once
        untrained.make(SHARED, vocabulary, 1, checkpoint := tmp_path / "shared")
    run("float32", *types, model=checkpoint)
    run(*types, model=tmp_path / "converted/float32", folder="again")
    aliases = ctranslate2_model.read(tmp_path / "converted/float32").aliases
    assert any(name.endswith("/weight") for name in aliases) == shared
    for name in types:
        first, second = (tmp_path / folder / name for folder in ("converted", "again"))
        files = sorted(path.name for path in first.iterdir())
        assert files == sorted(path.name for path in second.iterdir()) and len(files) == 3
        assert [(first / file).read_bytes() for file in files] == [(second / file).read_bytes() for file in files]
    with pytest.raises(UserError, match=r"int8: as int16: .* is int8; convert a model with float32 weights"):
        run("int16", model=tmp_path / "converted/int8", folder="third")


@pytest.fixture
def good(run, tmp_path):
    """Files of an earlier conversion."""
    run("int8")
    return tmp_path / "converted" / "int8"


def kept_in_spite_of(run, good, message):
    """A conversion that fails with this message leaves the folder of an earlier one as it was."""
    before = (good / "model.bin").read_bytes()
    with pytest.raises((UserError, OSError), match=message):
        run("int8")
    assert (good / "model.bin").read_bytes() == before
    assert [path.name for path in good.parent.iterdir()] == ["int8"]


DAMAGED = "OpenNMT-tf cannot load this model: a file is damaged, or"


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("ckpt-1.data-00000-of-00001", lambda data: data[: len(data) // 2], DAMAGED),
        ("ckpt-1.index", lambda data: data[: len(data) // 2], DAMAGED),
        ("vocabulary.txt", lambda data: b"".join(data.splitlines(keepends=True)[:-5]), DAMAGED),
        ("vocabulary.txt", lambda data: data + b"more\n", DAMAGED),
        ("checkpoint", None, "no checkpoint in this folder; train the system"),
    ],
    ids=["weights", "index", "short vocabulary", "long vocabulary", "no checkpoint"],
)
def test_a_damaged_checkpoint(run, good, checkpoint, file, change, message):
    """A vocabulary of another size: OpenNMT-tf 1007."""
    path = checkpoint / file
    path.write_bytes(change(path.read_bytes())) if change else path.unlink()
    kept_in_spite_of(run, good, f"averaged: {message}")


@pytest.mark.parametrize("change", ["", "a\nb\nc\n"])
def test_a_shared_vocabulary_of_another_size(run, vocabulary, tmp_path, change):
    """CTranslate2 532: before anything is decoded, from the checkpoint or for an engine."""
    untrained.make(SHARED, vocabulary, 1, folder := tmp_path / "shared")
    (folder / "vocabulary.txt").write_text(f"<blank>\n<s>\n</s>\n{change}")
    for read in (lambda: run("float32", model=folder), lambda: read_opennmt_tf.read(folder)):
        with pytest.raises(UserError, match=f"shared: {DAMAGED} the vocabulary is not that of the checkpoint"):
            read()


def test_a_disk_that_is_full(run, good):
    """The limit on the size of a file acts as the end of the disk."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        kept_in_spite_of(run, good, "File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_an_unknown_type(run, good):
    with pytest.raises(UserError, match="averaged: as int4: "):
        run("int4")
    assert [path.name for path in good.parent.iterdir()] == ["int8"]


def test_bfloat16_needs_pytorch(run):
    if sys.modules.get("torch"):
        pytest.skip("PyTorch is installed")
    with pytest.raises(UserError, match="bfloat16 requires torch"):
        run("bfloat16")


@pytest.mark.slow
def test_weights_come_back_from_ctranslate2(vocabulary, tmp_path, monkeypatch):
    """benchmarks/to_opennmt_tf.py restores the model from a converted one."""
    from opennmt.utils.checkpoint import Checkpoint, get_checkpoint_variables

    values = SHARED | {"encoder_layers": 2}

    def back(**changes):
        call = ["to_opennmt_tf", "--model", tmp_path / "float32", "--output", tmp_path / "back"]
        call += ["--shape", json.dumps(values | changes), "--vocabulary", vocabulary]
        monkeypatch.setattr(sys, "argv", [*map(str, call)])
        importlib.import_module("to_opennmt_tf").main()

    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    untrained.make(values, vocabulary, 1, tmp_path / "first")
    model = opennmt_tf.load_checkpoint(tmp_path / "first")
    for number, variable in enumerate(model.trainable_variables):  # no two layers are alike
        variable.assign_add(np.random.default_rng(number).normal(size=variable.shape))
    Checkpoint(model, model_dir=str(tmp_path / "first")).save(0)
    conversion.Converter(model).convert(str(tmp_path / "float32"))
    back()
    first, second = (get_checkpoint_variables(str(tmp_path / name / "ckpt-0")) for name in ("first", "back"))
    names = [name for name in first if name.startswith("model/")]
    assert len(names) > 40 and all((first[name] == second[name]).all() for name in names)
    with pytest.raises(UserError, match="not the weights of this shape and vocabulary"):
        back(units=32)
