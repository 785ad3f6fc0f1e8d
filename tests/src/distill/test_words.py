"""A teacher's probabilities word by word: those of OpenNMT-tf's own model, whatever shards, threads and kills."""

import shutil
import sys

import numpy as np
import pytest
from models import folders as models
from models import sentences
from native import engine, folders, worker
from native import sentences as numbers

from distill import parts, words
from distill.teacher import Teacher
from distill.tokenization import tokenizers
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

LINES = sentences(60, seed=3)
PAIRS = [*zip(LINES, reversed(LINES), strict=True)]
K = 8


def sides(kind="float32"):
    return tokenizers(None, folders() / kind / "sentencepiece.model", [])


def softmax(pairs):
    """Probabilities of all pieces at each piece of each target and its end, by OpenNMT-tf's model of these weights."""
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    folder = models()["opennmt-tf"]
    model = opennmt.load_model(str(folder))
    path = str(folder / "vocabulary.txt")
    model.initialize({"source_vocabulary": path, "target_vocabulary": path})
    model.create_variables()
    Checkpoint(model, model_dir=str(folder)).restore()
    source, target = sides()
    features, labels = model.examples_inputter.inputters
    for pair in pairs:
        tokens = [tf.constant([side.encode(text)]) for side, text in zip((source, target), pair, strict=True)]
        read, given = (
            side.make_features(features={"tokens": each, "length": tf.constant([each.shape[1]])}, training=training)
            for side, each, training in zip((features, labels), tokens, (False, True), strict=True)
        )
        outputs, _ = model(read, given, training=None)
        yield tf.nn.softmax(outputs["logits"][0]).numpy()


def test_the_most_probable_pieces_are_those_of_opennmt_tf():
    """Of float32 weights; the order of two that are equally probable may be another one."""
    found = Teacher(folders() / "float32", sides()).best_pieces(PAIRS[:10], K)
    for (pieces, logs), expected in zip(found, softmax(PAIRS[:10]), strict=True):
        assert pieces.shape == logs.shape == (len(expected), K)
        np.testing.assert_allclose(np.exp(logs), -np.sort(-expected, axis=-1)[:, :K], atol=1e-5)
        np.testing.assert_allclose(np.exp(logs), np.take_along_axis(expected, pieces, -1), atol=1e-5)


def test_int8_is_near_float32():
    """As near as random weights allow, which are harder to round than learned ones."""
    exact, rounded = ([*Teacher(folders() / kind, sides(kind)).best_pieces(PAIRS, 1)] for kind in ("float32", "int8"))
    same = [a[0] == b[0] for a, b in zip(exact, rounded, strict=True)]
    assert np.concatenate(same).mean() > 0.9
    differences = [np.abs(np.exp(a[1]) - np.exp(b[1])) for a, b in zip(exact, rounded, strict=True)]
    assert np.concatenate(differences).mean() < 0.05


def test_an_ensemble_averages_probabilities():
    """Of a model with itself the same; of two the mean of what each says of a piece."""
    kinds = [folders() / kind for kind in ("float32", "int8")]
    both = [*Teacher(kinds[0], sides(), others=kinds[1:]).best_pieces(PAIRS[:20], 3)]
    alone = [[*Teacher(kind, sides()).best_pieces(PAIRS[:20], 120)] for kind in kinds]
    for number, (pieces, logs) in enumerate(both):
        each = []
        for found, own in (one[number] for one in alone):
            every = np.zeros((len(found), found.max() + 1))
            np.put_along_axis(every, found, np.exp(own), -1)
            each.append(np.take_along_axis(every, pieces, -1))
        np.testing.assert_allclose(np.exp(logs), np.mean(each, 0), atol=1e-5)


def test_pieces_are_scored_as_targets_are():
    """With a map only its candidates are there, and -1 where they are too few."""
    batch, targets = numbers(40), numbers(40, seed=2)
    scores, best = worker().score(batch, targets), worker().best_pieces(batch, targets, 120)
    for target, own, (pieces, logs) in zip(targets, scores, best, strict=True):
        place = np.array([[row.index(piece)] for row, piece in zip(pieces.tolist(), [*target, 2], strict=True)])
        assert (np.take_along_axis(logs, place, -1)[:, 0] == own).all()
    options = engine.Options(vocabulary_map=True)
    few = worker().best_pieces(batch[:1], targets[:1], 120, options)[0][0]
    assert (few == -1).any() and {*targets[0]} <= {*few[0].tolist()}
    with pytest.raises(engine.EngineError, match="the model has no 1000 most probable pieces"):
        worker().best_pieces(batch, targets, 1000)
    assert worker().best_pieces([], [], 3) == []


def call(tmp_path, monkeypatch, model="int8", *more):
    records.write(tmp_path / "x.tsv.zst", [*PAIRS, ("a" * 3, " "), ("b " * 2000, "a")])
    command = ["words", "--input", tmp_path / "x.tsv.zst", "--models", folders() / model, "--sentencepiece",
               folders() / "int8/sentencepiece.model", "--vocabulary", models()["opennmt-tf"] / "vocabulary.txt",
               "--output", tmp_path / "out.tsv.zst", "--most", K, *more]  # fmt: skip
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    words.main()
    return [line for (line,) in records.read(tmp_path / "out.tsv.zst")]


def test_the_command_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    """With the same bytes, on any number of threads; pairs that the teacher does not read are counted."""
    expected = call(tmp_path, monkeypatch, "int8", "--threads", 2)
    counts = read_json(tmp_path / "out.json")
    assert [counts[key] for key in ("lines_out", "empty", "engine")] == [len(PAIRS) + 2, 2, "native"]
    assert expected[-2:] == ["", ""] and counts["positions"] == sum(len(line.split()) for line in expected)
    assert counts["kept"] == sum(len(line.replace(" ", "")) for line in expected) / 4 < K * counts["positions"]
    monkeypatch.setattr(parts, "RECORDS", 10)
    whole, seen = Teacher.best_pieces, []

    def best_pieces(self, pairs, most):
        seen.append(pairs := [*pairs])
        if len(seen) == 2:
            raise KeyboardInterrupt
        return whole(self, pairs, most)

    monkeypatch.setattr(Teacher, "best_pieces", best_pieces)
    with pytest.raises(KeyboardInterrupt):
        call(tmp_path, monkeypatch)
    assert call(tmp_path, monkeypatch) == expected and seen[1] == seen[2] == PAIRS[10:20]


def test_a_teacher_of_another_vocabulary_is_refused(tmp_path, monkeypatch):
    other = shutil.copytree(folders() / "int8", tmp_path / "other")
    vocabulary = read_json(other / "vocabulary.json")
    write_json(
        other / "vocabulary.json",
        vocabulary | {"source": [*vocabulary["source"][:5], "another", *vocabulary["source"][6:]]},
    )
    with pytest.raises(UserError, match=r"other: has another vocabulary than .* \('another' is a piece of one of them"):
        call(tmp_path, monkeypatch, other)


def test_ctranslate2_is_refused():
    with pytest.raises(UserError, match="float32: word-level distillation needs the native engine"):
        next(Teacher(models()["float32"], sides()).best_pieces(PAIRS, K))
