"""Which files are the two sides of a text: by what their names say, else by the language of their first lines."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from common.errors import UserError
from corpora.readers import Reader
from corpora.sources.mirror import LANGUAGE
from study.new.contents import first_lines, language
from study.schema import Config


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
class File:
    """side: 0 source, 1 target, None unknown; of a format with both sides it means nothing. stem: without its side."""

    path: Path
    stem: str
    side: int | None
    role: str
    reader: type[Reader]


def shown(path: Path) -> str:
    """A path as a configuration has it: from the folder that Snakemake runs in, if it is there, else absolute."""
    path = path.expanduser().absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def paired(files: list[File], pair: list[str], notes: list[str], foreign: set[str]) -> Iterator[Corpus]:
    """foreign: stems of files in other languages, with which a dev or test set may go that has no other partner."""
    groups: dict[tuple[str, str], dict[int, File]] = {}
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
        yield Corpus(group[0].stem or paths[0].parent.name, group[0].role, _source(paths, pair), paths)
    for file in single:
        if file.role != "train" and file.stem in foreign:
            notes.append(f"{file.path}: a {file.role} set without a {pair[1 - file.side]} side, it is left out")
            continue
        if file.side == 1 or file.role != "train":
            raise UserError(f"{file.path}: the {pair[file.side]} side only; {_partners(file, single, pair)}")
        notes.append(f"{file.path}: has no {pair[1]} side: monolingual text, which the teacher translates")
        yield Corpus(file.stem or file.path.parent.name, "monolingual", {"file": shown(file.path)}, (file.path,))


def _partners(file: File, single: list[File], pair: list[str]) -> str:
    """Which file a side could go with, if its name said so."""
    others = [str(other.path) for other in single if (other.role, other.side) == (file.role, 1 - file.side)]
    if not others:
        return f"no {pair[1 - file.side]} file goes with it"
    return f"if {' or '.join(others)} goes with it, name the two alike, as X.{pair[0]} and X.{pair[1]}"


def _with_sides(files: list[File], pair: list[str], notes: list[str]) -> Iterator[File]:
    """The files, those without a language in their names with the one of their first lines."""
    for file in files:
        if file.side is not None:
            yield file
            continue
        code, share = language(first_lines(file.path))
        if code in pair:
            yield replace(file, side=pair.index(code))
        else:
            notes.append(f"{file.path}: looks like {code} ({100 * share:.0f} % of its first lines), it is left out")


def _source(paths: tuple[Path, Path], pair: list[str]) -> Config:
    """``file`` with {lang} if that gives both names, else a name for each language."""
    names = [shown(path) for path in paths]
    before, code, after = names[0].rpartition(pair[0])
    template = f"{before}{LANGUAGE}{after}"
    if code and template.replace(LANGUAGE, pair[1]) == names[1]:
        return {"file": template}
    return {"file": dict(zip(pair, names, strict=True))}
