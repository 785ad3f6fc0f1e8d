"""What must come through a translation as it is: URLs, e-mail addresses, numbers, emoji, tags, placeholders."""

import re
from collections.abc import Iterable

_WORD = "[A-Za-z0-9_]"  # letters of other scripts may touch a number: 42人


def survives(item: str, translation: str) -> bool:
    """Whether an item is in a translation unchanged and exactly once, and is no part of a longer word or number."""
    before = f"(?<!{_WORD})" if re.match(_WORD, item) else ""
    after = f"(?!{_WORD})" if re.match(_WORD, item[-1]) else ""
    return len(re.findall(f"{before}{re.escape(item)}{after}", translation)) == 1


def survive(items: Iterable[str], translation: str) -> bool:
    """``survives`` for all of them, such as the two ends of a tag."""
    return all(survives(item, translation) for item in items)
