"""Fixed scales of activations: finding, writing and using them."""

import shutil

import numpy as np
import pytest
from native import engine, folders, kernels, outputs, sentences
from test_native_kernels import LIMITS, stored

from formats import records
from measure import calibrate
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.model import model_folder, native_weights, safetensors
from nmt_frontier.model.model_folder import Calibration
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search

LINES = ["a b c", "c b a d", "b"]
SENTENCES = sentences(20)
CLOSE = {"int8": 0.3, "int16": 0.01, "int4": 0.4}  # mean difference of log probabilities
kinds = pytest.mark.parametrize("kind", CLOSE)


def opened(folder):
    return engine.Worker(engine.Model(folder / native_weights.NAME))


def fixed(kind, output, factor=1.0):
    """A copy of a test model; its scales are the largest of SENTENCES as their own targets, times a factor."""
    seen = opened(folders() / kind)
    seen.calibrate()
    seen.score(SENTENCES, SENTENCES)
    scales = {name: found.largest * factor for name, found in seen.input_scales().items()}
    calibrate.write(folders() / kind, scales, Calibration("test", 1, None), output)
    return output


@pytest.mark.parametrize("kind", LIMITS)
def test_a_fixed_scale_holds_for_all_rows_and_clips(kind):
    low, high = LIMITS[kind]
    signed, shift = kind != "unsigned int8", 128 if kind == "int8" else 0
    rows = np.random.default_rng(1).normal(0, high / 2, (7, 48)).astype(np.float32)
    rows = rows if signed else np.abs(rows)
    found, scale = kernels.quantise(rows, stored(kind), signed, fixed=0.5)
    assert (scale == 0.5).all()
    assert (found == np.clip(np.rint(rows / 0.5) + shift, low, high)).all()
    assert (found == high).any() and (found == low).any() | (not signed)


@kinds
def test_the_scales_of_every_product_are_found(kind):
    scales = calibrate.input_scales(folders() / kind, LINES)
    names = safetensors.read(folders() / kind / native_weights.NAME)
    assert {*scales} == {name.removesuffix(".weight") for name in names if name.endswith(".weight")} | {"output"}
    for seen in scales.values():
        assert seen.rows > 0 and 0 < seen.mean <= seen.largest and seen.deviation >= 0


@kinds
def test_a_fixed_model_decodes_nearly_as_before_and_in_any_batch_alike(kind, tmp_path):
    folder = fixed(kind, tmp_path / "model")
    model_folder.check(folder, loading.describe(folder))
    before, after = opened(folders() / kind), opened(folder)
    together = outputs(after, SENTENCES)
    assert together == [outputs(after, [sentence])[0] for sentence in SENTENCES]
    scores = [np.concatenate(worker.score(SENTENCES, SENTENCES)) for worker in (before, after)]
    assert not np.array_equal(*scores)
    assert np.abs(np.subtract(*scores)).mean() < CLOSE[kind]


def test_too_small_scales_are_used(tmp_path):
    """Otherwise the test above could pass with scales that are never read."""
    after = opened(fixed("int8", tmp_path / "model", 0.01))
    assert outputs(after, SENTENCES) != outputs(opened(folders() / "int8"), SENTENCES)


def test_the_command_writes_a_model_folder(tmp_path, monkeypatch):
    text, output = tmp_path / "dev.tsv.zst", tmp_path / "model"
    records.write(text, [(line, line) for line in LINES])
    command = ["calibrate", "--model", folders() / "int8", "--records", text, "--output", output, "--deviations", 1.1]
    monkeypatch.setattr("sys.argv", [*map(str, command)])
    calibrate.main()
    about = read_json(output / "model.json")["made_by"]["input_scales"]
    assert about == {"text": "dev", "sentences": 3, "deviations": 1.1}
    loaded = loading.load(output, Search(vocabulary_map=False))
    assert len(loaded.translate([["▁a"], ["▁b", "▁c"]])) == 2
    assert {path.name for path in output.iterdir()} == {path.name for path in (folders() / "int8").iterdir()}


FLOATS = "native float32; only models of the native engine in int16, int8 and int4"
WRONG = {
    "floats": (lambda _: folders() / "float32", LINES, FLOATS),
    "fixed": (lambda folder: fixed("int8", folder / "model"), LINES, "its scales are fixed already"),
    "no text": (lambda _: folders() / "int8", ["", " "], "no sentence"),
}


@pytest.mark.parametrize(("model", "lines", "message"), WRONG.values(), ids=WRONG)
def test_only_integers_are_calibrated_and_once(model, lines, message, tmp_path):
    with pytest.raises(UserError, match=message):
        calibrate.input_scales(model(tmp_path), lines)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 1e-45])
def test_a_damaged_scale_is_refused(scale, tmp_path):
    folder = shutil.copytree(folders() / "int8", tmp_path / "model")
    weights = folder / native_weights.NAME
    tensors = {**safetensors.read(weights), "output.input_scale": np.array([scale], np.float32)}
    safetensors.write(tmp_path / "damaged", tensors, safetensors.metadata(weights))
    with pytest.raises(engine.EngineError, match=r"output\.input_scale(' holds what is no finite number| is no scale)"):
        engine.Model(tmp_path / "damaged")
