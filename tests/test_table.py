import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decode import measurements, table
from decode.cost import NO_PRICE
from decode.headline import headline
from formats.errors import UserError

FIXTURE = Path(__file__).parent / "data" / "measurements.json"
TIMED = "test_2016_flickr"
SPEED = "source_words_per_second"


@pytest.fixture
def records():
    return measurements.read(FIXTURE)


@pytest.fixture
def timed(records):
    return measurements.of_test_set(records, TIMED)


def only(records, **values):
    return [record for record in records if all(record[key] == value for key, value in values.items())]


def run(*arguments):
    call = [sys.executable, "-m", "decode.table", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


# Measurements


def test_the_fixture_says_that_it_is_one(records):
    assert all("fixture" in record[key] for record in records for key in ("study", "commit", "cpu"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "line 1 is not JSON"),
        ("[]", "not a list of measurements"),
        ("{}", "not a list of measurements"),
        ('[{"study": "x", "system": "y"}]', "record 1 has no beam_size, bleu, compute_type"),
    ],
)
def test_a_file_that_holds_no_measurements(tmp_path, text, message):
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as error:
        measurements.read(path)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        measurements.read(tmp_path / "m.json")


def test_a_test_set_that_was_not_measured(records):
    with pytest.raises(
        UserError, match="nothing was measured on the test set wmt; there are test_2016_flickr, test_2017"
    ):
        measurements.of_test_set(records, "wmt")


def test_systems_come_teacher_first_and_control_last(timed):
    assert list(measurements.systems(list(reversed(timed)))) == ["teacher", "tiny", "deep", "deep-control"]


# The best model


CONFIGURATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["teacher", "student", "control"]),
            "bleu": st.sampled_from([20.0, 20.5, 21.0, 21.4]),
            "dev_bleu": st.sampled_from([None, 22.0, 22.4, 22.5, 22.6, 23.0]),
            "source_words_per_second": st.sampled_from([100.0, 200.0, 300.0]),
            "noisy": st.booleans(),
        }
    ),
    min_size=1,
    max_size=8,
)


def beats(one, other, quality):
    """Faster and no worse, or as fast and better."""
    return (one[SPEED], one[quality]) != (other[SPEED], other[quality]) and (
        one[SPEED] >= other[SPEED] and one[quality] >= other[quality]
    )


@given(CONFIGURATIONS)
def test_no_student_beats_the_best_on_the_dev_set_and_test_scores_decide_nothing(found):
    found = [{"test_set": "t", "system": str(number), **record} for number, record in enumerate(found)]
    best = measurements.best(found)
    rivals = measurements.candidates(found)
    assert (best is None) == (not rivals)
    if best:
        assert best["role"] != "teacher" and not any(beats(other, best, "dev_bleu") for other in rivals)
        assert best["dev_bleu"] >= max(other["dev_bleu"] for other in rivals) - measurements.TOLERANCE
        assert not best["noisy"] or all(other["noisy"] for other in rivals)
        blind = measurements.best([record | {"bleu": 1.0} for record in found])
        assert blind["system"] == best["system"]
        beating = measurements.beating(found, best)
        assert all(beats(other, best, "bleu") and other["dev_bleu"] < best["dev_bleu"] for other in beating)
    else:
        assert measurements.without_best(found)


def test_best_gives_up_quality_for_speed_up_to_the_tolerance(records, timed):
    best = measurements.best(records)
    assert measurements.title(best) == "deep int8 greedy map" and best["test_set"] == TIMED
    worse = [r | {"dev_bleu": r["dev_bleu"] - 0.3} if r is best else r for r in timed]
    assert measurements.speed(measurements.best(worse)) < measurements.speed(best)
    faster = [r | {"dev_bleu": best["dev_bleu"]} if r["system"] == "tiny" else r for r in timed]
    assert measurements.best(faster)["system"] == "tiny"


def test_the_readme_says_the_rule():
    readme = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())
    assert readme.count(measurements.RULE) == 2


def test_a_study_without_a_best_model_says_why(timed):
    teachers = only(timed, role="teacher")
    assert measurements.best(teachers) is None and "no student was measured" in measurements.without_best(teachers)
    old = [{key: value for key, value in r.items() if not key.startswith("dev_")} for r in timed]
    assert measurements.best(old) is None and "BLEU on the dev set" in measurements.without_best(old)
    quoted = headline(old)["best"]
    assert (quoted["system"], quoted["reason"]) == (None, measurements.without_best(old))


def test_where_the_test_set_disagrees_with_the_dev_set_it_is_said(timed, tmp_path):
    best = measurements.best(timed)
    assert measurements.verdict(timed, best).endswith("no faster student has as much.")
    other = [r | {"bleu": 40.0} if measurements.title(r) == "tiny int8 greedy map" else r for r in timed]
    assert measurements.best(other) == best
    assert "tiny int8 greedy map (40.00). The two sets disagree." in measurements.verdict(other, best)
    assert headline(other)["best"]["beaten_by"] == ["tiny int8 greedy map"]


def test_records_without_a_score_are_neither_best_nor_on_the_front(timed):
    unscored = [r | {"bleu": None, "speed_only": True} if r["compute_type"] == "int8" else r for r in timed]
    assert measurements.best(unscored)["compute_type"] == "float32"
    assert all(record["compute_type"] == "float32" for record in measurements.on_front(unscored))


def test_a_type_that_the_cpu_replaces_shows(timed):
    record = only(timed, compute_type="int8")[0]
    assert measurements.compute_type(record | {"effective_compute_type": "int8_float32"}) == "int8"
    record |= {"compute_type": "int16", "effective_compute_type": "int8_float32"}
    assert measurements.configuration(record).startswith("int16 (as int8) ")


def test_a_type_that_saturates_shows(timed):
    exact = only(timed, compute_type="int8")[0]
    record = exact | {"library": "oneDNN", "int8_saturates": True}
    assert measurements.compute_type(record) == "int8 (saturates)"
    said = "saturates: oneDNN cuts off sums of 8-bit products here"
    assert said in measurements.marks([exact, record]) and said not in measurements.marks([exact])


def test_loss_is_against_the_best_search_of_the_same_weights(timed):
    exact = {"system": "deep", "compute_type": "float32", "vocabulary_map": False}
    for engine in ("opennmt-tf", "ctranslate2"):
        chosen = only(timed, **exact, engine=engine, beam_size=4)[0]
        worse = [r if r is chosen else r | {"bleu": min(r["bleu"], 20.0)} for r in timed]
        fast = only(worse, system="deep", compute_type="int8", beam_size=1, vocabulary_map=True)[0]
        assert measurements.best_search(worse, "deep") is chosen
        assert measurements.loss(worse, fast) == chosen["bleu"] - fast["bleu"]
        assert table.row(fast, worse)["loss"] == f"{chosen['bleu'] - fast['bleu']:.2f}"
        assert f"{measurements.title(chosen)} ({chosen['bleu']:.2f})" in table.notes(worse)
        assert measurements.loss(worse, chosen) == 0


def test_without_a_search_in_float32_there_is_no_loss(timed):
    few = [r for r in timed if r["compute_type"] == "int8" or r["vocabulary_map"]]
    assert {row["loss"] for row in table.rows(few)} == {"–"}
    assert measurements.loss(timed, timed[0] | {"bleu": None}) is None


# Tables


def test_csv_has_every_record_and_field(records):
    rows = list(csv.DictReader(table.as_csv(records).splitlines()))
    assert len(rows) == len(records) and set(rows[0]) == set(records[0])
    for row, record in zip(rows, records, strict=True):
        assert float(row["bleu"]) == record["bleu"] and json.loads(row["cores"]) == record["cores"]
        assert json.loads(row["vocabulary_map"]) is record["vocabulary_map"]


def test_csv_of_records_with_different_fields():
    rows = list(csv.DictReader(table.as_csv([{"a": 1}, {"a": None, "b": "x,y"}]).splitlines()))
    assert rows == [{"a": "1", "b": ""}, {"a": "", "b": "x,y"}]


def test_rows_are_sorted_by_speed_and_compared_with_their_own_baseline(timed):
    rows = table.rows(timed)
    speeds = [float(row["source words/s"].replace(",", "")) for row in rows]
    assert speeds == sorted(speeds, reverse=True)
    deep = only(timed, system="deep", engine="ctranslate2", compute_type="int8", beam_size=1, vocabulary_map=True)[0]
    base = only(timed, system="deep", engine="opennmt-tf")[0]
    expected = deep["source_words_per_second"] / base["source_words_per_second"]
    assert table.row(deep, timed)["×"] == f"{expected:.1f}"
    assert table.row(base, timed)["×"] == "1.0"


def test_cost_is_in_core_seconds_with_the_cpu_and_the_reason_why_there_are_no_usd(timed, tmp_path):
    row = table.row(timed[0], timed)
    assert row["core-s/M words"] == f"{timed[0]['core_seconds_per_million_words']:,.1f}"
    assert row["USD/M words"] == "–" and f"USD: {NO_PRICE}." in table.notes(timed)
    priced = [record | {"usd_per_million_words": 0.00123, "price": "1 USD an hour"} for record in timed]
    assert table.row(priced[0], priced)["USD/M words"] == "0.00123" and "USD: 1 USD an hour." in table.notes(priced)
    assert timed[0]["cpu"] in table.notes(timed) and f"on {timed[0]['cpu']}" in table.terminal(timed, tmp_path)


def test_no_baseline_no_multiple(timed):
    rest = [record for record in timed if record["engine"] != "opennmt-tf"]
    assert {row["×"] for row in table.rows(rest)} == {"–"}


@pytest.mark.parametrize(
    ("delta", "p", "text"), [(-1.2, 0.001, "-1.20*"), (-1.2, 0.05, "-1.20"), (0.3, 0.2, "+0.30"), (None, None, "–")]
)
def test_significance_mark(delta, p, text):
    assert table.difference({"bleu_delta_teacher": delta, "bleu_p_teacher": p}, "teacher") == text


def test_markdown_has_a_table_for_each_test_set(records):
    text = table.markdown(records)
    for name in measurements.test_sets(records):
        part = text.split(f"## {name}\n")[1].split("\n## ")[0]
        assert part.count("\n| ") == 1 + len(measurements.of_test_set(records, name))
        assert "tok:13a" in part and "p < 0.05" in part


def test_notes_say_what_sets_a_student_and_its_control_apart(timed):
    words = "distillation and 44,929 more sentences"
    assert f"(deep to deep-control: {words}; only twins," in table.notes(timed)
    untold = [record | {"control_difference": None} for record in timed]
    assert "(deep to deep-control: what sets their trainings apart was not recorded;" in table.notes(untold)
    assert "deep-control" not in table.notes(only(timed, role="teacher"))
    record = measurements.full_precision(timed, "deep")
    expected = {"bleu": record["bleu_delta_control"], "p": record["bleu_p_control"]}
    found = headline(timed)["test_sets"][TIMED]["to_control"]
    assert found == {"deep": {"control": "deep-control", "difference": words, **expected}}


def test_terminal_fits_and_names_what_is_there(tmp_path, records):
    text = table.terminal(records, tmp_path)
    replaced = [r | {"compute_type": "int16"} if r["compute_type"] == "int8" else r for r in records]
    assert max(map(len, (text + table.terminal(replaced, tmp_path)).splitlines())) <= 120
    assert text.count("baseline") == 4 and "best model:" not in text and "report:" not in text
    best = measurements.best(measurements.of_test_set(records, TIMED))
    model = tmp_path / "models" / best["system"] / best["compute_type"]
    model.mkdir(parents=True)
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.html").touch()
    text = table.terminal(records, tmp_path)
    assert f"report:     {tmp_path}/report/report.html" in text
    assert f"best model: {model}" in text and measurements.RULE in " ".join(text.split())


def test_the_command_that_is_printed_decodes_as_measured(tmp_path, timed):
    for record in timed:
        (table.model_folder(record, tmp_path)).mkdir(parents=True, exist_ok=True)
    beam = [r for r in timed if r["beam_size"] == 4 and not r["vocabulary_map"]]
    assert "--beam-size 4 --no-vocabulary-map\n" in table.paths(beam, tmp_path)
    command = table.paths(timed, tmp_path).splitlines()[-1]
    assert "--beam-size" not in command and "--no-vocabulary-map" not in command


# Headline


def test_headline(timed):
    figures = headline(timed)["test_sets"][TIMED]
    best = measurements.best_search(timed, "teacher")
    assert figures["bleu"]["teacher"]["bleu"] == best["bleu"]
    assert figures["bleu"]["teacher"]["decoding"] == measurements.configuration(best)
    assert {name: system["role"] for name, system in figures["bleu"].items()} == {
        "teacher": "teacher",
        "deep": "student",
        "tiny": "student",
        "deep-control": "control",
    }
    best, quoted = measurements.best(timed), headline(timed)["best"]
    assert quoted["rule"] == measurements.RULE and quoted["beaten_by"] == []
    assert (quoted["system"], quoted["decoding"]) == (best["system"], measurements.configuration(best))
    assert (quoted["dev_bleu"], quoted["bleu"]) == (best["dev_bleu"], {TIMED: best["bleu"]})
    assert quoted["times_baseline"] == measurements.speed_up(timed, best)
    assert quoted["core_seconds_per_million_words"] == best["core_seconds_per_million_words"]
    assert quoted["cpu"] == best["cpu"]


def test_differences_are_of_pairs_that_differ_in_nothing_else(timed):
    changed = []
    for record in timed:
        worse = record["system"] == "tiny" and record["compute_type"] == "int8" and record["beam_size"] == 4
        changed.append(record | {"bleu": 20.0 - (5.25 if worse and record["vocabulary_map"] else 0.0)})
    figures = headline(changed)["test_sets"][TIMED]
    where = {"bleu": -5.25, "system": "tiny", "decoding": "int8 beam 4 map"}
    assert figures["int8_minus_float32"]["beam 4"] == where
    assert figures["map_minus_no_map"]["beam 4"] == where
    assert figures["int8_minus_float32"]["beam 1"]["bleu"] == figures["map_minus_no_map"]["beam 1"]["bleu"] == 0


def test_headline_without_map_int8_students_or_full_precision(timed):
    few = only(timed, engine="opennmt-tf")
    figures = headline(few)["test_sets"][TIMED]
    assert figures["int8_minus_float32"] == figures["map_minus_no_map"] == {"beam 4": None}
    assert headline(few)["best"]["system"] is None
    assert figures["bleu"]["deep"]["bleu"] == only(few, system="deep")[0]["bleu"]


# Command line


def test_command_line(tmp_path):
    paths = {name: tmp_path / name for name in ("all.csv", "table.md", "headline.json")}
    options = zip(("--csv", "--markdown", "--headline"), paths.values(), strict=True)
    done = run("--measurements", FIXTURE, *(item for pair in options for item in pair), "--terminal")
    assert done.returncode == 0 and done.stderr == ""
    assert all(path.stat().st_size for path in paths.values())
    assert "deep-control" in done.stdout


def test_command_line_reports_mistakes_without_a_traceback(tmp_path):
    done = run("--measurements", tmp_path / "none.json", "--terminal")
    assert done.returncode == 1 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr
    done = run("--measurements", FIXTURE)
    assert done.returncode == 2 and "nothing to do" in done.stderr


def test_captions_say_of_every_row_how_often_it_was_measured(timed):
    some = [{**record, "runs": 3} for record in timed]
    assert "medians of 3 runs: " in table.notes(some) and measurements.ONCE not in str(table.rows(some))
    some[1]["runs"] = 1
    assert "medians of 3 runs (¹: a single run): " in table.notes(some)
    marked = [row for row in table.rows(some) if row["source words/s"].endswith(measurements.ONCE)]
    assert marked == [table.row(some[1], some)]
    once = [{**record, "runs": 1} for record in some]
    assert "a single run: " in table.notes(once) and measurements.ONCE not in str(table.rows(once))
    assert measurements.repeats([{"runs": 5}, {"runs": 1}, {"runs": 3}]) == "medians of 3 or 5 runs, or one run"
