"""The files of the page of ``nmt-frontier web``, with an engine that has no code, as only Emscripten makes that."""

import shutil
from pathlib import Path

ENGINE = {"engine.js": "const engine = () => import.meta.url;\nexport default engine;\n", "engine.wasm": "\0asm"}


def write(folder: Path) -> Path:
    shutil.copytree(Path(__file__).parents[1] / "web", folder, dirs_exist_ok=True)
    for name, text in ENGINE.items():
        (folder / name).write_text(text)
    return folder
