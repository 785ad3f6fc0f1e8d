"""The shortest code and the scripts of a language (BCP 47 and CLDR, through langcodes)."""

from functools import cache

import langcodes

# CLDR's composite scripts, as the Unicode scripts they are made of.
_COMPOSITE = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}

# Languages with several scripts; CLDR names only the likeliest.
_SEVERAL = {"sr": ("Cyrl", "Latn"), "bs": ("Latn", "Cyrl"), "az": ("Latn", "Cyrl"), "kk": ("Cyrl", "Latn"),
            "ku": ("Latn", "Arab"), "pa": ("Guru", "Arab")}  # fmt: skip
_ALIKE = {"fil": "tl"}  # BCP 47 prefers another code than ISO 639-1


@cache
def shortest(code: str) -> str:
    """The ISO 639-1 code if there is one, without script and region: en for EN-GB and for eng."""
    try:
        language = langcodes.standardize_tag(code).split("-")[0]
        return _ALIKE.get(language, language)
    except ValueError:
        return code


def scripts(language: str) -> tuple[str, ...]:
    """The Unicode names of a language's scripts."""
    if language in _SEVERAL:
        return _SEVERAL[language]
    script = str(langcodes.Language.get(language).maximize().script)
    return _COMPOSITE.get(script, (script,))
