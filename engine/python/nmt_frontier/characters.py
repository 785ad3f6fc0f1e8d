"""Characters by Unicode's properties: emoji, and invisible ones, which carry no text. Submissions include this file.

A class of characters is what a set of a regular expression has between its brackets.
"""

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category

EMOJI = (  # Emoji, but for the digits, # and *
    "©®‼⁉™ℹ↔-↙↩↪⌚⌛⌨⏏⏩-⏳⏸-⏺Ⓜ▪▫▶◀◻-◾☀-☄☎☑☔☕☘☝☠☢☣☦☪☮☯☸-☺♀♂♈-♓♟♠♣♥♦♨♻♾♿⚒-⚗⚙⚛⚜⚠⚡⚧⚪⚫⚰⚱⚽"
    "⚾⛄⛅⛈⛎⛏⛑⛓⛔⛩⛪⛰-⛵⛷-⛺⛽✂✅✈-✍✏✒✔✖✝✡✨✳✴❄❇❌❎❓-❕❗❣❤➕-➗➡➰➿⤴⤵⬅-⬇⬛⬜⭐⭕〰〽㊗㊙🀄🃏🅰🅱🅾🅿🆎"
    "🆑-🆚🇦-🇿🈁🈂🈚🈯🈲-🈺🉐🉑🌀-🌡🌤-🎓🎖🎗🎙-🎛🎞-🏰🏳-🏵🏷-📽📿-🔽🕉-🕎🕐-🕧🕯🕰🕳-🕺🖇🖊-🖍🖐🖕🖖🖤🖥🖨🖱🖲🖼🗂-🗄"
    "🗑-🗓🗜-🗞🗡🗣🗨🗯🗳🗺-🙏🚀-🛅🛋-🛒🛕-🛙🛜-🛥🛩🛫🛬🛰🛳-🛼🟠-🟫🟰🤌-🤺🤼-🥅🥇-🧿🩰-🩼🪀-🫆🫈🫌-🫝🫟-🫫🫯-🫺"
)
INVISIBLE = (  # Default_Ignorable_Code_Point
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
IDEOGRAPHS = (  # Ideographic, with what is not assigned between them
    "〆〇〡-〩〸-〺㐀-䶿一-鿿\uf900-\ufaff\U00016fe4-\U000191d2\U0001b170-\U0001b2fb\U00020000-\U0003fffd"
)
MONGOLIAN = "\u1800-\u180a\u1810-\u18af\U00011660-\U0001167f"
# Blocks of the scripts whose letters have other forms, or are other letters, beside joiners: Arabic, Syriac, N'Ko;
# those of India, Sinhala, Khmer, Balinese, Javanese; Adlam.
JOINED = (
    "\u0600-\u0dff\u1780-\u17ff\u1b00-\u1bff\u1cd0-\u1cff\ua840-\ua87f\ua8e0-\ua8ff\ua980-\ua9df\uaae0-\uaaff\uabc0-\uabff"
    "\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00010aff\U00010d00-\U00010d3f\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
KEYCAP = "\u20e3"  # a digit before it is an emoji
TAGS = "[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # the code of a region, behind a flag

_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_SELECTORS = "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))  # of forms
_FLAG = "\U0001f3f4"


def visible(text: str) -> str:
    """The text without invisible characters, such as soft hyphens, but for those that change what is read.

    These are joiners behind letters of some scripts (JOINED) and between emoji; selectors of forms behind emoji,
    ideographs and letters of Mongolian; and the tags of flags. Of several in a row the first one stays.
    """
    return text if text.isascii() else _INVISIBLE.sub(_kept, text)


def classified(characters: str) -> list[str]:
    """All characters of a class."""
    return re.findall(f"[{characters}]", "".join(map(chr, range(sys.maxunicode + 1))))


def moves(text: str) -> Iterator[tuple[int, int]]:
    """Places in a text and the same ones in ``visible(text)``: its ends, and those of invisible characters in a row."""
    yield 0, 0
    gone = 0
    for run in _INVISIBLE.finditer(text):
        start, end = run.span()
        yield start, start - gone
        gone += end - start - len(_kept(run))
        yield end, end - gone
    yield len(text), len(text) - gone


def _kept(run: re.Match[str]) -> str:
    """What stays of invisible characters in a row: one that selects a form, and one that joins."""
    (start, end), chars = run.span(), run[0]
    behind = run.string[end : end + 1]
    match _class(run.string[start - 1]) if start else "":
        case "emoji":
            tags = re.match(TAGS, chars) if run.string[start - 1] == _FLAG else None
            form = tags[0] if tags else _first("\ufe0e\ufe0f", chars)
            return form + _first("\u200d" * (_class(behind) == "emoji"), chars)
        case "ideograph":
            return _first(_SELECTORS, chars)
        case "mongolian":
            return _first("\u180b\u180c\u180d\u180f", chars) + _first("\u180e\u200c\u200d", chars)
        case "joined":
            return _first("\u200c\u200d", chars)
    return _first("\ufe0f", chars) if behind == KEYCAP else ""


@lru_cache(1 << 12)
def _class(one: str) -> str:
    """The class of a character, of those behind which invisible ones may stay."""
    if re.match(f"[{EMOJI}]", one):
        return "emoji"
    if re.match(f"[{IDEOGRAPHS}]", one):
        return "ideograph"
    if re.match(f"[{MONGOLIAN}]", one):
        return "mongolian"
    return "joined" if re.match(f"[{JOINED}]", one) and category(one)[0] in "LMN" else ""


def _first(wanted: str, chars: str) -> str:
    return next(filter(wanted.__contains__, chars), "")
