"""Sources of corpora: one class per kind.

- ``source``: the interface of all of them
- ``builtin``: sentences of ``corpora.grammar``
- ``stored``: sources with text in files; ``stored_text``: such a text; ``place``: where a file is
- ``addressed``: those with addresses in the configuration: files, URLs, wheels, sacreBLEU's sets
- ``mtdata``: entries of mtdata's catalogue
"""

from typing import Any

from corpora.settings import Corpus
from corpora.sources.addressed import File, Package, Sacrebleu, Url
from corpora.sources.builtin import Builtin
from corpora.sources.mtdata import Mtdata
from corpora.sources.source import Source
from nmt_frontier.errors import UserError

SOURCES: dict[str, type[Source[Any]]] = {
    source.key: source for source in (File, Url, Package, Mtdata, Sacrebleu, Builtin)
}


def given(entry: Corpus) -> list[str]:
    """The keys of the sources that an entry names; there should be one."""
    return [key for key in SOURCES if getattr(entry, key) is not None]


def source_of(name: str, entry: Corpus, pair: list[str]) -> Source[Any]:
    """The source of a corpus; ``pair``: the study's languages. Raises UserError unless the entry names exactly one."""
    keys = given(entry)
    if len(keys) != 1:
        named = f"has {' and '.join(keys)}" if keys else "has none"
        raise UserError(f"{name}: needs exactly one source of {', '.join(SOURCES)}; it {named}")
    return SOURCES[keys[0]](name, entry, pair)
