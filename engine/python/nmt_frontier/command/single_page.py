"""The page of ``nmt-frontier web`` as one HTML file.

A browser loads no module and no file for a page from the disk. So the modules become one script, the worker another
one, and all files lie in the page: compressed by gzip, in base64.
"""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

from nmt_frontier.errors import UserError

MANIFEST = "manifest.json"
IMPORT = re.compile(r'^import (?:(\w+)(?:, )?)?(?:\{ ([\w, ]+) \})? from "(\.[^"]+)";$', re.MULTILINE)
DEFAULT = re.compile(r"^export default ", re.MULTILINE)
OTHER = re.compile(r"^(import|export) [^(]", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src '{style}';"
    " img-src data:; base-uri 'none'; form-action 'none'"
)


def script(module: Path) -> str:
    """A module and all that it imports as one script, each in a function of its own that gives its exports."""
    functions: dict[Path, str] = {}

    def add(path: Path) -> str:
        if path not in functions:
            text = path.read_text(encoding="utf-8")
            text = IMPORT.sub(lambda one: _taken(one[1], one[2], add((path.parent / one[3]).resolve())), text)
            names = [*EXPORT.findall(text), *["default: $default"] * bool(DEFAULT.search(text))]
            text = EXPORT.sub("", DEFAULT.sub("const $default = ", text))
            if OTHER.search(text):
                raise UserError(f"{path}: has an import or export that a single page cannot have")
            functions[path] = f"(() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();\n"
        return f"${path.stem}"

    add(module.resolve())
    body = "".join(f"const ${path.stem} = {text}" for path, text in functions.items())
    return '"use strict";\n' + body.replace("import.meta.url", '"file:///"')  # which only modules have


def _taken(default: str | None, names: str | None, module: str) -> str:
    """An import as a statement of scripts."""
    return f"const {{ {', '.join(filter(None, (default and f'default: {default}', names)))} }} = {module};"


def html(page: Path, model: Path, about: Mapping[str, Any]) -> str:
    """page: the folder of the page's files. about: the manifest of a model folder."""
    inside = {"worker.js": script(page / "worker.js").encode(), "engine.wasm": (page / "engine.wasm").read_bytes()}
    inside |= {MANIFEST: json.dumps(about).encode()}
    inside |= {file["name"]: (model / file["name"]).read_bytes() for file in about["files"]}
    program = script(page / "page" / "page.js").replace("</script", r"<\/script")
    style = (page / "page" / "style.css").read_text(encoding="utf-8")
    policy = POLICY.format(script=_checksum(program), style=_checksum(style))
    files = "".join(starmap(_inline, inside.items()))
    changes = {
        r'(?<=Content-Security-Policy" content=")[^"]*': policy,
        r'<link rel="stylesheet"[^>]*>': f"<style>{style}</style>",
        r'<script type="module"[^>]*></script>': f"{files}<script>{program}</script>",
    }
    text = (page / "index.html").read_text(encoding="utf-8")
    for old, new in changes.items():
        text = re.sub(old, lambda _, new=new: new, text)  # type: ignore[misc]
    return text


def _inline(name: str, content: bytes) -> str:
    packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
    return f'<script type="text/plain" data-file="{name}">{packed}</script>\n'


def _checksum(text: str) -> str:
    """As a policy names what it permits."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
