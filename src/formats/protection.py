"""Text that a translation must have as it is, such as URLs, and the symbols that stand for it while a model translates.

The symbols are pieces of the vocabulary, which a student learns to copy (train.augmentation). One series serves all
kinds, so that each is seen often.
"""

import re
from collections.abc import Iterable

KINDS = ("url", "email", "number", "emoji", "tag", "placeholder")
SYMBOLS = tuple(f"⟦{number}⟧" for number in range(1, 17))
SYMBOL = r"⟦[1-9][0-9]?⟧"

_LETTER = "[A-Za-z0-9_\u00c0-\u024f]"  # letters of other scripts may touch an item: 42人
_IN_URL = r"[^\s()<>\"`|\\^«»“”„…、。\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]"
_URL = rf"(?:{_IN_URL}|\([^\s()<>]*\))+(?<![.,;:!?'’\]])"  # without the mark that ends the sentence
_EMOJI = (
    "[\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u25fd\u25fe\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001faff]"
)
_TONE = "[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
_ATTRIBUTE = r" +[\w:@.-]+ *= *(?:\"[^\"\t]*\"|'[^'\t]*'|[^\s\"'<>=]+)"
# Of two kinds that begin at the same character the first one wins, so that a number in an address is no number.
PATTERNS = {
    "url": rf"(?<!{_LETTER})(?:(?:https?|ftp)://|www\.){_URL}"
    rf"|(?<!{_LETTER})(?<![@./-])(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[a-z]{{2,}}/{_URL}",
    "email": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "placeholder": r"\$?\{\{? ?[\w.:-]+ ?\}?\}|\[\[[^\s\[\]]+\]\]|(?<!\w)__[A-Za-z](?:_?[A-Za-z0-9])*__(?!\w)"
    rf"|(?<![\w%])%(?:\(\w+\))?(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?[sdifuxXgeEc@](?!{_LETTER})",
    "tag": rf"</[A-Za-z][\w:.-]* *>|<[A-Za-z][\w:.-]*(?:{_ATTRIBUTE})* */?>",
    "emoji": rf"(?:{_EMOJI}{_TONE}(?:\u200d{_EMOJI}{_TONE})*|[0-9#*]\ufe0f?\u20e3)+",
    "number": rf"(?<!{_LETTER})(?<!{_LETTER}[.,:/-])[-+−]?[€$£¥]?\d+(?:[.,:/’'-]\d+)*[%‰°€$£¥]?(?!{_LETTER})",
}
# Most lines have none of these characters, and the patterns need not be tried.
_MAYBE = re.compile(r"[\d@/<{\[%_\u231a-\u2bff\U0001f000-\U0001faff]")


class Finder:
    """Finds the items of some kinds, and symbols that the text itself has."""

    def __init__(self, kinds: Iterable[str] = KINDS):
        chosen = {*kinds}
        parts = [f"(?P<{kind}>{pattern})" for kind, pattern in PATTERNS.items() if kind in chosen]
        self._pattern = re.compile("|".join([*parts, f"(?P<symbol>{SYMBOL})"]))

    def found(self, text: str) -> list[re.Match[str]]:
        """All items, in order; ``lastgroup`` is the kind, or ``symbol``."""
        return [*self._pattern.finditer(text)] if _MAYBE.search(text) or "www." in text else []
