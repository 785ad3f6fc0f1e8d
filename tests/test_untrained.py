"""Models with random weights: the right size, and CTranslate2 opens them."""

import json
import subprocess
import sys

import ctranslate2
import pytest

from export import untrained
from formats.errors import UserError
from formats.files import read_json
from formats.shape import shape

SHAPE = {"encoder_layers": 2, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2, "share_embeddings": True}


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("".join(f"{piece}\n" for piece in ("<blank>", "<s>", "</s>", *"abcdef")))
    return path


def test_the_parameters_are_those_of_the_shape(vocabulary, tmp_path):
    assert untrained.make(SHAPE, vocabulary, 1, tmp_path / "checkpoint") == shape(SHAPE).parameters(10)
    convert = ["export.convert", "--checkpoint", tmp_path / "checkpoint", "--outputs", tmp_path / "int8"]
    subprocess.run([sys.executable, "-m", *map(str, convert)], check=True)
    translator = ctranslate2.Translator(str(tmp_path / "int8"))
    (result,) = translator.translate_batch([["a", "b"]], min_decoding_length=7, max_decoding_length=7, beam_size=1)
    assert len(result.hypotheses[0]) == 7


def weights(checkpoint):
    """The bytes of every variable, without the names that a process gives to its second model."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(checkpoint))
    names = [name for name in reader.get_variable_to_shape_map() if name.endswith("VARIABLE_VALUE")]
    return {name: reader.get_tensor(name).tobytes() for name in names}


def test_equal_seeds_give_equal_weights(vocabulary, tmp_path):
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        untrained.make(SHAPE, vocabulary, seed, tmp_path / name)
    one, same, other = (weights(tmp_path / name) for name in ("one", "same", "other"))
    assert len(one) > 20 and one == same and all(one[name] != other[name] for name in one if "kernel" in name)


def test_what_a_training_would_have_said_is_there(vocabulary, tmp_path, monkeypatch):
    command = ["untrained", "--shape", json.dumps(SHAPE), "--vocabulary", str(vocabulary)]
    command += ["--output", str(tmp_path / "c"), "--learning", str(tmp_path / "learning.json")]
    monkeypatch.setattr("sys.argv", command)
    untrained.main()
    learning = read_json(tmp_path / "learning.json")
    assert learning == {"shape": "2:1 d16 ff32 h2 shared", "parameters": shape(SHAPE).parameters(10), "steps": 0}


def test_a_shape_without_sense_is_said(vocabulary, tmp_path):
    with pytest.raises(UserError, match="units 15 is not a multiple of heads 2"):
        untrained.make(SHAPE | {"units": 15}, vocabulary, 1, tmp_path / "checkpoint")
    command = ["export.untrained", "--shape", "wngt", "--vocabulary", vocabulary, "--output", tmp_path / "checkpoint"]
    done = subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode and "no such name; there are wngt2020-base" in done.stderr
    assert not (tmp_path / "checkpoint").exists()
