"""Source `mtdata`: an entry of mtdata's catalogue, which gives addresses, members and formats and needs no network.

In mtdata 0.5.1, importing ``mtdata.index`` loads all modules of the catalogue and pickles the result in the file
``mtdata.cached_index_file``, unless that exists. So it gets a temporary pickle of an index without entries, written by
hand because ``pickle.dumps()`` would need to import the class. Once mtdata builds its index on demand, `index_module`
becomes ``import mtdata.index``.
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
from typing import TYPE_CHECKING, Any, NamedTuple

from corpora.readers import READERS
from corpora.readers.reader import Reader, Selection
from corpora.sources.addressed import WebFile
from corpora.sources.place import Copy, Place, Texts
from corpora.sources.stored import StoredSource
from nmt_frontier.errors import UserError
from nmt_frontier.languages import shortest

if TYPE_CHECKING:
    from mtdata.entry import DatasetId

# The opcodes of ``Index.__new__(Index)``, on which mtdata calls only isinstance().
EMPTY_INDEX = pickle.GLOBAL + b"mtdata.index\nIndex\n" + pickle.EMPTY_TUPLE + pickle.NEWOBJ + pickle.STOP

SLOW = ("flores", "opus")  # a quarter of a million entries, which take seconds to load; searched last
UNUSED = ("jw300", "crawl_parse")  # mtdata does not index them either
READABLE = {"txt": "lines", "raw": "lines", "tsv": "tsv", "tmx": "tmx", "sgm": "sgm"}
ARCHIVES = ("zip", "tar", "tar.gz", "tgz")
COMPRESSION = ("gz", "xz", "bz2", "zst")


@cache
def index_module() -> ModuleType:
    """The package ``mtdata.index``, with none of its modules loaded."""
    import mtdata

    with tempfile.TemporaryDirectory() as folder:
        mtdata.cached_index_file = Path(folder) / "empty.pkl"
        mtdata.cached_index_file.write_bytes(EMPTY_INDEX)
        return importlib.import_module("mtdata.index")


@contextmanager
def quiet() -> Iterator[None]:
    """Undo mtdata's logging: it configures the root logger on import and reports each module it loads."""
    root, disabled = logging.getLogger(), logging.root.manager.disable
    handlers, level = list(root.handlers), root.level
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)


class CatalogueEntry(NamedTuple):
    """A corpus of the catalogue."""

    languages: tuple[str, ...]  # ISO 639-1 codes if possible
    urls: tuple[str, ...]  # one, or one a language
    members: tuple[str, ...]  # of archives: none, one, or one a language
    format: str  # lines, tsv, tmx or sgm
    columns: tuple[int, ...]  # of the languages in TSV


@cache
def look_up(identifier: str) -> CatalogueEntry:
    """The entry with an id as `mtdata list` prints it. Raises UserError if it is unknown or unreadable."""
    with quiet():
        from mtdata.entry import DatasetId

        try:
            dataset = DatasetId.parse(identifier)
        except Exception as error:  # mtdata raises Exception itself, AssertionError, ValueError
            reason = str(error).split(". If")[0]
            raise UserError(f"mtdata: {identifier!r} is not an id like Statmt-europarl-9-deu-eng: {reason}") from None
        of_group: list[str] = []
        for modules in _modules():
            for entries in map(_entries, modules):
                for languages in (dataset.langs, dataset.langs[::-1]):
                    entry = entries.get(DatasetId(dataset.group, dataset.name, dataset.version, languages))
                    if entry:
                        return _readable(identifier, entry)
                of_group += [str(key) for key in entries if key.group.lower() == dataset.group.lower()]
            if of_group:  # no group is in quick and in slow modules
                break
    near = difflib.get_close_matches(identifier, of_group, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `mtdata list` prints all of them"
    raise UserError(f"mtdata: no entry {identifier!r}{hint}")


def _modules() -> tuple[list[str], list[str]]:
    """The quick and the slow modules of the catalogue."""
    names = [module.name for module in pkgutil.walk_packages(index_module().__path__, "mtdata.index.")]
    used = [name for name in names if not name.endswith(UNUSED)]
    slow = [name for name in used if any(f".{part}" in name for part in SLOW)]
    return [name for name in used if name not in slow], slow


@cache
def _entries(module_name: str) -> dict["DatasetId", Any]:
    module, index = importlib.import_module(module_name), index_module().Index()
    collecting = gc.isenabled()
    gc.disable()  # a search for garbage would take half of the time and find none
    try:
        if hasattr(module, "load_all"):
            module.load_all(index)
    finally:
        if collecting:
            gc.enable()
    entries: dict[DatasetId, Any] = index.entries
    return entries


def _readable(identifier: str, entry: Any) -> CatalogueEntry:
    """An entry of mtdata as CatalogueEntry. Raises UserError for a format without a reader."""
    urls = entry.url if isinstance(entry.url, tuple | list) else (entry.url,)
    extension = entry.in_ext or entry.ext
    suffix = next((part for part in extension.split(".")[::-1] if part not in COMPRESSION), "")
    if suffix not in READABLE and not (entry.in_ext or suffix in ARCHIVES) and len(urls) == len(entry.did.langs):
        suffix = "txt"  # "deduped.gz" and the like
    archive = entry.ext in ARCHIVES
    if suffix not in READABLE or any("://" not in str(url) for url in urls) or (entry.in_paths and not archive):
        raise UserError(f"mtdata: {identifier} is {extension} in {entry.ext}, which is not read here; give its url")
    languages = tuple(shortest(str(code)) for code in entry.did.langs)
    columns = tuple(entry.cols or range(len(languages)))
    return CatalogueEntry(languages, tuple(urls), tuple(entry.in_paths or ()), READABLE[suffix], columns)


class Mtdata(StoredSource[str]):
    key = "mtdata"
    implied = ("member", "format", "columns")

    @property
    def reader(self) -> type[Reader] | None:
        """None, as the catalogue decides; problems() reports a configured format."""
        return READERS.get(self.entry.format or "")

    def originals(self) -> Iterator[Copy]:
        published = look_up(identifier := self.address)
        for code in self.languages:
            if shortest(code) not in published.languages:
                raise UserError(f"mtdata: {identifier} is in {', '.join(published.languages)}, it has no {code}")
        rows = [published.languages.index(shortest(code)) for code in self.languages]
        files: list[Place] = [WebFile(url, member) for url in published.urls for member in published.members or (None,)]
        reader = READERS[published.format]
        if reader.one_file:
            columns: list[int | str] = [published.columns[row] for row in rows]
            selection = Selection(self.languages, columns, variants=self.entry.variants or {}, scores=self.scores)
            yield Copy(reader(selection), {None: files})
            return
        if len(files) != len(published.languages):
            raise UserError(f"mtdata: {identifier} is {len(files)} files, not one for each language; give its url")
        texts: Texts = {code: [files[row]] for code, row in zip(self.languages, rows, strict=True)}
        yield Copy(reader(Selection(self.languages, [])), texts)

    def origins(self) -> list[str]:
        return [f"mtdata {self.address}"]
