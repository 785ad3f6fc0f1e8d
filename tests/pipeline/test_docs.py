"""The pages are true: links, paths, commands, options, configurations and numbers."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import yaml

from findings import captions, comparison
from formats import measurement
from report import measurements as tables
from report.__main__ import OPTIONS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")]
PAGES += sorted(path for folder in ("docs", "papers") for path in (ROOT / folder).rglob("*.md"))
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
# Names of the reader's own files, or of those that a run makes.
PLACEHOLDER = re.compile(r"[<{*]|/X\.yaml|configs/(mine\.yaml|en-(cs|es)\.)")
FOLDERS = "src|papers|workflow|configs|benchmarks|docs|tests|notebooks|profiles|results/reference"

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def matches(page, pattern):
    return re.findall(pattern, (ROOT / page).read_text(), re.MULTILINE)


def build(root, target, api=True):
    """Build the site of a repository; warnings are errors."""
    environment = os.environ | {"SITE_API": str(api).lower(), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", target]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


# The site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the whole site, which is not built if a link or an anchor is broken."""
    done = build(ROOT, folder := tmp_path_factory.mktemp("site"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_every_link_leads_to_a_file_and_every_anchor_to_a_heading(site):
    assert (site / "index.html").exists() and (site / "docs/front.png").exists()
    assert (site / "results/reference/demo/published.png").exists()


@pytest.mark.long
def test_broken_links_are_errors(tmp_path):
    links = ["docs/gone.md", "docs/speed.md#gone", "results/reference/demo/gone.png", "src/gone.py"]
    for name in ("mkdocs.yml", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks", "docs"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    for name in ("results", "configs", "notebooks", "src", "tests", "workflow", "CITATION.cff", "LICENSE", "Snakefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "README.md").write_text((ROOT / "README.md").read_text() + "".join(f"\n[x]({link})" for link in links))
    done = build(tmp_path, tmp_path / "site", api=False)
    assert done.returncode != 0
    assert [link for link in links if f"'{link}'" not in done.stderr] == []


def test_names_of_generated_files_are_links_on_the_site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import site_tree

    monkeypatch.setattr(site_tree, "ROOT", tmp_path)
    (tmp_path / "build/pages/x").mkdir(parents=True)
    (tmp_path / "build/pages/x/table.md").touch()

    def linked(page, text):
        return site_tree.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page)), None, None)

    assert linked("results/reference/x/README.md", "`table.md`") == "[`table.md`](table.md)"
    assert linked("docs/y.md", "`build/pages/x/table.md`") == "[`table.md`](../results/reference/x/table.md)"
    page = "`results/demo/report/try.html`"
    assert linked("docs/y.md", page) == page
    (tmp_path / "results/demo/report").mkdir(parents=True)
    (tmp_path / "results/demo/report/try.html").touch()
    assert linked("docs/y.md", page) == f"[{page}](../results/demo/report/try.html)"
    for text in ("`gone.md`", "[`table.md`](other.md)", "``table.md``", "`x/table.md`"):
        assert linked("results/reference/x/README.md", text) == text


@pytest.mark.long
def test_the_api_is_made_of_docstrings(site):
    folders = (ROOT / "src", ROOT / "engine" / "python", ROOT)
    for package in (path.parent.name for folder in folders for path in folder.glob("*/__init__.py")):
        assert (site / f"docs/api/{package}.html").read_text().count("doc-contents") >= 3, package
    assert 'id="nmt_frontier.translator.Translator"' in (site / "docs/api/nmt_frontier.html").read_text()


def test_the_navigation_has_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text()
    names = [str(page.relative_to(ROOT)) for page in PAGES]
    assert [name for name in names if name not in navigation] == []


# Paths, commands, configurations


@pages
def test_every_path_exists(page):
    named = matches(page, rf"(?<![\w/.-])(?:{FOLDERS})/[\w./<>{{}}*-]*[\w/>}}*]")
    assert [name for name in named if not PLACEHOLDER.search(name) and not (ROOT / name).exists()] == []


@pages
@pytest.mark.long
def test_every_command_and_its_options_exist(page):
    for module, rest in matches(page, r"python -m ([\w.]+)((?:\\\n|[^\n`|])*)"):
        paths = [folder / module.replace(".", "/") for folder in (ROOT / "src", ROOT)]
        files = [file for path in paths for file in (path.with_suffix(".py"), path / "__main__.py") if file.exists()]
        assert files and '__name__ == "__main__"' in files[0].read_text(), module
        assert [option for option in re.findall(r" (--[a-z-]+)", rest) if option not in options()] == [], module


@cache
def options():
    """The options of all commands."""
    return {"--help", *(f"--{name.replace('_', '-')}" for name in OPTIONS)}.union(
        *(matches(path, r'"(--[a-z-]+)"') for folder in ("src", "papers") for path in (ROOT / folder).rglob("*.py"))
    )


@pages
def test_every_configuration_is_a_valid_one(page):
    for block in matches(page, r"(?s)```yaml\n(.*?)```"):
        keys = yaml.safe_load(block)
        keys["corpora"] = {name: corpus for name, corpus in keys.get("corpora", {}).items() if corpus}
        corpora = SCHEMA["properties"]["corpora"] | {"minProperties": 0}
        properties = SCHEMA["properties"] | {"extends": {"type": "string"}, "corpora": corpora}
        schema = SCHEMA | {"properties": properties, "required": []}  # of a study that extends another
        jsonschema.Draft202012Validator(schema).validate(keys)


def test_every_target_is_a_rule():
    files = (ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk"))
    rules = {name for path in files for name in matches(path, r"^rule (\w+):")}
    section = (ROOT / "docs/pipeline.md").read_text().partition("| target |")[2].partition("\n\n")[0]
    targets = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    assert targets and targets <= rules


def test_the_picture_of_the_stages_has_all_files_of_rules():
    source, picture = ((ROOT / f"docs/dag.{suffix}").read_text() for suffix in ("dot", "svg"))
    files = {path.name for path in (ROOT / "workflow/rules").glob("*.smk")} - {"common.smk"}
    assert set(re.findall(r"\w+\.smk", source)) == files == set(re.findall(r"\w+\.smk", picture))


@pytest.mark.parametrize("page", ["docs/python.md", "engine/README.md"])
def test_the_examples_in_python_run(page, tmp_path):
    import native  # inside: skips this test without the engine

    shutil.copytree(native.folders() / "int8", tmp_path / "mine" / "native-int8")
    (tmp_path / "text").write_text("A dog runs.\n" * 3)
    blocks = "\n".join(matches(page, r"(?s)```python\n(.*?)```"))
    assert "Translator(" in blocks and native.run(f"import os; os.chdir({str(tmp_path)!r})\n{blocks}")


def test_pages_say_what_was_measured_not_what_was_wanted():
    wanted = re.compile(r"\b(?:goals?|aim(?:s|ed)?|reach(?:es|ed)|missed)\b|\btogether \d+ %", re.IGNORECASE)
    pages = [*PAGES, ROOT / "CHANGELOG.md", *(ROOT / "results/reference").rglob("*.md")]
    found = {str(page.relative_to(ROOT)): wanted.findall(page.read_text()) for page in pages}
    assert {page: words for page, words in found.items() if words} == {}


# The README


@pytest.fixture(scope="module")
def timed():
    records = measurement.read(ROOT / "results/reference/multi30k/measurements.json")
    return comparison.of_test_set(records, "test_2016_flickr")


def test_the_headline_table_is_that_of_the_reference_run(timed):
    base = comparison.baseline(timed, "teacher").words_per_second
    known = {(*headline(one, timed), f"{one.words_per_second / base:.1f}") for one in timed}
    quoted = quotes("README.md", 7)
    for system, decoding, bleu, speed, faster, *sizes in quoted:
        assert (re.sub(r"student \((.*)\)", r"\1", system), decoding, bleu, speed, *sizes, faster) in known
    assert len(quoted) == 3


def test_the_table_of_the_reference_run_is_that_of_its_records(timed):
    numbers = {headline(one, timed): tables.row(one, timed) for one in timed}
    quoted = quotes("results/reference/multi30k/README.md", 8)
    for system, decoding, bleu, loss, speed, faster, *sizes in quoted:
        cells = numbers[system, decoding, bleu, speed, *sizes]
        assert [cells[name].rstrip("¹?") for name in ("loss", "×")] == [loss, faster]
    assert len(quoted) == 6


def quotes(page, length):
    """The lines of tables with so many cells that end with a number with one digit."""
    lines = [[cell.strip(" *") for cell in line.split("|")] for line in matches(page, r"^\|(.*)\|$")]
    lines = [line for line in lines if len(line) == length]
    return [line for line in lines if re.fullmatch(r"\d+\.\d", line[-1]) and "," in line[1]]


def headline(record, timed):
    """System, decoding, BLEU, speed, core-seconds and disk of a record."""
    cells = tables.row(record, timed)
    ways = [captions.engine_label(record), record.decoding.compute_type, captions.search(record)]
    ways += ["map"] * record.decoding.vocabulary_map
    numbers = (cells[name].rstrip("¹?") for name in ("BLEU", "source words/s", "core-s/M words", "disk MB"))
    return record.system.name, ", ".join(ways), *numbers


# Kept studies


@pytest.mark.parametrize("study", sorted(page.parent.name for page in (ROOT / "results/reference").glob("*/README.md")))
def test_the_page_of_a_study_has_the_one_form(study):
    text = (ROOT / "results/reference" / study / "README.md").read_text()
    assert text.startswith(f"# {study}: ")
    parts = ["**Question.** ", "**Answer.**\n\n* **", "## Table", "## Conditions\n", "## Commands\n"]
    assert [text.count(part) for part in parts[:2]] == [1, 1]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    answer = text.partition("**Answer.**")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\* ", answer, re.MULTILINE)) == 3


# The version


def test_there_is_one_version():
    newest = matches("CHANGELOG.md", r"^## (\d+\.\d+\.\d+)$")[0]
    places = {
        "pyproject.toml": r'^version = "(.*)"$',
        "engine/pyproject.toml": r'^version = "(.*)"$',
        "engine/python/nmt_frontier/bindings.py": r'^__version__ = "(.*)"$',
        "web/package.json": r'^  "version": "(.*)",$',
        "CITATION.cff": r"^version: (.*)$",
    }
    assert {name: matches(name, form) for name, form in places.items()} == {name: [newest] for name in places}


def test_the_pages_name_the_instruction_sets_of_the_engine():
    sets = {*matches("engine/runtime/dispatch.cpp", r"NMT_KERNELS\((\w+),")} - {"set"} | {
        "relaxed"
    }  # of browsers that have it
    table = (ROOT / "docs/engine.md").read_text().partition("\n## Instruction sets\n")[2].partition("\n\nLinux")[0]
    named = [
        name for cells in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cells)
    ]
    assert sorted(named) == sorted(sets) and len(sets) == 11


def test_the_changelog_names_the_locked_packages():
    note = (ROOT / "CHANGELOG.md").read_text().partition("The lock has ")[2].partition("\n\n")[0]
    locked = dict(matches("requirements.lock", r"^([\w.-]+)==(\S+)"))
    named = {name.lower(): number for name, number in re.findall(r"([\w-]+)\s(\d+\.\d+\.\d+)", note)}
    assert len(named) == 5 and named == {name: locked[name] for name in named}


# The glossary


def test_the_glossary_has_every_term_once():
    terms = [term for term in matches("docs/glossary.md", r"^\| ([^|]+) \| [^|]+ \|$") if term != "term"]
    assert len(terms) > 70 and len(set(terms)) == len(terms)
