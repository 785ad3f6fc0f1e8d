"""Checks of the corpora: roles, sources, how their files are read, cleaning."""

from collections.abc import Iterator

from corpora.sources import SOURCES, given, source_of
from corpora.sources.source import languages
from study.resources import read_size
from study.schema import Config

ROLES_NEEDED = ("train", "dev", "test")


def problems(config: Config) -> Iterator[str]:
    corpora = config["corpora"]
    roles = {corpus["role"] for corpus in corpora.values()}
    yield from (f"corpora: none has the role {role}" for role in ROLES_NEEDED if role not in roles)
    texts: dict[str, str] = {}  # the path of the corpus that was the first to have each text
    for name, corpus in corpora.items():
        path = f"corpora.{name}"
        if len(keys := given(corpus)) == 1:
            source = source_of(name, corpus, [config["source"], config["target"]])
            yield from (f"{path}.{problem}" for problem in source.problems())
            if source.identity in texts:
                yield f"{path}{source.text_key}: is the text of {texts[source.identity]}"
            texts[source.identity] = path
        else:
            yield f"{path}: needs exactly one source of {', '.join(SOURCES)}; it has {' and '.join(keys) or 'none'}"
        if (most := read_size(corpus)) and (corpus["sample"] or 0) > most:
            yield f"{path}.sample: {corpus['sample']:,} lines of {most:,}; take fewer, or all with null"
        yield from _cleaning_problems(path, corpus, config)


def _cleaning_problems(path: str, corpus: Config, config: Config) -> Iterator[str]:
    if corpus["role"] in ("dev", "test"):
        if corpus["cleaning"] != config["cleaning"]:
            yield f"{path}.cleaning: {corpus['role']} sets are never filtered"
        if corpus["sample"]:
            yield f"{path}.sample: {corpus['role']} sets are taken whole, or up to max_lines"
        return
    candidates, codes = corpus["cleaning"]["langid_languages"], languages(corpus, [config["source"], config["target"]])
    for side, code in zip(("source", "target"), codes, strict=False):
        if candidates and side in corpus["cleaning"]["langid"] and code not in candidates:
            yield f"{path}.cleaning.langid_languages: {code}, the language of the {side} side, is not among them"
