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
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from distill import config, download
from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

MIRROR = "NMT_FRONTIER_MIRROR"
CACHE = Path("~/.cache/nmt-frontier")
GZIP_MAGIC = b"\x1f\x8b"
CHUNK_BYTES = 1 << 20

Corpus = dict[str, Any]


def mirror_folder(configured: str | None) -> Path | None:
    """The folder that holds copies of corpora: the environment variable goes before the configuration."""
    folder = os.environ.get(MIRROR) or configured
    return Path(folder).expanduser() if folder else None


# Where a text is


def _in_mirror(files: Corpus, language: str, mirror: Path | None) -> Path | None:
    return mirror / files["mirror"].format(lang=language) if mirror and files["mirror"] else None


def _urls(files: Corpus, language: str) -> list[str]:
    return [url.format(lang=language) for url in files["urls"]]


def _in_cache(files: Corpus, language: str, cache: Path) -> list[Path]:
    """The parts of a downloaded text, in a folder named after its checksum."""
    folder = cache.expanduser() / files["sha256"][language]
    return [folder / f"{number}-{Path(url).name}" for number, url in enumerate(_urls(files, language), 1)]


def located(files: Corpus, language: str, mirror: Path | None, cache: Path) -> list[Path]:
    """The parts of a text on this machine; an empty list where it has to be downloaded."""
    copy = _in_mirror(files, language, mirror)
    if copy and copy.is_file():
        return [copy]
    parts = _in_cache(files, language, cache)
    return parts if all(part.is_file() for part in parts) else []


def _text(name: str, files: Corpus, language: str, mirror: Path | None, cache: Path) -> list[Path]:
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
            raise UserError(_nowhere(name, files, language, mirror, "it has no URL"))
    expected, found = files["sha256"][language], _checksum(parts)
    if found != expected:
        remedy = "the copy in the mirror is another text"
        if parts != [_in_mirror(files, language, mirror)]:
            shutil.rmtree(parts[0].parent)
            remedy = f"deleted the download of {' '.join(_urls(files, language))}; run again"
        raise UserError(f"{name}: {parts[0]}: sha256 of the text is {found}, expected {expected}; {remedy}")
    return parts


def _nowhere(name: str, files: Corpus, language: str, mirror: Path | None, reason: str) -> str:
    copy = _in_mirror(files, language, mirror)
    tried = f"no {copy} in the mirror" if copy else f"no mirror is set that could have {files['mirror']}"
    return (
        f"{name}: {tried}, and it cannot be downloaded: {reason}. Set {MIRROR} to a folder that has "
        f"{(files['mirror'] or 'it').format(lang=language)}, or run configs/offline.yaml, which needs neither"
    )


# What is in it


def _open(path: Path) -> BinaryIO:
    stream = open(path, "rb")
    magic = stream.read(len(GZIP_MAGIC))
    stream.seek(0)
    return gzip.open(stream) if magic == GZIP_MAGIC else stream


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
            lengths = [count + (line is not None) + sum(1 for _ in side) for line, side in zip(lines, sides.values())]
            counts = ", ".join(f"{length:,} of {side}" for side, length in zip(sides, lengths))
            raise UserError(f"{name}: the sides have different numbers of lines: {counts}")
        count += 1
        yield lines


def fetch(name: str, corpus: Corpus, languages: list[str], mirror: Path | None, cache: Path, seed: int) -> tuple:
    """The records of a corpus, as a stream, and where they are from."""
    if corpus["builtin"]:
        from distill.grammar import generate  # only built-in studies need the grammar

        split, sentences = corpus["builtin"]["split"], corpus["builtin"]["sentences"]
        pairs = generate(languages[-1], split, sentences, seed)
        return (pair[: len(languages)] for pair in pairs), [f"built-in grammar, {split}"]
    parts = {language: _text(name, corpus["files"], language, mirror, cache) for language in languages}
    sides = {language: _sentences(paths) for language, paths in parts.items()}
    return aligned(name, sides), [str(path) for paths in parts.values() for path in paths]


# Before anything runs


def available(study: config.Config, cache: Path = CACHE) -> list[str]:
    """One line for each corpus that is neither in the mirror nor in the cache nor answers on the network."""
    mirror = mirror_folder(study["mirror"])
    problems = []
    for name, corpus in study["corpora"].items():
        for language in config.languages(corpus, study) if corpus["files"] else []:
            if located(corpus["files"], language, mirror, cache):
                continue
            try:
                for url in _urls(corpus["files"], language):
                    download.reach(url)
                reason = None if corpus["files"]["urls"] else "it has no URL"
            except download.Unreachable as error:
                reason = str(error)
            if reason:
                problems.append(_nowhere(name, corpus["files"], language, mirror, reason))
                break
    return problems


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--available", metavar="CONFIG", help="say which corpora of a study cannot be had, and stop")
    parser.add_argument("--name", help="name of the corpus")
    parser.add_argument("--languages", nargs="+", help="source and target, or the source only")
    parser.add_argument("--spec", type=json.loads, help="the corpus's entry in the configuration, as JSON")
    parser.add_argument("--mirror", help=f"folder of copies; the environment variable {MIRROR} goes before it")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of downloads (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the built-in grammar (default: %(default)s)")
    parser.add_argument("--output", help="records, X.tsv.zst; X.json is written beside it")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    if arguments.available:
        problems = available(config.load(arguments.available), arguments.cache)
        print(*problems, sep="\n")
        sys.exit(1 if problems else 0)
