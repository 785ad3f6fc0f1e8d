"""The command that makes every table and picture, and what the package may know."""

import ast
import importlib
import re
from pathlib import Path

import pytest
from reports import FIXTURE, run

import report
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from report import figure
from report.__main__ import TABLES
from report.registry import SUBJECTS, files

FOLDER = Path(report.__file__).parent
OF_PAPERS = sorted(FOLDER.parents[1].glob("papers/*/*_report.py"))
LEARNING = {
    "system": "a|b",
    "role": "teacher",
    "shape": "1:1",
    "parameters": 1000,
    "training": [{"step": 50, "loss": 6.0, "tokens_per_second": 1234.5}],
    "validation": [{"step": 50, "bleu": 5.0}],
    "phases": [{"end": 50, "accumulate": 2}, {"end": 80, "accumulate": 1}],
    "seconds": 90,
    "seen": {"pairs": 2000, "passes": 1.5},
    "left_out": {"pairs": 3, "of": 1000},
    "averages": [{"checkpoints": 4, "bleu": 5.25}],
}


def imported(path):
    """The first parts of the names of all modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        yield from (name.partition(".")[0] for name in names)


@pytest.mark.parametrize("path", [*sorted(FOLDER.glob("*.py")), *OF_PAPERS], ids=lambda path: path.stem)
def test_a_report_knows_only_what_is_on_disk(path):
    packages = {folder.name for folder in FOLDER.parent.iterdir() if folder.is_dir()}
    assert packages & set(imported(path)) <= {"common", "findings", "formats", "nmt_frontier", "papers", "report"}


def test_every_function_that_makes_a_table_or_a_picture_has_a_line_in_the_registry():
    names = {path.stem for path in FOLDER.glob("*.py")} | {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    names -= {"__main__", "markup"}
    names = [*(f"report.{name}" for name in names), *(f"papers.{path.parent.name}.{path.stem}" for path in OF_PAPERS)]
    modules = {name: vars(importlib.import_module(name)) for name in names}
    making = {
        (name, key)
        for name, own in modules.items()
        for key, value in own.items()
        if re.fullmatch(r"(table|draw)(_\w+)?", key) and getattr(value, "__module__", None) == name
    }
    known = {(subject.module, kind + subject.suffix) for subject in SUBJECTS.values() for kind in ("table", "draw")}
    assert making <= known
    assert {name for name, _ in making} == {subject.module for subject in SUBJECTS.values()}


def test_one_call_makes_the_table_and_the_picture(tmp_path):
    systems = [LEARNING, LEARNING | {"system": "other", "averages": []}]
    for number, system in enumerate(systems):
        write_json(tmp_path / f"{number}.json", system)
    outputs = [tmp_path / name for name in ("x.md", "x.svg", "x.png")]
    done = run("report", "training", "--input", tmp_path / "0.json", tmp_path / "1.json", "--output", *outputs)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in outputs[0].read_text().splitlines()]
    assert rows[0][-1] == "average of 4" and rows[3][0] == "other" and rows[3][-1] == ""
    assert "50 x2 + 30" in rows[2] and "3 of 1,000" in rows[2] and rows[2][-1] == "5.25"
    assert outputs[1].read_text().startswith("<?xml") and outputs[2].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["front_speed", "--output", "x.md"], "x.md: front_speed is a picture only"),
        (["quantization", "--output", "x.svg"], "x.svg: quantization is a table only"),
        (
            ["front_speed", "--output", "x.gif"],
            "x.gif: tables are written as .md or .tex, pictures as .svg or .png or .pdf",
        ),
        (["maps", "--output", "x.md"], "--input: 1 files; needed: alignment/coverage/{dev}.json, "),
        (["published", "--output", "x.svg", "--remark", "y"], "published has no --remark"),
        (["other", "--output", "x.svg"], "invalid choice: 'other'"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(tmp_path, arguments, message):
    source = tmp_path / "quantization.json"
    write_json(source, {"system": "x", "errors": {"int8": {"all": 0.1}}})
    done = run("report", *arguments, "--input", source if arguments[0] == "quantization" else FIXTURE, cwd=tmp_path)
    assert done.returncode and message in done.stderr and "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["quantization.json"]


def test_help_names_every_subject():
    text = run("report", "--help").stdout
    assert all(f"  {name} " in text and ", ".join(subject.files) in text for name, subject in SUBJECTS.items())


def test_pictures_have_no_more_formats_than_the_rules_ask_for():
    rules = (FOLDER.parents[1] / "workflow/rules/report.smk").read_text()
    asked = {suffix for suffix in (*figure.FORMATS, *TABLES) if f"{{{{subject}}}}{suffix}" in rules}
    assert asked == {*figure.FORMATS, *TABLES}


def test_files_of_a_run_and_of_its_record(tmp_path):
    names = ["run/report/gap.json", "run/corpora/clean/b.json", "run/corpora/clean/a.json", "record/gap.json"]
    for name in names:
        write_json(tmp_path / name, {})
    assert files(tmp_path / "run", "report/gap.json") == [tmp_path / names[0]]
    assert files(tmp_path / "record", "report/gap.json") == [tmp_path / names[3]]
    assert files(tmp_path / "run", "corpora/clean/*.json") == [tmp_path / names[2], tmp_path / names[1]]
    with pytest.raises(UserError, match=r"record: no measurements\.json; set STUDY"):
        files(tmp_path / "record", "measurements.json")
