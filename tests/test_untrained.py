"""Models with random weights: their size, the lengths of their translations, and that CTranslate2 loads them."""

import json
import random
import subprocess
import sys

import ctranslate2
import numpy as np
import pytest

from common.errors import UserError
from common.files import read_json, write_json
from decode.engines import Search, load
from decode.engines.native import Native
from export import read_opennmt_tf, untrained
from formats.shape import shape

SHAPE = {"encoder_layers": 2, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2, "share_embeddings": True}


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("".join(f"{piece}\n" for piece in ("<blank>", "<s>", "</s>", *"abcdef")))
    return path


@pytest.mark.slow
def test_the_number_of_parameters_is_that_of_the_shape(vocabulary, tmp_path):
    assert untrained.make(SHAPE, vocabulary, 1, tmp_path / "checkpoint") == shape(SHAPE).parameters(10)
    convert = ["export.convert", "--checkpoint", tmp_path / "checkpoint", "--outputs", tmp_path / "int8"]
    subprocess.run([sys.executable, "-m", *map(str, convert)], check=True)
    translator = ctranslate2.Translator(str(tmp_path / "int8"))
    (result,) = translator.translate_batch([["a", "b"]], min_decoding_length=7, max_decoding_length=7, beam_size=1)
    assert len(result.hypotheses[0]) == 7


def corpus(pieces):
    """Sentences of 1 to 30 pieces, with lengths of translations that correlate with theirs, as references do."""
    generator = random.Random(1)
    source_lengths = [generator.randint(1, 30) for _ in range(120)]
    return [
        (generator.choices(pieces, k=length), round(length * generator.uniform(0.7, 1.4)) + generator.randint(1, 3))
        for length in source_lengths
    ]


@pytest.mark.parametrize("share_embeddings", [True, False])
@pytest.mark.slow
def test_translations_have_the_given_lengths_in_every_engine(share_embeddings, tmp_path):
    """Each sentence has its own length: OpenNMT-tf's batches wait for the longest, CTranslate2's drop finished ones."""
    pieces = [f"p{number}" for number in range(400)]
    (tmp_path / "vocabulary.txt").write_text("\n".join(["<blank>", "<s>", "</s>", *pieces]) + "\n")
    sentences = corpus([*pieces, "unknown"])
    values = SHAPE | {"units": 64, "heads": 4, "decoder_layers": 2, "share_embeddings": share_embeddings}
    untrained.make(values, tmp_path / "vocabulary.txt", 1, tmp_path / "opennmt-tf", sentences)
    convert = ["export.convert", "--checkpoint", tmp_path / "opennmt-tf", "--outputs"]
    convert += [tmp_path / "float32", tmp_path / "int8"]
    subprocess.run([sys.executable, "-m", *map(str, convert)], check=True)
    (tmp_path / "int8" / "vmap.txt").write_text("\t" + " ".join(pieces[::3]) + "\n")
    expected = np.array([length for _, length in sentences])
    for name, beam_size in (("opennmt-tf", 1), ("opennmt-tf", 4), ("float32", 1), ("int8", 1)):
        kind = "opennmt-tf" if name == "opennmt-tf" else "ctranslate2"
        mapped = name == "int8"
        description = {"engine": kind, "quantization": "float32" if kind == name else name, "vocabulary_map": mapped}
        write_json(tmp_path / name / "model.json", description)
        engine = load(tmp_path / name, Search(beam_size=beam_size, vocabulary_map=mapped))
        output = engine.translate([source for source, _ in sentences])
        errors = np.array([len(pieces) for pieces in output]) - expected
        mean, most = (3, 8) if engine.int8_saturates else (0.5, 2)  # products that are cut off move the scores
        assert np.abs(errors).mean() < mean and np.abs(errors).max() <= most, (name, beam_size, errors)


@pytest.mark.skipif(not Native.supported(), reason="the native engine is not installed here")
@pytest.mark.parametrize(
    "values",
    [
        *({"decoder": name} for name in ("averaging", "averaging-gated", "averaging-plain", "ssru")),
        {"cell": "lstm", "bidirectional": True, "embedding_units": 32},
        {"cell": "gru", "embedding_units": 32},
    ],
)
@pytest.mark.slow
def test_models_that_ctranslate2_lacks_have_the_given_lengths(values, tmp_path):
    pieces = [f"p{number}" for number in range(400)]
    (tmp_path / "vocabulary.txt").write_text("\n".join(["<blank>", "<s>", "</s>", *pieces]) + "\n")
    sentences = corpus([*pieces, "unknown"])
    if "decoder" in values:
        values = SHAPE | {"units": 64, "heads": 4, "decoder_layers": 2} | values
    else:
        values = {"encoder_layers": 2, "decoder_layers": 1, "units": 64} | values
    untrained.make(values, tmp_path / "vocabulary.txt", 1, tmp_path / "opennmt-tf", sentences)
    read = read_opennmt_tf.read(tmp_path / "opennmt-tf")
    expected = np.array([length for _, length in sentences])
    for name in ("opennmt-tf", "float32", "int8"):
        engine, kind = ("opennmt-tf", "float32") if name == "opennmt-tf" else ("native", name)
        if engine == "native":
            read.write(kind, tmp_path / name)
        description = {"engine": engine, "quantization": kind, "vocabulary_map": False}
        write_json(tmp_path / name / "model.json", description)
        output = load(tmp_path / name, Search()).translate([source for source, _ in sentences])
        errors = np.array([len(pieces) for pieces in output]) - expected
        assert np.abs(errors).mean() < 0.5 and np.abs(errors).max() <= 2, (name, errors)


def weights(checkpoint):
    """The bytes of every variable, without the names that a process gives to its second model."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(checkpoint))
    names = [name for name in reader.get_variable_to_shape_map() if name.endswith("VARIABLE_VALUE")]
    return {name: reader.get_tensor(name).tobytes() for name in names}


def test_equal_seeds_give_equal_weights(vocabulary, tmp_path):
    for name, seed in (("first", 1), ("same", 1), ("other", 2)):
        untrained.make(SHAPE, vocabulary, seed, tmp_path / name)
    first, same, other = (weights(tmp_path / name) for name in ("first", "same", "other"))
    assert len(first) > 20 and first == same
    assert all(first[name] != other[name] for name in first if "kernel" in name)


def test_it_writes_what_a_training_writes(vocabulary, tmp_path, monkeypatch):
    command = ["untrained", "--shape", json.dumps(SHAPE), "--vocabulary", str(vocabulary)]
    command += ["--output", str(tmp_path / "c"), "--learning", str(tmp_path / "learning.json")]
    monkeypatch.setattr("sys.argv", command)
    untrained.main()
    learning = read_json(tmp_path / "learning.json")
    assert learning == {"shape": "2:1 d16 ff32 h2 shared", "parameters": shape(SHAPE).parameters(10), "steps": 0}


def test_invalid_shapes_are_refused(vocabulary, tmp_path):
    with pytest.raises(UserError, match="units 15 is not a multiple of heads 2"):
        untrained.make(SHAPE | {"units": 15}, vocabulary, 1, tmp_path / "checkpoint")
    with pytest.raises(UserError, match="--test-set: lengths can be given to Transformers with self-attention alone"):
        untrained.make(SHAPE | {"decoder": "ssru"}, vocabulary, 1, tmp_path / "checkpoint", [(["a"], 3)])
    command = ["export.untrained", "--shape", "wngt", "--vocabulary", vocabulary, "--output", tmp_path / "checkpoint"]
    process = subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, check=False)
    assert process.returncode and "no such name; there are wngt2020-base" in process.stderr
    assert not (tmp_path / "checkpoint").exists()


def test_a_decoder_that_copies_the_encoders_states_has_no_lengths(vocabulary, tmp_path):
    values = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "units": 16, "embedding_units": 16}
    with pytest.raises(UserError, match="begins with copies of the encoder's states"):
        untrained.make(values, vocabulary, 1, tmp_path / "c", [(["a"], 3)])
