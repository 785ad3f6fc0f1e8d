"""Get a corpus and write it as records: from the mirror folder, the download cache, the network or the grammar.

A text may be in several parts, one after the other; its checksum is that of all of them together, uncompressed.
Nothing is believed before its checksum is right.
"""

import argparse
import gzip
import hashlib
import json
import os
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, zip_longest
from pathlib import Path
from typing import BinaryIO

from distill import config, download
from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

MIRROR = "NMT_FRONTIER_MIRROR"
CACHE = Path("~/.cache/nmt-frontier")
GZIP_MAGIC = b"\x1f\x8b"
CHUNK_BYTES = 1 << 20

NO_URL = "it has no URL"


def mirror_folder(configured: str | None) -> Path | None:
    """The folder that holds copies of corpora: the environment variable goes before the configuration."""
    folder = os.environ.get(MIRROR) or configured
    return Path(folder).expanduser() if folder else None


# Where a text is


def _in_mirror(files: config.Config, language: str, mirror: Path | None) -> Path | None:
    return mirror / files["mirror"].format(lang=language) if mirror and files["mirror"] else None


def _urls(files: config.Config, language: str) -> list[str]:
    return [url.format(lang=language) for url in files["urls"]]


def _in_cache(files: config.Config, language: str, cache: Path) -> list[Path]:
    """The parts of a downloaded text, in a folder named after its checksum."""
    folder = cache.expanduser() / files["sha256"][language]
    return [folder / f"{number}-{Path(url).name}" for number, url in enumerate(_urls(files, language), 1)]


def located(files: config.Config, language: str, mirror: Path | None, cache: Path) -> list[Path]:
    """The parts of a text on this machine; an empty list where it has to be downloaded."""
    copy = _in_mirror(files, language, mirror)
    if copy and copy.is_file():
        return [copy]
    parts = _in_cache(files, language, cache)
    return parts if all(part.is_file() for part in parts) else []


def _text(name: str, files: config.Config, language: str, mirror: Path | None, cache: Path) -> list[Path]:
    """The parts of a text, checksum verified; downloaded if this machine does not have it."""
    parts = located(files, language, mirror, cache)
    if not parts:
        parts = _in_cache(files, language, cache)
        for url, part in zip(_urls(files, language), parts, strict=True):
            try:
                download.download(url, part)
            except download.Unreachable as error:
                raise UserError(_nowhere(name, files, language, mirror, str(error))) from error
        if not parts:
            raise UserError(_nowhere(name, files, language, mirror, NO_URL))
    expected, found = files["sha256"][language], _checksum(parts)
    if found != expected:
        remedy = "the copy in the mirror is another text"
        if parts != [_in_mirror(files, language, mirror)]:
            shutil.rmtree(parts[0].parent)
            remedy = f"deleted the download of {' '.join(_urls(files, language))}; run again"
        raise UserError(f"{name}: {parts[0]}: sha256 of the text is {found}, expected {expected}; {remedy}")
    return parts


def _nowhere(name: str, files: config.Config, language: str, mirror: Path | None, reason: str) -> str:
    copy = _in_mirror(files, language, mirror)
    tried = f"no {copy} in the mirror" if copy else "no mirror"
    wanted = files["mirror"].format(lang=language) if files["mirror"] else "it"
    return (
        f"{name}: {tried}, and no download: {reason}. Set {MIRROR} to a folder that has {wanted}, "
        "or run configs/offline.yaml, which needs neither"
    )


# What is in it


def _open(path: Path) -> BinaryIO:
    with open(path, "rb") as stream:
        compressed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.open(path) if compressed else open(path, "rb")


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with _open(path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: truncated or damaged gzip file ({error}); delete it and run again") from error


def _checksum(parts: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        for chunk in _chunks(part):
            digest.update(chunk)
    return digest.hexdigest()


def _sentences(parts: Iterable[Path]) -> Iterator[str]:
    for part in parts:
        with _open(part) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    yield records.sentence(line.decode())
                except UnicodeDecodeError as error:
                    where = f"{part}: line {number}, byte {error.start + 1}"
                    raise UserError(f"{where}: not UTF-8 (0x{line[error.start]:02x}); convert the file") from error


def aligned(name: str, sides: dict[str, Iterator[str]]) -> Iterator[records.Record]:
    """The sides of a text line by line. Raises UserError with both counts where one is shorter."""
    count = 0
    for lines in zip_longest(*sides.values()):
        if None in lines:
            rest = zip(sides.items(), lines, strict=True)
            counts = [f"{count + (line is not None) + sum(1 for _ in side):,} of {key}" for (key, side), line in rest]
            raise UserError(f"{name}: the sides have different numbers of lines: {', '.join(counts)}")
        count += 1
        yield lines
    if not count:
        raise UserError(f"{name}: the text is empty")


def complete(name: str, corpus: Iterable[records.Record], expected: int | None) -> Iterator[records.Record]:
    """The same records. Raises UserError at the end if they are not as many as the configuration says."""
    count = 0
    for record in corpus:
        count += 1
        yield record
    if expected not in (None, count):
        raise UserError(f"{name}: has {count:,} lines, its configuration says {expected:,}; mend one of the two")


def fetch(
    name: str, corpus: config.Config, pair: list[str], mirror: Path | None, cache: Path, seed: int
) -> tuple[Iterator[records.Record], list[str]]:
    """The records of a corpus, as a stream, and where they are from.

    ``pair`` holds the source and the target language, also for monolingual text. Raises UserError.
    """
    languages = config.languages(corpus, pair)
    if corpus["builtin"]:
        from distill.grammar import generate  # only built-in studies need the grammar

        split, sentences = corpus["builtin"]["split"], corpus["builtin"]["sentences"]
        pairs = generate(pair[-1], split, sentences, seed)
        return (record[: len(languages)] for record in pairs), [f"built-in grammar, {split}"]
    parts = {language: _text(name, corpus["files"], language, mirror, cache) for language in languages}
    sides = {language: _sentences(paths) for language, paths in parts.items()}
    origins = [origin for language in languages for origin in _origins(corpus["files"], language)]
    return complete(name, aligned(name, sides), corpus["lines"]), origins


def _origins(files: config.Config, language: str) -> list[str]:
    """Where anybody gets the text, not where this machine happened to have it."""
    return _urls(files, language) or [files["mirror"].format(lang=language)]


# Before anything runs


def available(study: config.Config, cache: Path = CACHE) -> list[str]:
    """One line for each corpus that is neither in the mirror nor in the cache nor answers on the network."""
    mirror, pair = mirror_folder(study["mirror"]), [study["source"], study["target"]]

    def problem(item: tuple[str, config.Config]) -> str | None:
        name, corpus = item
        for language in config.languages(corpus, pair) if corpus["files"] else []:
            reason = _unreachable(corpus["files"], language, mirror, cache)
            if reason:
                return _nowhere(name, corpus["files"], language, mirror, reason)
        return None

    with ThreadPoolExecutor() as pool:  # without a network each of them waits for its time-out
        return [line for line in pool.map(problem, study["corpora"].items()) if line]


def _unreachable(files: config.Config, language: str, mirror: Path | None, cache: Path) -> str | None:
    if located(files, language, mirror, cache):
        return None
    if not files["urls"]:
        return NO_URL
    try:
        for url in _urls(files, language):
            download.reach(url)
    except download.Unreachable as error:
        return str(error)
    return None


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
        print(*problems, sep="\n", end="\n" if problems else "")
        sys.exit(bool(problems))
    corpus = config.corpus(arguments.spec)
    name, mirror = arguments.name, mirror_folder(arguments.mirror)
    stream, origin = fetch(name, corpus, arguments.languages, mirror, arguments.cache, arguments.seed)
    stream = islice(stream, corpus["max_lines"])
    lines, checksum = records.write(arguments.output, progress(stream, f"fetch {name}"))
    description = {"name": name, "role": corpus["role"], "origin": origin, "licence": corpus["licence"]}
    write_json(records.info(arguments.output), description | {"lines": lines, "sha256": checksum})


if __name__ == "__main__":
    command(main)
