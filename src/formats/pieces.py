"""A sentence in pieces as text: its pieces with one space between them."""


def split(text: str) -> list[str]:
    """The pieces. Only a space ends one: a piece may have an ideographic or a no-break space in it."""
    return text.split(" ") if text else []
