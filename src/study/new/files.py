"""Which of a user's files belong together: language and role by the name of a file, else by its first lines.

``train.en.gz`` goes with ``train.cs.gz``, ``en/talk.txt`` with ``cs/talk.txt``, ``src.txt`` with ``tgt.txt`` and
``corpus_english.txt`` with ``corpus_czech.txt``; a TSV or TMX has both sides.
"""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

from common.errors import UserError
from corpora.archives import Part, chunks, is_archive
from corpora.language import Identifier
from corpora.language_codes import shortest
from corpora.readers import COMPRESSED, Lines, Reader, Sqlite, Tmx, Tsv, by_name
from corpora.readers.decode import BREAKS, decoded
from corpora.readers.reader import Input
from corpora.sources.mirror import LANGUAGE
from study.schema import Config, schema

DEV = re.compile(r"(newsdev|dev(el|set|elopment)?|val(id|idation)?|tun(e|ing))\d*")
TEST = re.compile(r"(newstest|devtest|te?st(set)?|eval(uation)?)\d*")
SIDE_WORDS = {"src": 0, "source": 0, "tgt": 1, "trg": 1, "target": 1, "ref": 1, "reference": 1}
NO_TEXT = {  # in a folder
    ".md", ".rst", ".json", ".yaml", ".yml", ".html", ".xml", ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".tex", ".py",
    ".sh", ".log", ".ids",
}  # fmt: skip
NOTES = re.compile(r"(readme|licen[sc]e|copying|changelog)([-_.].*)?")  # likewise, as a whole name without .txt
SEPARATORS = re.compile(r"([/._\-\s]+)")
REGION = re.compile(r"[A-Z]{2}")  # of en-US; the language is before it
FIRST_LINES = 500
MOST_NAMED = 5  # files in a note
TABBED = 0.95  # share of lines with a tab from which on a file of lines is TSV
TYPICAL_CODES = (2, 3)  # letters of a language code


@dataclass(frozen=True)
class Corpus:
    """A corpus of the new study. ``source`` has the keys of the configuration that say where its text is."""

    name: str
    role: str
    source: Config
    paths: tuple[Path, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))


@dataclass(frozen=True)
class _File:
    """side: 0 source, 1 target, None unknown; of a format with both sides it means nothing. stem: without its side."""

    path: Path
    stem: str
    side: int | None
    role: str
    reader: type[Reader]


def corpora(data: Iterable[Path], pair: list[str]) -> tuple[list[Corpus], list[str]]:
    """The corpora in these files and folders, in the order of their roles and names; and what was left out, in words.

    Raises UserError for files that are missing, that nothing can be read from, or of which one side is missing.
    """
    notes: list[str] = []
    foreign: set[str] = set()
    files = [file for path, name in _listed(data, notes) if (file := _understood(path, name, pair, notes, foreign))]
    found = [_one_file(file, pair) for file in files if file.reader.one_file]
    found += _paired([file for file in files if not file.reader.one_file], pair, notes, foreign)
    if not any(corpus.role == "train" for corpus in found):
        alone = [f"; {corpus} is the {pair[0]} side only" for corpus in found if corpus.role == "monolingual"]
        reasons = alone or [f"; {note}" for note in notes]
        raise UserError(f"no training pairs in {pair[0]} and {pair[1]} among the files{''.join(reasons)}")
    order = ("train", "monolingual", "dev", "test")
    return _with_names(sorted(found, key=lambda corpus: (order.index(corpus.role), corpus.name))), notes


def first_lines(path: Path) -> list[str]:
    """Those of a file that are not empty; what is not UTF-8 is empty here, the reading of the whole file reports it."""
    blocks = decoded(chunks(Part(path)), Input(str(path), drop_invalid=True), BREAKS)
    lines = (line for block in blocks for line in block.lines if line.strip())
    return list(islice(lines, FIRST_LINES))


@cache
def identifier() -> Identifier:
    """langid.py with all its languages; it takes seconds to load."""
    return Identifier()


def language(texts: list[str]) -> tuple[str, float]:
    """The language that langid.py takes most of these texts for, and their share."""
    labels = Counter(identifier().labels(texts))
    label, count = labels.most_common(1)[0]
    return label, count / len(texts)


# Names


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
            shown = [file for file, name in names.items() if not any(part.startswith(".") for part in name.parts)]
            if not (inside := [file for file in shown if _is_text(file)]):
                raise UserError(f"{path}: a folder without texts")
            if others := [file.name for file in shown if not _is_text(file)]:
                more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
                notes.append(f"{path}: left out by their names: {', '.join(others[:MOST_NAMED])}{more}")
            yield from ((file, file.relative_to(path).as_posix()) for file in inside)
        elif path.is_file():
            yield path, path.absolute().relative_to(parent).as_posix()
        else:
            raise UserError(f"{path}: no such file or folder")


def _is_text(path: Path) -> bool:
    name = _unpacked(path)
    is_note = name.suffix in ("", ".txt") and NOTES.fullmatch(name.stem)
    return name.suffix not in NO_TEXT and not is_note


def _unpacked(path: Path) -> Path:
    """The name in small letters, without the suffix of a compression."""
    name = Path(path.name.lower())
    return name.with_suffix("") if name.suffix in COMPRESSED else name


def _understood(path: Path, name: str, pair: list[str], notes: list[str], foreign: set[str]) -> _File | None:
    """What a file is; None, a note, and its stem in ``foreign``, for one in another language."""
    reader = _reader(path)
    while Path(name).suffix.lower() in (*COMPRESSED, *reader.suffixes, ".txt"):
        name = name.removesuffix(Path(name).suffix)
    parts = SEPARATORS.split(name)
    role = _role([word.lower() for word in parts[::2]])
    if reader.one_file:
        return _File(path, name, None, role, reader)
    place, code = _language(parts[::2], pair)
    if code and code not in (*pair, *SIDE_WORDS):
        notes.append(f"{path}: its name says {code}, it is left out")
        foreign.add(_stem(parts, place))
        return None
    side = SIDE_WORDS[code] if code in SIDE_WORDS else pair.index(code) if code else None
    return _File(path, _stem(parts, place), side, role, reader)


def _stem(parts: list[str], place: int | None) -> str:
    """A name without its side: without the word at this place, a region behind it, and words such as src and ref."""
    words = parts[::2]
    without = [number for number, word in enumerate(words) if number == place or word.lower() in SIDE_WORDS]
    if place == len(words) - 2 and REGION.fullmatch(words[-1]):
        without.append(len(words) - 1)
    return "".join(_without(without, parts)).strip("/._- ")


def _without(places: list[int], parts: list[str]) -> list[str]:
    """The parts of a name without these words, each with a separator beside it."""
    for place in reversed(places):
        start = max(2 * place - 1, 0)
        parts = parts[:start] + parts[start + 2 :]
    return parts


def _language(words: list[str], pair: list[str]) -> tuple[int | None, str]:
    """The place of the word that says the language of a file, and the language (or the word of a side)."""
    codes = [_code(word) for word in words]
    last = len(words) - 1
    if last and REGION.fullmatch(words[last]) and codes[last - 1] in pair:
        last -= 1
    if codes[last]:
        return last, codes[last]
    named = [place for place, code in enumerate(codes) if code in pair] or [
        place
        for place, code in enumerate(codes)
        if code and (code in SIDE_WORDS or len(words[place]) not in TYPICAL_CODES)
    ]
    return (named[-1], codes[named[-1]]) if named else (None, "")


def _code(word: str) -> str:
    """The language that a word of a name means, such as en, eng, english; a word of a side as it is; else nothing."""
    word = word.lower()
    known = schema()["$defs"]["language"]["enum"]
    if word in SIDE_WORDS or word in known:
        return word
    code = shortest(word) if len(word) == TYPICAL_CODES[1] and word.isalpha() else _by_name(word)
    return code if code in known else ""


@cache
def _by_name(word: str) -> str:
    from mtdata.iso.iso639_3 import name_to_code  # here: it sets up logging

    return shortest(name_to_code(word) or "") if word.isalpha() and len(word) > TYPICAL_CODES[1] else ""


def _role(words: list[str]) -> str:
    """That of the last word that says one."""
    for word in reversed(words):
        if word.startswith("train"):
            return "train"
        if TEST.fullmatch(word):
            return "test"
        if DEV.fullmatch(word):
            return "dev"
    return "train"


# Formats


def _reader(path: Path) -> type[Reader]:
    """By the name, or TSV for lines with tabs. Raises UserError for what a study cannot read without being told how."""
    if is_archive(path):
        raise UserError(
            f"{path}: is an archive; unpack it, or name it in a configuration (member: in docs/own-data.md)"
        )
    reader = by_name(path.name.lower())
    if reader is Sqlite:
        raise UserError(f"{path}: a database needs a query; configs/bible.yaml shows how")
    if ".csv" in path.suffixes:
        raise UserError(f"{path}: CSV is not read; save it as TSV, one pair a line, without quotes")
    if _unpacked(path).suffix == ".xml":
        raise UserError(f"{path}: XML is read as TMX and SGM only; give files of one sentence a line")
    if reader is Lines:
        lines = first_lines(path)
        if not lines:
            raise UserError(
                f"{path}: has no line of text in UTF-8 among its first ones"
                if path.stat().st_size
                else f"{path}: is empty"
            )
        tabbed = sum("\t" in line.strip() for line in lines)
        return Tsv if tabbed >= TABBED * len(lines) else Lines
    return reader


def _one_file(file: _File, pair: list[str]) -> Corpus:
    """The corpus of a file with both sides."""
    source: Config = {"file": shown(file.path)}
    if by_name(file.path.name) is not file.reader:
        source["format"] = file.reader.format
    if file.reader is Tsv:
        columns = _columns(file.path, pair)
        source |= {"columns": dict(zip(pair, columns, strict=True))} if columns != [0, 1] else {}
    if file.reader is Tmx:
        _require_languages(file.path, pair)
    return Corpus(file.stem or file.path.parent.name, file.role, source, (file.path,))


def _columns(path: Path, pair: list[str]) -> list[int]:
    """The columns of both sides, by their languages. Raises UserError if they cannot be told."""
    texts = _texts_by_column([line.split("\t") for line in first_lines(path)])
    if len(texts) < len(pair):
        raise UserError(
            f"{path}: has {len(texts)} columns of text; a TSV has one for each language, a tab between them"
        )
    languages = {column: language(of_column) for column, of_column in texts.items()}
    sides: list[int | None] = []
    for code in pair:  # of several columns in a language the longest: the others are names and numbers
        of_language = [column for column, (label, _) in languages.items() if label == code]
        sides.append(max(of_language, key=lambda column: sum(map(len, texts[column])), default=None))
    if None in sides and len(texts) == len(pair):  # the other one; the reading of the whole text will judge it
        others = [column for column in texts if column not in sides]
        sides = [others.pop(0) if column is None else column for column in sides]
    if None in sides:
        seen = ", ".join(f"{column}: {code} ({100 * share:.0f} %)" for column, (code, share) in languages.items())
        raise UserError(f"{path}: which columns are {pair[0]} and {pair[1]}? By langid.py they are {seen}")
    return sides


def _texts_by_column(rows: list[list[str]]) -> dict[int, list[str]]:
    """The cells of the columns in which most rows have letters."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    cells = {column: [row[column] for row in rows if len(row) > column] for column in range(width)}
    lettered = {column: [text for text in texts if any(map(str.isalpha, text))] for column, texts in cells.items()}
    return {column: texts for column, texts in lettered.items() if len(texts) > len(rows) / 2}


def _require_languages(path: Path, pair: list[str]) -> None:
    """Raises UserError if a language is missing in the first bytes of a TMX; sparse ones show as dropped units."""
    head = next(chunks(Part(path)), b"")
    codes = sorted({shortest(code.decode()) for code in re.findall(rb'<tuv[^>]*lang="([A-Za-z-]+)"', head)})
    if missing := [code for code in pair if code not in codes]:
        raise UserError(
            f"{path}: has no {' and no '.join(missing)} in its first units; it has {', '.join(codes) or 'no tuv'}"
        )


# Pairs


def _paired(files: list[_File], pair: list[str], notes: list[str], foreign: set[str]) -> Iterator[Corpus]:
    """foreign: stems of files in other languages, with which a dev or test set may go that has no other partner."""
    groups: dict[tuple[str, str], dict[int, _File]] = {}
    for file in _with_sides(files, pair, notes):
        group = groups.setdefault((file.stem, file.reader.format), {})
        if file.side in group:
            other = group[file.side].path
            raise UserError(f"{other} and {file.path}: both are the {pair[file.side]} side of one text; leave one out")
        group[file.side] = file
    single = [file for group in groups.values() if len(group) == 1 for file in group.values()]
    groups_of_two = [group for group in groups.values() if len(group) == 2]
    for role in ("train", "dev", "test"):
        sources, targets = ([file for file in single if (file.role, file.side) == (role, side)] for side in (0, 1))
        if len(sources) == len(targets) == 1:  # nothing else they could belong to
            groups_of_two.append({0: sources[0], 1: targets[0]})
            single = [file for file in single if file not in (sources[0], targets[0])]
    for group in groups_of_two:
        paths = (group[0].path, group[1].path)
        yield Corpus(group[0].stem or paths[0].parent.name, group[0].role, _files(paths, pair), paths)
    for file in single:
        if file.role != "train" and file.stem in foreign:
            notes.append(f"{file.path}: a {file.role} set without a {pair[1 - file.side]} side, it is left out")
            continue
        if file.side == 1 or file.role != "train":
            raise UserError(f"{file.path}: the {pair[file.side]} side only; {_partners(file, single, pair)}")
        notes.append(f"{file.path}: has no {pair[1]} side: monolingual text, which the teacher translates")
        yield Corpus(file.stem or file.path.parent.name, "monolingual", {"file": shown(file.path)}, (file.path,))


def _partners(file: _File, single: list[_File], pair: list[str]) -> str:
    """Which file a side could go with, if its name said so."""
    others = [str(other.path) for other in single if (other.role, other.side) == (file.role, 1 - file.side)]
    if not others:
        return f"no {pair[1 - file.side]} file goes with it"
    return f"if {' or '.join(others)} goes with it, name the two alike, as X.{pair[0]} and X.{pair[1]}"


def _with_sides(files: list[_File], pair: list[str], notes: list[str]) -> Iterator[_File]:
    """The files, those without a language in their names with the one of their first lines."""
    for file in files:
        if file.side is not None:
            yield file
            continue
        code, share = language(first_lines(file.path))
        if code in pair:
            yield _File(file.path, file.stem, pair.index(code), file.role, file.reader)
        else:
            notes.append(f"{file.path}: looks like {code} ({100 * share:.0f} % of its first lines), it is left out")


def _files(paths: tuple[Path, Path], pair: list[str]) -> Config:
    """``file`` with {lang} if that gives both names, else a name for each language."""
    names = [shown(path) for path in paths]
    before, code, after = names[0].rpartition(pair[0])
    template = f"{before}{LANGUAGE}{after}"
    if code and template.replace(LANGUAGE, pair[1]) == names[1]:
        return {"file": template}
    return {"file": dict(zip(pair, names, strict=True))}


def shown(path: Path) -> str:
    """A path as a configuration has it: from the folder that Snakemake runs in, if it is there, else absolute."""
    path = path.expanduser().absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


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
