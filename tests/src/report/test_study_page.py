"""The page of a study: the model to ship, what each idea brought, how everything was made."""

import html
from contextlib import closing
from dataclasses import replace

import chromium
import pytest
from measured import measured, replaced
from msgspec import convert
from outline import Outline
from reports import FIXTURE, REFERENCE, TIMED, run

from findings import best_model, captions, comparison
from formats import measurement
from formats.learning import Learning
from nmt_frontier.files import read_json, write_json, write_text
from report import ablation_table, recommendation, study_page, teacher_student
from report.study_page.__main__ import times

IDEAS = "What each idea brought"


@pytest.fixture(scope="module")
def records():
    return measurement.read(FIXTURE)


def render(folder, *options, measurements=FIXTURE):
    output = folder / "report.html"
    done = run("report.study_page", "--measurements", measurements, *options, "--output", output)
    assert (done.returncode, done.stderr) == (0, "")
    return output.read_text()


def training(folder):
    """Options for a job of 200 seconds and a trained system."""
    write_text(folder / "jobs/train_teacher.tsv", "s\th:m:s\tmax_rss\n200.04\t0:03:20\t812.5\n")
    write_json(folder / "deep.json", trained("deep", 20.0, 20.5))
    return ["--benchmarks", folder / "jobs", "--trained", folder / "deep.json"]


def headings(outline):
    known = ("Which model", "The front", "What each", "20 sentences", "The data", "How it was")
    return [text for text in outline.text if text.startswith(known)]


def test_page_from_measurements_alone(tmp_path):
    outline = Outline(render(tmp_path))
    shown = " ".join("".join(outline.text).split())
    assert "Ship deep int8 greedy map." in shown and best_model.RULE in shown and "lexical" in shown
    assert "deep-control" in shown and "test_2017_flickr" in shown and "tok:13a" in shown
    assert "distillation and 44,929 more sentences" in outline.text
    assert headings(outline) == ["Which model to ship", "The front", IDEAS, "How it was made"]


def test_a_page_whose_teacher_is_the_better_choice(tmp_path, records):
    known = [replaced(r, dev_bleu=40.0) if captions.title(r) == "teacher int8 beam 4" else r for r in records]
    measurement.write(tmp_path / "measurements.json", known)
    (tmp_path / "front.svg").write_text("<svg></svg>")
    options = ["--front", tmp_path / "front.svg"]
    shown = " ".join(
        "".join(Outline(render(tmp_path, *options, measurements=tmp_path / "measurements.json")).text).split()
    )
    assert (
        f"Ship teacher int8 beam 4. {best_model.beside_teacher(known)} The best student is deep int8 greedy map."
        in shown
    )
    assert f"Best student: {best_model.RULE}." in shown and "To ship:" not in shown
    assert "ring: the best student" in shown and f"--model results/{known[0].study}/models/teacher/int8 " in shown
    teacher = next(record for record in known if record.scores.dev_bleu == 40.0)
    assert study_page.conditions(known, None)["signature of the model to ship"] == teacher.signature


def test_page_needs_no_other_file_and_shows_nothing_twice(tmp_path):
    reference = REFERENCE / "demo"
    names = {"gap": reference / "gap.json", "samples": reference / "samples.json"}
    for name in ("front", "gap-picture", "funnel", "lengths", "learning"):
        names[name] = tmp_path / f"{name}.svg"
        names[name].write_text(f"<svg><title>{name}</title></svg>")
    options = [part for name, file in names.items() for part in (f"--{name}", file)]
    options += [*training(tmp_path), "--quantization", reference / "quantization.json", "--note", "synthetic <text>"]
    options += ["--front-page", tmp_path / "front.html", "--try-page", tmp_path / "try.html"]
    text = render(tmp_path, *options, measurements=reference / "measurements.json")
    outline = Outline(text)
    pictures = [address for address in outline.loaded if not address.endswith(".html")]  # a link
    assert len(pictures) == 5 == len(set(pictures)) and all(name.startswith("data:image/") for name in pictures)
    assert set(outline.loaded) - set(pictures) == {"front.html", "try.html"}
    assert html.escape("synthetic <text>") in text and "<text>" not in text
    shown = "".join(outline.text)
    assert "In Snakemake's report, where this link does not work" in shown
    assert "train_teacher" in shown and "200.0" in shown and "20,000 (1.5 passes)" in outline.text
    found = ["Which model to ship", "The front", IDEAS, f"20 sentences of {TIMED}", "The data", "How it was made"]
    assert headings(outline) == found
    assert outline.text.count("+3.41") == 1 and outline.text.count("distillation, 9,082 more sentences") <= 2


def test_what_only_the_page_knows_is_kept_for_the_next_one(tmp_path):
    options = [*training(tmp_path), "--note", "synthetic"]
    options += ["--corpora", "a", "b", "--scored", "b", "--dev", "val", "--record", tmp_path / "page.json"]
    render(tmp_path, *options)
    known = {"note": "synthetic", "configuration": None, "trained": ["deep"], "corpora": ["a", "b"], "dev": ["val"]}
    assert read_json(tmp_path / "page.json") == known | {
        "scored": ["b"],
        "timed": [],
        "jobs": [["train_teacher", 200.04, pytest.approx(812.5 * 1.048576)]],
    }


@pytest.mark.optional("chromium")
@pytest.mark.parametrize("width", [1100, 400])
@pytest.mark.slow
def test_no_word_makes_the_page_wider_than_its_window(tmp_path, width):
    """Models that learned little repeat a syllable for the length of a line."""
    found = read_json(REFERENCE / "demo" / "samples.json")
    found["samples"][0]["outputs"] = {"deep": "wau" * 300}
    write_json(tmp_path / "samples.json", found)
    render(tmp_path, "--samples", tmp_path / "samples.json")
    with closing(chromium.Browser(tmp_path / "profile")) as browser:
        browser.open(tmp_path / "report.html", width=width)
        browser.wait("document.readyState === 'complete' && document.querySelector('.samples')")
        window, page = (browser.run(f"document.documentElement.{name}Width") for name in ("client", "scroll"))
    assert page == window <= width


def test_a_page_about_speed_only(tmp_path):
    timed = [
        measured(system=name, role="untrained", speed_only=True, source_words_per_second=speed, model_bytes=size)
        for name, speed, size in (("wide", 100.0, 9_000_000), ("tiny", 300.0, 2_000_000))
    ]
    measurement.write(tmp_path / "measurements.json", timed)
    outline = Outline(render(tmp_path, measurements=tmp_path / "measurements.json"))
    shown = " ".join("".join(outline.text).split())
    assert "There is no best model" in shown and "Ship" not in shown and "2 untrained models" in shown
    assert "fastest, smallest" in outline.text and IDEAS not in shown


def test_a_picture_that_browsers_do_not_show(tmp_path):
    (tmp_path / "front.pdf").touch()
    options = ["--measurements", FIXTURE, "--front", tmp_path / "front.pdf", "--output", tmp_path / "x.html"]
    done = run("report.study_page", *options)
    assert done.returncode == 1 and "front.pdf: pictures on the page are .svg or .png" in done.stderr


def test_times_add_shards_and_leave_out_what_took_no_time(tmp_path):
    head = "s\th:m:s\tmax_rss\n"
    jobs = {"translate_1-of-2": "30.0\t0:00:30\t100", "translate_2-of-2": "20.5\t0:00:20\t200"}
    for name, job in (jobs | {"train": "60.0\t0:01:00\tNA", "short": "0.1\t0:00:00\t-"}).items():
        (tmp_path / f"{name}.tsv").write_text(f"{head}{job}\n")
    assert times(tmp_path) == [("train", 60.0, 0.0), ("translate", 50.5, pytest.approx(209.7, abs=0.1))]


def test_conditions_are_those_of_the_records(records):
    assert study_page.shared(records, "cores") == "[0]" and study_page.shared(records, "forced_isa") is None
    other = [*records, replaced(records[0], cores=(0, 1), workers=2)]
    assert study_page.shared(other, "cores") == "[0], [0, 1]" and study_page.shared(other, "workers") == "1, 2"
    found = study_page.conditions(records, {"test_sets": {"t": {"sha256": "abc"}}})
    assert found["sha256 of t"] == "abc"
    assert found["signature of the model to ship"] == best_model.best(records).signature


def test_the_answer_has_the_numbers_of_the_best_model(records):
    best, answer = best_model.best(records), recommendation.answer(records)
    text = " ".join(answer.sentences)
    assert answer.ship == captions.title(best) and answer.command == captions.decoding_command(best)
    assert f"{best.scores.bleu:.2f} BLEU" in text and f"p = {best.scores.bleu_p_teacher:.3f}" in text
    assert (
        f"{best.decoding.model_bytes / 1e6:,.1f} MB" in text
        and f"{best.core_seconds_per_million_words:,.1f} core-s" in text
    )
    bare = replaced(best, bleu_delta_teacher=None, teacher=None, model_bytes=None, peak_rss_bytes=None, output=None)
    answer = recommendation.answer([bare])
    assert answer.command is None and answer.sentences[0] == f"It has {best.scores.bleu:.2f} BLEU on {TIMED}."
    assert answer.sentences[1].endswith("runs).") and answer.sentences[2].startswith("It takes ")
    priced = recommendation.cost(replace(best, usd_per_million_words=0.00123))
    assert priced.endswith("(0.00123 USD)")


def test_choices_name_a_record_once_with_all_its_reasons():
    values = {"small": (20.0, 400.0, 1), "near": (29.5, 200.0, 3), "good": (30.0, 100.0, 2), "below": (19.0, 50.0, 1)}
    found = [
        measured(system=name, bleu=bleu, source_words_per_second=speed, model_bytes=size, dev_set="d", dev_bleu=bleu)
        for name, (bleu, speed, size) in values.items()
    ]
    named = {record.system.name: reasons for record, reasons in recommendation.choices(found)}
    assert named == {
        "near": ["to ship", "fastest within 1 BLEU of the best"],
        "good": ["best BLEU"],
        "small": ["fastest", "smallest"],
    }
    other = replaced(found[1], test_set="u", bleu=11.0)
    row = recommendation.rows([*found, other])[0]
    assert (row["BLEU, t"], row["BLEU, u"], row["model"]) == ("29.50", "11.00", "near int8 greedy")
    assert "USD/M words" not in row


def trained(system, *bleu):
    averages = [{"checkpoints": count, "bleu": value} for count, value in zip((1, 4), bleu, strict=False)]
    about = {"system": system, "role": "student", "shape": "1:1", "parameters": 1000, "training": [], "validation": []}
    phases = [{"end": 80, "accumulate": 1}]
    about |= {"phases": phases, "seconds": 90, "seen": {"pairs": 20000, "passes": 1.5}, "averages": averages}
    return convert(about, Learning)


def test_ideas_of_decoding_are_pairs_that_differ_in_nothing_else():
    ways = [("int8", 1, False), ("int8", 1, True), ("float32", 1, False), ("int8", 4, False), ("float32", 4, False)]
    bleu, speed = (20.0, 19.5, 20.25, 21.0, 21.0), (400.0, 800.0, 200.0, 100.0, 80.0)
    found = [
        measured(compute_type=type, beam_size=beam, vocabulary_map=map, bleu=one, source_words_per_second=other)
        for (type, beam, map), one, other in zip(ways, bleu, speed, strict=True)
    ]
    rows = {row["idea"]: row for row in ablation_table.tables(found)["Decoding"]}
    assert {idea: (row["BLEU"], row["speed ×"], row["p"]) for idea, row in rows.items()} == {
        "int8 weights": ("-0.12 (-0.25 to +0.00)", "1.62 (1.25 to 2.00)", "–"),
        "vocabulary map": ("-0.50", "2.00", "–"),
        "greedy search": ("-0.88 (-1.00 to -0.75)", "3.25 (2.50 to 4.00)", "–"),
    }
    assert rows["int8 weights"]["compared"] == "rather than float32, 2 pairs"


def test_comet_stands_beside_bleu_where_it_was_measured():
    about = {"bleu": 20.0, "dev_set": "d", "dev_bleu": 20.0}
    found = [measured(**about, comet=80.0, vocabulary_map=True), measured(**about, comet=81.5, compute_type="float32")]
    found.append(measured(**about, comet=82.25))
    rows = ablation_table.tables(found)["Decoding"]
    assert {row["idea"]: row["COMET"] for row in rows} == {"int8 weights": "+0.75", "vocabulary map": "-2.25"}
    assert recommendation.answer(found[:1]).sentences[0] == "It has 20.00 BLEU and 80.00 COMET on t."
    assert recommendation.rows(found)[0]["COMET"] == f"{best_model.best(found).scores.comet:.2f}"
    without = [replaced(record, comet=None) for record in found]
    tables = [ablation_table.tables(without), recommendation.rows(without), recommendation.answer(without)]
    assert "COMET" not in str(tables)


def test_one_pair_has_the_spread_of_its_runs():
    runs = {"bleu": 20.0, "vocabulary_map": True, "text_seconds_runs": (1.0, 2.0, 4.0)}
    found = [measured(**runs), measured(**runs | {"vocabulary_map": False, "text_seconds_runs": (3.0, 4.0, 4.0)})]
    (row,) = ablation_table.tables(found)["Decoding"]
    assert row["speed ×"] == "2.00 (1.00 to 3.00)" and row["compared"] == "rather than all pieces, deep int8 greedy map"


def test_a_network_is_compared_with_its_teacher_over_all_seeds():
    full = {"compute_type": "float32", "beam_size": 4, "mixture": "distilled"}
    found = [measured(system="big", role="teacher", bleu=30.0, **full | {"mixture": None}, teacher="big")]
    for seed, delta, p in ((1, -1.0, 0.01), (2, -2.0, 0.2)):
        about = {"system": f"deep-seed{seed}", "student": "deep", "seed": seed, "shape": "1:1 d16", "teacher": "big"}
        scores = {"bleu": 30 + delta, "bleu_delta_teacher": delta, "bleu_p_teacher": p}
        found.append(measured(**full, **about, **scores, source_words_per_second=300.0))
    found.append(replaced(found[1], system="deep-mbr", mixture="mbr"))
    deep, mbr = ablation_table.tables(found)["Network and training"]
    assert (deep["BLEU"], deep["p"], deep["speed ×"]) == ("-1.50 (-2.00 to -1.00)", "0.200", "3.00")
    assert deep["compared"].endswith("2 seeds")
    assert (deep["idea"], mbr["idea"]) == ("deep, distilled: 1:1 d16", "deep, mbr: 1:1 d16")


def test_students_that_differ_in_one_setting():
    """The difference greedily and with the usual beam, seed by seed; the speed over all ways to decode both."""
    pair = {"student": "long", "than": "deep", "mixture": "distilled", "difference": "500 updates", "instead": "200"}
    pair |= {"seeds": [1, 2], "bleu_delta": 2.0, "bleu_deltas": [1.5, 2.5], "bleu_p": [0.001, 0.04]}
    beams = {str(beam): {"comparisons": [], "changes": [pair]} for beam in (1, 2, 4, 8)}
    about = {"bleu": 30.0, "seed": 1, "mixture": "distilled"}
    deep = measured(system="deep-seed1", student="deep", source_words_per_second=100.0, **about)
    found = [deep, replaced(deep, system="long-seed1", student="long", source_words_per_second=90.0)]
    rows = ablation_table.tables(found, {"test_sets": {found[0].test_set: {"beams": beams}}})["Network and training"]
    compared = "long rather than deep (200), distilled, {}, 2 seeds"
    assert [row["compared"] for row in rows] == [compared.format(search) for search in ("greedy", "beam 4")]
    assert {row["idea"] for row in rows} == {"500 updates"}
    assert (rows[0]["BLEU"], rows[0]["p"], rows[0]["speed ×"]) == ("+2.00 (+1.50 to +2.50)", "0.040", "0.90")


def test_averages_of_checkpoints_are_compared_with_the_last_one():
    found = ablation_table.averages([trained("a", 20.0, 20.5), trained("b", 20.0, 19.75), trained("c")])
    assert [(row["idea"], row["BLEU"]) for row in found] == [("average of 4", "+0.12 (-0.25 to +0.50)")]


def test_trainings_of_several_seeds_with_the_p_of_the_least_significant():
    gap = teacher_student.read(REFERENCE / "multi30k-captions/gap.json")
    rows = ablation_table.trainings(gap["test_sets"][TIMED])
    rows = [row for row in rows if row["compared"].endswith("beam 4, 3 seeds")]
    assert len(rows) == 6
    (twins,) = [row for row in rows if row["idea"] == "distillation"]
    assert (twins["BLEU"], twins["p"]) == ("+2.01 (+1.80 to +2.37)", "0.001")
    (harmless,) = [row for row in rows if row["idea"] == "best against interpolated targets"]
    assert harmless["BLEU"].startswith("+0.06 (-0.18 ") and float(harmless["p"]) > 0.05


def test_8_bits_on_other_cpus_are_against_those_here():
    folder = REFERENCE / "demo"
    records = measurement.read(folder / "measurements.json")
    rounded = read_json(folder / "quantization.json")
    timed = comparison.of_test_set(records, TIMED)
    (row,) = ablation_table.on_other_cpus(timed, rounded["system"], rounded["elsewhere"])
    assert (row["idea"], row["BLEU"]) == ("int8 where products are exact", "-0.35")
    assert list(ablation_table.on_other_cpus(timed, "none", rounded["elsewhere"])) == []


def test_verdict_says_on_which_side_of_the_best_search_a_model_is(records):
    sides = set()
    for record in best_model.candidates(records):
        lost = comparison.loss(comparison.of_test_set(records, record.test_set), record)
        sides.add(side := "above" if lost < 0 else "below")
        assert f"({abs(lost):.2f} {side} the best search of" in best_model.verdict(records, record)
    assert sides == {"above", "below"}
