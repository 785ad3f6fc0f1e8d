"""The papers' numbers beside measurements: which of ours stand there, and what is said where there is none."""

import sys

import pytest
from measured import measured

from common.errors import UserError
from common.files import read_json, write_json
from formats import measurement
from formats.shape import registry, shape
from report import papers, rows

BASE = str(shape(registry()["marian-base"]))
RUN = {
    "shape": BASE, "engine": "native", "compute_type": "int16", "beam_size": 1, "vocabulary_map": True,
    "source_words_per_second": 629.54, "text_seconds": 50.0, "sentences": 1000, "test_set": "flickr", "cpu": "a CPU",
    "cores": [0], "speed_only": True, "bleu": None,
}  # fmt: skip


def of(made, row, quantity, source="Table 4"):
    (found,) = (each for each in made if (each["row"], each["quantity"], each["source"]) == (row, quantity, source))
    return found


def test_the_data_has_every_row_of_the_tables():
    found = papers.read()
    counted = {}
    for printed in found:
        counted.setdefault((printed.paper, printed.table), set()).add(printed.row)
    lengths = {place: len(of_table) for place, of_table in counted.items()}
    assert lengths == {
        ("marian-2018", "2"): 8, ("marian-2018", "3"): 22, ("marian-2018", "4"): 16, ("opennmt-2018", "3"): 10,
        ("devlin-2017", "text"): 11,
    }  # fmt: skip
    places = [(each.paper, each.table, each.row, each.quantity, each.test_set) for each in found]
    assert len(set(places)) == len(places)
    assert all(each.reason or not each.engine or each.shape for each in found)
    assert {each.shape for each in found} - {""} <= {*registry()}
    assert all(bool(each.role) == bool(each.shape) for each in found)


def test_a_number_is_compared_with_the_measurement_of_its_shape_and_configuration():
    disturbed = measured(**RUN | {"noisy": True, "source_words_per_second": 1.0})
    other = measured(**RUN | {"compute_type": "int8", "source_words_per_second": 2.0})
    made = rows.rows("marian-2018", [disturbed, other, measured(**RUN)])
    seconds = of(made, "(10i) Transformer-base-int16", "seconds")
    assert seconds["ours"] == pytest.approx(100) and seconds["verdict"] == "reached"  # 62,954 words
    assert "62,954 words; untrained, 1,000 sentences of flickr, a CPU" in seconds["reason"]
    cost = of(made, "(10i) Transformer-base-int16", "source tokens per USD")
    assert cost["ours"] == pytest.approx(629.54 * 3600 / 0.102)
    assert cost["printed"] == pytest.approx(62_954 / 400.2 * 3600 / 0.102) and cost["verdict"] == "reached"
    bleu = of(made, "(10i) Transformer-base-int16", "BLEU")
    assert (
        bleu["ours"] is None and bleu["verdict"] == "not run" and "no model of this shape was trained" in bleu["reason"]
    )
    assert of(made, "(10) Transformer-base", "seconds")["verdict"] == "not run"  # float32 was not timed
    assert of(made, "(10) Transformer-base", "seconds", "Table 3")["reason"] == "needs a GPU"


def test_bleu_is_that_of_a_system_with_the_same_role():
    small = {"shape": str(shape(registry()["wnmt2018-rnn-small"])), "engine": "opennmt-tf", "compute_type": "float32"}
    small |= {"vocabulary_map": False, "speed_only": False, "test_set": "newstest2014"}
    distilled = measured(**RUN | small | {"system": "small", "role": "student", "bleu": 26.0})
    direct = measured(**RUN | small | {"system": "small-original", "role": "control", "bleu": 20.0})
    made = rows.rows("opennmt-2018", [distilled, direct])
    found = {each["row"]: each["ours"] for each in made if each["quantity"] == "BLEU" and each["ours"]}
    assert found == {"(4) direct RNN Small": 20.0, "(5) distilled RNN Small": 26.0}


def test_bleu_of_another_test_set_is_no_verdict():
    scored = measured(**RUN | {"bleu": 27.5, "speed_only": False, "system": "base"})
    base = "(10i) Transformer-base-int16"
    assert of(rows.rows("marian-2018", [scored]), base, "BLEU")["verdict"] == "not comparable"
    same = measured(**RUN | {"bleu": 27.3, "speed_only": False, "system": "base", "test_set": "newstest2014"})
    made = rows.rows("marian-2018", [scored, same])
    assert (of(made, base, "BLEU")["verdict"], of(made, base, "BLEU")["ours"]) == ("missed", 27.3)


def test_sizes_are_those_of_the_weights_at_the_papers_vocabulary():
    made = rows.rows("marian-2018", [])
    size = of(made, "(17) Transformer-small-AAN -ffn -gate", "size")
    assert size["ours"] == pytest.approx(95.5, abs=0.05) and size["verdict"] == "reached"
    assert of(made, "(13) Transformer-base-AAN", "size")["verdict"] == "missed"  # 238 MiB, not 220
    assert of(made, "(1) Baseline", "seconds")["reason"] == "the shared task's baseline"


def test_numbers_given_by_hand_and_the_command(tmp_path, monkeypatch):
    values = [{"table": "text", "row": "1", "quantity": "times faster than the baseline decoder", "value": 5.0}]
    write_json(tmp_path / "values.json", values)
    measurement.write(tmp_path / "m.json", [measured(**RUN)])
    told = ["rows", "--paper", "devlin-2017", "--measurements", tmp_path / "m.json", "--values"]
    told += [tmp_path / "values.json", "--output", tmp_path / "rows.json"]
    monkeypatch.setattr(sys, "argv", [*map(str, told)])
    rows.main()
    first, *others = read_json(tmp_path / "rows.json")
    assert (first["ours"], first["verdict"], first["printed"]) == (5.0, "reached", 4.4)
    assert {row["verdict"] for row in others} == {"not run"} and all(row["reason"] for row in others)
    assert "11 numbers: 1 reached, 10 not run." in (tmp_path / "rows.md").read_text()
    fields = {"row", "source", "quantity", "test_set", "printed", "ours", "unit", "verdict", "reason"}
    assert first.keys() == fields


def test_an_unknown_paper_is_named():
    with pytest.raises(UserError, match="there are marian-2018, opennmt-2018, devlin-2017"):
        rows.numbers("marian-2019")
