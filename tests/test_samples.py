import html
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outline import Outline

from common.errors import UserError
from common.files import read_json, write_json, write_text
from formats import best_model, measurement, records
from report import samples, study_page

FIXTURE = Path(__file__).parent / "data" / "measurements.json"
LINES = 50


@pytest.fixture
def study(tmp_path):
    pairs = [(f"source {line}", f"reference {line} <b> | & ü") for line in range(1, LINES + 1)]
    records.write(tmp_path / "test.tsv.zst", pairs)
    for system in ("teacher", "deep"):
        write_text(tmp_path / f"{system}.txt", "".join(f"{system} {line}\n" for line in range(1, LINES + 1)))
    return tmp_path


def chosen(study, count=20, seed=1):
    outputs = {system: study / f"{system}.txt" for system in ("teacher", "deep")}
    return samples.choose(study / "test.tsv.zst", outputs, count, seed)


def run(module, *arguments):
    call = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


# Samples


@given(st.integers(1, 500), st.integers(1, 60), st.integers(0, 99))
def test_lines_are_spread_evenly(total, count, seed):
    numbers = samples.numbers(total, count, seed)
    assert len(numbers) == min(total, count)
    assert numbers == sorted(set(numbers)) and numbers[0] >= 0 and numbers[-1] < total
    part = total / len(numbers)
    assert all(abs(number - (at + 0.5) * part) <= part / 2 + 1 for at, number in enumerate(numbers))


def test_the_seed_decides(study):
    assert chosen(study) == chosen(study)
    assert chosen(study, seed=1) != chosen(study, seed=2)


def test_the_columns_of_a_sample_are_of_one_line(study):
    for sample in chosen(study):
        line = sample["line"]
        assert sample["source"] == f"source {line}" and sample["reference"].startswith(f"reference {line} ")
        assert sample["outputs"] == {"teacher": f"teacher {line}", "deep": f"deep {line}"}


def test_an_output_of_another_length(study):
    write_text(study / "deep.txt", "one\n")
    with pytest.raises(UserError, match=r"deep.txt: 1 lines, but its test set has 50; decode it again"):
        chosen(study)


def test_an_empty_test_set(study):
    records.write(study / "test.tsv.zst", [])
    with pytest.raises(UserError, match="a test set without sentences"):
        chosen(study)


def test_html_and_markdown_show_every_sentence_and_escape(study):
    found = chosen(study)
    text = samples.html("test", found)
    shown = "".join(Outline(text).text)
    markdown = samples.markdown("test", found)
    assert "<b>" not in text
    for sample in found:
        assert all(part in shown for part in (sample["source"], sample["reference"], *sample["outputs"].values()))
        assert f"| reference | {sample['reference'].replace('|', chr(92) + '|')} |" in markdown


def test_samples_command_line(study):
    outputs = [study / f"out/samples{suffix}" for suffix in (".md", ".html", ".json")]
    common = ["--test-set", f"test={study}/test.tsv.zst", "--outputs", f"deep={study}/deep.txt", "--count", 3]
    assert run("report.samples", *common, "--output", *outputs).returncode == 0
    assert [len(read_json(outputs[2])["samples"]), outputs[0].read_text().count("| source |")] == [3, 3]
    done = run("report.samples", *common, "--output", study / "x.pdf")
    assert done.returncode == 1 and "samples are written as .md, .html or .json" in done.stderr
    done = run("report.samples", "--test-set", "test.tsv.zst", "--outputs", "a=b", "--output", study / "x.md")
    assert done.returncode == 2 and "not of the form name=path" in done.stderr


# The page


def render(folder, *options):
    done = run("report.study_page", "--measurements", FIXTURE, *options, "--output", folder / "report.html")
    assert (done.returncode, done.stderr) == (0, "")
    return (folder / "report.html").read_text()


def test_page_from_measurements_alone(tmp_path):
    text = render(tmp_path)
    shown = "".join(Outline(text).text)
    assert "deep-control" in shown and "test_2017_flickr" in shown and "tok:13a" in shown
    assert "distillation and 44,929 more sentences" in Outline(text).text
    assert best_model.RULE in shown and "best model, deep, int8 greedy map" in shown
    assert not {"Training", "Cleaning", "Times"} & set(Outline(text).text)


def test_page_needs_no_other_file(study):
    for name in ("front_speed.svg", "published.png", "learning.svg", "funnel.svg"):
        (study / name).write_text("<svg/>")
    (study / "jobs").mkdir()
    (study / "jobs" / "train_teacher.tsv").write_text("s\th:m:s\tmax_rss\n200.04\t0:03:20\t812.5\n")
    write_json(study / "samples.json", {"test_set": "test", "samples": chosen(study)})
    fronts = ["--fronts", study / "front_speed.svg", study / "published.png"]
    fronts += ["--front-page", study / "front.html"]
    others = ["--learning", study / "learning.svg", "--funnel", study / "funnel.svg"]
    more = ["--samples", study / "samples.json", "--benchmarks", study / "jobs", "--note", "synthetic <text>"]
    page_text = render(study, *fronts, *others, *more)
    outline = Outline(page_text)
    shown = "".join(outline.text)
    pictures = [address for address in outline.loaded if address != "front.html"]  # a link
    assert len(pictures) == 4 == len(outline.loaded) - 1 and all(name.startswith("data:image/") for name in pictures)
    assert "synthetic <text>" in shown and html.escape("synthetic <text>") in page_text
    assert "train_teacher" in shown and "200.0" in shown and "20 sentences of test" in shown
    assert "BLEU against source words per second" in shown and "words per USD among the 24 systems" in shown


def test_times_add_shards_and_leave_out_what_took_no_time(tmp_path):
    head = "s\th:m:s\tmax_rss\n"
    (tmp_path / "translate_1-of-2.tsv").write_text(f"{head}30.0\t0:00:30\t100\n")
    (tmp_path / "translate_2-of-2.tsv").write_text(f"{head}20.5\t0:00:20\t200\n")
    (tmp_path / "train.tsv").write_text(f"{head}60.0\t0:01:00\tNA\n")
    (tmp_path / "short.tsv").write_text(f"{head}0.1\t0:00:00\t-\n")
    assert study_page.times(tmp_path) == [("train", 60.0, 0.0), ("translate", 50.5, 200.0)]


def test_conditions_are_told_as_in_the_records():
    records = measurement.read(FIXTURE)
    assert study_page.shared(records, "cores") == "[0]" and study_page.shared(records, "forced_isa") is None
    other = [*records, replace(records[0], cores=(0, 1), workers=2)]
    assert study_page.shared(other, "cores") == "[0], [0, 1]" and study_page.shared(other, "workers") == "1, 2"


def test_a_picture_that_browsers_do_not_show(tmp_path):
    (tmp_path / "front.pdf").touch()
    options = ["--measurements", FIXTURE, "--fronts", tmp_path / "front.pdf"]
    done = run("report.study_page", *options, "--output", tmp_path / "x.html")
    assert done.returncode == 1 and "front.pdf: pictures on the page are .svg or .png" in done.stderr
