"""The two sides of each text among files of one side, and text of one language.

``train.en.gz`` goes with ``train.cs.gz``, ``en/talk.txt`` with ``cs/talk.txt``, ``src.txt`` with ``tgt.txt`` and
``corpus_english.txt`` with ``corpus_czech.txt``; ``mono.en`` and ``mono.cs`` go with nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.document import Document
from corpora.language_codes import Sides
from corpora.readers import by_name
from corpora.readers.reader import Reader
from corpora.settings import TARGET_ONLY
from corpora.sources.stored import LANGUAGE
from nmt_frontier.errors import UserError
from study.new.contents import language, sentences
from study.new.naming import MONOLINGUAL

ALONE = (MONOLINGUAL, TARGET_ONLY)  # roles of text that has only the first side, and only the second
USED = ("which the teacher translates", "for back-translation, so that the teacher learns from it")


@dataclass(frozen=True)
class FoundCorpus:
    """A corpus of the new study. ``source`` has the configuration's keys for the place of its text."""

    name: str
    role: str
    source: Document
    paths: tuple[Path, ...]
    format: str

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    @property
    def trains(self) -> bool:
        """Whether it is no dev or test set."""
        return self.role in ("train", *ALONE)

    @property
    def sides(self) -> tuple[int, ...]:
        """Those that it has."""
        return (ALONE.index(self.role),) if self.role in ALONE else (0, 1)


@dataclass(frozen=True)
class FoundFile:
    """stem: the name without its side. side: 0 source, 1 target, None if unknown or if the file has both.

    encoding: what the configuration has to say. code: of the language and its region, in the name.
    """

    path: Path
    stem: str
    side: int | None
    role: str
    reader: type[Reader]
    encoding: str | None
    code: str = ""


@dataclass(frozen=True)
class SideFile(FoundFile):
    """A file of one side of a text."""

    side: int


def shown(path: Path) -> str:
    """A path for the configuration: relative to the folder that Snakemake runs in if it is inside, else absolute."""
    path = path.expanduser().absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def paired(files: list[FoundFile], pair: list[str], notes: list[str], foreign: set[str]) -> Iterator[FoundCorpus]:
    """Corpora of one side a file. foreign: stems of files in other languages, which explain a set without a partner."""
    groups: dict[tuple[str, str], dict[int, SideFile]] = {}
    sided = [*_with_sides(files, pair, notes)]
    for file in sided:
        if file.role == MONOLINGUAL:
            continue
        group = groups.setdefault((file.stem, file.reader.format), {})
        if file.side in group:
            other = group[file.side].path
            raise UserError(f"{other} and {file.path}: both are the {pair[file.side]} side of one text; leave one out")
        group[file.side] = file
    single = [file for group in groups.values() if len(group) == 1 for file in group.values()]
    complete = [group for group in groups.values() if len(group) == 2]
    for role in ("train", "dev", "test"):
        sources, targets = ([file for file in single if (file.role, file.side) == (role, side)] for side in (0, 1))
        if len(sources) == len(targets) == 1:  # nothing else they could belong to
            complete.append({0: sources[0], 1: targets[0]})
            single = [file for file in single if file not in (sources[0], targets[0])]
    for group in complete:
        paths = (group[0].path, group[1].path)
        source = _source(paths, pair) | format_key(group[0]) | encoding_key(group[0], group[1])
        name, format = group[0].stem or paths[0].parent.name, group[0].reader.format
        yield FoundCorpus(name, group[0].role, source, paths, format)
    for file in single:
        if file.role != "train" and file.stem in foreign:
            notes.append(f"{file.path}: a {file.role} set without a {pair[1 - file.side]} side, it is left out")
            continue
        others = [each for each in single if (each.role, each.side) == (file.role, 1 - file.side)]
        if file.role != "train" or (file.side == 1 and others):
            raise UserError(
                f"{file.path}: the {pair[file.side]} side only; {_partners(others, pair[1 - file.side], pair)}"
            )
        yield _alone(file, pair, notes)
    yield from (_alone(file, pair, notes) for file in sided if file.role == MONOLINGUAL)


def _alone(file: SideFile, pair: list[str], notes: list[str]) -> FoundCorpus:
    """Text of one language, with a note."""
    notes.append(f"{file.path}: has no {pair[1 - file.side]} side: monolingual text, {USED[file.side]}")
    source = {"file": shown(file.path)} | format_key(file) | encoding_key(file)
    name = file.stem or file.path.parent.name
    return FoundCorpus(name, ALONE[file.side], source, (file.path,), file.reader.format)


def format_key(file: FoundFile) -> Document:
    """The key of the configuration, if the name says another format."""
    return {} if by_name(file.path.name) is file.reader else {"format": file.reader.format}


def encoding_key(*files: FoundFile) -> Document:
    """The key of the configuration, if it is needed. Raises UserError if one of two sides needs it."""
    encodings = {file.encoding for file in files}
    if len(encodings) > 1:
        needing = next(file for file in files if file.encoding)
        raise UserError(f"{needing.path}: is {needing.encoding}, and the other side is UTF-8; convert one of the two")
    return {"encoding": files[0].encoding} if files[0].encoding else {}


def _partners(others: list[SideFile], code: str, pair: list[str]) -> str:
    """What to do with a side without the other one. others: sides that it could go with. code: of their language."""
    names = " or ".join(str(each.path) for each in others)
    advice = f"if {names} goes with it, name the two alike, as X.{pair[0]} and X.{pair[1]}"
    return f"{advice}; if nothing does, name it mono" if names else f"no {code} file goes with it"


def _with_sides(files: list[FoundFile], pair: list[str], notes: list[str]) -> Iterator[SideFile]:
    """The files; those without a language in their names get that of their first lines."""
    for file in files:
        code, share = (pair[file.side], 1.0) if file.side is not None else _language(file)
        if (side := Sides(pair)[code]) is not None:
            yield SideFile(file.path, file.stem, side, file.role, file.reader, file.encoding)
        else:
            notes.append(f"{file.path}: looks like {code} ({100 * share:.0f} % of its first lines), it is left out")


def _language(file: FoundFile) -> tuple[str, float]:
    return language(sentences(file.path, file.reader, file.encoding))


def _source(paths: tuple[Path, Path], pair: list[str]) -> Document:
    """``file`` with {lang} if that gives both names, else a name for each language."""
    names = [shown(path) for path in paths]
    before, code, after = names[0].rpartition(pair[0])
    template = f"{before}{LANGUAGE}{after}"
    if code and template.replace(LANGUAGE, pair[1]) == names[1]:
        return {"file": template}
    return {"file": dict(zip(pair, names, strict=True))}
