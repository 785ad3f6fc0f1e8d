"""Weights of CTranslate2 models as arrays, and what rounding does to them."""

import struct

import numpy as np
import pytest
from measured import measured
from models import folders

from export import quantization
from formats.conversion import Converter
from formats.opennmt_tf import load_checkpoint
from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2_model
from report import quantization as quantization_report


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    root = tmp_path_factory.mktemp("types")
    converter = Converter(load_checkpoint(folders()["opennmt-tf"]))
    types = ("float32", "float16", "int16", "int8")
    for name in types:
        converter.convert(str(root / name), quantization=name)
    return {name: root / name for name in types}


def test_the_weights_are_those_of_the_checkpoint(converted):
    model = load_checkpoint(folders()["opennmt-tf"])
    arrays = ctranslate2_model.arrays(converted["float32"])
    embeddings = model.features_inputter.embedding.numpy()
    assert any(array.shape == embeddings.shape and np.array_equal(array, embeddings) for array in arrays.values())
    assert sum(array.size for array in arrays.values() if array.ndim > 1) > 10_000


def test_errors_are_those_of_the_formula(converted):
    arrays = {kind: ctranslate2_model.arrays(folder) for kind, folder in converted.items()}
    exact = arrays["float32"]
    name = next(name for name in exact if name.endswith("linear_0/weight"))
    weight = exact[name].astype(np.float64)
    scales = {"int8": 127 / np.abs(weight).max(axis=1, keepdims=True), "int16": 1024 / np.abs(weight).max()}
    for kind, scale in scales.items():
        expected = np.linalg.norm(weight - np.rint(weight * scale) / scale) / np.linalg.norm(weight)
        found = quantization.errors(exact, arrays[kind])
        assert found[name] == pytest.approx(expected, rel=1e-3)
        together = found.pop("all")
        assert min(found.values()) < together < max(found.values())
    errors = {kind: quantization.errors(exact, rounded)["all"] for kind, rounded in arrays.items()}
    assert errors["float32"] == 0 < errors["float16"] < errors["int16"] < errors["int8"] < 0.05


def test_the_table_has_every_matrix_and_type(converted):
    arrays = {kind: ctranslate2_model.arrays(folder) for kind, folder in converted.items()}
    table = {kind: quantization.errors(arrays["float32"], arrays[kind]) for kind in ("int16", "int8")}
    text = quantization_report.table(quantization_report.Rounded(table, [], []))
    assert all(name in text for name in table["int8"]) and "int8, %" in text


def test_another_models_weights_are_refused(converted):
    exact = ctranslate2_model.arrays(converted["float32"])
    other = {name: array[1:] for name, array in exact.items() if array.ndim}
    with pytest.raises(UserError, match="are not the same in both models"):
        quantization.errors(exact, other)


def one_matrix(folder, kind, array):
    """A file of CTranslate2's format, byte by byte: PyTorch, which makes bfloat16, is no dependency."""
    spec, name = (struct.pack("H", len(text) + 1) + text + b"\0" for text in (b"Spec", b"w"))
    shape = struct.pack("=B2IBI", 2, *array.shape, kind, array.nbytes)
    data = struct.pack("I", ctranslate2_model.VERSION) + spec + struct.pack("II", 1, 1) + name + shape + array.tobytes()
    (folder / "model.bin").write_bytes(data + struct.pack("I", 0))


def test_bfloat16_is_read_in_float32(tmp_path):
    exact = np.array([[1.5, -2.25, 3], [0.15625, 0, -1024]], np.float32)
    one_matrix(tmp_path, 5, (exact.view(np.uint32) >> 16).astype(np.uint16))
    found = ctranslate2_model.arrays(tmp_path)
    assert found["w"].dtype == np.float32 and np.array_equal(found["w"], exact)
    assert quantization.errors({"w": exact}, found) == {"w": 0, "all": 0}


def test_a_type_of_the_future_is_named(tmp_path):
    one_matrix(tmp_path, 6, np.zeros((1, 1), np.float32))
    with pytest.raises(UserError, match=r"w has type 6, this can read 0, 1, 2, 3, 4, 5"):
        ctranslate2_model.arrays(tmp_path)


def test_another_version_of_the_format_is_named(converted, tmp_path):
    data = (converted["int8"] / "model.bin").read_bytes()
    (tmp_path / "model.bin").write_bytes(b"\x07\0\0\0" + data[4:])
    with pytest.raises(UserError, match="has version 7 of CTranslate2's format"):
        ctranslate2_model.arrays(tmp_path)


def test_scores_name_the_cpu_and_whether_products_are_exact():
    record = {"effective_compute_type": "int8_float32", "cpu": "A", "isa": "avx2", "bleu": 28.4}
    record |= {"model_bytes": 1000, "source_words_per_second": 99.6, "library": "oneDNN"}
    exact = {"compute_type": "int8", "environment": {"CT2_USE_MKL": "1"}, "int8_saturates": False, "bleu": 28.93}
    both = [measured(**record, int8_saturates=saturates) for saturates in (True, None)]
    cells = [list(row.values()) for row in quantization_report.scores(both, [exact])]
    text = quantization_report.table(quantization_report.Rounded({"int8": {"all": 0.01}}, both, [exact]))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "int8 " in line[:7]]
    expected = [
        ["int8", "int8_float32", "A (avx2)", "oneDNN", "saturate", "28.40", "1,000", "100"],
        ["int8", "int8_float32", "A (avx2)", "oneDNN", "–", "28.40", "1,000", "100"],
        ["int8", "int8", "as with VNNI", "`CT2_USE_MKL=1`", "exact", "28.93", "–", "–"],
    ]
    assert rows == cells == expected
