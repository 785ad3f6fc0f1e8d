"""Parts of Markdown and HTML pages: tables, marks of significance, templates, pictures inside a page."""

import base64
from collections.abc import Collection
from pathlib import Path

import jinja2
from tabulate import tabulate

from nmt_frontier.errors import UserError

SIGNIFICANT = 0.05  # p-values below it are marked
NONE = "–"  # a cell without a value

TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def table(rows: list[dict[str, str]], left: Collection[str] | None = None, style: str = "pipe") -> str:
    """A table with a column for each key; a row without a key has an empty cell. Words stand left, numbers right.

    left: the columns of words; by default the first one. style: a format of tabulate.
    """
    columns = dict.fromkeys(name for row in rows for name in row)
    words = [next(iter(columns))] if left is None else left
    sides = ["left" if name in words else "right" for name in columns]
    text: str = tabulate(rows, headers="keys", tablefmt=style, disable_numparse=True, colalign=sides)
    return text


def document(title: str, *parts: str) -> str:
    """A page of paragraphs, tables and headings; empty ones are left out."""
    return "\n\n".join([f"# {title}", *filter(None, parts)]) + "\n"


def star(*p_values: float) -> str:
    """A mark where all p-values are significant."""
    return "\\*" if max(p_values) < SIGNIFICANT else ""


def escaped(text: str) -> str:
    """Text as a cell of a table."""
    return text.replace("|", "\\|")


def plain(text: str) -> str:
    """The text of Markdown that has only code and escapes."""
    return text.replace("`", "").replace("\\", "").strip()


def templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("report", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def data_uri(path: Path) -> str:
    """A picture as a data: address. Raises UserError for a format that browsers do not show."""
    if path.suffix not in TYPES:
        raise UserError(f"{path}: pictures on the page are {' or '.join(TYPES)}")
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"
