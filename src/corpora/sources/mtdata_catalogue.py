"""mtdata's catalogue of published corpora: which addresses and which members of archives make up a corpus.

Only the catalogue is used; we download and read ourselves. It is part of mtdata's package and needs no network.
"""

import difflib
import gc
import importlib
import pkgutil
from functools import cache
from typing import Any, NamedTuple

from common.errors import UserError
from corpora.language_codes import shortest
from corpora.sources.mtdata_index import index_module, quiet

SLOW = ("flores", "opus")  # a quarter of a million entries, which take seconds to load; searched last
UNUSED = ("jw300", "crawl_parse")  # not part of mtdata's own index either
READABLE = {"txt": "lines", "raw": "lines", "tsv": "tsv", "tmx": "tmx", "sgm": "sgm"}
ARCHIVES = ("zip", "tar", "tar.gz", "tgz")
COMPRESSION = ("gz", "xz", "bz2", "zst")


class Entry(NamedTuple):
    """A corpus of the catalogue.

    ``urls`` holds one address, or one for each language; ``members`` (of archives) likewise, or nothing. ``columns``
    are those of the languages in TSV.
    """

    languages: tuple[str, ...]  # ISO 639-1 where there is such a code
    urls: tuple[str, ...]
    members: tuple[str, ...]
    format: str  # lines, tsv, tmx or sgm
    columns: tuple[int, ...]


@cache
def look_up(identifier: str) -> Entry:
    """The entry with an id as `mtdata list` prints it. Raises UserError if it is unknown or cannot be read here."""
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
    """The modules of the catalogue, the quick ones and the slow ones."""
    names = [module.name for module in pkgutil.walk_packages(index_module().__path__, "mtdata.index.")]
    used = [name for name in names if not name.endswith(UNUSED)]
    slow = [name for name in used if any(f".{part}" in name for part in SLOW)]
    return [name for name in used if name not in slow], slow


@cache
def _entries(module_name: str) -> dict:
    module, index = importlib.import_module(module_name), index_module().Index()
    collecting = gc.isenabled()
    gc.disable()  # nothing of all these entries is garbage, and looking for it takes half of the time
    try:
        if hasattr(module, "load_all"):
            module.load_all(index)
    finally:
        if collecting:
            gc.enable()
    return index.entries


def _readable(identifier: str, entry: Any) -> Entry:
    """An entry of mtdata's as ours. Raises UserError if we cannot read its format."""
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
    return Entry(languages, tuple(urls), tuple(entry.in_paths or ()), READABLE[suffix], columns)
