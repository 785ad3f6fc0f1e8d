"""Ensembles of the native engine: probabilities of several models are averaged at every step."""

import atexit
import functools
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import native
import numpy as np
import pytest
import recurrent
from models import sentences as lines
from native import engine, model, outputs, sentences

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.model import native_map, native_vocabulary, native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.translator import Translator

PIECES, END = recurrent.PIECES, 2
BATCH = sentences(12, longest=8)
SEARCHES = [{}, {"beam_size": 4}, {"candidates": "sentence"}, {"candidates": "batch", "beam_size": 3},
            {"blocked_ngram": 1, "beam_size": 2}, {"without": ["shared_cache"], "beam_size": 2}]  # fmt: skip


@functools.cache
def files() -> list[Path]:
    """Weights of a Transformer and an LSTM in float32 and a GRU in int8, of the same pieces; the first with a map."""
    folder = Path(tempfile.mkdtemp(prefix="lstm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    recurrent.model("lstm").write("float32", folder / "native")
    folders = native.folders() / "float32", folder / "native", recurrent.folders()["int8"]
    return [folder / native_weights.NAME for folder in folders]


def opened(first: Path | str, *others: Path | str) -> list[engine.Model]:
    return [engine.Model(first, Path(first).with_name(native_map.NAME)), *map(engine.Model, others)]


@functools.cache
def members() -> list[engine.Model]:
    return opened(*files())


@functools.cache
def ensemble(threads: int = 1) -> engine.Worker:
    return engine.Worker(members(), threads)


def mean(logs: list[np.ndarray]) -> np.ndarray:
    """Logs of the mean of probabilities, given their logs."""
    return np.log(np.mean(np.exp(np.asarray(logs, float)), axis=0))


@functools.cache
def workers() -> list[engine.Worker]:
    return [*map(engine.Worker, members())]


def next_piece(source: list[int], before: list[int]) -> np.ndarray:
    """Log probabilities of every next piece, averaged in NumPy over what each model says."""
    targets = [[*before, piece] for piece in range(PIECES)]
    return mean([[each[-2] for each in worker.score([source] * PIECES, targets)] for worker in workers()])


def test_greedy_search_takes_the_piece_of_the_largest_mean_probability():
    longest = 6
    for source, [(found, score)] in zip(BATCH[:4], outputs(ensemble(), BATCH[:4], longest=longest), strict=True):
        expected, total = [], 0.0
        for _ in range(longest):
            logs = next_piece(source, expected)
            total += logs.max()
            if (best := int(logs.argmax())) == END:
                break
            expected.append(best)
        assert found == expected
        assert score == pytest.approx(total / (len(expected) + (best == END)), abs=1e-5)


def test_the_best_beams_of_one_step_are_the_largest_mean_probabilities():
    """The last step that ``longest`` allows."""
    for source, found in zip(BATCH, outputs(ensemble(), BATCH, beam_size=6, longest=1), strict=True):
        logs = next_piece(source, [])
        best = np.argsort(-logs, kind="stable")[:6]
        assert [pieces for pieces, _ in found] == [[] if piece == END else [piece] for piece in best]
        np.testing.assert_allclose([score for _, score in found], logs[best], atol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_scores_are_those_of_the_mean_probabilities(beam_size):
    found = outputs(ensemble(), BATCH, beam_size=beam_size, longest=12)
    pairs = [(source, *pair) for source, best in zip(BATCH, found, strict=True) for pair in best]
    sources, targets, scores = zip(*pairs, strict=True)
    expected = [mean(logs) for logs in zip(*(worker.score(sources, targets) for worker in workers()), strict=True)]
    for own, other in zip(ensemble().score(sources, targets), expected, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-5)
    for target, score, logs in zip(targets, scores, expected, strict=True):
        logs = logs[: len(target) + (len(target) < 12)]  # the longest have not ended
        assert score == pytest.approx(logs.sum() / len(logs), abs=1e-5)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_translations_do_not_depend_on_batch_and_threads(search):
    prefixes = [[5 + number] if number % 3 else [] for number in range(len(BATCH))]
    together = outputs(ensemble(), BATCH, prefixes, **search)
    assert all(best[0][0][: len(prefix)] == prefix for best, prefix in zip(together, prefixes, strict=True))
    assert outputs(ensemble(2), BATCH, prefixes, **search) == together
    if search.get("candidates") != "batch":
        alone = [outputs(ensemble(), [source], [prefix], **search)[0]
                 for source, prefix in zip(BATCH, prefixes, strict=True)]  # fmt: skip
        assert alone == together


def of_set(*weights: str) -> list:
    worker = engine.Worker(opened(*weights))
    return [outputs(worker, BATCH, **search) for search in SEARCHES]


def test_instruction_sets_give_the_same_bytes():
    expected = json.loads(json.dumps(of_set(*files())))
    sets = [name for name in engine.available_sets()[1:] if name != engine.isa()]  # the portable one has no fused sums
    assert all(native.called(of_set, *files(), NMT_ISA=name) == expected for name in sets)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_model_twice_is_the_model(search):
    """The scores differ by rounding: logs of probabilities are averaged, not what the output layer computes."""
    single = model(native.folders(), "float32")
    one, two = (outputs(engine.Worker(models), BATCH, **search) for models in (single, [single, single]))
    assert [[pieces for pieces, _ in best] for best in one] == [[pieces for pieces, _ in best] for best in two]
    for each, other in zip(one, two, strict=True):
        np.testing.assert_allclose([score for _, score in each], [score for _, score in other], atol=2e-6)


def test_an_error_of_a_batch_leaves_the_ensemble_usable():
    expected = outputs(ensemble(), BATCH)
    ensemble().stop()
    with pytest.raises(engine.EngineError, match="stopped"):
        ensemble().translate(BATCH, native.engine_options())
    assert outputs(ensemble(), BATCH) == expected


def test_models_of_other_vocabularies_are_no_ensemble(tmp_path):
    other = recurrent.model("gru")
    small = {side: (name, rows[:-1]) for side, (name, rows) in other.embeddings.items()}
    fewer = Vocabulary(other.vocabulary.source[:-1], other.vocabulary.target[:-1], "0")
    replace(other, embeddings=small, output_bias=other.output_bias[:-1], vocabulary=fewer).write(
        "float32", tmp_path / "native"
    )
    with pytest.raises(engine.EngineError, match="model 2 of the ensemble has another vocabulary than the first"):
        engine.Worker([members()[0], engine.Model(tmp_path / "native" / native_weights.NAME)])
    with pytest.raises(engine.EngineError, match="at least one model"):
        engine.Worker([])


def test_text_is_translated_by_folders_of_one_vocabulary(tmp_path):
    first, second = native.folders() / "int8", recurrent.folders()["int16"]
    text = lines(20)
    each = [[*Translator(folder).translate(text)] for folder in (first, second)]
    together = [*Translator(first, others=[second]).translate(text)]
    assert together not in each
    assert [*Translator(first, others=[first]).translate(text)] == each[0]

    stranger = shutil.copytree(second, tmp_path / "stranger")
    stored = read_json(stranger / native_vocabulary.NAME)
    write_json(stranger / native_vocabulary.NAME, {**stored, "source": stored["source"][::-1]})
    with pytest.raises(UserError, match=r"stranger: has another source in vocabulary.json than .*int8; models of an"):
        Translator(first, others=[stranger], checksums=False)
