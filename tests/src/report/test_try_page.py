"""The page on which the best student of a study translates."""

import shutil

import native
import page_parts
import pytest
from measured import measured

from formats import measurement
from nmt_frontier.command import web
from nmt_frontier.errors import UserError
from report import try_page


def record(**values):
    return measured(**{"engine": "native", "dev_set": "d", "dev_bleu": 30.0, "bleu": 30.0} | values)


RECORDS = [
    record(system="teacher", role="teacher", dev_bleu=40.0, bleu=40.0),
    record(system="deep", dev_bleu=31.0, bleu=31.0, engine="ctranslate2"),
    record(system="deep", dev_bleu=32.0, bleu=32.0, compute_type="float32"),
    record(system="deep", dev_bleu=30.8, bleu=30.26),
    record(system="deep", dev_bleu=30.8, bleu=29.0, test_set="u"),
    record(system="tiny", dev_bleu=20.0, bleu=20.0, source_words_per_second=1e6),
]


def test_the_best_student_of_the_native_engine_in_int8_is_shown():
    found = try_page.chosen(RECORDS)
    assert (found.system.name, found.scores.bleu, try_page.note(found)) == ("deep", 30.26, "30.3 BLEU on t")
    unknown = [record(system=name, dev_bleu=None, bleu=bleu) for name, bleu in (("one", 1.0), ("two", 2.0))]
    assert try_page.chosen(unknown).system.name == "two"
    with pytest.raises(UserError, match="no student was measured in int8 in the native engine"):
        try_page.chosen(RECORDS[:3])


def test_the_page_has_its_model_and_its_quality(tmp_path, monkeypatch):
    monkeypatch.setattr(web, "PAGE", page_parts.write(tmp_path / "parts"))
    measurement.write(tmp_path / "measurements.json", RECORDS)
    shutil.copytree(native.folders() / "int8", tmp_path / "study/models/deep/native-int8")
    given = {
        "measurements": tmp_path / "measurements.json",
        "study": tmp_path / "study",
        "output": tmp_path / "try.html",
    }
    words = [str(word) for name, path in given.items() for word in (f"--{name}", path)]
    monkeypatch.setattr("sys.argv", ["try_page", *words])
    try_page.main()
    assert 'data-file="weights.safetensors"' in (tmp_path / "try.html").read_text()
