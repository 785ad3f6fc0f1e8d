"""The pages of the papers are those that the command makes, with the reason of every number."""

import re
import sys
from pathlib import Path

import pytest

from common.errors import UserError
from formats import measurement
from report import reproduction, rows
from report.claims import VERDICTS, papers
from study import config

ROOT = Path(__file__).parents[1]


def test_the_committed_pages_and_the_summary_are_those_of_the_committed_rows():
    made = reproduction.pages(ROOT)
    stale = [str(path.relative_to(ROOT)) for path, text in made.items() if path.read_text() != text]
    assert stale == [], "python -m report.reproduction makes them"
    assert {path.parent.name for path in (ROOT / "papers").glob("*/README.md")} == {*papers()}


def test_the_committed_rows_are_of_the_printed_numbers():
    for name, made in reproduction.read(ROOT).items():
        names = ("quantity", "test_set", "printed", "unit")
        printed = [(claim.quantity, claim.test_set, claim.value, claim.unit) for claim in rows.numbers(name)]
        assert [tuple(row[key] for key in names) for row in made] == printed, name
        assert all(row["verdict"] in VERDICTS and row["reason"] for row in made)
        assert all(row["command"] for row in made if row["ours"] is not None)


def test_the_committed_rows_follow_from_the_committed_measurements(tmp_path, monkeypatch):
    """By the command that the page of the papers names, with another output."""
    assert "\npython -m report.rows\npython -m report.reproduction\n" in (ROOT / "docs/papers.md").read_text()
    monkeypatch.chdir(ROOT)
    for name in papers():
        monkeypatch.setattr(sys, "argv", ["rows", "--paper", name, "--output", str(tmp_path / f"{name}.json")])
        rows.main()
        assert (tmp_path / f"{name}.json").read_text() == (ROOT / f"papers/{name}/rows.json").read_text()


def row(**values):
    return rows.rows("devlin2017", [])[0] | values


def test_what_rows_have_in_common_stands_once():
    paper = papers()["devlin2017"]
    numbers = {"ours": 5.0, "low": 4.5, "high": 5.5, "ratio": 5.0 / 4.4}
    own = row(**numbers, verdict="larger", reason="as | above", command="x", cpu="C")
    page = reproduction.page("devlin2017", paper, [own, own, row()])
    assert "3 numbers: larger 2, not run here 1." in page
    assert "| 5 (4.5 to 5.5) |" in page and page.count("1.14") == 2
    assert page.count("as \\| above") == 1 and page.count("no measurement was given") == 1 and page.count("`x`, C") == 1
    five = ["**Scope.**", "**Method.**", "**Results.**", "**What was easy.**", "**What was hard.**"]
    assert [page.index(each) for each in five] == sorted(page.index(each) for each in five)


def test_the_summary_tells_computed_sizes_from_measurements_and_counts_one_timing_once():
    computed = {"verdict": "agrees", "command": rows.COMPUTED, "tolerance": "2%"}
    of_base = [row(ours=238.8, **computed), row(ours=238.8, **computed), row(ours=101.5, **computed)]
    missed = row(ours=67.6, **computed | {"verdict": "smaller"})
    timed = {"ours": 5.0, "command": "snakemake", "tolerance": "10%"}
    ratios = [row(**timed, verdict="agrees", timings=["x 1", "x 0"]), row(**timed, verdict="larger", timings=["x 1"])]
    seconds = row(**timed | {"tolerance": ""}, verdict="not comparable", timings=["x 7"])
    *_, one, other = reproduction.summary({"marian2018": [*of_base, missed, *ratios, seconds]}).splitlines()
    assert one.endswith("measured | 3 | 2 | 1 | 1 | – | – | 1 | – |")
    assert other.endswith("computed from shapes | 4 | 3 | 3 | – | 1 | – | – | – |")


def test_a_paper_without_rows_has_no_measurement(tmp_path):
    made = reproduction.read(tmp_path)
    assert made.keys() == papers().keys()
    assert {each["verdict"] for each in made["devlin2017"]} == {"not run here"}


def test_the_command_writes_pages_and_summary(tmp_path, monkeypatch):
    summaries = tmp_path / reproduction.SUMMARIES
    summaries.parent.mkdir()
    summaries.write_text("# x\n\n| paper | old |\n|--|--|\n\nafter\n")
    monkeypatch.setattr(sys, "argv", ["reproduction", "--root", str(tmp_path)])
    reproduction.main()
    text = summaries.read_text()
    assert "old" not in text and text.endswith("\n\nafter\n") and len({*re.findall(r"\(../papers/\S+", text)}) == 5
    assert (tmp_path / "papers/fastseq2021/README.md").exists()
    with pytest.raises(UserError, match="0 tables begin"):
        reproduction.with_summary("# x\n", "")


def test_numbers_and_commands_are_of_one_run():
    """The configuration that a row's command names still times the text that the row's record is of."""
    for name, made in reproduction.read(ROOT).items():
        files = {timing.rpartition(" ")[0] for row in made for timing in row["timings"] if timing[-1].isdigit()}
        for file in {each for each in files if (ROOT / "results/reference" / each).is_file()}:
            record = measurement.read(ROOT / "results/reference" / file)[0]
            corpora = config.load(ROOT / f"configs/{record.study}.yaml")["corpora"]
            timed = next(corpus for corpus, entry in corpora.items() if entry["role"] == "test")
            assert record.test_set == timed, (name, file)


def test_what_was_timed_on_another_text_than_a_papers_summaries_has_no_verdict():
    made = reproduction.read(ROOT)["fastseq2021"]
    of_summaries = [row for row in made if row["test_set"] == "CNN/DailyMail"]
    # a ratio counts: both sides of it had the same text
    assert {row["verdict"] for row in of_summaries if row["unit"] != "×"} == {"not comparable", "not run here"}
