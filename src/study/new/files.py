"""The corpora among a user's files and folders: which files are text, and which belong together."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from common.errors import UserError
from corpora.readers import COMPRESSED, Tmx, Tsv, by_name
from study.new.contents import columns, reader, require_languages, unpacked
from study.new.file_names import meaning
from study.new.pairs import Corpus, File, paired, shown
from study.schema import Config

NO_TEXT = {  # in a folder
    ".md", ".rst", ".json", ".yaml", ".yml", ".html", ".xml", ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".tex", ".py",
    ".sh", ".log", ".ids",
}  # fmt: skip
NOTES = re.compile(r"(readme|licen[sc]e|copying|changelog)([-_.].*)?")  # likewise, as a whole name without .txt
MOST_NAMED = 5  # files in a note


def corpora(data: Iterable[Path], pair: list[str]) -> tuple[list[Corpus], list[str]]:
    """The corpora in these files and folders, in the order of their roles and names; and what was left out, in words.

    Raises UserError for files that are missing, that nothing can be read from, or of which one side is missing.
    """
    notes: list[str] = []
    foreign: set[str] = set()
    files = [file for path, name in _listed(data, notes) if (file := _understood(path, name, pair, notes, foreign))]
    found = [_one_file(file, pair) for file in files if file.reader.one_file]
    found += paired([file for file in files if not file.reader.one_file], pair, notes, foreign)
    if not any(corpus.role == "train" for corpus in found):
        alone = [f"; {corpus} is the {pair[0]} side only" for corpus in found if corpus.role == "monolingual"]
        reasons = alone or [f"; {note}" for note in notes]
        raise UserError(f"no training pairs in {pair[0]} and {pair[1]} among the files{''.join(reasons)}")
    order = ("train", "monolingual", "dev", "test")
    return _with_names(sorted(found, key=lambda corpus: (order.index(corpus.role), corpus.name))), notes


def _listed(data: Iterable[Path], notes: list[str]) -> Iterator[tuple[Path, str]]:
    """Every file, with the part of its path that tells it from the others; a note for those that are left out.

    Raises UserError for what is not there.
    """
    data = list(dict.fromkeys(data))
    alone = [path for path in data if path.is_file()]
    parent = Path(os.path.commonpath([path.absolute().parent for path in alone])) if alone else Path()
    for path in data:
        if path.is_dir():
            names = {file: file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()}
            visible = [file for file, name in names.items() if not any(part.startswith(".") for part in name.parts)]
            if not (inside := [file for file in visible if _is_text(file)]):
                raise UserError(f"{path}: a folder without texts")
            if others := [file.name for file in visible if not _is_text(file)]:
                more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
                notes.append(f"{path}: left out by their names: {', '.join(others[:MOST_NAMED])}{more}")
            yield from ((file, file.relative_to(path).as_posix()) for file in inside)
        elif path.is_file():
            yield path, path.absolute().relative_to(parent).as_posix()
        else:
            raise UserError(f"{path}: no such file or folder")


def _is_text(path: Path) -> bool:
    name = unpacked(path)
    is_note = name.suffix in ("", ".txt") and NOTES.fullmatch(name.stem)
    return name.suffix not in NO_TEXT and not is_note


def _understood(path: Path, name: str, pair: list[str], notes: list[str], foreign: set[str]) -> File | None:
    """What a file is; None, a note, and its stem in ``foreign``, for one in another language."""
    format = reader(path)
    while Path(name).suffix.lower() in (*COMPRESSED, *format.suffixes, ".txt"):
        name = name.removesuffix(Path(name).suffix)
    meant = meaning(name, pair)
    if format.one_file:
        return File(path, name, None, meant.role, format)
    if meant.language and meant.side(pair) is None:
        notes.append(f"{path}: its name says {meant.language}, it is left out")
        foreign.add(meant.stem)
        return None
    return File(path, meant.stem, meant.side(pair), meant.role, format)


def _one_file(file: File, pair: list[str]) -> Corpus:
    """The corpus of a file with both sides."""
    source: Config = {"file": shown(file.path)}
    if by_name(file.path.name) is not file.reader:
        source["format"] = file.reader.format
    if file.reader is Tsv:
        places = columns(file.path, pair)
        source |= {"columns": dict(zip(pair, places, strict=True))} if places != [0, 1] else {}
    if file.reader is Tmx:
        require_languages(file.path, pair)
    return Corpus(file.stem or file.path.parent.name, file.role, source, (file.path,))


def _with_names(corpora: list[Corpus]) -> list[Corpus]:
    """With names that a configuration allows, each a single time: those of files, or with their folders."""
    bare = Counter(Path(corpus.name).name for corpus in corpora)
    named: dict[str, Corpus] = {}
    for corpus in corpora:
        alone = Path(corpus.name).name
        letters = unicodedata.normalize("NFKD", alone if bare[alone] == 1 else corpus.name)
        plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
        allowed = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("._-") or "corpus"
        names = [allowed, *(f"{allowed}-{number}" for number in range(2, len(corpora) + 1))]
        name = next(name for name in names if name not in named)
        named[name] = replace(corpus, name=name)
    return list(named.values())
