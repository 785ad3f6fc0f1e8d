"""The corpora among a user's files and folders: texts, and the meaning of their names."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from common.document import Document
from corpora.language_codes import Sides
from corpora.readers import COMPRESSED, to_convert
from corpora.readers.beginnings import format_of
from corpora.readers.marked_up import Tmx, Xliff
from corpora.readers.tables import Csv, Jsonl
from corpora.readers.text import Tsv
from nmt_frontier.errors import UserError
from study.new import contents, naming
from study.new.contents import columns, first_lines, reader, require_languages, unpacked
from study.new.pairing import ALONE, FoundCorpus, FoundFile, encoding_key, format_key, paired, shown

NO_TEXT = {  # in a folder
    ".md", ".rst", ".json", ".yaml", ".yml", ".html", ".xml", ".tex", ".py", ".sh", ".log", ".id", ".ids", ".scores",
    ".pot",
}  # fmt: skip
ANY_FORMAT = (".json", ".xml")  # text if they begin as a format that is read
# What systems and programs leave beside texts, also where a pattern such as data/* names it.
LEFT_BEHIND = re.compile(
    r"(eh)?thumbs(_.*)?\.db|desktop\.ini|icon\r|~\$.*|.*~|#.*#|.*\.(bak|tmp|swp|part|crdownload|lnk)", re.IGNORECASE
)
NOTES = re.compile(r"(readme|licen[sc]e|copying|changelog)([-_.].*)?")  # names that are no text either, without .txt
NOT_UTF8 = "its name is not UTF-8"
MOST_NAMED = 5  # files in a note


def corpora(data: Iterable[Path], pair: list[str], encoding: str | None = None) -> tuple[list[FoundCorpus], list[str]]:
    """The corpora in these files and folders, in the order of their roles and names; and a note for all left out.

    encoding: of files that are not UTF-8. Raises UserError for files that are missing, that cannot be read, or whose
    other side is missing.
    """
    notes: list[str] = []
    foreign: set[str] = set()
    listed = [(path, name, contents.encoding(path, encoding, pair)) for path, name in _listed(data, notes)]
    files = [file for each in listed if (file := _understood(*each, pair, notes, foreign))]
    found = [_one_file(file, pair) for file in files if file.reader.one_file]
    named = Sides(pair)
    named.update({file.code: named[file.code] for file in files})
    notes += [f"{' and '.join(codes)} in names of files are read as one language" for codes in named.variants()]
    try:
        found += paired([file for file in files if not file.reader.one_file], pair, notes, foreign)
    except UserError as error:  # the other side may be one that cannot be named
        raise UserError("; ".join([str(error), *_unnamed(notes)])) from None
    if not any(corpus.role == "train" for corpus in found):
        alone = [f"{each} is the {pair[ALONE.index(each.role)]} side only" for each in found if each.role in ALONE]
        problem = f"no training pairs in {pair[0]} and {pair[1]} among the files"
        raise UserError("; ".join([problem, *([*alone, *_unnamed(notes)] if alone else notes)]))
    order = ("train", *ALONE, "dev", "test")
    return _with_names(sorted(found, key=lambda corpus: (order.index(corpus.role), corpus.name))), notes


def _unnamed(notes: list[str]) -> list[str]:
    return [note for note in notes if NOT_UTF8 in note]


def _listed(data: Iterable[Path], notes: list[str]) -> Iterator[tuple[Path, str]]:
    """Every file, with the part of its path that is its own; a note for those that are left out.

    Raises UserError for what is not there.
    """
    data = list(dict.fromkeys(data))
    alone = [path for path in data if path.is_file()]
    parent = Path(os.path.commonpath([path.absolute().parent for path in alone])) if alone else Path()
    for path in data:
        if path.is_dir():
            yield from _in_folder(path, notes)
        elif not path.is_file():
            raise UserError(f"{path}: no such file or folder")
        elif _is_left_behind(path):
            notes.append(f"{path}: left out by its name")
        elif _can_be_named(path, notes):
            yield path, path.absolute().relative_to(parent).as_posix()


def _in_folder(folder: Path, notes: list[str]) -> Iterator[tuple[Path, str]]:
    own: list[str] = []
    names = {file: file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file()}
    visible = {file: name for file, name in names.items() if not any(part[0] == "." for part in name.parts)}
    named = {file: name for file, name in visible.items() if _can_be_named(file, own)}
    advised = {file: advice for file in named if (advice := to_convert(file.name)) and not _is_left_behind(file)}
    own += [f"{file}: {advice}; it is left out" for file, advice in advised.items()]
    texts = {file: name for file, name in named.items() if file not in advised and _is_text(file)}
    if others := [file.name for file in named if file not in texts and file not in advised]:
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        own.append(f"{folder}: left out by their names: {', '.join(others[:MOST_NAMED])}{more}")
    if not texts:
        raise UserError("; ".join([f"{folder}: a folder without texts", *own]))
    notes += own
    yield from ((file, name.as_posix()) for file, name in texts.items())


def _can_be_named(path: Path, notes: list[str]) -> bool:
    """Whether a configuration can name a file; a note if not."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        notes.append(f"{shown}: {NOT_UTF8}, which a configuration is in; rename it; it is left out")
        return False
    return True


def _is_left_behind(path: Path) -> bool:
    return LEFT_BEHIND.fullmatch(path.name) is not None


def _is_text(path: Path) -> bool:
    name = unpacked(path)
    is_note = name.suffix in ("", ".txt") and NOTES.fullmatch(name.stem)
    known = name.suffix in ANY_FORMAT and _is_known(path)
    return (name.suffix not in NO_TEXT or known) and not is_note and not _is_left_behind(path)


def _is_known(path: Path) -> bool:
    try:
        return format_of(str(path), first_lines(path, None)) is not None
    except UserError:
        return False


def _understood(
    path: Path, name: str, encoding: str | None, pair: list[str], notes: list[str], foreign: set[str]
) -> FoundFile | None:
    """The role, the side and the reader of a file; None, a note, and its stem in ``foreign`` for another language."""
    format = reader(path, encoding)
    while Path(name).suffix.lower() in (*COMPRESSED, *format.suffixes, *ANY_FORMAT, ".txt"):
        name = name.removesuffix(Path(name).suffix)
    parts = naming.SEPARATORS.split(unicodedata.normalize("NFC", name))
    role = naming.role([word.lower() for word in parts[::2]])
    if format.one_file:
        return FoundFile(path, name, None, role, format, encoding)
    places, code = naming.language(parts, sides := Sides(pair))
    stem, side = naming.stem(parts, places), naming.SIDE_WORDS.get(code, sides[code])
    if code and side is None:
        notes.append(f"{path}: its name says {code}, it is left out")
        foreign.add(stem)
        return None
    return FoundFile(path, stem, side, role, format, encoding, "-".join(parts[2 * place] for place in places))


def _one_file(file: FoundFile, pair: list[str]) -> FoundCorpus:
    """The corpus of a file with both sides."""
    source: Document = {"file": shown(file.path)} | format_key(file)
    if file.reader in (Tsv, Csv, Jsonl):
        places = columns(file.path, file.reader, file.encoding, pair)
        source |= {"columns": dict(zip(pair, places, strict=True))} if places not in (None, [0, 1]) else {}
    if file.reader in (Tmx, Xliff):
        require_languages(file.path, pair)
    name = file.stem or file.path.parent.name
    role = "train" if file.role in ALONE else file.role
    return FoundCorpus(name, role, source | encoding_key(file), (file.path,), file.reader.format)


def _with_names(corpora: list[FoundCorpus]) -> list[FoundCorpus]:
    """The corpora with unique names that a configuration allows: those of files, if need be with their folders."""
    bare = Counter(Path(corpus.name).name for corpus in corpora)
    named: dict[str, FoundCorpus] = {}
    for corpus in corpora:
        alone = Path(corpus.name).name
        letters = unicodedata.normalize("NFKD", alone if bare[alone] == 1 else corpus.name)
        plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
        allowed = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("._-") or "corpus"
        names = [allowed, *(f"{allowed}-{number}" for number in range(2, len(corpora) + 1))]
        name = next(name for name in names if name not in named)
        named[name] = replace(corpus, name=name)
    return list(named.values())
