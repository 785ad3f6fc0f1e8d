"""Text that a translation must have as it is, such as URLs, and the symbols that stand for it while a model translates.

The symbols are pieces of the vocabulary, which a student learns to copy (train.augmentation). One series serves all
kinds, so that each is seen often.
"""

import re
from collections.abc import Iterable

from nmt_frontier.characters import EMOJI, KEYCAP, TAGS

KINDS = ("url", "email", "number", "emoji", "tag", "placeholder")
SYMBOLS = tuple(f"⟦{number}⟧" for number in range(1, 17))
SYMBOL = r"⟦[1-9][0-9]?⟧"
STAND_IN = "[\U000f0000-\U000ffffd]"  # each a part of a line's markup that is not translated (nmt_frontier.text.markup)

LETTER = "[A-Za-z0-9_\u00c0-\u024f]"  # letters of other scripts may touch an item: 42人
DIVIDING = r"[\s.,;:!?…()«»„“”\"]"  # no word goes on behind it; one may behind the others: {n}-fold, {name}'s
# Of scripts that have a space between words: Latin, Greek, Cyrillic, Armenian, Georgian.
SPACED = "[A-Za-z0-9_\u00c0-\u02af\u0386\u0388-\u0481\u048a-\u0556\u0561-\u0587\u10a0-\u10fa\u1c90-\u1cbf\u1e00-\u1ffc]"
_IN_URL = r"[^\s()<>\"`|\\^«»“”„…、。\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]"
_URL = rf"(?:{_IN_URL}|\([^\s()<>]*\))+(?<![.,;:!?'’\]])"  # without the mark that ends the sentence
_EMOJI = rf"[{EMOJI}][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*(?:{TAGS})?"
_MARK = "[©®‼⁉™ℹ↔-↙↩↪⌨⏏Ⓜ▪▫▶◀◻◼⤴⤵⬅-⬇〰〽㊗㊙](?!\ufe0f)"  # no emoji but a mark of text, unless U+FE0F says so
_LIKE_EMOJI = rf"©®‼⁉{KEYCAP}™ℹ\u2194-\u2bff〰〽㊗㊙\U0001f000-\U0001faff"  # in few ranges, which are fast
_BREAKS = r"\t-\r\x1c-\x1e\x85\u2028\u2029"  # a translation has none (nmt_frontier.sentence)
_ATTRIBUTE = rf" +[\w:@.-]+ *= *(?:\"[^\"{_BREAKS}]*\"|'[^'{_BREAKS}]*'|[^\s\"'<>=]+)"
_APART_OR_BEHIND = r"(?:(?<![\w%])|(?<=[%\d$).#+-][sdifuxXgeEc]))"  # not in 5%s, but in %1$s%s
# Of two kinds that begin at the same character the first one wins, so that a number in an address is no number.
PATTERNS = {
    "url": rf"(?<!{LETTER})(?:(?:[Hh][Tt]{{2}}[Pp][Ss]?|[Ff][Tt][Pp])://|(?:[Ww]ww|WWW)\.){_URL}"
    rf"|(?<!{LETTER})(?<![@./-])(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[a-z]{{2,}}/{_URL}",
    "email": rf"(?<!{LETTER})(?<![.%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?!{LETTER})",
    "placeholder": r"\$?\{\{? ?[\w.:-]+ ?\}?\}|\[\[[^\s\[\]]+\]\]|(?<!\w)__[A-Za-z](?:_?[A-Za-z0-9])*__(?!\w)"
    rf"|{_APART_OR_BEHIND}%(?:\(\w+\))?(?:\d+\$)?[-+#0]*(?:(?!0)\d+)?(?:\.\d+)?[sdifuxXgeEc@](?!{LETTER})",
    "tag": rf"</[A-Za-z][\w:.-]* *>|<[A-Za-z][\w:.-]*(?:{_ATTRIBUTE})* */?>",
    "emoji": rf"(?:(?!{_MARK}){_EMOJI}(?:\u200d{_EMOJI})*|(?<!{LETTER})[0-9#*]\ufe0f?{KEYCAP})+",
    "number": rf"(?<!{LETTER})(?<!{LETTER}[.,:/-])[-+−]?[€$£¥]?\d+(?:[.,:/’'-]\d+)*[%‰°€$£¥]?(?!{LETTER})",
}
# What a line must have for any item of a kind. The patterns are slow, and most lines have nothing of it.
_WWW = ("ww.", "WWW.")
_MARKS = {"url": ("/", *_WWW), "email": ("@",), "placeholder": ("{", "[[", "__", "%"), "tag": ("<",), "symbol": ("⟦",)}
_ANY = re.compile(rf"[\d@/<{{\[%_{_LIKE_EMOJI}]|{STAND_IN}")
_ANY_ASCII = re.compile(r"[\d@/<{\[%_]", re.ASCII)  # for ASCII: the same, several times as fast
_POSSIBLE = {"number": re.compile(r"\d"), "emoji": re.compile(f"[{_LIKE_EMOJI}]"), "markup": re.compile(STAND_IN)}


class Finder:
    """Finds the items of some kinds, and symbols that the text itself has. kinds: of KINDS, or ``markup``."""

    def __init__(self, kinds: Iterable[str] = KINDS):
        chosen = {*kinds, "symbol"}
        patterns = PATTERNS | {"symbol": SYMBOL, "markup": STAND_IN}
        self._patterns = {kind: pattern for kind, pattern in patterns.items() if kind in chosen}
        self._of: dict[tuple[str, ...], re.Pattern[str]] = {}  # by kinds that a line may have

    def found(self, text: str) -> list[re.Match[str]]:
        """All items, in order; ``lastgroup`` is the kind, or ``symbol``."""
        if not (_ANY_ASCII if text.isascii() else _ANY).search(text) and not any(mark in text for mark in _WWW):
            return []
        kinds = tuple(kind for kind in self._patterns if self._possible(kind, text))
        if kinds not in self._of:
            self._of[kinds] = re.compile("|".join(f"(?P<{kind}>{self._patterns[kind]})" for kind in kinds))
        return [*self._of[kinds].finditer(text)] if kinds else []

    def _possible(self, kind: str, text: str) -> bool:
        if kind in _POSSIBLE:
            return bool(_POSSIBLE[kind].search(text))
        return any(mark in text for mark in _MARKS[kind])
