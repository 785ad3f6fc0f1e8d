"""The npm package: packed, and used in Node and through a bundler."""

import json
import re
import shutil
import subprocess
import tarfile
from contextlib import closing
from pathlib import Path

import chromium
import native
import optional
import pytest
from models import sentences

from nmt_frontier import Translator
from nmt_frontier.command import web

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(not (web.PAGE / "engine.wasm").exists(), reason="no engine for browsers: make web"),
    pytest.mark.optional("npm"),
]
NODE = """
import { readFileSync, readdirSync } from "node:fs";
import { Translator } from "nmt-frontier/translator";
import { countWords, paragraphs } from "nmt-frontier/sentences";

const [folder, task] = process.argv.slice(2);
const files = Object.fromEntries(readdirSync(folder).map(name => [name, readFileSync(`${folder}/${name}`)]));
const translator = await Translator.open(files);
const { lines, texts } = JSON.parse(readFileSync(task));
const translations = [1, 4].map(beamSize => translator.translate(lines, { beamSize }).map(({ text }) => text));
const split = texts.map(([language, text]) => paragraphs(text, language).map(list => list.map(({ text }) => text)));
let refused;
try { translator.translate(["a"], { beam: 2 }); } catch (error) { refused = error.message; }
console.log(JSON.stringify({ translations, split, refused, words: countWords("A man's dog, 3 cats.", "en") }));
"""
SPLIT = [
    ("en", "Dr. Smith went to Mr. Jones. He said: “No.” Then left.", 3),
    ("en", "It costs 3.5 dollars, e.g. Monday. See Fig. 2 and No. 5. So do I. He left.", 4),
    ("en", "It was in 2010. He left.", 2),
    ("de", "Das ist z. B. gut. Am 3. Mai kam Dr. Müller. Er blieb.", 3),
    ("ja", "これはペンです。あれは本です。", 2),
    ("no tag", "One. Two!  Three?", 3),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder in which the package is installed, as it was packed."""
    folder = tmp_path_factory.mktemp("npm")
    shutil.copytree(web.PAGE, folder / "source" / "web")
    shutil.copy(ROOT / "LICENSE", folder / "source")
    subprocess.run(["npm", "pack", "--pack-destination", folder], cwd=folder / "source" / "web", check=True)
    (packed,) = folder.glob("*.tgz")
    (folder / "package.json").write_text('{"type": "module"}')
    subprocess.run(["npm", "install", "--offline", "--no-audit", "--no-fund", packed], cwd=folder, check=True)
    return folder


def test_it_has_what_is_used_and_no_more(project):
    (packed,) = project.glob("*.tgz")
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    kept = {*web.MODULES, "engine.wasm", "index.d.ts", "sentences.d.ts", "translator.d.ts"}
    assert names == kept | {"package.json", "README.md", "LICENSE"}


def test_node_gives_the_bytes_of_the_command(project):
    folder, lines = native.folders() / "int8", sentences(20)
    (project / "main.js").write_text(NODE)
    (project / "task.json").write_text(json.dumps({"lines": lines, "texts": [case[:2] for case in SPLIT]}))
    done = subprocess.run(
        ["node", "main.js", folder, "task.json"], cwd=project, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    expected = [[*Translator(folder, beam_size=beam).translate(lines)] for beam in (1, 4)]
    assert found["translations"] == expected
    assert "there is no option 'beam'" in found["refused"] and found["words"] == 5
    for (_, text, count), paragraphs in zip(SPLIT, found["split"], strict=True):
        assert [len(paragraph) for paragraph in paragraphs] == [count], paragraphs
        assert "".join(paragraphs[0]).replace(" ", "") == text.replace(" ", "")


@pytest.mark.optional("chromium", "esbuild")
def test_the_example_works_when_it_is_bundled(project, server, tmp_path):
    readme = (project / "node_modules" / "nmt-frontier" / "README.md").read_text()
    (project / "app.js").write_text(re.findall("```js\n(.*?)```", readme, re.DOTALL)[0])
    bundle, copy = re.findall(r"^      (esbuild .*|cp .*)$", readme, re.MULTILINE)
    subprocess.run(bundle.replace("esbuild", optional.program("esbuild"), 1).split(), cwd=project, check=True)
    subprocess.run(copy.split(), cwd=project, check=True)
    web.write(native.folders() / "int8", tmp_path / "page")
    files = [(f"/{path.name}", path) for path in (project / "dist").iterdir()]
    files += [(f"/model/{path.name}", path) for path in (tmp_path / "page" / "model").iterdir()]
    server.files = {address: path.read_bytes() for address, path in files}
    head = "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><script type=module src=app.js></script>"
    server.files["/"] = f"{head}<textarea disabled></textarea><output></output>".encode()
    line = sentences(1)[0]
    with closing(chromium.Browser(tmp_path / "profile")) as browser:
        browser.open(server.url)
        browser.wait("document.querySelector('textarea')?.disabled === false")
        assert browser.run("document.querySelector('output').textContent") == "100 %"
        write = f"box.value = {json.dumps(line)}; box.dispatchEvent(new Event('input'))"
        browser.run(f"(box => {{ {write} }})(document.querySelector('textarea'))")
        (expected,) = Translator(native.folders() / "int8").translate([line])
        browser.wait(f"document.querySelector('output').textContent === {json.dumps(expected)}")
        assert browser.failures() == []
