"""The built-in corpus: caption-like English sentences with German or French translations, made by a small grammar.

Each English sentence has several correct translations, and one is drawn at random, so that distillation has something
to simplify. The corpus is for tests and for showing effects; BLEU on it does not predict BLEU on real text.

A hash of the English text decides the split of a sentence, so splits of any size share no sentence. Each word belongs
to one meaning, so two English sentences never have a translation in common.

- ``meaning``: what a sentence means, drawn from the words of ``lexicon.yaml``
- ``english``, ``german``, ``french``: a meaning as a sentence of a language
"""

import hashlib
import random
from collections.abc import Iterator

from corpora.grammar import english, french, german
from corpora.grammar.meaning import draw
from formats.records import Record
from nmt_frontier.errors import UserError

REALISE = {"de": german.sentence, "fr": french.sentence}
LANGUAGES = tuple(REALISE)
# Cumulative upper bounds, in per cent of all sentences.
SPLITS = {"dev": 4, "test": 8, "test2": 12, "monolingual": 50, "train": 100}


def split_of(sentence: str) -> str:
    """The split of a sentence, the same for every seed."""
    place = int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:8]) % 100
    return next(split for split, bound in SPLITS.items() if place < bound)


def generate(target: str, split: str, sentences: int, seed: int, translated: bool = False) -> Iterator[Record]:
    """Distinct English sentences of a split, each with a translation; those of monolingual only if ``translated``.

    Raises UserError.
    """
    if target not in REALISE:
        raise UserError(f"the built-in grammar has no language {target!r}; it has {', '.join(LANGUAGES)}")
    if split not in SPLITS:
        raise UserError(f"the built-in grammar has no split {split!r}; it has {', '.join(SPLITS)}")
    source = random.Random(f"{split} {seed}")
    seen: set[str] = set()
    while len(seen) < sentences:
        meaning = draw(source)
        text = english.sentence(meaning)
        if text in seen or split_of(text) != split:
            continue
        seen.add(text)
        alone = split == "monolingual" and not translated
        yield (text,) if alone else (text, REALISE[target](meaning, source))
