"""The interactive page of fronts: its data and its form, and what it does in a real browser."""

import argparse
import base64
import gzip
import json
import random
import re
import shlex
from collections import Counter
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import chromium
import pytest
from descriptions import of_type
from measured import replaced
from outline import Outline
from reports import FIXTURE, REFERENCE, run
from snakemake.assets import Assets

from findings import captions, comparison
from findings.comparison import pareto
from formats import measurement
from measure.configuration import Configuration, ModelFolder
from nmt_frontier.command import decoding
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json, write_text
from report import figure, front, front_page
from report.front_styles import vega

CPUS = {"demo": "avx2", "architectures": "avx512-vnni"}
STUDIES = [REFERENCE / study for study in CPUS]
SYMBOLS = "document.querySelectorAll('#panels .mark-symbol.role-mark path')"
NUMBERS = "[...document.querySelectorAll('#panels .mark-text.role-mark text')].map(e => +e.textContent)"
PACKED = re.compile(r'<script type="text/plain" id="[\w-]+">(.*?)</script>')
AXES = {axis.name: axis for axis in (*front_page.ACROSS, *front_page.UP)}
NASTY = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"


def files(name, folders):
    return [folder / name for folder in folders]


def made(folders, samples=True):
    studies = front_page.read(files("measurements.json", folders), files("samples.json", folders) if samples else [])
    return front_page.page(studies)


def embedded(text):
    """The data that a page carries."""
    return json.loads(inflated(re.search('<script type="text/plain" id="data">(.*?)</script>', text)[1]))


def inflated(text):
    return gzip.decompress(base64.b64decode(text)).decode()


@pytest.fixture(scope="module")
def both():
    return made(STUDIES)


@pytest.fixture(scope="module")
def demo():
    return measurement.read(STUDIES[0] / "measurements.json")


def test_the_page_is_small_and_needs_nothing_else(both):
    assert len(both.encode()) < front_page.LIMIT / 2
    outline = Outline(both)
    assert [address for address in outline.loaded if address] == []
    assert "default-src 'none'" in both and not re.search(r"@import|url\(", both)


def test_the_page_has_the_measurements_as_they_are(both):
    data = embedded(both)
    names = [field["name"] for field in data["fields"]]
    found = [record for folder in STUDIES for record in measurement.read(folder / "measurements.json")]
    records = json.loads(json.dumps([record.as_json() for record in found]))
    assert len(records) > 100
    defaults = {column.name: column.default for column in measurement.columns()}
    for row, record in zip(data["records"], records, strict=True):
        shown = dict(zip(names, row, strict=True))
        assert {name: shown.get(name) for name in record} == record
        added = set(names) - set(record)  # fields of other kinds of records
        assert all(shown[name] in (None, defaults[name]) for name in added)


def test_the_page_carries_vega_and_the_licences_of_all_its_parts(both):
    _, vega, licences = map(inflated, PACKED.findall(both))
    assert all(Assets.get_content(f"{name}/{name}.js") in vega for name in ("vega", "vega-lite"))
    assert all(Assets.get_content(f"{name}/LICENSE") in licences for name in ("vega", "vega-lite", "d3-scale", "clone"))


@pytest.mark.long
def test_a_page_that_is_too_large_says_what_to_leave_out(monkeypatch, demo):
    size = len(made(STUDIES[:1]).encode())
    monkeypatch.setattr(front_page, "LIMIT", size)
    assert len(made(STUDIES[:1]).encode()) == size
    monkeypatch.setattr(front_page, "LIMIT", size - 1)
    with pytest.raises(UserError, match=rf"leave out studies or test sets .* \(demo, test_2016_flickr: {len(demo)}\)$"):
        made(STUDIES[:1])


def test_names_of_a_study_stay_text(tmp_path, demo):
    measurement.write(tmp_path / "measurements.json", [replace(record, study=NASTY) for record in demo])
    text = made([tmp_path], samples=False)
    assert NASTY not in text and "<img" not in text
    assert NASTY in "".join(Outline(text).text)
    assert embedded(text)["about"][0]["words"]["study"] == NASTY


@pytest.mark.long
def test_comet_is_an_axis_and_a_column_only_where_it_was_measured(tmp_path, demo):
    scored = [replaced(record, comet=80.0 + number, comet_signature="x") for number, record in enumerate(demo)]
    measurement.write(tmp_path / "measurements.json", scored)
    without, page = made(STUDIES[:1]), made([tmp_path, STUDIES[1]], samples=False)
    assert "comet" not in PACKED.sub("", without).lower() and "comet" not in embedded(without)["axes"]
    data = embedded(page)
    assert data["axes"]["comet"] == {"label": "COMET", "more": True}
    assert data["places"]["comet"][: len(demo)] == [[record.scores.comet] for record in scored]
    assert set(map(str, data["places"]["comet"][len(demo) :])) == {"None"}
    assert '<option value="comet">COMET</option>' in page
    assert len({len(re.findall("</t[hd]>", row)) for row in re.findall("<tr>(?s:.*?)</tr>", page)}) == 1


def test_places_spread_as_the_runs_do_and_zero_has_none_on_a_logarithmic_axis(demo):
    record = next(record for record in demo if record.timing.runs > 1)
    speed = front_page.place(AXES["speed"], record)
    assert speed == pytest.approx([*record.timing.source_words_per_second])
    cost = front_page.place(AXES["core_seconds"], record)
    assert cost == pytest.approx([1e6 / value for value in (speed[0], speed[2], speed[1])], rel=1e-6)  # one core
    assert front_page.place(AXES["memory"], record) == [record.timing.peak_rss_bytes / 1e6]
    assert front_page.place(AXES["bleu"], record) == [record.scores.bleu]
    assert front_page.place(AXES["usd"], record) is None
    zero = replaced(record, usd_per_million_words=0.0, bleu=0.0)
    assert front_page.place(AXES["usd"], zero) is None and front_page.place(AXES["bleu"], zero) == [0.0]


@pytest.mark.long
def test_latency_is_that_of_single_sentences(tmp_path, demo):
    untimed = [replaced(record, sentence_seconds=None) for record in demo]
    timed = [replaced(demo[0], sentence_seconds=0.04), *untimed[1:]]
    assert [front_page.latency(record) for record in timed[:2]] == [40, None]
    measurement.write(tmp_path / "measurements.json", untimed)
    assert "latency" not in embedded(made([tmp_path], samples=False))["places"]
    measurement.write(tmp_path / "measurements.json", timed)
    assert embedded(made([tmp_path], samples=False))["places"]["latency"] == [[40], *[None] * len(demo[1:])]


def test_panels_tell_cpus_of_one_name_apart(both, demo):
    panels = {about["panel"] for about in embedded(both)["about"]}
    assert panels == {f"{study}: test_2016_flickr, AMD EPYC ({isa})" for study, isa in CPUS.items()}
    assert captions.cpu(replaced(demo[0], isa=None)) == "AMD EPYC"
    assert captions.cpu(replaced(demo[0], cpu=None, isa=None)) == "unknown CPU"


def test_the_command_decodes_as_the_record_was_decoded(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    decoding.add(parser)
    for record in demo:
        words = shlex.split(captions.decoding_command(record).partition(" < ")[0])
        Path(words[words.index("--model") + 1]).mkdir(parents=True, exist_ok=True)
        assert words[:2] == ["nmt-frontier", "translate"]
        args = parser.parse_args(words[2:])
        known = ("beam_size", "vocabulary_map", "batch_tokens", "workers", "threads")
        assert {name: getattr(args, name) for name in known} == {name: record.value(name) for name in known}
        model, how = ModelFolder(args.model, of_type("int8")), record.decoding
        way = Configuration(model, beam_size=how.beam_size, vocabulary_map=how.vocabulary_map, label=record.system.name)
        label = way.name
        assert record.decoding.output == f"decoding/translations/{label}.{record.test_set}.txt"
        assert args.model.parent == Path("results/demo/models") / record.system.name
    assert captions.decoding_command(replaced(demo[0], output=None)) is None


@pytest.mark.long
def test_colours_and_shapes_tell_the_same_apart():
    pairs = [vega(style) for style in figure.PALETTE]
    assert [len(set(each)) for each in zip(*pairs, strict=True)] == [len(pairs)] * 2
    styles = embedded(made(STUDIES))["styles"]
    assert styles["system"]["teacher"] == [figure.TEACHER.color, "square"]
    assert len(set(map(tuple, styles["system"].values()))) == len(styles["system"]) > 18
    for key in ("engine", "type", "study"):
        assert len({shape for _, shape in styles[key].values()}) == len(styles[key])


@pytest.mark.long
def test_systems_look_as_in_the_pictures_of_their_study():
    records = measurement.read(STUDIES[1] / "measurements.json")
    drawn = front.Plot(comparison.drawn(records), attrgetter("source_words_per_second"), "").styles
    styles = embedded(made(STUDIES[1:], samples=False))["styles"]["system"]
    assert styles == {name: [*vega(style)] for name, style in drawn.items()}


def test_sentences_are_the_record_s_own_where_its_output_is_there(tmp_path, demo):
    samples = read_json(STUDIES[0] / "samples.json")
    timed = samples["test_set"]
    records = [replace(record, test_set=timed) for record in demo[:2]]
    measurement.write(tmp_path / "measurements.json", [*records, replace(demo[2], test_set="other")])
    write_text(
        tmp_path / records[0].decoding.output,
        "".join(f"line {number + 1}\n" for number in range(records[0].decoding.sentences)),
    )
    write_json(tmp_path / "samples.json", samples)
    data = embedded(made([tmp_path]))
    five = data["samples"]["demo"]["sentences"]
    assert len(five) == front_page.SENTENCES and five[0] == samples["samples"][0]
    assert data["about"][0]["translations"] == [f"line {sample['line']}" for sample in five]
    assert data["about"][1]["translations"] is None and data["about"][2]["translations"] is None


def test_two_files_of_one_study_have_names_of_their_own(tmp_path, demo):
    paths = [tmp_path / name / "measurements.json" for name in ("old", "new")]
    for path in paths:
        measurement.write(path, demo)
    assert [study.name for study in front_page.read(paths, [])] == [f"demo ({path.parent})" for path in paths]


def test_what_cannot_be_drawn_is_an_error(tmp_path, demo):
    path = STUDIES[0] / "measurements.json"
    with pytest.raises(UserError, match="--samples: 1 files for 2 files of measurements"):
        front_page.read([path, path], [STUDIES[0] / "samples.json"])
    measurement.write(tmp_path / "measurements.json", [replaced(record, bleu=None) for record in demo])
    with pytest.raises(UserError, match=r"measurements.json: no measurement has both BLEU and a speed"):
        front_page.read([tmp_path / "measurements.json"], [])


@pytest.mark.long
def test_the_command_line(tmp_path):
    output = tmp_path / "front.html"
    done = run("report.front_page", "--measurements", FIXTURE, "--output", output)
    assert (done.returncode, done.stderr) == (0, "") and "test_2017_flickr" in output.read_text()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = chromium.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def opened(browser, path, text, **size):
    """The browser with a page that is drawn."""
    write_text(path, text)
    browser.open(path, **size)
    browser.wait("document.readyState === 'complete' && document.querySelector('#panels svg .mark-symbol')")
    return browser


@pytest.fixture
def shown(browser, tmp_path, both):
    return opened(browser, tmp_path / "front.html", both)


def choose(browser, **values):
    """Set selects of the page, as a reader does, and wait for the picture."""
    for name, value in values.items():
        browser.run(f"controls.elements[{json.dumps(name)}].value = {json.dumps(value)}")
    browser.run("update()")


def switch(browser, name, value):
    """Press a box of a filter."""
    browser.run(f'document.querySelector(\'input[name="{name}"][value="{value}"]\').click(); update()')


def table(browser):
    """The rows that are shown: number of the measurement and rank on the front, in the order of the table."""
    script = "[...body.rows].filter(row => !row.hidden).map(row => [rows.indexOf(row), row.cells[0].textContent])"
    return [(number, int(rank) if rank else None) for number, rank in browser.run(script)]


def drawn(browser):
    """How many points the pictures have."""
    return browser.run(f"[...{SYMBOLS}].length")


def expected(records, across, up="bleu"):
    """Numbers of the records on the front of each study, of those that are shown: {number: rank}."""
    ranks = {}
    for group in {(record.study, record.test_set) for _, record in records}:
        own = [(number, record) for number, record in records if (record.study, record.test_set) == group]
        sign = 1 if AXES[across].more else -1
        points = [(sign * AXES[across].value(record), AXES[up].value(record)) for _, record in own]
        front = {number: point for (number, _), point, on in zip(own, points, pareto(points), strict=True) if on}
        order = sorted(set(front.values()), reverse=True)
        ranks |= {number: order.index(point) + 1 for number, point in front.items()}
    return ranks


@pytest.fixture(scope="module")
def records():
    found = [record for folder in STUDIES for record in measurement.read(folder / "measurements.json")]
    return list(enumerate(found))


@pytest.mark.long
def test_the_page_opens_from_the_disk_for_eyes_and_screen_readers(shown, records):
    assert shown.failures() == [] and [url.partition(":")[0] for url in shown.requests()] == ["file"]
    assert shown.run("document.querySelectorAll('#panels svg').length") == 2
    assert drawn(shown) == len(records) == len(table(shown))
    label = shown.run("document.querySelector('[role=img]').getAttribute('aria-label')")
    front = comparison.on_front([record for _, record in records if record.study == "demo"])
    assert all(f"{rank + 1}: {captions.title(record)}" in label for rank, record in enumerate(front))
    assert shown.run("document.querySelector('#count').getAttribute('role')") == "status"
    unnamed = "[...document.querySelectorAll('button, input, select')].filter(e => !(e.textContent || e.labels.length))"
    assert shown.run(f"{unnamed}.length") == 0
    bars = "document.querySelectorAll('#panels .mark-rule.role-mark line').length"
    assert shown.run(bars) == len(records)
    shown.run("controls.elements.bars.click(); update()")
    assert shown.run(bars) == 0
    shown.run("document.getElementById('licences').open = true")
    shown.wait("document.querySelector('#licences pre').textContent.includes('Interactive Data Lab')")
    script = """new Promise(done => {
      const made = URL.createObjectURL;
      URL.createObjectURL = blob => { blob.text().then(done); return made(blob); };
      document.querySelector('figure button').click();
    })"""
    saved = shown.run(script)
    assert saved.startswith("<svg") and "source words per second" in saved
    assert shown.failures() == []


@pytest.mark.long
def test_table_and_picture_show_the_front_as_findings_has_it(shown, records):
    generator = random.Random(1)
    cases = [
        [(generator.randint(0, 6), generator.choice([0.5, 1, 2.25, 7, -3])) for _ in range(generator.randint(0, 12))]
        for _ in range(500)
    ]
    assert shown.run(f"{json.dumps(cases)}.map(pareto)") == [pareto(points) for points in cases]
    for across, up in [("speed", "bleu"), ("size", "bleu"), ("core_seconds", "chrf"), ("memory", "chrf")]:
        choose(shown, across=across, up=up)
        front = {number: rank for number, rank in table(shown) if rank}
        assert front == expected(records, across, up)
        assert Counter(shown.run(NUMBERS)) == Counter(front.values())
        assert f"{len(front)} on the front" in shown.run("document.getElementById('count').textContent")


@pytest.mark.long
def test_a_filter_changes_picture_table_and_front(shown, records):
    before = table(shown)
    switch(shown, "role", "teacher")
    switch(shown, "search", "beam 4")
    left = [
        (n, record) for n, record in records if record.system.role != "teacher" and captions.search(record) == "greedy"
    ]
    assert {number for number, _ in table(shown)} == {number for number, _ in left}
    assert drawn(shown) == len(left) < len(before)
    front = {number: rank for number, rank in table(shown) if rank}
    assert front == expected(left, "speed") != {number: rank for number, rank in before if rank}
    choose(shown, least="2")
    assert {number for number, _ in table(shown)} == {n for n, record in left if record.system.parameters >= 2e6}
    choose(shown, least="", most="2")
    assert {number for number, _ in table(shown)} == {n for n, record in left if record.system.parameters <= 2e6}
    choose(shown, most="")
    for name in ("engine", "decoder", "map", "type"):
        word = front_page.FACETS[name]
        value = word(left[0][1])
        switch(shown, name, value)
        left = [(n, record) for n, record in left if word(record) != value]
        assert left and {number for number, _ in table(shown)} == {n for n, _ in left}
    shown.run("document.querySelector('button[type=reset]').click()")
    shown.wait(f"body.querySelectorAll('tr:not([hidden])').length === {len(records)}")
    shown.run("update()")
    assert table(shown) == before
    assert shown.run("document.querySelector('.warning')") is None
    choose(shown, panels="one")
    assert shown.run("document.querySelectorAll('#panels svg').length") == 1 and drawn(shown) == len(records)
    assert "cannot be compared" in shown.run("document.querySelector('.warning').textContent")
    switch(shown, "study", "demo")
    assert shown.run("document.querySelector('.warning')") is None
    for value in ("control", "student", "teacher"):
        switch(shown, "role", value)
    assert table(shown) == [] and drawn(shown) == 0 and shown.failures() == []


@pytest.mark.long
def test_a_click_on_a_point_fixes_it(shown, records):
    switch(shown, "study", "architectures")
    best = max(
        comparison.on_front([record for _, record in records if record.study == "demo"]), key=lambda r: r.scores.bleu
    )
    number = next(number for number, record in records if record is best)
    shown.click(f"[...{SYMBOLS}].find(path => path.__data__.datum.number === {number})")
    shown.wait("document.querySelector('#record h2')")
    text = shown.run("document.getElementById('record').textContent")
    assert text.startswith(captions.title(best)) and captions.decoding_command(best) in text
    assert f"bleu{best.scores.bleu}" in text and best.signature in text
    top = "document.getElementById('record').getBoundingClientRect().top"
    shown.wait(f"0 <= {top} && {top} < innerHeight - 40")  # scrolled to
    sample = read_json(STUDIES[0] / "samples.json")["samples"][0]
    assert sample["source"] in text and sample["outputs"][best.system.name] in text
    assert shown.run("document.querySelectorAll('#record .samples tbody').length") == front_page.SENTENCES
    pressed = "rows.findIndex(row => row.querySelector('th button').getAttribute('aria-pressed') === 'true')"
    assert shown.run(pressed) == number
    assert drawn(shown) == sum(record.study == "demo" for _, record in records) + 1  # and its ring
    switch(shown, "type", best.decoding.compute_type)
    assert shown.run("document.querySelector('#record h2').textContent") == captions.title(best)  # stays


@pytest.mark.long
def test_the_keyboard_sorts_the_table_and_fixes_a_row(shown, records):
    column = shown.run("headers.findIndex(header => header.textContent === 'BLEU')")
    for order, reverse in (("ascending", False), ("descending", True)):
        shown.run(f"headers[{column}].firstChild.focus()")
        shown.key("Enter", "\r")
        assert shown.run(f"headers[{column}].getAttribute('aria-sort')") == order
        scores = [round(records[number][1].scores.bleu, 2) for number, _ in table(shown)]
        assert scores == sorted(scores, reverse=reverse)
    best = table(shown)[0][0]
    shown.run("body.rows[0].querySelector('button').focus()")
    shown.key("Enter", "\r")
    shown.wait("document.querySelector('#record h2') && document.activeElement.id === 'record'")
    assert shown.run("document.querySelector('#record h2').textContent") == captions.title(records[best][1])
    # ranks stay sorted when a filter changes the front
    shown.run("headers[0].firstChild.click()")
    switch(shown, "type", "int8")
    ranks = [rank for _, rank in table(shown)]
    known = [rank for rank in ranks if rank]
    assert known == sorted(known) and len(known) > 1 and ranks[: len(known)] == known


@pytest.mark.long
def test_scores_of_two_test_sets_have_no_scale_in_common(browser, tmp_path):
    """Of one test set they have."""
    own = measurement.read(FIXTURE)
    other = [replaced(record, bleu=record.scores.bleu + 50) for record in own if record.scores.bleu is not None]
    paths = [tmp_path / f"{name}.json" for name in ("own", "other")]
    for path, records in zip(paths, (own, [replace(record, study="other") for record in other]), strict=True):
        write_text(path, json.dumps([record.as_json() for record in records]))
    page = opened(browser, tmp_path / "front.html", front_page.page(front_page.read(paths, [])))
    scales = page.run("views.map(view => view.scale('y').domain())")
    test_sets = page.run("[...document.querySelectorAll('figcaption')].map(e => e.textContent.split(': ')[1])")
    pairs = {(name, str(scale)) for name, scale in zip(test_sets, scales, strict=True)}
    assert len(scales) == 4 and len({*test_sets}) == len(pairs) == len({scale for _, scale in pairs}) == 2


@pytest.mark.long
def test_a_phone_has_one_panel_below_the_other_and_nothing_too_wide(browser, tmp_path, both):
    phone = opened(browser, tmp_path / "front.html", both, width=360, height=740)
    assert phone.run("document.documentElement.scrollWidth") <= 360
    tops = "[...document.querySelectorAll('#panels figure')].map(e => e.getBoundingClientRect().top)"
    first, second = phone.run(tops)
    assert second > first + 250
    assert phone.run("Math.max(...[...document.querySelectorAll('#panels svg')].map(e => e.clientWidth))") <= 360
    assert phone.run("document.getElementById('filters').open") is False


@pytest.mark.long
def test_disturbed_and_unscored_measurements_are_not_drawn(browser, tmp_path, demo):
    unusual = [replace(demo[0], noisy=True), replaced(demo[1], bleu=None, chrf=None)]
    measurement.write(tmp_path / "measurements.json", [*unusual, *demo[2:]])
    page = opened(browser, tmp_path / "front.html", made([tmp_path], samples=False))
    assert 0 not in (shown := dict(table(page))) and shown[1] is None and drawn(page) == len(demo) - 2
    assert "1 without a value on both axes" in page.run("document.getElementById('count').textContent")
    switch(page, "disturbed", "yes")
    assert 0 in dict(table(page)) and drawn(page) == len(demo) - 1


@pytest.mark.long
def test_no_text_of_a_study_is_run(browser, tmp_path, demo):
    nasty = [replaced(record, study=NASTY, system=NASTY, shape=NASTY, cpu=NASTY) for record in demo[:3]]
    measurement.write(tmp_path / "measurements.json", nasty)
    samples = {"test_set": nasty[0].test_set, "samples": [{"line": 1, "source": NASTY, "reference": NASTY}]}
    samples["samples"][0]["outputs"] = {NASTY: NASTY}
    write_json(tmp_path / "samples.json", samples)
    page = opened(browser, tmp_path / "front.html", made([tmp_path]))
    page.run("pick(0)")
    text = page.run("document.getElementById('record').textContent")
    assert text.count(NASTY) >= 7 and page.run("typeof window.broken") == "undefined"
    assert page.run("document.querySelectorAll('img').length") == 0 and page.failures() == []
