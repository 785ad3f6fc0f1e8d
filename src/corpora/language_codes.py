"""Facts about languages by code: the shortest code, the scripts (BCP 47 and CLDR, through langcodes)."""

from functools import cache

import langcodes

# CLDR's composite scripts, as the Unicode scripts they are made of.
_COMPOSITE = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}


@cache
def shortest(code: str) -> str:
    """ISO 639-1 where the language has such a code, without script and region: en for EN-GB and for eng."""
    try:
        return langcodes.standardize_tag(code).split("-")[0]
    except ValueError:
        return code


def scripts(language: str) -> tuple[str, ...]:
    """The scripts a language is written in, as Unicode names them."""
    script = langcodes.Language.get(language).maximize().script
    return _COMPOSITE.get(script, (script,))
