"""Write a model folder as a package that another program opens: Argos Translate's, or Bergamot's.

An Argos package is a zip archive of a folder with CTranslate2's in ``model``, the tokenizer beside it, and
``metadata.json`` (argostranslate/package.py). Equal model folders give equal archives. ``nmt-frontier
import`` reads it back.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import asdict

from decode.engines.ctranslate2 import CTranslate2
from export.model_folder import checked
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path
from nmt_frontier.making import ROLES
from nmt_frontier.model.model_folder import DESCRIPTION, NOT_DECODED, Description
from nmt_frontier.text import tokenizers

ARGOS_SUFFIX = ".argosmodel"
ARGOS = {"package_version": "1.0", "argos_version": "1.9"}  # the latter reads any package with SentencePiece or BPE
ARGOS_TOKENIZERS = {tokenizers.SHARED: "sentencepiece.model", tokenizers.CODES: "bpe.model"}
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive can hold
README = """# {source}-{target} translation model "{system}" for Argos Translate

{role_sentence} It has the shape {shape}, {parameters:,} parameters, and weights in {quantization}. Made by the study
`{study}` of nmt-frontier.

    argospm install {name}
    argos-translate --from-lang {source} --to-lang {target} "A sentence."
{licences}"""
BERGAMOT = (
    "{folder}: cannot be written for Bergamot: Marian's decoder begins with a vector of zeros and counts positions from"
    " 0, this model with the embedding of its first piece and from 1; --for argos writes it for Argos Translate"
)


def argos(model: Path, licences: str | None, output: Path) -> None:
    """Write the package. licences: the text of ``export.package.terms``.

    Raises UserError for a model that is damaged or not CTranslate2's, without languages, or with a tokenizer that Argos
    Translate does not have.
    """
    if not output.name.endswith(ARGOS_SUFFIX):
        raise UserError(f"{output}: the package's name has to end in {ARGOS_SUFFIX}")
    description = checked(model, (CTranslate2.name,))
    if not (description.source and description.target):
        raise UserError(f"{model / DESCRIPTION}: names no languages; Argos Translate needs source and target")
    names = {file: name for file, name in ARGOS_TOKENIZERS.items() if (model / file).is_file()}
    if len(names) != 1:
        raise UserError(f"{model}: Argos Translate has one SentencePiece model for both sides, or BPE codes")
    folder = output.name.removesuffix(ARGOS_SUFFIX)
    languages = {"from": description.source, "to": description.target}
    about = {f"{side}_{field}": code for side, code in languages.items() for field in ("code", "name")}
    with atomic_path(output) as part, zipfile.ZipFile(part, "w") as archive:
        _add(archive, f"{folder}/metadata.json", json.dumps({**ARGOS, **about}, indent=2).encode())
        _add(archive, f"{folder}/README.md", _readme(description, licences, output.name).encode())
        for path in sorted(model.iterdir()):
            if path.name in names:
                _add(archive, f"{folder}/{names[path.name]}", path.read_bytes())
            elif path.is_file() and path.name not in (DESCRIPTION, *NOT_DECODED) and not path.name.startswith("."):
                _add(archive, f"{folder}/model/{path.name}", path.read_bytes())


def bergamot(model: Path, licences: str | None, output: Path) -> None:
    """Raises UserError: what a study trains is OpenNMT-tf's Transformer, which Marian's options cannot express."""
    checked(model, (CTranslate2.name,))
    raise UserError(BERGAMOT.format(folder=model))


def _readme(description: Description, licences: str | None, name: str) -> str:
    values = asdict(description) | {"role_sentence": ROLES[str(description.role)], "name": name}
    return README.format(**values, licences=f"\n## Data and licences\n\n{licences}\n" if licences else "")


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Without owner and time, so that equal files give equal bytes."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


PROGRAMS: dict[str, Callable[[Path, str | None, Path], None]] = {"argos": argos, "bergamot": bergamot}
