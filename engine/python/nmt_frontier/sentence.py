"""A sentence as a line of text, and as pieces. Submissions include this file, so it needs only Python."""

import re
from unicodedata import normalize

from nmt_frontier.characters import visible

# Characters at which str.splitlines() or a reader of TSV would break a record.
_BREAK = re.compile("[\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
WITHOUT_SPACES = ("bo", "dz", "km", "lo", "my", "th")  # languages whose words follow each other without a space
NO_SPACES = {*WITHOUT_SPACES, "ja", "zh"}  # those whose sentences do


def sentence(text: str) -> str:
    """The text as in a record: without invisible characters, in NFC, breaks replaced by spaces, stripped."""
    return one_line(composed(text))


def composed(text: str) -> str:
    """The text without invisible characters, in NFC."""
    while (found := normalize("NFC", visible(text))) != text:  # marks that change places may end what stood behind them
        text = found
    return text


def one_line(text: str) -> str:
    """The text with breaks replaced by spaces, stripped."""
    return _BREAK.sub(" ", text).strip()


def has_letters(text: str) -> bool:
    """Whether there is anything to translate: a line of numbers, marks or symbols alone is copied."""
    return any(map(str.isalpha, text))


def split_pieces(text: str) -> list[str]:
    """Split at spaces only: a piece may contain an ideographic or a no-break space."""
    return text.split(" ") if text else []
