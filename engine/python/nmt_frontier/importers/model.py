"""Make model folders of a model that was trained elsewhere: find its reader, say what it is, and write it."""

import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2, huggingface, marian
from nmt_frontier.importers.found import Found, ImportOptions, check_tokenizer
from nmt_frontier.importers.marian_binary import content
from nmt_frontier.making import make
from nmt_frontier.model.model_folder import Description, Making
from nmt_frontier.search.native import Native
from nmt_frontier.text import tokenizers

GROUP = "nmt_frontier.importers"  # entry points: further modules with `recognised` and `read`


@cache
def toolkits() -> list[Any]:
    """The readers, in the order in which they are asked."""
    return [ctranslate2, huggingface, *(point.load() for point in entry_points(group=GROUP)), marian]


def find(source: Path, options: ImportOptions) -> Found:
    """The model in a file or folder. Raises UserError for what no reader knows, and as the reader."""
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    first_bytes.check_files([source])
    for toolkit in toolkits():
        if toolkit.recognised(source):
            found: Found = toolkit.read(source, options)
            check_tokenizer(source, found)
            return found
    if (source / "model_description.py").is_file():
        raise UserError(f"{source}: is a run of OpenNMT-tf; install nmt-frontier-pipeline, which reads it")
    if source.is_dir():
        first_bytes.check_files(path for path in sorted(source.iterdir()) if not path.match("*.htm*"))
    raise UserError(f"{source}: no model that this can read; docs/models.md lists the files of each toolkit")


def described(source: Path, found: Found) -> str:
    """What the model is, in a few lines."""
    vocabulary, languages = found.model.vocabulary, [language or "unknown" for language in found.languages]
    sizes = [len(vocabulary.source), len(vocabulary.target)]
    shared = vocabulary.source == vocabulary.target
    pieces = f"{sizes[0]:,}, shared" if shared else f"{sizes[0]:,} source, {sizes[1]:,} target"
    rows = {
        "architecture": found.shape,
        "languages": " to ".join(languages),
        "pieces": pieces,
        "parameters": f"{found.parameters:,}{', integers' if found.model.integers else ''}",
        "tokenizer": ", ".join(path.name for path in found.tokenizer.values()) or "none: lines are pieces",
        **(
            {"search": f"{found.search}, as the model's own; `nmt-frontier translate` is greedy without"}
            if found.search
            else {}
        ),
    }
    return "\n".join([f"{source}: {found.toolkit}", *(f"  {name:<13}{value}" for name, value in rows.items()),
                      *(f"  {note}" for note in found.notes)])  # fmt: skip


def write(found: Found, kinds: Sequence[str], system: str, output: Path) -> list[Path]:
    """Write a model folder of each type. Returns them. Raises UserError for files that do not belong together."""
    folders, vocabulary = [], found.model.vocabulary
    with tempfile.TemporaryDirectory() as scratch:
        candidates = None
        if found.vocabulary_map:
            found.vocabulary_map(candidates := Path(scratch) / "map.txt")
        tokenizer = {name: Path(scratch) / name for name in found.tokenizer}
        for name, path in found.tokenizer.items():
            tokenizer[name].write_bytes(content(path))
        for kind in kinds:
            found.model.write(kind, files := Path(scratch) / Native.folder(kind))
            description = Description(
                format=1,
                engine=Native.name,
                study="imported",
                system=system,
                role="imported",
                source=found.languages[0],
                target=found.languages[1],
                max_decoding_length=found.longest,
                languages=vocabulary.languages or tokenizers.languages(vocabulary.source) or None,
                shape=found.shape,
                parameters=found.parameters,
                quantization=kind,
                vocabulary_map=candidates is not None,
                tokenizer=None if found.tokenizer else tokenizers.PLAIN,
                made_by=Making(imported=found.toolkit, search=found.search or None),
            )
            make(description, files, tokenizer, candidates, output / files.name)
            folders.append(output / files.name)
    return folders


def export(source: Path, output: Path, kinds: Sequence[str], options: ImportOptions) -> None:
    """Write the model folders, and print what was found and written. Raises UserError as ``find`` and ``write``."""
    found = find(source, options)
    found.languages = options.languages or found.languages
    found.model.vocabulary.reframe(source, options.frame)
    print(described(source, found))
    for folder in write(found, kinds, output.resolve().name, output):
        print(f"wrote {folder}")
    if "int8" in kinds and found.model.integers:
        changed, total = found.model.coarser()
        print(f"int8 keeps the integers of {total - changed:,} of {total:,} channels; the others got coarser steps")
