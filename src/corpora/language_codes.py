"""Codes of languages as files write them, and the scripts of a language (BCP 47 and CLDR, through langcodes)."""

from collections.abc import Iterable, Iterator
from functools import cache

import langcodes

from nmt_frontier.languages import shortest, tag

# CLDR's composite scripts, as the Unicode scripts they are made of.
_COMPOSITE = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}

# Languages with several scripts; CLDR names only the likeliest.
_SEVERAL = {"sr": ("Cyrl", "Latn"), "bs": ("Latn", "Cyrl"), "az": ("Latn", "Cyrl"), "kk": ("Cyrl", "Latn"),
            "ku": ("Latn", "Arab"), "pa": ("Guru", "Arab")}  # fmt: skip


def _language(code: str) -> langcodes.Language:
    """Raises ValueError."""
    return langcodes.Language.get(langcodes.standardize_tag(tag(code), macro=True))


@cache
def variant(code: str) -> tuple[str, str | None, str | None]:
    """The language, its script and region; where the code does not name them the likeliest ones."""
    try:
        likely = _language(code).maximize()
    except ValueError:
        return code, None, None
    return shortest(code), likely.script, likely.territory


@cache
def means(code: str, wanted: str) -> bool:
    """Whether a code is of the wanted language, and of its script and region if ``wanted`` names them."""
    if shortest(code) != shortest(wanted):
        return False
    try:
        asked = _language(wanted)
    except ValueError:
        return True  # the same unknown one
    _, script, region = variant(code)
    return asked.script in (None, script) and asked.territory in (None, region)


class Sides(dict[str, int | None]):
    """Which side of a corpus a code means, None for none of them; the keys are all codes that were asked for.

    wanted: the language of each side, or the variant of it that is read, such as zh-TW.
    """

    def __init__(self, wanted: Iterable[str]):
        super().__init__()
        self.wanted = [*wanted]

    def __missing__(self, code: str) -> int | None:
        found = (side for side, wanted in enumerate(self.wanted) if means(code, wanted))
        self[code] = next(found, None)
        return self[code]

    def variants(self) -> Iterator[list[str]]:
        """For each side with codes of several variants these codes, one for each."""
        for side in range(len(self.wanted)):
            codes: dict[tuple[str | None, ...], str] = {}
            for code in (code for code, its in self.items() if its == side):
                codes.setdefault(variant(code), code)
            if len(codes) > 1:
                yield [*codes.values()]


def scripts(language: str) -> tuple[str, ...]:
    """The Unicode names of a language's scripts."""
    if language in _SEVERAL:
        return _SEVERAL[language]
    script = str(langcodes.Language.get(language).maximize().script)
    return _COMPOSITE.get(script, (script,))
