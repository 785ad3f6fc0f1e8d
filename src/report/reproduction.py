"""The report of the reproduction: a page for each paper, and the table of docs/papers.md, made from rows.json.

    python -m report.reproduction

A paper's ``rows.json`` comes from ``python -m report.rows``; without it no row of that paper has a measurement. The
page of a paper is the README.md of its folder. It begins with the five lines of a report on a reproduction: scope,
method, results, what was easy, what was hard.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

from common.command_line import there
from common.errors import UserError, command
from common.files import read_json, write_text
from report import markup
from report.claims import VERDICTS, Paper, papers
from report.rows import COMPUTED, Row, rows

SUMMARIES = Path("docs/papers.md")
PAPERS = Path("papers")
SUMMARY = re.compile(r"^\| paper .*?(?=\n\n)", re.MULTILINE | re.DOTALL)
MEASURED, FROM_SHAPES = "measured", "computed from shapes"
NOTE = """
*Place*: with the page where it is known, else the table or the figure. *Here*: the number of this project. *Ratio*:
here over printed. *Times faster or smaller than (n)*: computed from two numbers of the paper; here from two
measurements in turn, run by run, the median with the lowest and the highest. *Agrees*: within the tolerance, to both
sides. *Larger*, *smaller*: outside it, in the same direction. *Opposite*: one is a gain and the other a loss, each
larger than the tolerance. *Not comparable*: times of another machine, what was counted on another text, such as BLEU,
or ratios of two toolkits where the paper has one. *Not run here*: no number for another reason. What was computed from
a shape has no CPU and no date.
"""


def results(made: list[Row]) -> str:
    """The third line: how many claims have which verdict."""
    return f"{len(made)} numbers: {', '.join(f'{verdict} {n}' for verdict, n in counted(made).items() if n)}."


def counted(made: list[Row]) -> dict[str, int]:
    """Rows by verdict, in the order of VERDICTS."""
    found = Counter(row["verdict"] for row in made)
    return {verdict: found[verdict] for verdict in VERDICTS}


def by_origin(made: list[Row]) -> dict[str, list[Row]]:
    """The rows that were measured or need a measurement, and those that were computed from shapes."""
    groups: dict[str, list[Row]] = {MEASURED: [], FROM_SHAPES: []}
    for row in made:
        groups[FROM_SHAPES if row["command"] == COMPUTED else MEASURED].append(row)
    return groups


def distinct(origin: str, rows: list[Row]) -> int:
    """How many different timings, or other measurements, the numbers with a verdict are from; else different sizes."""
    counted = [row for row in rows if row["ours"] is not None and row["tolerance"]]
    if origin == MEASURED:
        return len({timing for row in counted for timing in row["timings"]})
    return len({row["ours"] for row in counted})


def page(name: str, paper: Paper, made: list[Row]) -> str:
    """A paper's page in Markdown."""
    notes = {
        "tolerance": Footnotes("t", "how far the number may be off the printed one, to both sides"),
        "reason": Footnotes("r", "reason for a difference, or why there is no number"),
        "measured": Footnotes("m", "command, CPU, date"),
    }
    cells = [row_cells(row, notes) for row in made]
    left = [column for column in cells[0] if column not in ("printed", "here", "ratio")]
    five = {
        "Scope": paper.scope,
        "Method": paper.method,
        "Results": results(made),
        "What was easy": paper.easy,
        "What was hard": paper.hard,
    }
    return markup.document(
        f"{paper.title}: printed and measured",
        f"{paper.source} Made by `python -m report.reproduction` from the paper's numbers "
        f"([`claims.csv`](claims.csv)) and what `python -m report.rows --paper {name}` found beside them.",
        "\n".join(f"* **{title}.** {text.strip()}" for title, text in five.items()),
        "## Every number",
        markup.table(cells, left=left),
        NOTE.strip(),
        *(note.table() for note in notes.values()),
    )


class Footnotes:
    """Texts that stand once, below a table, each under a letter and a number."""

    def __init__(self, letter: str, title: str) -> None:
        self.letter, self.title = letter, title
        self.numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """Its mark; empty for no text."""
        return f"{self.letter}{self.numbers.setdefault(text, len(self.numbers) + 1)}" if text else ""

    def table(self) -> str:
        """All texts; empty where there are none."""
        cells = [{"": self.mark(text), self.title: markup.escaped(text)} for text in self.numbers]
        return markup.table(cells, left=("", self.title)) if cells else ""


def row_cells(row: Row, notes: dict[str, Footnotes]) -> dict[str, str]:
    """A line of the table; what its rows have in common are marks."""
    made = ", ".join(filter(None, (f"`{row['command']}`" if row["command"] else "", row["cpu"], row["date"])))
    claim = " ".join(filter(None, (row["quantity"], row["test_set"])))
    spread = "" if row["low"] is None else f" ({number(row['low'])} to {number(row['high'])})"
    cells = {
        "place": f"{row['source']}, p. {row['page']}" if row["page"] else row["source"],
        "claim": f"{row['row']}: {claim}",
        "printed": number(row["printed"]),
        "here": "" if row["ours"] is None else f"{number(row['ours'])}{spread}",
        "unit": row["unit"],
        "ratio": "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        "tolerance": notes["tolerance"].mark(row["tolerance"]),
        "verdict": row["verdict"],
        "reason": notes["reason"].mark(row["reason"]),
        "measured": notes["measured"].mark(made),
    }
    return {column: markup.escaped(text) for column, text in cells.items()}


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}" if value >= 100 else f"{value:.4g}"


def summary(made: dict[str, list[Row]]) -> str:
    """The table of all papers in SUMMARIES."""
    head = ["paper", "numbers", "distinct", *VERDICTS]
    lines = [head, ["---", *["--:"] * len(head[1:])]]
    for name, of_paper in made.items():
        for origin, of_origin in by_origin(of_paper).items():
            counts = [distinct(origin, of_origin), *counted(of_origin).values()]
            title = f"[{papers()[name].title}](../{PAPERS}/{name}/README.md), {origin}"
            cells = [title, str(len(of_origin)), *(f"{n}" if n else markup.NONE for n in counts)]
            lines += [cells] if of_origin else []
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_summary(text: str, table: str) -> str:
    """The text of SUMMARIES with another table. Raises UserError where it has none."""
    text, found = SUMMARY.subn(lambda _: table, text)
    if found != 1:
        raise UserError(f"{SUMMARIES}: {found} tables begin with `| paper`; the summary replaces exactly one")
    return text


def read(root: Path) -> dict[str, list[Row]]:
    """The rows of all papers."""
    made = {}
    for name in papers():
        path = root / PAPERS / name / "rows.json"
        made[name] = read_json(path) if path.exists() else rows(name, [])
    return made


def pages(root: Path) -> dict[Path, str]:
    """What the command writes: the page of each paper, and SUMMARIES with the table, by their paths."""
    made = read(root)
    summaries = root / SUMMARIES
    written = {root / PAPERS / name / "README.md": page(name, papers()[name], made[name]) for name in made}
    return written | {summaries: with_summary(summaries.read_text(encoding="utf-8"), summary(made))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=there, default=Path(), help="of the repository (default: this folder)")
    for path, text in pages(parser.parse_args().root).items():
        write_text(path, text)


if __name__ == "__main__":
    command(main)
