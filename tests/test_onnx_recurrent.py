"""The peer in onnxruntime says what OpenNMT-tf says, with the same weights."""

import sys
from pathlib import Path

import pytest
from decoders import PIECES, STOP, built, translations

REASON = "onnxruntime: pip install -r requirements-onnx.lock"
pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxruntime", reason=REASON)
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
onnx_recurrent = pytest.importorskip("onnx_recurrent")

SHAPE = {"cell": "lstm", "bidirectional": True, "encoder_layers": 2, "decoder_layers": 2, "units": 32}
LONGEST = 20
ALL = range(PIECES + 4)
BATCH = [[3 + (5 * row * place + row) % PIECES for place in range(1 + row % 13)] for row in range(60)]


@pytest.fixture(scope="module")
def model():
    return built(SHAPE | {"embedding_units": 24})[0]


def translator(model, folder, candidates=ALL, integers=False):
    onnx_recurrent.write(model, candidates, folder, integers)
    return onnx_recurrent.Translator(folder)


def test_float32_says_what_opennmt_tf_says(model, tmp_path):
    expected = [pieces for pieces, _ in translations(model, BATCH, 1, LONGEST)]
    found = translator(model, tmp_path / "model").translate(BATCH, LONGEST, STOP)
    assert found == expected
    assert len({*map(str, found)}) > len(BATCH) / 3 and 2 < sum(map(len, found)) / len(BATCH) < LONGEST


def test_integers_say_about_the_same(model, tmp_path):
    expected = translator(model, tmp_path / "exact").translate(BATCH, 1)
    found = translator(model, tmp_path / "integers", integers=True).translate(BATCH, 1)
    assert sum(a == b for a, b in zip(found, expected, strict=True)) > 0.8 * len(BATCH)
    sizes = [sum(path.stat().st_size for path in (tmp_path / name).iterdir()) for name in ("exact", "integers")]
    assert sizes[1] < sizes[0] / 2


def test_only_candidates_are_said_and_lengths_can_be_forced(model, tmp_path):
    candidates = [7, 11, 13]
    found = translator(model, tmp_path / "model", candidates).translate(BATCH, 5)
    assert {piece for sentence in found for piece in sentence} <= {*candidates}
    assert {len(sentence) for sentence in found} == {5}


@pytest.mark.parametrize("values", [{"cell": "gru"}, {"bidirectional": False}])
def test_other_models_are_refused(values, tmp_path):
    other, _ = built(SHAPE | {"embedding_units": 24} | values)
    with pytest.raises(onnx_recurrent.UserError, match="LSTM cells with a bidirectional encoder"):
        onnx_recurrent.write(other, ALL, tmp_path / "model", integers=False)
