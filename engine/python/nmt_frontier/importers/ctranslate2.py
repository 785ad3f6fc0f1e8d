"""Read a folder of CTranslate2, of any version and type, with its tokenizer and vocabulary map; and Argos' packages.

An Argos package is a zip archive, or its unpacked folder, with such a folder in ``model``, the tokenizer beside it, and
the languages in ``metadata.json``.
"""

import math
import shutil
import tempfile
import weakref
import zipfile
from functools import partial
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import ctranslate2_model, marian_binary, read_ctranslate2
from nmt_frontier.importers.found import Found, ImportOptions, tokenizer_files, transformer

METADATA = "metadata.json"
UNKNOWN = "its vocabulary is a list of pieces"


def recognised(source: Path) -> bool:
    """Whether this is a folder with a model.bin that is not Marian's, or a package."""
    if source.is_file():
        return zipfile.is_zipfile(source) and source.suffix != ".npz"
    weights = source / ctranslate2_model.NAME
    return _is_package(source) or (weights.is_file() and not marian_binary.holds_weights(weights))


def read(source: Path, options: ImportOptions) -> Found:
    """The model. Raises UserError for files that are missing or damaged, and for what the engine does not compute."""
    if source.is_file():
        return _unpacked(source, options)
    if _is_package(source):
        return _package(source, source, options)
    return _folder(source, source, options)


def _folder(folder: Path, beside: Path, options: ImportOptions) -> Found:
    """beside: the folder of the tokenizer."""
    model = read_ctranslate2.read(folder)
    stored = ctranslate2_model.read(folder)
    left_out = ("_scale", "position_encodings/encodings")
    weights = {name: math.prod(one.shape) for name, one in stored.variables.items() if one.shape}
    found = Found(
        toolkit=f"CTranslate2, version {stored.version} of the format",
        model=model,
        shape=transformer(model),
        parameters=sum(size for name, size in weights.items() if not name.endswith(left_out)),
        tokenizer=tokenizer_files(beside, options, UNKNOWN),
    )
    if (path := folder / ctranslate2_model.MAP).exists():
        found.vocabulary_map = partial(shutil.copyfile, path)
        found.notes.append(f"vocabulary map of {path.name}")
    return found


def _is_package(folder: Path) -> bool:
    return (folder / METADATA).is_file() and (folder / "model" / ctranslate2_model.NAME).is_file()


def _package(folder: Path, source: Path, options: ImportOptions) -> Found:
    """source: the package, for messages."""
    found = _folder(folder / "model", folder, options)
    try:
        about = read_json(folder / METADATA)
        languages, name = (about.get("from_code"), about.get("to_code")), about.get("package_version", "")
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{source}: its {METADATA} is missing or damaged ({error}); get the package again") from None
    if prefix := about.get("target_prefix"):
        vocabulary = found.model.vocabulary
        if prefix not in vocabulary.target_numbers:
            raise UserError(f"{source}: translations begin with {prefix}, which is none of its pieces; get it again")
        vocabulary.target_prefix = [prefix]
    found.toolkit, found.languages = f"Argos package {name}, {found.toolkit}", languages
    return found


def _unpacked(source: Path, options: ImportOptions) -> Found:
    """A package that is an archive; what was unpacked is deleted with what was found in it."""
    scratch = tempfile.mkdtemp(prefix="argos-")
    try:
        with zipfile.ZipFile(source) as archive:
            archive.extractall(scratch)  # it strips parents and roots from names
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        shutil.rmtree(scratch)
        raise UserError(f"{source}: not a package of Argos, cut off or damaged ({error})") from None
    folders = [path for path in Path(scratch).iterdir() if _is_package(path)]
    try:
        if len(folders) != 1:
            raise UserError(f"{source}: no package of Argos: no folder with {METADATA} and model/model.bin in it")
        found = _package(folders[0], source, options)
    except UserError as error:
        shutil.rmtree(scratch)
        raise UserError(str(error).replace(f"{scratch}/", f"{source}/")) from None
    found.model.origin = source
    weakref.finalize(found, shutil.rmtree, scratch, ignore_errors=True)
    return found
