"""Tables and pictures of the kept results of benchmarks, from their JSON, for ``make pages``."""

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.errors import command
from common.files import read_json, write_text
from report import figure, markdown

KEPT = Path("results/reference")


def build(module: Any, result: dict[str, Any]) -> str:
    return markdown.document(f"Building the native engine on {result['cpu']}", *module.tables(result))


def ratios(module: Any, rows: list[dict[str, Any]]) -> str:
    return markdown.document(module.TITLE, module.table(rows), module.components(rows))


def loading(module: Any, rows: list[dict[str, Any]]) -> str:
    return markdown.document(module.TITLE, module.table(rows))


TABLES: dict[str, tuple[str, Callable[[Any, Any], str]]] = {  # JSON below KEPT: module, what makes its table
    "engine/agreement": ("agreement_table", lambda module, result: module.table(result)),
    "engine/build": ("engine_build", build),
    "engine/loading": ("engine_loading", loading),
    "engine/ratios": ("engine_plot", ratios),
    "engine/recurrent": ("engine_recurrent_plot", lambda module, rows: module.table(rows)),
    "multi30k-captions/aligners": ("export.agreement", lambda module, result: module.markdown(result)),
}
PICTURES = {  # JSON below KEPT: module whose ``draw`` makes its picture
    "benchmarks/corpora": "cleaning_plot",
    "benchmarks/marian": "marian_plot",
    "benchmarks/stream": "stream",
    "engine/ratios": "engine_plot",
    "engine/recurrent": "engine_recurrent_plot",
    "engine/stream": "stream",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", action="store_true", help="no pictures")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    for name, (module, table) in TABLES.items():
        text = table(importlib.import_module(module), read_json(KEPT / f"{name}.json"))
        write_text(args.output / f"{name}.md", text)
    for name, module in ({} if args.texts else PICTURES).items():
        picture = importlib.import_module(module).draw(read_json(KEPT / f"{name}.json"))
        figure.save(picture, args.output / f"{name}.svg")


if __name__ == "__main__":
    command(main)
