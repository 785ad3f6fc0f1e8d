"""Models with random weights: their size, the lengths of their translations, and that CTranslate2 loads them."""

import json
import random

import ctranslate2
import numpy as np
import pytest
from phrase_tables import run

from export import read_opennmt_tf, untrained
from export.lengths import END, score_end
from formats.shape import shape
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.search.engine import Search
from nmt_frontier.search.loading import load
from nmt_frontier.search.native import Native

SHAPE = {"encoder_layers": 2, "decoder_layers": 1, "units": 16, "ffn_units": 32, "heads": 2, "share_embeddings": True}
HISTORY = SHAPE | {"units": 64, "heads": 4, "decoder_layers": 2}
RECURRENT = {"encoder_layers": 2, "decoder_layers": 1, "units": 64, "embedding_units": 32}
ATTENDING = {"units": 64, "embedding_units": 32}


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("".join(f"{piece}\n" for piece in ("<blank>", "<s>", "</s>", *"abcdef")))
    return path


@pytest.mark.slow
def test_the_number_of_parameters_is_that_of_the_shape(vocabulary, tmp_path):
    assert untrained.make(SHAPE, vocabulary, 1, tmp_path / "checkpoint") == shape(SHAPE).parameters(10)
    run("export.convert", "--checkpoint", tmp_path / "checkpoint", "--outputs", tmp_path / "int8")
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


def made(values, folder):
    """Make an untrained model and return the sentences whose lengths it has, and its pieces."""
    pieces = [f"p{number}" for number in range(400)]
    (folder / "vocabulary.txt").write_text("\n".join(["<blank>", "<s>", "</s>", *pieces]) + "\n")
    sentences = corpus([*pieces, "unknown"])
    untrained.make(values, folder / "vocabulary.txt", 1, folder / "opennmt-tf", sentences)
    return sentences, pieces


def errors(engine, sentences):
    """By how many pieces each translation is longer than its reference."""
    output = engine.translate([source for source, _ in sentences])
    return np.array([len(pieces) - length for pieces, (_, length) in zip(output, sentences, strict=True)])


def loaded(folder, engine, kind, beam_size, mapped=False):
    write_json(folder / "model.json", {"engine": engine, "quantization": kind, "vocabulary_map": mapped})
    return load(folder, Search(beam_size=beam_size, vocabulary_map=mapped))


@pytest.mark.parametrize("share_embeddings", [True, False])
@pytest.mark.slow
def test_translations_have_the_given_lengths_in_every_engine(share_embeddings, tmp_path):
    """Each sentence has its own length: OpenNMT-tf's batches wait for the longest, CTranslate2's drop finished ones."""
    sentences, pieces = made(HISTORY | {"share_embeddings": share_embeddings}, tmp_path)
    outputs = [tmp_path / "float32", tmp_path / "int8"]
    run("export.convert", "--checkpoint", tmp_path / "opennmt-tf", "--outputs", *outputs)
    (tmp_path / "int8" / "vmap.txt").write_text("\t" + " ".join(pieces[::3]) + "\n")
    for name, beam_size in (("opennmt-tf", 1), ("opennmt-tf", 4), ("float32", 1), ("int8", 1)):
        kind = (name, "float32") if name == "opennmt-tf" else ("ctranslate2", name)
        engine = loaded(tmp_path / name, *kind, beam_size, mapped=name == "int8")
        found = errors(engine, sentences)
        mean, most = (3, 8) if engine.int8_saturates else (0.5, 2)  # saturated products move the scores
        assert np.abs(found).mean() < mean and np.abs(found).max() <= most, (name, beam_size, found)


@pytest.mark.skipif(not Native.supported(), reason="the native engine is not installed here")
@pytest.mark.parametrize(
    "values",
    [
        *(HISTORY | {"decoder": name} for name in ("averaging", "averaging-gated", "averaging-plain", "ssru")),
        RECURRENT | {"cell": "lstm", "bidirectional": True},
        RECURRENT | {"cell": "gru"},
        ATTENDING | {"encoder_transitions": 1, "decoder_transitions": 2},
        ATTENDING | {"encoder_transitions": 3, "decoder_transitions": 4, "share_embeddings": True},
        ATTENDING | {"fully_connected_layers": 3, "fully_connected_units": 48},
        ATTENDING | {"fully_connected_layers": 2, "fully_connected_units": 32, "share_embeddings": True},
        ATTENDING | {"fully_connected_layers": 1, "fully_connected_units": 64},  # as wide as the state: no projection
    ],
    ids=lambda values: str(shape(values)),
)
@pytest.mark.slow
def test_models_that_ctranslate2_lacks_have_the_given_lengths(values, tmp_path):
    sentences, _ = made(values, tmp_path)
    read = read_opennmt_tf.read(tmp_path / "opennmt-tf")
    for kind in ("float32", "int8"):
        read.write(kind, tmp_path / kind)
    for name, beam_size in (("opennmt-tf", 1), ("float32", 1), ("int8", 1), ("int8", 4)):
        kind = (name, "float32") if name == "opennmt-tf" else ("native", name)
        found = errors(loaded(tmp_path / name, *kind, beam_size), sentences)
        assert np.abs(found).mean() < 0.5 and np.abs(found).max() <= 2, (name, beam_size, found)
        assert abs(found.sum()) < 0.02 * sum(length for _, length in sentences), (name, beam_size, found.sum())


@pytest.mark.parametrize("tied", [False, True])
def test_the_clock_alone_scores_the_end_and_nothing_else(tied):
    import tensorflow as tf
    from opennmt.layers.common import Dense

    embeddings = tf.Variable(tf.random.normal([10, 4]))
    output = Dense(10, weight=embeddings, transpose=True) if tied else Dense(10)
    output.build([None, 4])
    before = output(tf.eye(4)).numpy()
    score_end(output, {1: 7.0})
    scores = output(tf.eye(4)).numpy()  # one row for each unit alone
    assert np.flatnonzero(scores[:, END]) == [1] and np.flatnonzero(scores[1]) == [END] and scores[1, END] == 7
    others = np.ix_([0, 2, 3], [piece for piece in range(10) if piece != END])
    np.testing.assert_array_equal(scores[others], before[others])


def weights(checkpoint):
    """The bytes of every variable, without the names that a process gives to its second model."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(checkpoint))
    names = [name for name in reader.get_variable_to_shape_map() if name.endswith("VARIABLE_VALUE")]
    return {name: reader.get_tensor(name).tobytes() for name in names}


@pytest.mark.slow
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


def test_invalid_shapes_are_refused(vocabulary, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="units 15 is odd"):
        untrained.make(SHAPE | {"units": 15}, vocabulary, 1, tmp_path / "checkpoint")
    command = ["untrained", "--shape", "wngt", "--vocabulary", vocabulary, "--output", tmp_path / "checkpoint"]
    monkeypatch.setattr("sys.argv", [*map(str, command)])
    with pytest.raises(UserError, match="--shape wngt: no such name; there are wngt2020-base"):
        untrained.main()
    assert not (tmp_path / "checkpoint").exists()


def test_a_decoder_that_copies_the_encoders_states_has_no_lengths(vocabulary, tmp_path):
    values = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "units": 16, "embedding_units": 16}
    with pytest.raises(UserError, match="begins with copies of the encoder's states"):
        untrained.make(values, vocabulary, 1, tmp_path / "c", [(["a"], 3)])
