"""Tables of Markdown documents in LaTeX, for papers; they need the package booktabs."""

import itertools
import re
from collections.abc import Iterable

CELLS = re.compile(r"(?<!\\)\|")
INLINE = re.compile(
    r"`(?P<code>[^`]*)`|\*\*(?P<bold>.+?)\*\*|\[(?P<link>[^\]]*)\]\([^)]*\)|\\(?P<escaped>.)|(?P<plain>.)"
)
SYMBOLS = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "–": "--", "×": r"$\times$", "→": r"$\to$", "Δ": r"$\Delta$"}
    | {"¹": "$^1$"}
)


def tables(text: str) -> str:
    """Every table of a Markdown document as a ``tabular``; what stands around the tables becomes comments."""
    groups = itertools.groupby(text.splitlines(), key=lambda line: line.startswith("|"))
    return "".join(tabular(list(lines)) if table else comments(lines) for table, lines in groups)


def comments(lines: Iterable[str]) -> str:
    return "".join(f"% {line}\n" for line in lines if line.strip())


def tabular(lines: list[str]) -> str:
    """Lines of a Markdown table: the header, the sides of the columns, the rows."""
    header, sides, *rows = map(split, lines)
    columns = "".join("r" if side.endswith(":") else "l" for side in sides)
    parts = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", row(header), r"\midrule", *map(row, rows), r"\bottomrule"]
    return "\n".join([*parts, r"\end{tabular}", ""])


def row(cells: list[str]) -> str:
    return " & ".join(map(inline, cells)) + r" \\"


def split(line: str) -> list[str]:
    """The cells of a row."""
    return [cell.strip() for cell in CELLS.split(line.strip())[1:-1]]


def inline(text: str) -> str:
    """Text of Markdown, with code, bold words, links and escapes."""
    return "".join(map(_part, INLINE.finditer(text)))


def _part(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    text = match[kind]
    if kind == "code":
        return rf"\texttt{{{text.translate(SYMBOLS)}}}"
    if kind in ("bold", "link"):
        return rf"\textbf{{{inline(text)}}}" if kind == "bold" else inline(text)
    return text.translate(SYMBOLS)
