"""Make a self-contained, movable model folder: weights, SentencePiece model, vocabulary map, model.json, README."""

import argparse
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert
from msgspec.structs import asdict, replace

from common.command_line import json_value, there
from common.errors import UserError, command
from common.files import atomic_path, read_json, typed, write_json, write_text
from decode import engines
from decode.engines import Search
from decode.engines.ctranslate2 import CTranslate2
from formats import model_folder, tokenizers, vocabulary_map
from formats.learning import Weights
from formats.model_folder import Description, Making

README = """# {source}-{target} translation model "{system}" ({quantization})

{role_sentence} Shape {shape}, {parameters:,} parameters, weights in {quantization}, for the engine {engine}.
{origin}

    echo "A sentence." | python -m decode.translate --model .{search}

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

    tokenizer: the SentencePiece model of both sides, or files by their names in formats.tokenizers.
    candidates: the vocabulary map in the format that the engine reads, or None. Raises UserError for a folder without
    weights, and for a map that does not belong to the model.
    """
    engine = engines.ENGINES[description.engine]
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
            values["origin"] = f"Imported from {found} by `python -m export.model` of nmt-frontier."
        write_text(part / model_folder.README, README.format(**values))


class Origin(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of ``model.json`` that a system has in its study."""

    study: str
    system: str
    role: str
    student: str | UnsetType | None = UNSET
    mixture: str | UnsetType | None = UNSET
    seed: int | UnsetType | None = UNSET
    source: str
    target: str
    max_decoding_length: int | None = None
    alignment: model_folder.Alignment | None = None


def described(text: str) -> Origin:
    """The option ``--description``, JSON. Raises argparse's error for a missing, wrong or unknown field."""
    fields = json_value(text)
    if missing := [name for name in ("study", "system", "role", "source", "target") if name not in fields]:
        raise argparse.ArgumentTypeError(f"lacks {', '.join(missing)}")
    if fields["role"] not in ROLES:
        raise argparse.ArgumentTypeError(f"the role {fields['role']!r} is none of {', '.join(ROLES)}")
    try:
        return convert(fields, Origin)
    except ValidationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def checked(folder: Path, accepted: Collection[str] = (CTranslate2.name,)) -> Description:
    """The description of a model that is fit to be handed on.

    accepted: names of engines. Raises UserError for a folder of another engine, and for one with a damaged file: each
    file is compared with its checksum and opened.
    """
    description = engines.describe(folder)
    if description.engine not in accepted:
        labels = " or ".join(engines.ENGINES[name].label for name in accepted)
        raise UserError(f"{folder}: is for {description.engine}; what is handed on is a model of {labels}")
    engines.load(folder, Search(vocabulary_map=description.vocabulary_map))
    tokenizers.of_folder(folder, description)
    if description.vocabulary_map and description.engine == CTranslate2.name:
        vocabulary_map.check(folder / CTranslate2.map_file, CTranslate2.vocabulary(folder))
    return description


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=there, required=True, help="folder of export.convert or train.train")
    parser.add_argument("--sentencepiece", type=there, required=True)
    parser.add_argument("--map", type=there, help="vocabulary map, for an engine that uses one")
    parser.add_argument("--learning", type=there, required=True, help="JSON of train.train: shape and parameters")
    parser.add_argument("--quantization", required=True, help="type of the weights")
    parser.add_argument("--engine", required=True, choices=sorted(engines.ENGINES))
    parser.add_argument("--description", type=described, required=True, help="JSON: study, system, role, languages")
    parser.add_argument("--output", type=Path, required=True, help="model folder to write")
    args = parser.parse_args()

    weights = typed(read_json(args.learning), Weights, f"{args.learning}: not made by train.train")
    description = Description(
        format=1,
        engine=args.engine,
        **asdict(args.description),
        shape=weights.shape,
        parameters=weights.parameters,
        quantization=args.quantization,
        vocabulary_map=args.map is not None,
        made_by=Making(steps=weights.steps),
    )
    make(description, args.weights, args.sentencepiece, args.map, args.output)


if __name__ == "__main__":
    command(main)
