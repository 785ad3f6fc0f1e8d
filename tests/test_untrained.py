"""Models with random weights: the right size, and CTranslate2 opens them."""

import subprocess
import sys

import ctranslate2
import pytest

from export import untrained
from formats.errors import UserError
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


def test_a_shape_without_sense_is_said(vocabulary, tmp_path):
    with pytest.raises(UserError, match="units 15 is not a multiple of heads 2"):
        untrained.make(SHAPE | {"units": 15}, vocabulary, 1, tmp_path / "checkpoint")
    command = ["export.untrained", "--shape", "wngt", "--vocabulary", vocabulary, "--output", tmp_path / "checkpoint"]
    done = subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode and "no such name; there are wngt2020-base" in done.stderr
    assert not (tmp_path / "checkpoint").exists()
