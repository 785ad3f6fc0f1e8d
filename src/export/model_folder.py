"""A self-contained, movable model folder: weights, SentencePiece model, vocabulary map, model.json, README."""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from formats.errors import UserError, command
from formats.files import read_json, sha256, whole, write_json, write_text
from formats.loading import intact, pieces, translator
from formats.vocabulary_map import check

README = """# {source}-{target} translation model "{system}" ({quantization})

{role_sentence} Shape {shape}, {parameters:,} parameters, weights in {quantization}, for the engine {engine}.
Made by the study `{study}` of nmt-frontier.

    echo "A sentence." | python -m decode.translate --model .

| file | what |
|---|---|
| `model.json` | what this folder is, for programs |
| `sentencepiece.model` | splits both languages into the pieces of the joint vocabulary |
{rows}"""
ROLES = {
    "teacher": "The teacher: trained on the original data.",
    "student": "A student: trained on the teacher's translations (sequence-level distillation).",
    "control": "A control: the same shape as a student, trained on the original data.",
    "untrained": "Untrained: its weights are random and what it says means nothing. It is there to be timed.",
}
ROWS = {
    "model.bin": "weights, as the engine reads them",
    "vmap.txt": "vocabulary map: the target pieces that a source n-gram may bring",
    "vocab.yml": "the pieces that Marian knows",
    "shortlist.bin": "lexical shortlist: the target pieces that a source piece may bring",
    "model_description.py": "the shape, as OpenNMT-tf reads it; `checkpoint` and `ckpt-*` are its weights",
}


def make(description: dict, weights: Path, sentencepiece: Path, vocabulary_map: Path | None, output: Path) -> None:
    """Copy everything into a new folder ``output``; a folder there is replaced only by a complete one.

    Raises UserError for weights that are none, and for a map with a piece that the model's vocabulary lacks.
    """
    if not (weights / "model.bin").exists() and not (weights / "checkpoint").exists():
        raise UserError(f"{weights}: neither CTranslate2 weights (model.bin) nor an OpenNMT-tf checkpoint in it")
    if vocabulary_map:
        check(vocabulary_map, _vocabulary(weights))
    with whole(output) as part:
        shutil.copytree(weights, part, ignore=shutil.ignore_patterns(".*"))  # Snakemake leaves a file there
        shutil.copy(sentencepiece, part / "sentencepiece.model")
        if vocabulary_map:
            shutil.copy(vocabulary_map, part / "vmap.txt")
        files = sorted(path for path in part.rglob("*") if path.is_file())
        description = {**description, "sha256": {path.relative_to(part).as_posix(): sha256(path) for path in files}}
        write_json(part / "model.json", description)
        rows = "".join(f"| `{name}` | {what} |\n" for name, what in ROWS.items() if (part / name).exists())
        values = {**description, "role_sentence": ROLES[description["role"]], "rows": rows}
        write_text(part / "README.md", README.format(**values))


def checked(folder: Path) -> dict[str, Any]:
    """The description of a model folder that can be handed on. Raises UserError for one that is damaged."""
    description = read_json(folder / "model.json")
    if description["engine"] != "ctranslate2":
        raise UserError(f"{folder}: is for {description['engine']}; what is handed on is a CTranslate2 model")
    intact(folder, description)
    translator(folder)
    pieces(folder / "sentencepiece.model")
    if description["vocabulary_map"]:
        check(folder / "vmap.txt", _vocabulary(folder))
    return description


def _vocabulary(folder: Path) -> list[str]:
    return [piece for path in sorted(folder.glob("*vocabulary.json")) for piece in read_json(path)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True, help="folder of export.convert or distill.train")
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--map", type=Path, help="vocabulary map; CTranslate2 only")
    parser.add_argument("--learning", type=Path, required=True, help="JSON of distill.train: shape and parameters")
    parser.add_argument("--quantization", required=True, help="type of the weights")
    parser.add_argument("--engine", required=True, choices=["ctranslate2", "opennmt-tf"])
    parser.add_argument("--description", type=json.loads, required=True, help="JSON: study, system, role, languages")
    parser.add_argument("--output", type=Path, required=True, help="model folder to write")
    args = parser.parse_args()

    learning = read_json(args.learning)
    description = {
        "format": 1,
        "engine": args.engine,
        **args.description,
        "shape": learning["shape"],
        "parameters": learning["parameters"],
        "quantization": args.quantization,
        "vocabulary_map": args.map is not None,
        "made_by": {"steps": learning["steps"]},
    }
    make(description, args.weights, args.sentencepiece, args.map, args.output)


if __name__ == "__main__":
    command(main)
