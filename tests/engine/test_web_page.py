"""The command ``nmt-frontier web``, whose page other tests open in browsers (test_browsers)."""

import base64
import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path

import native
import page_parts
import pytest
from outline import Outline

from nmt_frontier.command import main, single_page, web
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

ROOT = Path(__file__).parents[2]
MODULE = re.compile(r'from "(\.[^"]+)"|new URL\("(\./[^"]+)"')


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return page_parts.write(tmp_path_factory.mktemp("parts"))


@pytest.fixture(autouse=True)
def _of_checkout(monkeypatch, parts):
    monkeypatch.setattr(web, "PAGE", parts)


@pytest.fixture
def model(tmp_path):
    return shutil.copytree(native.folders() / "int8", tmp_path / "model")


def change(model, **fields):
    write_json(model / "model.json", read_json(model / "model.json") | fields)


def test_a_folder_has_all_that_its_files_name(model, tmp_path, capsys):
    main(["web", str(model), "--output", str(tmp_path / "page"), "--note", "36.1 BLEU"])
    page = tmp_path / "page"
    assert re.fullmatch(rf"wrote {page}, \d+\.\d MB; see it with python -m http.server .*\n", capsys.readouterr().out)
    found = {path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file()}
    names = {path.name for path in model.iterdir()} - {"README.md"}
    assert found == {*web.FILES, "model/manifest.json", *(f"model/{name}" for name in names)}
    for path in page.rglob("*.js"):
        for one in MODULE.findall(path.read_text()):
            assert (path.parent / "".join(one)).resolve().is_file(), (path, one)
    addresses = [address for address in Outline((page / "index.html").read_text()).loaded if address != "data:,"]
    assert sorted(addresses) == ["page/page.js", "page/style.css"]


def test_the_manifest_says_what_the_model_is_and_has_a_checksum_of_each_file(model, tmp_path):
    web.write(model, tmp_path / "page", note="36.1 BLEU")
    about = read_json(tmp_path / "page" / "model" / "manifest.json")
    assert (about["source"], about["target"], about["languages"]) == ("en", "de", {"from": [], "to": []})
    known = "Model: tiny, student of the study test · 1:1 d16 ff32 h2 · 1,234 parameters in int8 · "
    assert re.fullmatch(rf"{known}\d+\.\d MB · 36\.1 BLEU", about["description"])
    for file in about["files"]:
        content = (tmp_path / "page" / "model" / file["name"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["size"], file["sha256"])


@pytest.mark.parametrize(("pieces", "both"), [(">>{}<<", False), ("__{}__", True)])
def test_languages_of_a_model_of_many_are_menus(model, tmp_path, pieces, both):
    change(model, languages={code: pieces.format(code) for code in ("de", "pt_BR")}, made_by={"imported": "OPUS-MT x"})
    web.write(model, tmp_path / "page")
    about = read_json(tmp_path / "page" / "model" / "manifest.json")
    menu = [{"tag": "de", "mark": ">>de<<"}, {"tag": "pt-br", "mark": ">>pt_BR<<"}]
    assert about["languages"] == {"from": menu if both else [], "to": menu}
    assert about["description"].startswith("Model: imported from OPUS-MT x · ")


def unpacked(text):
    """The files inside of a page."""
    found = re.findall(r'<script type="text/plain" data-file="([^"]+)">([^<]*)</script>', text)
    return {name: gzip.decompress(base64.b64decode(packed)) for name, packed in found}


def test_a_single_file_has_everything_inside(model, tmp_path, capsys):
    main(["web", str(model), "--output", str(tmp_path / "page.html"), "--single"])
    assert "open it in a browser" in capsys.readouterr().out
    text = (tmp_path / "page.html").read_text()
    assert {address for address in Outline(text).loaded if address} <= {"data:,"}
    files = unpacked(text)
    about = json.loads(files.pop("manifest.json"))
    for file in about["files"]:
        assert hashlib.sha256(files.pop(file["name"])).hexdigest() == file["sha256"]
    assert files.pop("engine.wasm").decode() == page_parts.ENGINE["engine.wasm"]
    program = files.pop("worker.js").decode()
    assert not files
    assert all(f"class {name}" in program for name in ("Translator", "Arguments")) and "function paragraphs" in program
    again = tmp_path / "again.html"
    web.write(model, again, single=True)
    assert again.read_text() == text


def test_a_single_file_permits_its_own_script_and_style_alone(model, tmp_path):
    web.write(model, tmp_path / "page.html", single=True)
    text = (tmp_path / "page.html").read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    (program,), (style,) = (re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("script", "style"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for rule, content in (("script-src", program), ("style-src", style)):
        checksum = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule].split()[0] == f"'sha256-{checksum}'"
    assert rules["default-src"] == "'none'" and "connect-src" not in rules
    assert "connect-src 'self'" in (web.PAGE / "index.html").read_text()


def test_modules_become_a_script_with_each_module_once(tmp_path):
    write = {
        "main.js": 'import * as a from "./a.js";\n',
        "a.js": 'import { two } from "./b.js";\nexport const one = 1;\nexport default two;\n',
        "b.js": "export async function two() {}\nexport class Three {}\nconst own = 'export const no = 1';\n",
        "c.js": 'import { one } from "./a.js";\nimport half, { one, two } from "./a.js";\nuse(import.meta.url);\n',
    }
    for name, text in write.items():
        (tmp_path / name).write_text(text)
    text = single_page.script(tmp_path / "c.js")
    assert [text.count(part) for part in ("const $a = ", "const $b = ", "async function two")] == [1, 1, 1]
    assert text.index("const $b") < text.index("const $a") < text.index("const $c")
    assert "return { one, default: $default };" in text and "return { two, Three };" in text
    assert (
        "const { one } = $a;" in text
        and "const { default: half, one, two } = $a;" in text
        and "import" not in text.replace("'export", "")
    )
    with pytest.raises(UserError, match=r"main\.js: has an import or export that a single page cannot have"):
        single_page.script(tmp_path / "main.js")


def test_a_page_replaces_a_page_and_nothing_else(model, tmp_path):
    web.write(model, tmp_path / "page")
    (tmp_path / "page" / "old").touch()
    web.write(model, tmp_path / "page")
    assert not (tmp_path / "page" / "old").exists()
    (tmp_path / "mine").mkdir()
    web.write(model, tmp_path / "mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text("mine")
    with pytest.raises(
        UserError, match="other: holds something else than a page; name a new folder, or empty this one"
    ):
        web.write(model, tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["index.html"]
    with pytest.raises(UserError, match=r"index\.html: is a file; name a folder, or write one file with --single"):
        web.write(model, tmp_path / "other" / "index.html")
    with pytest.raises(UserError, match="page: is a folder; name a file"):
        web.write(model, tmp_path / "page", single=True)


def test_nothing_is_left_of_a_page_that_cannot_be_finished(model, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(web, "write_json", full)
    with pytest.raises(OSError, match="No space left"):
        web.write(model, tmp_path / "out" / "page")
    assert not any((tmp_path / "out").iterdir())


def test_a_model_that_a_page_cannot_have(model, tmp_path, monkeypatch):
    def refused(problem):
        with pytest.raises(UserError, match=problem):
            web.write(model, tmp_path / "page")
        assert not (tmp_path / "page").exists()

    weights = model / "weights.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused("weights.safetensors: damaged, or not the one this model was exported with; copy or export it again")
    weights.write_bytes(content)
    (model / "map.safetensors").unlink()
    refused("map.safetensors: is missing; export the model again")
    (model / "sentencepiece.model").unlink()
    refused("model: has no sentencepiece.model; a page takes models with SentencePiece alone")
    with pytest.raises(SystemExit, match="error: --note: is not UTF-8"):
        main(["web", str(model), "--output", str(tmp_path / "page"), "--note", "\udcff"])
    change(model, engine="ctranslate2")
    refused("model: is for ctranslate2; a page takes a folder of the native engine")
    (model / "model.json").write_text("[]")
    refused(r"model\.json: not a JSON object; export the model again")
    (model / "model.json").unlink()
    refused("model: not a model folder, it has no model.json")


def test_without_the_engine_for_browsers(model, tmp_path, monkeypatch):
    monkeypatch.setattr(web, "PAGE", tmp_path / "none")
    with pytest.raises(UserError, match="is missing, and with it the engine for browsers; make web, then make install"):
        web.write(model, tmp_path / "page")
