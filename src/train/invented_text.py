"""Text that no one wrote, to be copied: words, URLs, e-mail addresses, numbers, emoji, placeholders.

names: words of a sentence that a text may have in it.
"""

import re
from collections.abc import Sequence
from random import Random

from nmt_frontier.characters import EMOJI

DOMAINS = ("com", "org", "net", "de", "fr", "cz", "eu", "info")
SIGNS = "€$£¥"
CLUSTERS = ("br", "ch", "cl", "dr", "fl", "gr", "pl", "pr", "sh", "sp", "st", "str", "th", "tr")
ONSETS = (*"bcdfghjklmnpqrstvwxyz", *CLUSTERS, "")
NUCLEI = (*"aeiouy", "ai", "ea", "ee", "ie", "io", "oo", "ou")
CODAS = (*"bdgklmnprstx", "ck", "ct", "ge", "le", "mp", "nd", "ng", "nt", "rt", "se", "ss", "st", "te", *[""] * 8)
PICTURES = (*range(0x1F300, 0x1F3FB), *range(0x1F400, 0x1F650), *range(0x1F680, 0x1F6C6))
TONES, FLAGS, SYMBOLS = range(0x1F3FB, 0x1F400), range(0x1F1E6, 0x1F200), range(0x2190, 0x2B56)
PICTURE_EMOJI, SYMBOL_EMOJI = (re.findall(f"[{EMOJI}]", "".join(map(chr, codes))) for codes in (PICTURES, SYMBOLS))


def word(drawn: Random, names: Sequence[str] = ()) -> str:
    """One of the names, or a word of no language, or of any: letters, or syllables, which have the pieces of words."""
    kinds = drawn.randrange(2 + bool(names))
    if kinds == 2:
        return drawn.choice(names)
    if kinds == 1:
        return "".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 9)))
    return "".join("".join(map(drawn.choice, (ONSETS, NUCLEI, CODAS))) for _ in range(drawn.randint(1, 3)))


def url(drawn: Random, names: Sequence[str] = ()) -> str:
    host = drawn.choice(("", "www.", f"{word(drawn, names)}.")) + f"{word(drawn, names)}.{drawn.choice(DOMAINS)}"
    path = "".join(f"/{word(drawn, names)}" for _ in range(drawn.randint(0, 3)))
    values = [f"{word(drawn, names)}={drawn.choice((word(drawn), drawn.randrange(1000)))}" for _ in range(2)]
    query = drawn.choice(("", "", "/", f"#{word(drawn, names)}", f"?{values[0]}", "?" + "&".join(values)))
    return f"{drawn.choice(('https', 'https', 'http'))}://{host}{path}{query}"


def email(drawn: Random, names: Sequence[str] = ()) -> str:
    person = drawn.choice(".-_+").join(word(drawn, names) for _ in range(drawn.randint(1, 2)))
    digits = drawn.choice(("", "", "", drawn.randrange(100)))
    host = drawn.choice(("", "", f"{word(drawn, names)}.")) + word(drawn, names)
    return f"{person}{digits}@{host}.{drawn.choice(DOMAINS)}"


def number(drawn: Random, names: Sequence[str] = ()) -> str:
    """An amount, a count, a time or a date, to be copied as it is, whatever marks the target language has."""
    whole = str(drawn.randrange(10 ** drawn.randint(1, 6)))
    amount = f"{drawn.choice(SIGNS)}{whole}.{drawn.randrange(100):02}"
    time = f"{drawn.randrange(24)}:{drawn.randrange(60):02}"
    date = f"{drawn.randint(1950, 2050)}-{drawn.randint(1, 12):02}-{drawn.randint(1, 28):02}"
    return drawn.choice((whole, whole, amount, time, date))


def emoji(drawn: Random, names: Sequence[str] = ()) -> str:
    return "".join(_emoji(drawn) for _ in range(drawn.choice((1, 1, 1, 2))))


def _emoji(drawn: Random) -> str:
    first, second = drawn.choices(PICTURE_EMOJI, k=2)
    tone, flag = chr(drawn.choice(TONES)), "".join(map(chr, drawn.choices(FLAGS, k=2)))
    sequences = first + tone, f"{first}\u200d{second}", flag, drawn.choice(SYMBOL_EMOJI) + "\ufe0f"
    return drawn.choice((first, first, first, first, *sequences))


def placeholder(drawn: Random, names: Sequence[str] = ()) -> str:
    name = word(drawn, names)
    named = (f"{{{name}}}", f"${{{name}}}", f"%({name})s", f"{{{{{name}}}}}", f"__{name.upper()}__")
    return drawn.choice((*named, f"{{{drawn.randrange(10)}}}", f"%{drawn.randint(1, 9)}$s", "%s", "%d"))
