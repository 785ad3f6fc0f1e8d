"""Make a self-contained, movable model folder: weights, tokenizer, vocabulary map, model.json, README."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import asdict, replace

from nmt_frontier.files import atomic_path, write_json, write_text
from nmt_frontier.model import model_folder
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search import loading
from nmt_frontier.text import tokenizers

README = """# {source}-{target} translation model "{system}" ({quantization})

{role_sentence} Shape {shape}, {parameters:,} parameters, weights in {quantization}, for the engine {engine}.
{origin}

    echo "A sentence." | nmt-frontier translate --model .{search}

| file | what |
|---|---|
| `model.json` | what this folder is, for programs |
{rows}"""
ROLES = {
    "teacher": "The teacher: trained on the original data.",
    "student": "A student: trained on the teacher's translations (sequence-level distillation).",
    "control": "A control: the same shape as a student, trained on the original data.",
    "untrained": "Untrained: its weights are random and its translations mean nothing. It is there to be timed.",
    "imported": "Imported: trained elsewhere.",
}


def make(
    description: Description,
    weights: Path,
    tokenizer: Path | Mapping[str, Path],
    candidates: Path | None,
    output: Path,
) -> None:
    """Copy everything into a new folder ``output``; a folder there is replaced only by a complete one.

    tokenizer: the SentencePiece model of both sides, or files by their names in nmt_frontier.text.tokenizers.
    candidates: the vocabulary map in the format that the engine reads, or None. Raises UserError for a folder without
    weights, and for a map that does not belong to the model.
    """
    engine = loading.of_description(description)
    with atomic_path(output) as part:
        engine.copy_weights(weights, part)
        for name, path in (tokenizer if isinstance(tokenizer, Mapping) else {tokenizers.SHARED: tokenizer}).items():
            shutil.copyfile(path, part / name)
        if candidates:
            engine.write_map(candidates, part)
        description = replace(description, sha256=model_folder.checksums(part))
        write_json(part / model_folder.DESCRIPTION, description)
        files = {**tokenizers.FILES, **engine.files}
        rows = "".join(f"| `{name}` | {what} |\n" for name, what in files.items() if (part / name).exists())
        values = {**asdict(description), "role_sentence": ROLES[str(description.role)], "rows": rows}
        values |= {side: values[side] or "unknown" for side in ("source", "target")}
        values["origin"] = f"Made by the study `{description.study}` of nmt-frontier."
        own_search = description.made_by and description.made_by.search
        values["search"] = f" {own_search}" if own_search else ""
        if description.made_by and (found := description.made_by.imported):
            values["origin"] = f"Imported from {found} by `nmt-frontier import` of nmt-frontier."
        write_text(part / model_folder.README, README.format(**values))
