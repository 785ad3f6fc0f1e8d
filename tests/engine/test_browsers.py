"""The page of ``nmt-frontier web`` in real browsers: the bytes of the command, and what a visitor sees."""

import json
from contextlib import closing

import chromium
import firefox
import native
import pytest
from models import sentences

from nmt_frontier import Translator
from nmt_frontier.command import web
from nmt_frontier.files import read_json

pytestmark = pytest.mark.skipif(not (web.PAGE / "engine.wasm").exists(), reason="no engine for browsers: make web")
BROWSERS = [
    pytest.param(browser, marks=pytest.mark.optional(program), id=program)
    for browser, program in ((chromium.Browser, "chromium"), (firefox.Browser, "firefox-esr"))
]
BEAMS = (1, 4)
ALL = """
import { WorkerTranslator } from "./index.js";
const { lines, kinds, beams } = await (await fetch("task.json")).json();
const found = {};
for (const kind of kinds) {
  const translator = await WorkerTranslator.open(`models/${kind}`);
  for (const beamSize of beams) {
    const translated = await translator.translate(lines, { beamSize });
    found[`${kind} ${beamSize}`] = translated.map(({ text }) => text);
  }
  translator.close();
}
document.body.textContent = JSON.stringify(found);
"""
MEMORY = """
import { Translator } from "./translator.js";
const { lines, names, rounds } = await (await fetch("task.json")).json();
const read = async (name) => [name, await (await fetch(`model/${name}`)).arrayBuffer()];
const translator = await Translator.open(new Map(await Promise.all(names.map(read))));
const found = [];
for (let round = 0; round < rounds; round++) {
  translator.translate(lines);
  found.push(translator.memory);
}
document.body.textContent = JSON.stringify(found);
"""


@pytest.fixture(scope="module", params=BROWSERS)
def visitor(request, tmp_path_factory):
    with closing(request.param(tmp_path_factory.mktemp("visitor") / "profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "page"
    web.write(native.folders() / "int8", folder)
    return folder


@pytest.fixture
def site(server, page):
    """The server of a page."""
    server.files = {
        f"/{path.relative_to(page).as_posix()}": path.read_bytes() for path in page.rglob("*") if path.is_file()
    }
    server.files["/"] = server.files.pop("/index.html")
    return server


def text_of(name):
    return f"document.getElementById('{name}').textContent"


def open_page(browser, address, **size):
    wait_on(browser, address, "document.getElementById('options')?.hidden === false", **size)


def wait_on(browser, address, condition, **size):
    """Open an address and wait until something is true there, or an error is shown."""
    browser.open(address, **size)
    here = f"location.href.startsWith({json.dumps(address)})"  # the last page may answer, too
    browser.wait(f"{here} && ({condition} || document.querySelector('.failed'))")


def type_in(browser, text):
    change = f"box.value = {json.dumps(text)}; box.dispatchEvent(new Event('input'))"
    browser.run(f"(box => {{ {change} }})(document.getElementById('source'))")


def translation(browser):
    browser.wait("document.getElementById('translation').getAttribute('aria-busy') === 'false'")
    return browser.run("[...document.querySelectorAll('#translation p')].map(line => line.textContent)")


def expected(lines, kind="int8", beam_size=1):
    return [*Translator(native.folders() / kind, beam_size=beam_size).translate(lines)]


def told(browser, site, script, task):
    """What a script says that gets a task in a page of its own."""
    site.files |= {"/task.json": json.dumps(task).encode(), "/script.js": script.encode()}
    site.files["/script.html"] = b'<!doctype html><script type="module" src="script.js"></script>'
    browser.open(f"{site.url}/script.html")
    browser.wait("/^[[{]/.test(document.body?.textContent)", seconds=280)
    return json.loads(browser.run("document.body.textContent"))


def choose(browser, name, value):
    change = f"menu.value = {json.dumps(value)}; menu.dispatchEvent(new Event('change', {{ bubbles: true }}))"
    browser.run(f"(menu => {{ {change} }})(document.querySelector('select[name={name}]'))")


def test_a_page_translates_as_the_command_does_and_asks_no_one_else(visitor, site, page):
    lines = [*sentences(30), "", "ABC DEF", "123"]
    open_page(visitor, site.url)
    assert visitor.run(text_of("title")) == "English to German"
    type_in(visitor, "\n".join(lines))
    assert translation(visitor) == expected(lines)
    choose(visitor, "beam", "4")
    assert translation(visitor) == expected(lines, beam_size=4)
    files = {path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file()}
    assert sorted(site.requests) == sorted({"/", *(f"/{name}" for name in files)} - {"/index.html"})


def test_what_is_typed_is_translated_and_its_speed_is_shown(visitor, site):
    (line,) = sentences(1)
    open_page(visitor, site.url)
    visitor.run("document.getElementById('source').focus()")
    visitor.write(line)
    visitor.wait(f"document.getElementById('translation').textContent === {json.dumps(expected([line])[0])}")
    visitor.wait("/^[\\d.,]+ ms · [\\d,]+ words a second$/.test(document.getElementById('speed').textContent)")
    visitor.wait("document.getElementById('spoken').textContent === document.getElementById('translation').textContent")


def test_the_policy_lets_nothing_out(visitor, site):
    open_page(visitor, site.url)
    other = site.url.replace("127.0.0.1", "localhost")
    before = len(site.requests)
    assert visitor.run(f"fetch('{other}/').then(() => 'sent', () => 'refused')") == "refused"
    assert len(site.requests) == before


def test_a_single_file_opens_from_the_disk(visitor, tmp_path):
    path = tmp_path / "page.html"
    web.write(native.folders() / "int8", path, single=True)
    open_page(visitor, path.as_uri())
    lines = sentences(5)
    type_in(visitor, "\n".join(lines))
    assert translation(visitor) == expected(lines)
    if isinstance(visitor, chromium.Browser):
        assert {address.partition(":")[0] for address in visitor.requests()} == {"file", "blob"}
        assert visitor.failures() == []


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("model/weights.safetensors", lambda old: old[:-1] + bytes([old[-1] ^ 1]), "damaged, its checksum is another"),
        ("model/vocabulary.json", lambda old: old[:99], "has 99 bytes instead of"),
        ("model/map.safetensors", lambda old: None, "cannot be loaded (the server says 404"),
        ("model/manifest.json", lambda old: b"{", "damaged; copy the page again"),
        (
            "model/manifest.json",
            lambda old: old.replace(b'"format": 1', b'"format": 2'),
            "of format 2; a later nmt-front",
        ),
        ("engine.wasm", lambda old: old[:1000], "damaged, or the browser is too old"),
    ],
)
def test_a_damaged_page_says_so(visitor, site, name, change, said):
    found = change(site.files.pop(f"/{name}"))
    if found is not None:
        site.files[f"/{name}"] = found
    open_page(visitor, site.url)
    shown = visitor.run(text_of("status"))
    assert shown.startswith("The model cannot be opened: ") and said in shown
    assert name.rpartition("/")[2] in shown and visitor.run("document.getElementById('progress').hidden")


@pytest.mark.parametrize("name", ["page/page.js", "index.js", "worker.js", "sentences.js"])
def test_a_page_without_a_part_of_its_program_says_so(visitor, site, name):
    """Not every browser tells a page that a file of its worker is missing. Until its style is there, all is visible."""
    del site.files[f"/{name}"]
    late = "document.querySelector('.late') && getComputedStyle(document.querySelector('.late')).visibility"
    wait_on(visitor, site.url, f"document.readyState === 'complete' && ({late}) === 'visible'")
    assert "missing" in visitor.run("document.getElementById('state').innerText")


def test_a_text_begins_where_its_language_does(visitor, site):
    """Not by `auto`: with that Chromium takes 13 seconds and more to lay out a paragraph of a megabyte."""
    open_page(visitor, site.url)
    type_in(visitor, "ab")
    translation(visitor)
    assert (
        visitor.run("document.getElementById('source').dir + document.querySelector('#translation p').dir") == "ltrltr"
    )


def test_stop_ends_a_long_translation_and_the_next_one_begins(visitor, site):
    lines = sentences(5000)
    open_page(visitor, site.url)
    type_in(visitor, "\n".join(lines))
    visitor.wait("!document.getElementById('stop').hidden && document.querySelector('#translation span')?.textContent")
    visitor.run("document.getElementById('stop').click()")
    visitor.wait("/^stopped after [\\d,]+ of 5,000 sentences$/.test(document.getElementById('speed').textContent)")
    type_in(visitor, lines[0])
    assert translation(visitor) == expected(lines[:1])


@pytest.mark.parametrize("width", [1280, 500, 360])
def test_no_window_is_too_narrow(visitor, site, width):
    open_page(visitor, site.url, width=width)
    type_in(visitor, f"{'a' * 500} b\n{' '.join(sentences(3))}")
    translation(visitor)
    window, whole = (visitor.run(f"document.documentElement.{name}Width") for name in ("client", "scroll"))
    assert whole == window <= max(width, 500)  # Firefox has no narrower windows


def test_languages_of_a_model_of_many_are_chosen(visitor, site, page):
    about = read_json(page / "model" / "manifest.json")
    menu = [{"tag": tag, "mark": f">>{tag}<<"} for tag in ("fr", "de", "he")]
    site.files["/model/manifest.json"] = json.dumps(about | {"languages": {"from": [], "to": menu}}).encode()
    open_page(visitor, site.url)
    names = "[...document.querySelectorAll('select[name=to] option')].map(option => option.text)"
    assert visitor.run(names) == ["French", "German", "Hebrew"]
    assert visitor.run("document.querySelector('select[name=to]').value") == ">>de<<"
    assert visitor.run("document.getElementById('from').hidden")
    lines = sentences(2)
    for code in ("de", "fr"):
        choose(visitor, "to", f">>{code}<<")
        type_in(visitor, "\n".join(lines))
        assert translation(visitor) == expected([f">>{code}<< {line}" for line in lines])
    assert visitor.run(text_of("title")) == "English to French"


def test_all_types_give_the_bytes_of_the_command(visitor, site, tmp_path):
    lines = sentences(200, seed=7)
    for kind in native.KINDS:
        web.write(native.folders() / kind, tmp_path / kind)
        for path in (tmp_path / kind / "model").iterdir():
            site.files[f"/models/{kind}/{path.name}"] = path.read_bytes()
    found = told(visitor, site, ALL, {"lines": lines, "kinds": native.KINDS, "beams": BEAMS})
    assert found == {f"{kind} {beam}": expected(lines, kind, beam) for kind in native.KINDS for beam in BEAMS}


def test_memory_is_flat_over_thousands_of_sentences(visitor, site, page):
    """Two calls of the engine a round. Firefox takes some forty times Chromium's time here, also for plain loops."""
    names = [path.name for path in (page / "model").iterdir() if path.name != "manifest.json"]
    used = told(visitor, site, MEMORY, {"lines": sentences(300, seed=5), "names": names, "rounds": 10})
    assert used[0] >= 2**24 and used == [used[0]] * 10
