"""Facts about languages by code: the shortest code, the scripts (BCP 47 and CLDR, through langcodes)."""

from functools import cache

import langcodes

# CLDR's composite scripts, as the Unicode scripts they are made of.
_COMPOSITE = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}

# Languages that are written in several scripts; CLDR names the likeliest alone.
_SEVERAL = {"sr": ("Cyrl", "Latn"), "bs": ("Latn", "Cyrl"), "az": ("Latn", "Cyrl"), "kk": ("Cyrl", "Latn"),
            "ku": ("Latn", "Arab"), "pa": ("Guru", "Arab")}  # fmt: skip
_ALIKE = {"fil": "tl"}  # what BCP 47 prefers to the code of ISO 639-1


@cache
def shortest(code: str) -> str:
    """ISO 639-1 where the language has such a code, without script and region: en for EN-GB and for eng."""
    try:
        language = langcodes.standardize_tag(code).split("-")[0]
        return _ALIKE.get(language, language)
    except ValueError:
        return code


def scripts(language: str) -> tuple[str, ...]:
    """The scripts a language is written in, as Unicode names them."""
    if language in _SEVERAL:
        return _SEVERAL[language]
    script = langcodes.Language.get(language).maximize().script
    return _COMPOSITE.get(script, (script,))
