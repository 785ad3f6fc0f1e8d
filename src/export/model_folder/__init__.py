"""Make a model folder of a system of a study (nmt_frontier.making); check one that is handed on."""

import argparse
from collections.abc import Collection
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert

from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from nmt_frontier.command_line import json_value
from nmt_frontier.errors import UserError
from nmt_frontier.making import ROLES
from nmt_frontier.model import model_folder, vocabulary_map
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
from nmt_frontier.text import tokenizers

# Of what is handed on: the file of checksums, and what is left out, as a card replaces the folder's own README.
SUMS = "SHA256SUMS"
LEFT_OUT = (*model_folder.NOT_DECODED, ".*", "__pycache__")


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
    alignment: model_folder.AlignmentHead | None = None


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
