"""The papers' numbers beside measurements: which are compared, and the reasons where none can be."""

import re
import sys
from pathlib import Path

import pytest
from measured import measured

from formats import measurement
from formats.shape import registry, shape
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from report import claims, our_number, pages, rows
from report.claims import TOLERANCES
from report.our_number import RecordedRun
from report.rows.__main__ import main

ROOT = Path(__file__).parents[3]
BASE = str(shape(registry()["marian-base"]))
RUN = {
    "shape": BASE, "engine": "native", "compute_type": "int16", "beam_size": 1, "vocabulary_map": True,
    "source_words_per_second": 540.0, "source_words": 27_000, "source_tokens_moses": 31_477,
    "text_seconds": 50.0,
    "sentences": 1000, "test_set": "flickr", "cpu": "a CPU",
    "cores": [0], "speed_only": True, "bleu": None,
    "text_seconds_runs": (50.0,), "measured_at": ("2026-11-23T01:00:00",),
}  # fmt: skip


CONSTANTS = {"1", "100", "1000000", "1048576"}  # of formulas by hand


def run(*records):
    return RecordedRun("snakemake speed", list(records))


def of(made, row, quantity, source="Table 4"):
    (found,) = (each for each in made if (each["row"], each["quantity"], each["source"]) == (row, quantity, source))
    return found


def test_the_data_has_every_row_of_the_tables():
    found = claims.read()
    counted = {}
    for printed in found:
        counted.setdefault((printed.paper, printed.table), set()).add(printed.row)
    lengths = {place: len(of_table) for place, of_table in counted.items()}
    assert lengths == {
        ("marian2018", "2"): 8, ("marian2018", "3"): 22, ("marian2018", "4"): 16, ("wnmt2018", "3"): 10,
        ("wnmt2018", "1"): 3, ("wnmt2018", "Figure 2"): 5, ("wnmt2018", "text"): 11,
        ("marian2018", "text"): 2,
        ("devlin2017", "text"): 11,
        ("wngt2020", "1"): 2, ("wngt2020", "3"): 4, ("wngt2020", "4"): 3, ("wngt2020", "5"): 6,
        ("wngt2020", "6"): 20, ("wngt2020", "text"): 5,
        ("fastseq2021", "1"): 14, ("fastseq2021", "2"): 6, ("fastseq2021", "3"): 3, ("fastseq2021", "4"): 12,
        ("fastseq2021", "Figure 1"): 5,
    }  # fmt: skip
    places = [(paper, *claim.key) for paper in claims.NAMES for claim in rows.numbers(paper)]
    assert len(set(places)) == len(places)
    assert all(each.reason or not each.engine or each.shape for each in found)
    assert {each.shape for each in found} - {""} <= {*registry()}
    assert all(bool(each.role) == bool(each.shape) for each in found)


def test_a_number_stands_beside_the_measurement_of_its_shape_and_configuration():
    disturbed = measured(**RUN | {"noisy": True, "source_words_per_second": 9999.0})
    ablated = measured(**RUN | {"remove_finished": False, "source_words_per_second": 9999.0})
    other = measured(**RUN | {"compute_type": "int8", "source_words_per_second": 2.0})
    slower = measured(**RUN | {"sorting": False, "row": "unsorted", "source_words_per_second": 3.0})
    made = rows.rows("marian2018", [run(disturbed, ablated, other, slower, measured(**RUN))])
    seconds = of(made, "(10i) Transformer-base-int16", "seconds")
    assert seconds["ours"] == pytest.approx(100) and seconds["verdict"] == "not comparable"  # 62,954 tokens
    assert seconds["reason"].startswith("for 62,954 tokens; random weights, 1,000 sentences of flickr; another machine")
    assert (seconds["command"], seconds["cpu"], seconds["date"]) == ("snakemake speed", "a CPU", "2026-11-23")
    cost = of(made, "(10i) Transformer-base-int16", "source tokens per USD")
    assert cost["ours"] == pytest.approx(629.54 * 3600 / 0.102)
    assert cost["printed"] == pytest.approx(62_954 / 400.2 * 3600 / 0.102) and cost["verdict"] == "not comparable"
    bleu = of(made, "(10i) Transformer-base-int16", "BLEU")
    assert (bleu["ours"], bleu["verdict"]) == (None, "not run here")
    assert bleu["reason"] == "WMT's training"
    assert of(made, "(10) Transformer-base", "seconds")["verdict"] == "not run yet"  # float32 was not timed
    assert of(made, "(10) Transformer-base", "seconds", "Table 3")["reason"] == "a GPU"


@pytest.mark.parametrize(("test_set", "tokens"), our_number.TOKENS.items())
def test_seconds_are_scaled_to_the_tokens_of_the_papers_test_set_but_loading_is_not(test_set, tokens):
    """Not by words, of which the same text has a sixth fewer."""
    tiny = RUN | {"shape": str(shape(registry()["wnmt2018-rnn-tiny"])), "test_set": "newstest2014"}
    base = {"shape": str(shape(registry()["wngt2020-base"])), "engine": "ctranslate2", "compute_type": "int8"}
    base |= {"batch_tokens": 512, "load_seconds": 7.0}
    of_tiny = rows.rows("wnmt2018", [run(measured(**tiny))])
    of_base = rows.rows("wngt2020", [run(measured(**RUN | base))])
    row = "(10) distilled RNN Tiny-opt", "(5) Optimized (single-core CPU), Base"
    found = [each for each in of_tiny + of_base if each["row"] in row and each["test_set"] == test_set]
    found = {each["quantity"]: each["ours"] for each in found if each["unit"] == "s"}
    expected = {"seconds": 50.0 * tokens / 31_477}
    if test_set == "newstest2019":
        expected = {"seconds with loading": 7.0 + 50.0 * tokens / 31_477}
    assert found == pytest.approx(expected)


def test_records_whose_tokens_were_not_counted_are_refused():
    with pytest.raises(UserError, match="has no source_tokens_moses, which older versions did not count"):
        rows.rows("marian2018", [run(measured(**RUN | {"source_tokens_moses": None}))])


def test_one_timing_has_one_name_in_all_rows():
    records = [with_runs(40.0, compute_type="float32"), with_runs(20.0), with_runs(10.0, compute_type="int8")]
    made = rows.rows("marian2018", [RecordedRun("snakemake speed", records, "x.json")])
    found = {(each["row"], each["quantity"]): each["timings"] for each in made if each["ours"] and each["cpu"]}
    assert found["(10i) Transformer-base-int16", "seconds"] == ["x.json 1"]
    assert found["(10i) Transformer-base-int16", "times faster than (10)"] == ["x.json 1", "x.json 0"]
    assert {name for timings in found.values() for name in timings} == {"x.json 0", "x.json 1"}


def test_a_rung_of_a_ladder_fills_a_row_that_no_other_record_has():
    tiny = {
        "shape": str(shape(registry()["wnmt2018-rnn-tiny"])),
        "paper": "wngt2020",
        "row": "int16",
        "map_per_sentence": False,
    }
    without, of_the_batch = (measured(**RUN | tiny | {"vocabulary_map": on}) for on in (False, True))
    made = rows.rows("wnmt2018", [run(without, of_the_batch)])
    found = [each["row"] for each in made if each["ours"] and each["quantity"] == "seconds"]
    assert found == ["(8) distilled RNN Tiny, quantize runtime"] * 2  # on newstest2014 and newstest2015


@pytest.mark.parametrize(
    ("library", "packed", "row"),
    [
        ("oneMKL", False, "(4) + local sorting"),
        ("oneMKL", True, "(5) + packed GEMM"),
        ("oneDNN", True, "(4) + local sorting"),
    ],
)
def test_only_onemkl_packs_matrices(library, packed, row):
    of = {"shape": str(shape(registry()["wngt2020-base"])), "engine": "ctranslate2", "compute_type": "int8"}
    of |= {"vocabulary_map": False, "overlap": False, "library": library, "packed": packed, "target_tokens": 9}
    of |= {"batch_tokens": 512}
    made = rows.rows("wngt2020", [run(measured(**RUN | of))])
    assert [each["row"] for each in made if each["ours"] and each["unit"] == "tokens/s"] == [row]


def with_runs(*seconds, **values):
    words = {"source_words_per_second": 1000 / seconds[0], "text_seconds_runs": seconds}
    words |= {"runs": len(seconds), "text_seconds": seconds[0]}
    return measured(**RUN | words | values)


def test_a_ratio_is_that_of_two_records_of_one_run():
    float32, int16 = with_runs(40.0, 44.0, 38.0, compute_type="float32"), with_runs(40.0, 40.0, 40.0)
    claim = "(10i) Transformer-base-int16", "times faster than (10)"
    ratio = of(rows.rows("marian2018", [run(float32, int16)]), *claim)
    assert ratio["printed"] == pytest.approx(393.1 / 400.2)
    assert (ratio["ours"], ratio["low"], ratio["high"]) == pytest.approx((1.0, 0.95, 1.1))
    assert ratio["ratio"] == pytest.approx(400.2 / 393.1) and ratio["verdict"] == "agrees"
    single = with_runs(44.0, compute_type="float32")
    once = of(rows.rows("marian2018", [run(single, int16)]), *claim)
    assert once["ours"] == pytest.approx(1.1)  # of the medians: a teacher is timed once
    apart = of(rows.rows("marian2018", [run(float32), run(int16)]), *claim)
    assert apart["verdict"] == "not run yet" and apart["reason"].startswith("the two were not timed in one run here: `")
    elsewhere = with_runs(40.0, 44.0, 38.0, compute_type="float32", test_set="another")
    assert of(rows.rows("marian2018", [run(elsewhere, int16)]), *claim)["ours"] is None


def test_one_timing_has_one_verdict():
    """The paper prints the ratio for two test sets; the one that was timed has it."""
    of = {"engine": "native", "vocabulary_map": False, "test_set": "newstest2014", "compute_type": "float32"}
    shapes = [str(shape(registry()[f"wnmt2018-rnn-{size}"])) for size in ("large", "small")]
    timings = [with_runs(seconds, shape=text, **of) for seconds, text in zip((40.0, 20.0), shapes, strict=True)]
    made = rows.rows("wnmt2018", [run(*timings)])
    found = {each["test_set"]: each for each in made if each["row"] == "(4) direct RNN Small" and each["unit"] == "×"}
    assert {name: each["verdict"] for name, each in found.items()} == {
        "newstest2014": "larger", "newstest2015": "not comparable",
    }  # fmt: skip
    assert found["newstest2015"]["reason"] == "timed on newstest2014 only, whose row has the verdict"
    assert {each["ours"] for each in found.values()} == {2.0}


@pytest.mark.parametrize(
    ("unit", "measured", "printed", "verdict"),
    [
        ("×", 1.8, 2.0, "agrees"), ("×", 2.19, 2.0, "agrees"), ("×", 9.0, 2.0, "larger"), ("×", 1.7, 2.0, "smaller"),
        ("×", 1.0, 2.0, "smaller"), ("×", 0.8, 2.0, "opposite"), ("×", 2.0, 0.8, "opposite"),
        # One effect has one verdict, whether the paper prints a little more than 1 or a little less.
        ("×", 1.89, 1.06, "larger"), ("×", 1.99, 1.01, "larger"), ("×", 1.68, 0.98, "larger"),
        ("×", 1.89, 1.0, "larger"), ("×", 0.95, 1.0, "agrees"),
        ("BLEU", 26.9, 27.4, "agrees"), ("BLEU", 28.0, 27.4, "larger"), ("BLEU", 25.3, 27.4, "smaller"),
        ("MiB", 0.4, 1.4, "smaller"), ("MB", 0.4, 1.4, "smaller"), ("MiB", 1.41, 1.4, "agrees"),
        ("ΔBLEU", -0.5, 0.1, "smaller"), ("ΔBLEU", -0.5, 0.3, "opposite"), ("ΔBLEU", 0.2, 0.1, "agrees"),
        ("parameters", 101, 100, "larger"), ("parameters", 100, 100, "agrees"),
    ],
)  # fmt: skip
def test_verdicts(unit, measured, printed, verdict):
    assert TOLERANCES[unit].verdict(measured, printed) == verdict


def test_bleu_is_that_of_a_system_with_the_same_role():
    small = {"shape": str(shape(registry()["wnmt2018-rnn-small"])), "engine": "opennmt-tf", "compute_type": "float32"}
    small |= {"vocabulary_map": False, "speed_only": False, "test_set": "newstest2014"}
    distilled = measured(**RUN | small | {"system": "small", "role": "student", "bleu": 26.0})
    direct = measured(**RUN | small | {"system": "small-original", "role": "control", "bleu": 20.0})
    made = rows.rows("wnmt2018", [run(distilled, direct)])
    found = {each["row"]: each["ours"] for each in made if each["quantity"] == "BLEU" and each["ours"]}
    assert found == {"(4) direct RNN Small": 20.0, "(5) distilled RNN Small": 26.0}


def test_bleu_of_another_test_set_is_no_verdict():
    scored = measured(**RUN | {"bleu": 27.5, "speed_only": False, "system": "base"})
    base = "(10i) Transformer-base-int16"
    assert of(rows.rows("marian2018", [run(scored)]), base, "BLEU")["verdict"] == "not comparable"
    same = measured(**RUN | {"bleu": 27.3, "speed_only": False, "system": "base", "test_set": "newstest2014"})
    made = rows.rows("marian2018", [run(scored, same)])
    assert (of(made, base, "BLEU")["verdict"], of(made, base, "BLEU")["ours"]) == ("agrees", 27.3)


def test_sizes_are_those_of_the_weights_at_the_papers_vocabulary():
    made = rows.rows("marian2018", [])
    size = of(made, "(17) Transformer-small-AAN -ffn -gate", "size")
    assert size["ours"] == pytest.approx(95.5, abs=0.05) and size["verdict"] == "agrees"
    assert of(made, "(13) Transformer-base-AAN", "size")["verdict"] == "larger"  # 239 MiB, not 220
    assert of(made, "(4) 4 x Transformer-big b=8 (teacher)", "size", "Table 3")["verdict"] == "agrees"  # of all four
    assert of(made, "(1) Baseline", "seconds")["reason"] == "another team's system: the shared task's baseline"


def test_numbers_given_by_hand_and_the_command(tmp_path, monkeypatch):
    faster, least = "times faster than the baseline decoder", "times faster than MKL in 32 bits, least"
    values = [
        {"table": "text", "row": "1", "quantity": faster, "value": 5.0, "reason": "by hand", "cpu": "a CPU"},
        {"table": "text", "row": "4", "quantity": least, "reason": "explained"},
    ]
    write_json(tmp_path / "values.json", values)
    measurement.write(tmp_path / "m.json", [measured(**RUN)])
    call = ["rows", "--paper", "devlin2017", "--measurements", tmp_path / "m.json", "--values"]
    call += [tmp_path / "values.json", "--output", tmp_path / "rows.json"]
    monkeypatch.setattr(sys, "argv", [*map(str, call)])
    main()
    assert (tmp_path / "rows.json").read_text().startswith('[{"row":')  # compact, as it is kept
    first, *others = read_json(tmp_path / "rows.json")
    assert (first["ours"], first["verdict"], first["printed"], first["cpu"]) == (5.0, "larger", 4.4, "a CPU")
    assert first["explained"] and not others[0]["explained"]
    assert {row["verdict"] for row in others} == {"not run here", "not run yet"} and all(
        row["reason"] for row in others
    )
    assert of(others, "(4) 16-bit products, batches of 2 to 8", least, "text")["reason"].endswith("; explained")
    assert {"row", "source", "printed", "ours", "unit", "verdict", "reason"} <= first.keys()


def test_what_is_not_comparable_by_hand_has_no_verdict():
    claim = "(10i) Transformer-base-int16", "times faster than (10)"
    by_hand = {"table": "4", "row": "10i", "quantity": "seconds", "over": "10", "reason": "another toolkit"}
    by_hand |= {"comparable": False}
    pair = run(with_runs(40.0, 44.0, 38.0, compute_type="float32"), with_runs(40.0, 40.0, 40.0))
    for given, value in ((by_hand, 1.0), (by_hand | {"value": 3.0, "low": 2.0, "high": 4.0}, 3.0)):
        made = of(rows.rows("marian2018", [pair], [given]), *claim)
        assert made["ours"] == pytest.approx(value) and made["reason"].endswith("another toolkit")
        assert (made["verdict"], made["tolerance"], made["ratio"]) == ("not comparable", "", None)
    assert (made["low"], made["high"]) == (2.0, 4.0)


def test_the_command_of_a_file_is_that_of_its_study(tmp_path):
    for name, command in (("measurements", "snakemake"), ("ladder.x", "snakemake results/demo/report/ladder.x.md")):
        measurement.write(tmp_path / f"{name}.json", [measured(**RUN | {"study": "demo"})])
        assert rows.read(tmp_path / f"{name}.json").command == f"{command} --configfile configs/demo.yaml"


def named(path):
    """The text of a file in git, or of a table that `make pages` makes in build/pages."""
    if path.parts[0] != "build":
        return (ROOT / path).read_text()
    study = pages.opened(ROOT / "results/reference" / path.parent.name)
    ((name, inputs),) = ((name, inputs) for name, stem, inputs in study.subjects() if f"{stem}.md" == path.name)
    return pages.subject_table(name, inputs)


@pytest.mark.parametrize("path", sorted((ROOT / "papers").glob("*/values.json")), ids=lambda path: path.parent.name)
def test_values_by_hand_are_in_the_files_that_they_name(path):
    printed = {claim.key[:-1] for claim in rows.numbers(path.parent.name)}
    for value in read_json(path):
        assert tuple(value.get(field, "") for field in claims.NumberKey._fields[:-1]) in printed
        if "value" in value:
            text = named(Path(value["file"])).replace(",", "")
            for number in {*re.findall(r"(?<!\S)[+-]?[0-9.]+%?", value["from"])} - CONSTANTS:
                assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", text), number
            assert re.fullmatch(r"[-+*/() 0-9.%]+", value["from"])
            assert value["value"] == pytest.approx(eval(value["from"].replace("%", "")), abs=0.005)
            ends = [value[end] for end in ("low", "high") if end in value]
            assert all(f"{end:.2f}" in text or f":{end}" in text for end in ends)


def test_a_record_with_the_place_of_a_row_is_of_that_row():
    """Whatever else is in the file; one sentence at a time and what is tuned are known by their places alone."""
    timings = [("2", "", 40.0), ("4", "", 20.0), ("2", claims.SINGLE, 90.0), ("4", claims.SINGLE, 30.0)]
    shared = {"shape": str(shape(registry()["marian-base-aan"])), "batch_sentences": None}
    placed = {"paper": "marian2018", "table": "2"}
    found = [with_runs(seconds, row=row, way=way, **placed, **shared) for row, way, seconds in timings]
    made = rows.rows("marian2018", [run(with_runs(1.0, **shared), *found)])
    row, single = "(4) +memoization", ", one sentence at a time"
    assert of(made, row, "times faster than (2)", "Table 2")["ours"] == pytest.approx(2)
    assert of(made, row, f"times faster than (2){single}", "Table 2")["ours"] == pytest.approx(3)
    assert of(made, "(6) Transformer-big", f"seconds{single}", "Table 2")["ours"] is None
    assert of(made, "(5) +auto-tuning", "seconds", "Table 2")["verdict"] == "not run yet"


def test_rows_of_all_cores_of_an_ensemble_and_of_seconds_by_hand():
    of_base = {"shape": str(shape(registry()["wngt2020-base"])), "engine": "ctranslate2", "compute_type": "int8"}
    of_base |= {"load_seconds": 1.0, "batch_tokens": 512}
    both = run(measured(**RUN | of_base | {"cores": [0, 1]}), measured(**RUN | of_base))
    made = rows.rows("wngt2020", [both])
    timings = [
        of(made, f"({row}) Optimized ({kind} CPU), Base", "seconds with loading", "Table 6")["timings"]
        for row, kind in ((9, "multi-core"), (5, "single-core"))
    ]
    assert timings == [[" 0"], [" 1"]]
    hand = {"table": "3", "row": "3", "quantity": "seconds", "value": 109.7, "reason": "by hand"}
    made = rows.rows("marian2018", [], [hand])
    teacher, four = "(3) Transformer-big b=8 (teacher)", "(4) 4 x Transformer-big b=8 (teacher)"
    cost = of(made, teacher, "source tokens per USD", "Table 3")
    assert cost["ours"] == pytest.approx(cost["printed"]) and cost["verdict"] == "not comparable"
    assert of(made, four, "size", "Table 3")["verdict"] == "agrees"


def test_an_unknown_paper_is_named():
    with pytest.raises(UserError, match="there are wngt2020, marian2018, wnmt2018, devlin2017, fastseq2021"):
        list(rows.numbers("marian-2019"))
