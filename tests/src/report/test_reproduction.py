"""The pages of the papers are those that the command makes, with the reason of every number."""

import re
import sys
from pathlib import Path

import pytest

from formats import measurement
from nmt_frontier.errors import UserError
from report import beside_paper, our_number, reproduction, rows
from report.agreement import FROM_SHAPES, MEASURED
from report.claims import NEEDS, NOT_RUN, OTHER, VERDICTS, papers
from report.rows.__main__ import main
from study import config

ROOT = Path(__file__).parents[3]


def test_the_committed_pages_and_the_summary_are_those_of_the_committed_rows():
    made = reproduction.pages(ROOT)
    stale = [str(path.relative_to(ROOT)) for path, text in made.items() if path.read_text() != text]
    assert stale == [], "python -m report.reproduction makes them"
    assert {path.parent.name for path in (ROOT / "papers").glob("*/README.md")} == {*papers()}


def test_the_committed_rows_are_of_the_printed_numbers():
    for name, made in reproduction.read(ROOT).items():
        names = ("quantity", "test_set", "printed", "unit")
        printed = [(claim.label, claim.test_set, claim.value, claim.unit) for claim in rows.numbers(name)]
        assert [tuple(row[key] for key in names) for row in made] == printed, name
        assert all(row["verdict"] in VERDICTS and row["reason"] for row in made)
        assert all(row["command"] for row in made if row["ours"] is not None)


def test_the_committed_rows_follow_from_the_committed_measurements(tmp_path, monkeypatch):
    """By the command that the page of the papers names, with another output."""
    assert "\npython -m report.rows\npython -m report.reproduction\n" in (ROOT / "docs/papers.md").read_text()
    monkeypatch.chdir(ROOT)
    for name in papers():
        monkeypatch.setattr(sys, "argv", ["rows", "--paper", name, "--output", str(tmp_path / f"{name}.json")])
        main()
        assert (tmp_path / f"{name}.json").read_text() == (ROOT / f"papers/{name}/rows.json").read_text()


def row(**values):
    return rows.rows("devlin2017", [])[0] | values


def test_what_rows_have_in_common_stands_once():
    paper = papers()["devlin2017"]
    numbers = {"ours": 5.0, "low": 4.5, "high": 5.5, "ratio": 5.0 / 4.4}
    own = row(**numbers, verdict="larger", reason="as | above", command="x", cpu="C")
    page = reproduction.page("devlin2017", paper, [own, own, row()])
    assert "Measured (2): larger 2. Without a number (1): not run yet 1." in page
    assert "| 5 (4.5 to 5.5) |" in page and page.count("1.14") == 2
    assert page.count("as \\| above") == 1 and page.count("no measurement was given") == 1 and page.count("`x`, C") == 1
    five = ["**Scope.**", "**Method.**", "**Results.**", "**What was easy.**", "**What was hard.**"]
    assert [page.index(each) for each in five] == sorted(page.index(each) for each in five)


def test_the_summary_tells_computed_sizes_from_measurements_and_counts_one_timing_once():
    computed = {"verdict": "agrees", "command": our_number.COMPUTED, "tolerance": "2%"}
    of_base = [row(ours=238.8, **computed), row(ours=238.8, **computed), row(ours=101.5, **computed)]
    missed = row(ours=67.6, **computed | {"verdict": "smaller"})
    timed = {"ours": 5.0, "command": "snakemake", "tolerance": "10%"}
    ratios = [row(**timed, verdict="agrees", timings=["x 1", "x 0"]), row(**timed, verdict="larger", timings=["x 1"])]
    seconds = row(**timed | {"tolerance": ""}, verdict="not comparable", timings=["x 7"])
    first, shares, verdicts, _ = reproduction.summary({"marian2018": [*of_base, missed, *ratios, seconds]})
    one, other = verdicts.splitlines()[2:]
    assert one.endswith("measured | 3 | 2 | 1 | 1 | – | – | 1 | – | – |")
    assert other.endswith("computed from shapes | 4 | 3 | 3 | – | 1 | – | – | – | – |")
    assert first.endswith("Of 2 measured numbers with a verdict 1 agree (50 %); of 4 computed from shapes 3 agree.")
    assert shares.endswith("| 7 | 7 | 7 | 2 | 1 | 4 | 3 |")


def test_both_tables_of_the_summary_count_the_same_verdicts():
    _, shares, verdicts, _ = reproduction.summary(reproduction.read(ROOT))
    counted = {MEASURED: [0, 0], FROM_SHAPES: [0, 0]}
    for line in verdicts.splitlines()[2:]:
        paper, _, _, agree, *off = (int(cell) if cell.isdigit() else cell for cell in line.strip("| ").split(" | "))
        for place, numbers in enumerate(((agree, *off[:3]), (agree,))):
            counted[paper.rpartition(", ")[2]][place] += sum(number for number in numbers if number != "–")
    lines = [[int(cell) for cell in line.strip("| ").split(" | ")[4:]] for line in shares.splitlines()[2:]]
    assert counted[MEASURED] + counted[FROM_SHAPES] == [sum(column) for column in zip(*lines, strict=True)]


def test_the_first_lines_count_what_a_cpu_can_give():
    measured = {"ours": 5.0, "tolerance": "10%", "verdict": "agrees", "command": "x"}
    explained, other = (row(**measured | {"verdict": "larger", "explained": known}) for known in (True, False))
    on_a_gpu, untrained = row(**measured, needs="GPU"), row(needs="training", verdict="not run here")
    made = [row(**measured), explained, other, row(), on_a_gpu, untrained]
    assert reproduction.lead(made) == (
        "Of 6 numbers a CPU can give 4, and 3 of these were measured or computed here. Of 4 measured numbers with a "
        "verdict 2 agree (50 %). The others need a GPU (1), WMT's training (1); 1 of these were measured all the same."
    )
    page = reproduction.page("devlin2017", papers()["devlin2017"], made)
    assert page.count("| larger, explained ") == 1 and page.index("Of 6 numbers") < page.index("![") < page.index(
        "**Scope"
    )


def test_rows_of_one_reason_share_a_line():
    needed = {"needs": "training", "verdict": "not run here", "reason": "WMT's training", "test_set": "newstest2014"}
    bleu = [row(**needed, row=f"({n}) x", quantity="BLEU", unit="BLEU", printed=20.0 + n) for n in (1, 2)]
    made = [*bleu, row(ours=1.0, verdict="smaller"), row(reason="`command` was not run")]
    page = reproduction.page("devlin2017", papers()["devlin2017"], made)
    assert "## Not run here\n\n* **WMT's training** (2): text, BLEU newstest2014: (1) x 21; (2) x 22.\n" in page
    assert "## A CPU could give these\n\n* **`command` was not run** (1): " in page


def test_what_is_not_run_here_needs_what_is_not_here():
    for name, made in reproduction.read(ROOT).items():
        missing = [row for row in made if row["ours"] is None]
        needed = [row for row in missing if row["needs"] and row["verdict"] != OTHER]
        assert needed == [row for row in missing if row["verdict"] == NOT_RUN], name
        assert all(row["reason"].startswith(NEEDS[row["needs"]]) for row in needed)


def test_a_paper_without_rows_has_no_measurement(tmp_path):
    made = reproduction.read(tmp_path)
    assert made.keys() == papers().keys()
    assert {each["verdict"] for each in made["devlin2017"]} == {"not run here", "not run yet"}


def test_the_command_writes_pages_and_summary(tmp_path, monkeypatch):
    summaries = tmp_path / reproduction.SUMMARIES
    summaries.parent.mkdir()
    tables = ["| paper | numbers | a CPU | replaced |", "| paper | numbers | distinct |", "| not run yet |"]
    summaries.write_text("\n\n".join(["# x", "Of 0 printed numbers x", *tables, "after\n"]))
    monkeypatch.setattr(sys, "argv", ["reproduction", "--root", str(tmp_path)])
    reproduction.main()
    text = summaries.read_text()
    assert "| replaced |" not in text and text.endswith("\n\nafter\n")
    assert len({*re.findall(r"\(../papers/[^)]+", text)}) == 5
    assert (tmp_path / "papers/fastseq2021/README.md").exists()
    with pytest.raises(UserError, match=r"0 paragraphs begin with '.Of "):
        reproduction.with_summary("# x\n", ["x"] * len(reproduction.PARTS))


def test_the_picture_of_ratios_has_the_printed_and_the_measured_ones():
    made = reproduction.read(ROOT)["wnmt2018"]
    (axes,) = beside_paper.ratios_picture(made).axes
    shown = [row for row in made if row["unit"] == "×" and row["ours"] is not None]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert len({*names}) == len(names) == len(shown) > 10  # with the test set where there are two
    drawn = {line.get_xdata()[0] for line in axes.lines}
    assert {row["printed"] for row in shown} | {row["ours"] for row in shown} <= drawn
    assert not beside_paper.ratios_picture([]).axes  # nothing but the reason


def test_pictures_of_pages_are_in_git():
    shown = [ROOT / path for paper in papers().values() for path in paper.pictures]
    assert all(paper.pictures for paper in papers().values()) and [path for path in shown if not path.is_file()] == []


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
    assert {row["verdict"] for row in of_summaries if row["unit"] != "×"} == {
        *("not comparable", "not run yet", "not run here")
    }
