"""A sentence as a line of text holds it, and as its pieces with a space between them. Submissions take this file
along, so it needs nothing but Python.
"""

import unicodedata

# Characters at which str.splitlines() or a reader of TSV would break a record.
_BREAKS = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")


def sentence(text: str) -> str:
    """The text as a record holds it: in NFC, spaces in place of breaks, no space at the ends."""
    return unicodedata.normalize("NFC", text).translate(_BREAKS).strip()


def split_pieces(text: str) -> list[str]:
    """The pieces. Only a space ends one: a piece may have an ideographic or a no-break space in it."""
    return text.split(" ") if text else []
