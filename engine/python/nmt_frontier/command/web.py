"""Write a page that translates in the browser: the engine as WebAssembly, and a model folder of the native engine.

The output is a folder for any web server; with --single it is one HTML file, which opens from the disk. Neither asks
anything of another machine.
"""

import argparse
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from nmt_frontier.command import single_page
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path, sha256, write_json, write_text
from nmt_frontier.languages import tag
from nmt_frontier.model import model_folder, native_files, native_vocabulary
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search.native import Native
from nmt_frontier.text import tokenizers

PAGE = Path(__file__).parents[1] / "web"
MODULES = ("index.js", "worker.js", "translator.js", "files.js", "sentences.js", "engine.js")
FILES = ("index.html", "page/page.js", "page/style.css", *MODULES, "engine.wasm")
FORMAT = 1  # of the manifest; files.js refuses later ones


def missing() -> Path | None:
    """The first file of pages that is not installed."""
    return next((PAGE / name for name in FILES if not (PAGE / name).exists()), None)


def model_files(folder: Path, description: Description) -> list[str]:
    """What the engine reads of a model folder. Raises UserError for a model that a page cannot have."""
    if description.engine != Native.name:
        raise UserError(f"{folder}: is for {description.engine}; a page takes a folder of the native engine")
    pairs = (tokenizers.SIDES, (tokenizers.SHARED,))
    if not (tokenizer := next((pair for pair in pairs if all((folder / name).exists() for name in pair)), None)):
        raise UserError(f"{folder}: has no {tokenizers.SHARED}; a page takes models with SentencePiece alone")
    candidates = [native_files.MAP] * description.vocabulary_map
    files = [model_folder.DESCRIPTION, native_files.WEIGHTS, native_vocabulary.NAME, *candidates, *tokenizer]
    if absent := [name for name in files if not (folder / name).is_file()]:
        raise UserError(f"{folder / absent[0]}: is missing; export the model again")
    return files


def described(description: Description, size: int, note: str | None) -> str:
    """What the model is, in a line."""
    made = description.made_by and description.made_by.imported
    name = f"imported from {made}" if made else f"{description.system or 'a model'}, {description.role or 'model'}"
    origin = f"{name} of the study {description.study}" if description.study and not made else name
    parameters = f"{description.parameters:,} parameters in " if description.parameters else ""
    parts = (origin, description.shape, f"{parameters}{description.quantization}", f"{size / 1e6:.1f} MB", note)
    return f"Model: {' · '.join(filter(None, parts))}"


def languages(description: Description) -> dict[str, list[dict[str, str]]]:
    """The languages that a text may have (from) and be translated to, of a model of many: tags of BCP 47 and marks."""
    found = (description.languages or {}).items()
    menu = [{"tag": tag(code.strip("<>2")), "mark": tokenizers.mark(code)} for code, _ in found]
    named = any(tokenizers.mark(code) != piece for code, piece in found)  # pieces beside the text: of both sides
    return {"from": menu if named else [], "to": menu}


def manifest(folder: Path, files: Sequence[str], description: Description, note: str | None) -> dict[str, Any]:
    """What a page knows of its model: what it is, and its files with sizes and checksums."""
    sides = {side: tag(code) if (code := getattr(description, side)) else None for side in ("source", "target")}
    sizes = {name: (folder / name).stat().st_size for name in files}
    return {
        "format": FORMAT,
        "made_by": f"nmt-frontier {metadata.version('nmt-frontier')}",
        "description": described(description, sum(sizes.values()), note),
        **sides,
        "languages": languages(description),
        "files": [{"name": name, "size": size, "sha256": sha256(folder / name)} for name, size in sizes.items()],
    }


def write(model: Path, output: Path, note: str | None = None, single: bool = False) -> None:
    """Write the page of a model folder, whole or not at all; an older page there is replaced.

    note: what else to say of the model, such as its BLEU. Raises UserError for a folder that is no page, for a damaged
    model, and where this package was built without the engine for browsers.
    """
    description = model_folder.describe(model)
    files = model_files(model, description)
    model_folder.check(model, description)
    if absent := missing():
        raise UserError(f"{absent}: is missing, and with it the engine for browsers; make web, then make install")
    about = manifest(model, files, description, note)
    if single:
        write_text(output, single_page.html(PAGE, model, about))
        return
    _refuse_others(output)
    with atomic_path(output) as part:
        for origin, target, names in ((PAGE, part, FILES), (model, part / "model", files)):
            for name in names:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(origin / name, target / name)
        write_json(part / "model" / single_page.MANIFEST, about)


def _refuse_others(output: Path) -> None:
    """Raises UserError for a file, and for a folder with anything but a page."""
    if output.is_file():
        raise UserError(f"{output}: is a file; name a folder, or write one file with --single")
    if output.exists() and any(output.iterdir()) and not (output / "model" / single_page.MANIFEST).exists():
        raise UserError(f"{output}: holds something else than a page; name a new folder, or empty this one")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="nmt-frontier web", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=there, metavar="MODEL", help="model folder, best in int8 or int4")
    parser.add_argument("--output", type=Path, required=True, help="folder to write; with --single an HTML file")
    parser.add_argument("--single", action="store_true", help="write one file that opens from the disk")
    parser.add_argument("--note", metavar="TEXT", help="what the page says of the model, too, such as its BLEU")
    args = parser.parse_args(arguments)
    if args.note and any("\ud800" <= letter <= "\udfff" for letter in args.note):  # Python's for other bytes
        raise UserError("--note: is not UTF-8")

    write(args.model, args.output, args.note, args.single)
    parts = [args.output] if args.single else [path for path in args.output.rglob("*") if path.is_file()]
    use = "open it in a browser" if args.single else f"see it with python -m http.server --directory {args.output}"
    print(f"wrote {args.output}, {sum(path.stat().st_size for path in parts) / 1e6:.1f} MB; {use}")
