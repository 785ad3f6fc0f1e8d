"""Parts of the Markdown pages: tables whose cells are text, and what stands around them."""

from tabulate import tabulate


def table(rows: list[dict[str, str]]) -> str:
    """The first column to the left, the others to the right."""
    sides = ["left"] + ["right"] * (len(rows[0]) - 1)
    return tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True, colalign=sides)


def document(title: str, *parts: str) -> str:
    """A page of paragraphs, tables and headings; empty ones are left out."""
    return "\n\n".join([f"# {title}", *filter(None, parts)]) + "\n"


def between(record: dict[str, float], name: str, scale: float = 1.0, digits: int = 1) -> str:
    """The median and the extremes of a measurement."""
    middle, low, high = (f"{record[name + end] * scale:,.{digits}f}" for end in ("", "_min", "_max"))
    return f"{middle} ({low} to {high})"
