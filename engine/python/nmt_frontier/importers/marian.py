"""Read a model of Marian's: weights in .npz or .bin, vocab.yml or vocab.spm, and a lexical shortlist.

A folder of Firefox or Bergamot has weights in 8 bits, one SentencePiece model or one a side, and a binary shortlist;
one of OPUS-MT a vocab.yml with a SentencePiece model a side. Files may be packed with gzip.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.files import yaml_value
from nmt_frontier.importers import marian_binary, read_marian
from nmt_frontier.importers.found import Found, ImportOptions, Sides, tokenizer_files
from nmt_frontier.importers.marian_parameters import Parameters, read_pieces
from nmt_frontier.importers.marian_shortlist import vocabulary_map
from nmt_frontier.importers.read_marian import shape
from nmt_frontier.model import shape_text
from nmt_frontier.text import tokenizers

WEIGHTS = (".npz", ".bin", ".bin.gz")
SHORTLIST = re.compile(r"lex.*\.(bin|txt)(\.gz)?")
VOCABULARY = re.compile(r"(?P<side>src|source|trg|tgt|target)?[._-]?.*vocab.*\.(spm|yml|yaml)(\.gz)?")
SOURCES, TARGETS = ("src", "source"), ("trg", "tgt", "target")
PAIR = re.compile(r"\.([a-z]{2})-?([a-z]{2})\.")  # languages in names like model.ende.intgemm.alphas.bin


def weights(folder: Path) -> list[Path]:
    """The files in a folder that hold weights of Marian's."""
    files = [path for path in sorted(folder.iterdir()) if path.name.endswith(WEIGHTS) and path.is_file()]
    files = [path for path in files if not SHORTLIST.fullmatch(path.name) and ".optimizer." not in path.name]
    return [path for path in files if path.suffix == ".npz" or marian_binary.holds_weights(path)]


def recognised(source: Path) -> bool:
    """Whether this is a file of Marian's, or a folder with one."""
    return bool(weights(source)) if source.is_dir() else source.name.endswith(WEIGHTS)


def read(source: Path, options: ImportOptions) -> Found:
    """The model. Raises UserError for files that are missing, do not fit, or that the native engine cannot compute."""
    path = _chosen(source) if source.is_dir() else source
    parameters = Parameters(path)
    files = list(options.vocabularies) or _vocabularies(path.parent)
    files = files if len(files) == 2 else [*files] * 2
    pieces = [read_pieces(file, side, parameters) for side, file in enumerate(files)]
    model = read_marian.read(parameters, *pieces)
    found = Found(
        toolkit=f"Marian {parameters.config.get('version', 'of an unknown version').split()[0]}, {path.name}",
        model=model,
        shape=shape_text.text(shape(parameters.config)),
        parameters=parameters.count(),
        tokenizer=_tokenizer(path.parent, files, options),
        languages=_languages(path),
    )
    if shortlist := options.shortlist or _shortlist(path.parent):
        found.vocabulary_map = partial(_write_map, shortlist, pieces)
        found.notes.append(f"vocabulary map of {shortlist.name}")
    return found


def _chosen(folder: Path) -> Path:
    if len(files := weights(folder)) != 1:
        names = ", ".join(path.name for path in files)
        raise UserError(f"{folder}: has weights in {names}; name one of these files")
    return files[0]


def _vocabularies(folder: Path) -> list[Path]:
    """The vocabulary in a folder, or those of both sides."""
    for path in sorted(folder.glob("*decoder.yml")):  # as Marian and OPUS-MT name the options of the decoder
        if len(named := _named_vocabularies(path)) == 2 and all(file.exists() for file in named):
            return named
    found = [(path, match) for path in sorted(folder.iterdir()) if (match := VOCABULARY.fullmatch(path.name))]
    sides = [[path for path, match in found if match["side"] in names] for names in (SOURCES, TARGETS)]
    if all(len(side) == 1 for side in sides):
        return [path for (path,) in sides]
    shared = [path for path, match in found if not match["side"]]
    if len(shared) != 1:
        raise UserError(f"{folder}: {len(found)} vocabularies in it; name that of this model with --vocabularies")
    return shared


def _named_vocabularies(path: Path) -> list[Path]:
    try:
        options = yaml_value(path.read_text(encoding="utf-8"))
        return [path.parent / name for name in options.get("vocabs", [])]
    except (OSError, ValueError, AttributeError, TypeError):
        return []  # it only helps to choose


def _tokenizer(folder: Path, vocabularies: Sequence[Path], options: ImportOptions) -> dict[str, Path]:
    """A vocabulary that is a SentencePiece model splits text itself."""
    if ".spm" not in vocabularies[0].suffixes or options.tokenizer or options.spaces:
        return tokenizer_files(folder, options, "its vocabulary is a list of pieces")
    names = [tokenizers.SHARED] if vocabularies[0] == vocabularies[1] else tokenizers.SIDES
    return dict(zip(names, vocabularies, strict=False))


def _shortlist(folder: Path) -> Path | None:
    files = [path for path in sorted(folder.iterdir()) if SHORTLIST.fullmatch(path.name)]
    return files[0] if len(files) == 1 else None


def _write_map(shortlist: Path, pieces: Sequence[list[str]], path: Path) -> None:
    path.write_text(vocabulary_map(shortlist, *pieces), encoding="utf-8")


def _languages(path: Path) -> Sides:
    match = PAIR.search(path.name)
    return (match[1], match[2]) if match else (None, None)
