"""mtdata's catalogue of published corpora: which addresses and which members of archives make up a corpus.

Only the catalogue is used; downloads and reading are ours. It is part of the package, no network is needed.
"""

import difflib
import gc
import importlib
import logging
import pickle
import pkgutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import langcodes

from formats.errors import UserError

SLOW = ("flores", "opus")  # a quarter of a million entries, seconds; asked last
UNUSED = ("jw300", "crawl_parse")  # not part of mtdata's own index either
READABLE = {"txt": "lines", "raw": "lines", "tsv": "tsv", "tmx": "tmx", "sgm": "sgm"}
ARCHIVES = ("zip", "tar", "tar.gz", "tgz")
COMPRESSION = ("gz", "xz", "bz2", "zst")


class Entry(NamedTuple):
    """An entry as we read it. ``urls`` are one address or one for each language, ``members`` likewise or empty."""

    languages: tuple[str, ...]  # ISO 639-1 where there is one
    urls: tuple[str, ...]
    members: tuple[str, ...]
    format: str  # lines, tsv, tmx or sgm
    columns: tuple[int, ...]  # TSV: of each language


@cache
def language(code: str) -> str:
    """ISO 639-1 where there is one, without script and region: en of EN-GB and of eng."""
    try:
        return langcodes.standardize_tag(code).split("-")[0]
    except ValueError:
        return code


@cache
def look_up(identifier: str) -> Entry:
    """The entry of an id as `mtdata list` prints it. Raises UserError for one that is unknown or not read here."""
    with _quiet():
        from mtdata.entry import DatasetId

        try:
            wanted = DatasetId.parse(identifier)
        except Exception as error:  # mtdata raises Exception itself, AssertionError, ValueError
            reason = str(error).split(". If")[0]
            raise UserError(f"mtdata: {identifier!r} is not an id like Statmt-europarl-9-deu-eng: {reason}") from None
        known: list[str] = []
        for modules in _modules():
            for entries in map(_loaded, modules):
                for language in (wanted.langs, wanted.langs[::-1]):
                    entry = entries.get(DatasetId(wanted.group, wanted.name, wanted.version, language))
                    if entry:
                        return _readable(identifier, entry)
                known += [str(key) for key in entries if key.group.lower() == wanted.group.lower()]
            if known:  # no group is in quick and in slow modules
                break
    near = difflib.get_close_matches(identifier, known, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `mtdata list` prints all of them"
    raise UserError(f"mtdata: no entry {identifier!r}{hint}")


def _modules() -> tuple[list[str], list[str]]:
    """The modules of the catalogue, the quick ones and the slow ones."""
    names = [module.name for module in pkgutil.walk_packages(_index_module().__path__, "mtdata.index.")]
    used = [name for name in names if not name.endswith(UNUSED)]
    slow = [name for name in used if any(f".{part}" in name for part in SLOW)]
    return [name for name in used if name not in slow], slow


@cache
def _loaded(name: str) -> dict:
    module, part = importlib.import_module(name), _index_module().Index()
    collecting = gc.isenabled()
    gc.disable()  # nothing of all these entries is garbage, and looking for it takes half of the time
    try:
        if hasattr(module, "load_all"):
            module.load_all(part)
    finally:
        if collecting:
            gc.enable()
    return part.entries


@cache
def _index_module() -> ModuleType:
    """mtdata.index without what its import does: make an index of everything, 16 s and 140 MB in the home folder.

    It reads the index from a file if there is one; here the file says that the index is empty.
    """
    import mtdata

    with tempfile.TemporaryDirectory() as folder:
        mtdata.cached_index_file = Path(folder) / "empty.pkl"
        empty = pickle.GLOBAL + b"mtdata.index\nIndex\n" + pickle.EMPTY_TUPLE + pickle.NEWOBJ + pickle.STOP
        mtdata.cached_index_file.write_bytes(empty)
        return importlib.import_module("mtdata.index")


@contextmanager
def _quiet() -> Iterator[None]:
    """mtdata takes over the root logger and reports what it loads; neither is wanted here."""
    root, disabled = logging.getLogger(), logging.root.manager.disable
    handlers, level = list(root.handlers), root.level
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)


def _readable(identifier: str, entry) -> Entry:
    urls = entry.url if isinstance(entry.url, tuple | list) else (entry.url,)
    extension = entry.in_ext or entry.ext
    kind = next((part for part in extension.split(".")[::-1] if part not in COMPRESSION), "")
    if kind not in READABLE and not (entry.in_ext or kind in ARCHIVES) and len(urls) == len(entry.did.langs):
        kind = "txt"  # "deduped.gz" and the like
    archive = entry.ext in ARCHIVES
    if kind not in READABLE or any("://" not in str(url) for url in urls) or (entry.in_paths and not archive):
        raise UserError(f"mtdata: {identifier} is {extension} in {entry.ext}, which is not read here; give its url")
    languages = tuple(language(str(code)) for code in entry.did.langs)
    columns = tuple(entry.cols or range(len(languages)))
    return Entry(languages, tuple(urls), tuple(entry.in_paths or ()), READABLE[kind], columns)
