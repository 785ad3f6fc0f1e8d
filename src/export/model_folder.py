"""Make a model folder of a system of a study (nmt_frontier.making); check one that is handed on."""

import argparse
from collections.abc import Collection
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert
from msgspec.structs import asdict

from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from formats.learning import Weights
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, typed
from nmt_frontier.making import ROLES, make
from nmt_frontier.model import model_folder, vocabulary_map
from nmt_frontier.model.model_folder import Description, Making
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
from nmt_frontier.text import tokenizers


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
    description = loading.describe(folder)
    if description.engine not in accepted:
        labels = " or ".join(engines.ENGINES[name].label for name in accepted)
        raise UserError(f"{folder}: is for {description.engine}; what is handed on is a model of {labels}")
    loading.load(folder, Search(vocabulary_map=description.vocabulary_map))
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
