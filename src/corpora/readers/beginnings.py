"""What a file of text is, by its first lines: lines, another format that is read, or one that is not."""

import re
from collections.abc import Iterable
from itertools import islice

from nmt_frontier.errors import UserError

LINES = 20  # tell what a file is
LETTERS = 400  # of a line; of a longer one its last letter, too
_BEFORE_ROOT = r"\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->).)*-->|<!DOCTYPE[^\[>]*(?:\[[^\]]*\]\s*)?>)\s*)*"
_STRING = r'"(?:[^"\\]|\\.)*"'
_NAMED = r"[A-Za-z_][\w.-]* ?= ?\S[^\n]*\n(?:\s*\n|[ \t]+[^\n]*\n|#[^\n]*\n)*"  # a message and its other lines

MESSAGES = "has the texts of a program by their keys; make PO of both languages, with the Translate Toolkit"
EXPORT = "export it as TMX"
OTHERS = {  # by how a file begins its format, or what it is and what to do
    r"\[\s*\{|\{[^\n]*\}\s*\n": "jsonl",
    r'(?:\s*#[^\n]*\n)*\s*msgid ""': "po",
    r"%\d{8}~\d{6}\s": f"is a memory of Wordfast; {EXPORT}",
    r"<TWBExportFile|<RTF Preamble>": f"is a memory of Trados; {EXPORT}",
    rf"\{{\s*\n\s*{_STRING}\s*:": MESSAGES,  # JSON
    rf"(?:/\*(?:(?!\*/).)*\*/\s*|//[^\n]*\n)*\s*{_STRING}\s*=\s*{_STRING};": MESSAGES,  # Apple
    r"(?:---\s*\n|#[^\n]*\n)*[a-z]{2,3}(?:[-_]\w+)?:\s*\n\s+[\"']?[\w.-]+[\"']?:": MESSAGES,  # Rails
    rf"(?:[#!;\[][^\n]*\n|\s*\n)*(?:{_NAMED}){{5}}": MESSAGES,  # Fluent, properties, INI
}
ROOTS = {
    "tmx": "tmx", "xliff": "xliff", "TS": "ts", "dataset": "wmt",
    **dict.fromkeys(("mteval", "srcset", "refset", "tstset"), "sgm"),
    **dict.fromkeys(("resources", "plist"), MESSAGES),
    **dict.fromkeys(("martif", "tbx"), f"is a term base; {EXPORT}"),
    "cesAlign": "has links of OPUS between sentences, without them; take the TMX, or make TSV (opus_read -wm moses)",
}  # fmt: skip
ROOT = re.compile(rf"{_BEFORE_ROOT}<([A-Za-z]\w*)\b", re.DOTALL)


def format_of(name: str, lines: Iterable[str]) -> str | None:
    """The format that the lines of a file have, None if they are text. Raises UserError for one that is not read."""
    first = map(str.rstrip, islice(lines, LINES))
    text = "".join(f"{line if len(line) <= LETTERS else line[:LETTERS] + line[-1]}\n" for line in first)
    root = ROOT.match(text)
    what = ROOTS.get(root[1]) if root else None
    what = what or next((what for pattern, what in OTHERS.items() if re.match(pattern, text, re.DOTALL)), None)
    if what is None and text.lstrip().startswith("<?xml"):
        what = "is XML of no format that is read; write a pair a line, with a tab between the sides"
    if what and " " in what:
        raise UserError(f"{name}: {what}")
    return what


def require_text(name: str, lines: Iterable[str]) -> None:
    """Raises UserError if a file that is read as lines or TSV has another format."""
    if what := format_of(name, lines):
        raise UserError(f"{name}: begins as {what} does; say so (format: {what})")
