"""What git keeps of a study is enough for its tables and pages, and is small."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from formats import measurement
from nmt_frontier.files import read_json
from report import figure, front, front_page, pages
from report.compact import compact

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "results/reference"
SUMS = KEPT / "pages.sha256"
SHOWN = [ROOT / "README.md", ROOT / "benchmarks/README.md", *(ROOT / "docs").rglob("*.md"), *KEPT.rglob("*.md")]
UNMADE = re.compile(
    r"(demo|recurrent)/search-[\w-]+\.png$|multi30k-captions/maps\.png$|images/.*\.SIZES\.md$"
    r"|robustness/html\.\w+\.tsv$"  # judged by hand
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder with the texts of all kept studies."""
    folder = tmp_path_factory.mktemp("pages")
    for command in (["benchmarks/pages.py"], ["-m", "report.pages", "--checksums", folder.with_suffix(".sha256")]):
        done = subprocess.run([sys.executable, *command, "--texts", "--output", folder], cwd=ROOT, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
    return folder


def lines(path):
    return dict(reversed(line.split("  ")) for line in path.read_text().splitlines())


@pytest.mark.slow
def test_texts_are_those_whose_checksums_are_kept(made):
    """After a change of a table, `make pages` and a look at the table; then commit the checksums."""
    kept, now = lines(SUMS), lines(made.with_suffix(".sha256"))
    assert kept.keys() == now.keys()
    assert [name for name in kept if kept[name] != now[name]] == []


def test_the_front_has_the_kept_translations():
    (study,) = front_page.read([KEPT / "mixed-gpu/measurements.json"], [KEPT / "mixed-gpu/samples.json"])
    kept = read_json(KEPT / "mixed-gpu/translations.json")
    found = {record.decoding.output: study.translations(record) for record in study.records}
    assert {path: lines for path, lines in found.items() if lines} == kept and len(kept) > 3
    assert all(len(lines) == len(study.sentences) for lines in kept.values())


@pytest.mark.slow
def test_every_kept_study_has_its_pages(made):
    for path in KEPT.rglob("measurements.json"):
        folder = made / path.parent.relative_to(KEPT)
        assert {"table.md", "measurements.csv", "front.html"} <= {file.name for file in folder.iterdir()}
    for path in KEPT.rglob("learning.json"):
        assert f"| {path.parent.name} " in (made / path.parents[2].relative_to(KEPT) / "training.md").read_text()
    page = (made / "demo/report.html").read_text()
    assert "end_to_end</td>" in page and "sentences of test_2016_flickr" in page  # jobs of the run, samples


def test_git_keeps_json_and_what_pages_show():
    names = subprocess.run(["git", "ls-files", KEPT], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in names.splitlines()]
    used = re.compile(r"!\[[^\]]*\]\(([^)]+\.png)\)|\]\(([^)#]+\.md)\b")  # a picture, or a further page
    found = ((page, *names) for page in SHOWN for names in used.findall(page.read_text()))
    shown = {(page.parent / (picture or other)).resolve() for page, picture, other in found}
    others = [path for path in paths if path.suffix not in (".json", ".log", ".sha256") and path.name != "README.md"]
    unshown = [str(path.relative_to(KEPT)) for path in others if path.resolve() not in shown]
    assert [name for name in unshown if not UNMADE.match(name)] == []
    assert [path for path in paths if path.suffix == ".png" and path.stat().st_size > figure.PNG_BYTES] == []
    assert sum(path.stat().st_size for path in paths) <= 12_000_000


def test_checksums_leave_out_versions_and_pictures():
    packed = '<script type="text/plain" id="vega">{}</script>'
    one, other = "0.1234567891234 " + packed.format("a"), "0.1234567891239 " + packed.format("b")
    assert pages.checksum(one) == pages.checksum(other) != pages.checksum(one.replace("0.12", "0.13"))
    picture = '<img src="data:image/png;base64,{}">'
    assert pages.checksum(picture.format("a")) == pages.checksum(picture.format("b"))


def test_compact_json_is_the_same_json():
    value = {"rows": [{"name": "ä" * 3000, "runs": [1.5, None, True]}, {}], "count": 2, "ends": []}
    assert json.loads(compact(value)) == value and compact(value).count("\n") < 12
    assert max(map(len, compact([{"x": [0] * 500}] * 9).splitlines())) <= 1100


@pytest.mark.slow
def test_a_kept_picture_has_few_colours_and_bytes(tmp_path):
    records = measurement.read(KEPT / "demo/measurements.json")
    figure.save(front.draw_column(records), tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size < 100_000 and Image.open(tmp_path / "x.png").mode == "P"
