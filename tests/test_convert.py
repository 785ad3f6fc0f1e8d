"""Conversion to CTranslate2: what goes wrong is said, and a good folder outlives it."""

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

from common.errors import UserError
from common.files import read_json
from export import convert, untrained
from formats import conversion, ctranslate2_model, opennmt_tf

ROOT = Path(__file__).parents[1]


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
    told = read_json(tmp_path / "converted" / "float32" / "config.json")["layer_norm_epsilon"]
    layers = opennmt_tf.load_checkpoint(checkpoint).submodules
    assert {layer.epsilon for layer in layers if hasattr(layer, "epsilon")} == {told}


def test_converting_again_gives_the_same_bytes(run, tmp_path):
    run("int8")
    path = tmp_path / "converted" / "int8" / "model.bin"
    first = path.read_bytes()
    run("int8")
    assert path.read_bytes() == first


@pytest.mark.parametrize("shared", [False, True])
def test_types_made_of_float32_have_the_bytes_of_those_made_of_the_checkpoint(run, checkpoint, tmp_path, shared):
    types = ("int8", "int16", "float16", "int8_float16")
    if shared:  # CTranslate2 stores such weights once
        shape = {"encoder_layers": 1, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2}
        shape |= {"share_embeddings": True}
        vocabulary = tmp_path / "vocabulary.txt"
        vocabulary.write_text("<blank>\n<s>\n</s>\na\nb\n")
        checkpoint = tmp_path / "shared"
        untrained.make(shape, vocabulary, 1, checkpoint)
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


def kept_in_spite_of(run, tmp_path, message):
    """A conversion that fails with this message leaves the folder of an earlier one as it was."""
    good = tmp_path / "converted" / "int8" / "model.bin"
    before = good.read_bytes()
    with pytest.raises((UserError, OSError), match=message):
        run("int8")
    assert good.read_bytes() == before
    assert [path.name for path in good.parent.parent.iterdir()] == ["int8"]


@pytest.mark.parametrize("pattern", ["ckpt-1.data*", "ckpt-1.index"])
def test_a_damaged_checkpoint(run, checkpoint, tmp_path, pattern):
    run("int8")
    path = next(checkpoint.glob(pattern))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    kept_in_spite_of(run, tmp_path, "averaged: OpenNMT-tf cannot load this model: a file is damaged, or")


@pytest.mark.parametrize("change", [lambda lines: lines[:-5], lambda lines: [*lines, "more\n"]])
def test_a_vocabulary_that_does_not_fit(run, checkpoint, tmp_path, change):
    run("int8")
    path = checkpoint / "vocabulary.txt"
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    kept_in_spite_of(run, tmp_path, "averaged: OpenNMT-tf cannot load this model: a file is damaged, or")


def test_no_checkpoint(run, checkpoint, tmp_path):
    run("int8")
    (checkpoint / "checkpoint").unlink()
    kept_in_spite_of(run, tmp_path, "averaged: no checkpoint in this folder; train the system")


def test_a_disk_that_is_full(run, tmp_path):
    """The limit on the size of a file stands for the end of the disk."""
    run("int8")
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        kept_in_spite_of(run, tmp_path, "File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_an_unknown_type(run, tmp_path):
    run("int8")
    with pytest.raises(UserError, match="averaged: as int4: "):
        run("int4")
    assert [path.name for path in (tmp_path / "converted").iterdir()] == ["int8"]


def test_bfloat16_says_what_it_needs(run, tmp_path):
    if sys.modules.get("torch"):
        pytest.skip("PyTorch is installed")
    with pytest.raises(UserError, match="bfloat16 requires torch"):
        run("bfloat16")


def test_weights_come_back_from_ctranslate2(tmp_path, monkeypatch):
    """What benchmarks/to_opennmt_tf.py makes of a converted model is the model."""
    from opennmt.utils.checkpoint import Checkpoint, get_checkpoint_variables

    values = {"encoder_layers": 2, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2}
    values["share_embeddings"] = True
    (tmp_path / "vocabulary.txt").write_text("<blank>\n<s>\n</s>\na\nb\n")
    given = ["--shape", json.dumps(values), "--vocabulary", str(tmp_path / "vocabulary.txt")]

    def back(model, *options):
        monkeypatch.setattr(sys, "argv", ["to_opennmt_tf", "--model", str(model), "--output", str(tmp_path / "back")])
        sys.argv += options
        importlib.import_module("to_opennmt_tf").main()

    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    untrained.make(values, tmp_path / "vocabulary.txt", 1, tmp_path / "first")
    model = opennmt_tf.load_checkpoint(tmp_path / "first")
    for number, variable in enumerate(model.trainable_variables):  # no two layers are alike
        variable.assign_add(np.random.default_rng(number).normal(size=variable.shape))
    Checkpoint(model, model_dir=str(tmp_path / "first")).save(0)
    conversion.Converter(model).convert(str(tmp_path / "float32"))
    back(tmp_path / "float32", *given)
    first, second = (get_checkpoint_variables(str(tmp_path / name / "ckpt-0")) for name in ("first", "back"))
    names = [name for name in first if name.startswith("model/")]
    assert len(names) > 40 and all((first[name] == second[name]).all() for name in names)
    with pytest.raises(UserError, match="not the weights of this shape and vocabulary"):
        back(tmp_path / "float32", "--shape", json.dumps(values | {"units": 32}), *given[2:])
