"""The report of the reproduction: a page for each paper, and the table of docs/papers.md, made from rows.json.

    python -m report.reproduction

A paper's ``rows.json`` comes from ``python -m report.rows``; without it no row of that paper has a measurement. The
page of a paper is the README.md of its folder. It says first how many of the numbers that a CPU can give were measured
and how many of the measured ones agree, and has a picture; then come the five lines of a report on a reproduction:
scope, method, results, what was easy, what was hard. Numbers that are missing for one reason share a line.
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_text
from report import beside_paper, figure, markup
from report.agreement import by_origin, counted, distinct, share
from report.claims import AGREES, NEEDS, NOT_RUN, OPEN, VERDICTS, Paper, papers
from report.rows import Row, rows

SUMMARIES = Path("docs/papers.md")
PAPERS = Path("papers")
PARTS = (  # how the paragraphs of SUMMARIES begin that are replaced
    r"^Of \d+ printed numbers ",
    r"^\| paper \| numbers \| a CPU ",
    r"^\| paper \| numbers \| distinct ",
    r"^\| not run yet ",
)
RATIOS = "ratios.png"  # of a paper's folder, by report.beside_paper
NOTE = """
* *Place*: with the page where it is known, else the table or the figure.
* *Here*: the number of this project. *Ratio*: here over printed. What was computed from a shape has no CPU and no date.
* *Times faster or smaller than (n)*: computed from two numbers of the paper; here from two measurements in turn, run by
  run, the median with the lowest and the highest.
* *Agrees*: within the tolerance, to both sides. *Larger*, *smaller*: outside it, in the same direction. *Explained*:
  the reason, by hand, accounts for it. *Opposite*: one is a gain and the other a loss, each larger than the tolerance.
* *Not comparable*: times of another machine, what was counted on another text, such as BLEU, or ratios of two toolkits
  where the paper has one.
"""
WITHOUT = {OPEN: "## A CPU could give these", NOT_RUN: "## Not run here"}


def lead(made: list[Row]) -> str:
    """The first lines of a page: what a CPU can give, what of it was run, and what the other numbers need."""
    needed = Counter(row["needs"] for row in made if row["needs"])
    needs = ", ".join(f"{NEEDS[name]} ({n})" for name, n in needed.most_common())
    elsewhere = sum(row["ours"] is not None for row in made if row["needs"])
    measured = f"; {elsewhere} of these were measured all the same" if elsewhere else ""
    return f"Of {len(made)} numbers {share(made).sentences()}" + (
        f" The others need {needs}{measured}." if needs else ""
    )


def results(made: list[Row]) -> str:
    """The third line: how many claims have which verdict, those that were measured and those from shapes apart."""
    groups = {origin.capitalize(): rows for origin, rows in by_origin(made).items()}
    groups = {origin: [row for row in rows if row["ours"] is not None] for origin, rows in groups.items()}
    groups["Without a number"] = [row for row in made if row["ours"] is None]
    texts = (
        f"{title} ({len(rows)}): {', '.join(f'{verdict} {n}' for verdict, n in counted(rows).items() if n)}."
        for title, rows in groups.items()
        if rows
    )
    return " ".join(texts)


def page(name: str, paper: Paper, made: list[Row]) -> str:
    """A paper's page in Markdown."""
    notes = {
        "tolerance": Footnotes("t", "how far the number may be off the printed one, to both sides"),
        "reason": Footnotes("r", "reason for a difference, or why there is no number"),
        "measured": Footnotes("m", "command, CPU, date"),
    }
    cells = [row_cells(row, notes) for row in made if row["ours"] is not None]
    left = [column for row in cells[:1] for column in row if column not in ("printed", "here", "ratio")]
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
        lead(made),
        *(f"![{caption}](../../{path})\n\n*{caption}*" for path, caption in paper.pictures.items()),
        "\n".join(f"* **{title}.** {text.strip()}" for title, text in five.items()),
        "## Every number that was measured or computed",
        markup.table(cells, left=left) if cells else "None.",
        NOTE.strip(),
        *(note.table() for note in notes.values()),
        *(part for verdict, title in WITHOUT.items() for part in without(made, verdict, title)),
    )


def by_reason(made: list[Row], verdict: str) -> dict[str, list[Row]]:
    """The rows with a verdict, those of one reason together."""
    found: dict[str, list[Row]] = {}
    for row in made:
        if row["verdict"] == verdict:
            found.setdefault(row["reason"], []).append(row)
    return found


def without(made: list[Row], verdict: str, title: str) -> list[str]:
    """The section of the rows with a verdict that have no number: a line for each reason."""
    lines = [f"* **{reason}** ({len(rows)}): {places(rows)}" for reason, rows in by_reason(made, verdict).items()]
    return [title, "\n".join(lines)] if lines else []


def places(rows: list[Row]) -> str:
    """Rows with what the paper prints, those of a table and a quantity together."""
    found: dict[str, list[str]] = {}
    for row in rows:
        quantity = " ".join(filter(None, (row["quantity"], row["test_set"])))
        unit = "" if row["unit"] in row["quantity"] else f" {row['unit']}"
        found.setdefault(f"{row['source']}, {quantity}", []).append(f"{row['row']} {number(row['printed'])}{unit}")
    return ". ".join(f"{place}: {'; '.join(each)}" for place, each in found.items()) + "."


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
    low, high = row["low"], row["high"]
    spread = "" if low is None or high is None else f" ({number(low)} to {number(high)})"
    cells = {
        "place": f"{row['source']}, p. {row['page']}" if row["page"] else row["source"],
        "claim": f"{row['row']}: {claim}",
        "printed": number(row["printed"]),
        "here": "" if row["ours"] is None else f"{number(row['ours'])}{spread}",
        "unit": row["unit"],
        "ratio": "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        "tolerance": notes["tolerance"].mark(row["tolerance"]),
        "verdict": row["verdict"] + (", explained" if row["explained"] and off(row) else ""),
        "reason": notes["reason"].mark(row["reason"]),
        "measured": notes["measured"].mark(made),
    }
    return {column: markup.escaped(text) for column, text in cells.items()}


def off(row: Row) -> bool:
    return bool(row["tolerance"]) and row["verdict"] != AGREES


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}" if value >= 100 else f"{value:.4g}"


def summary(made: dict[str, list[Row]]) -> list[str]:
    """The PARTS of SUMMARIES: the sentences about all papers, what a CPU can give of each, verdicts, what is open."""
    every = [row for of_paper in made.values() for row in of_paper]
    return [
        f"Of {len(every)} printed numbers {share(every).sentences()}",
        shares(made),
        verdicts(made),
        still_open(made),
    ]


def shares(made: dict[str, list[Row]]) -> str:
    head = ["paper", "numbers", "a CPU can give", "of these run", "measured, with a verdict", "of these agree"]
    head += ["computed, with a verdict", "of these agree"]
    lines = [[link(name), f"{len(of_paper)}", *map(str, share(of_paper))] for name, of_paper in made.items()]
    return pipes(head, lines)


def verdicts(made: dict[str, list[Row]]) -> str:
    lines = []
    for name, of_paper in made.items():
        for origin, of_origin in by_origin(of_paper).items():
            counts = [distinct(origin, of_origin), *counted(of_origin).values()]
            cells = [f"{link(name)}, {origin}", str(len(of_origin)), *(f"{n}" if n else markup.NONE for n in counts)]
            lines += [cells] if of_origin else []
    return pipes(("paper", "numbers", "distinct", *VERDICTS), lines)


def still_open(made: dict[str, list[Row]]) -> str:
    """What a CPU could still give, a line for each reason, which names the command where there is one."""
    lines = [
        [link(name), f"{len(rows)}", markup.escaped(reason)]
        for name, of_paper in made.items()
        for reason, rows in by_reason(of_paper, OPEN).items()
    ]
    return pipes(("not run yet", "numbers", "why"), lines, right=1)


def link(name: str) -> str:
    """A paper's title with the address of its page, as SUMMARIES has it."""
    return f"[{papers()[name].title}](../{PAPERS}/{name}/README.md)"


def pipes(head: Sequence[str], lines: list[list[str]], right: int | None = None) -> str:
    """A table without padding. right: how many columns after the first are numbers; all if None."""
    numbers = len(head) - 1 if right is None else right
    rows = [[*head], ["---", *["--:"] * numbers, *["---"] * (len(head) - 1 - numbers)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_summary(text: str, parts: list[str]) -> str:
    """The text of SUMMARIES with other parts. Raises UserError where it does not have each of them once."""
    for pattern, part in zip(PARTS, parts, strict=True):
        literal = part.replace("\\", r"\\")
        text, found = re.subn(rf"{pattern}.*?(?=\n\n)", literal, text, flags=re.MULTILINE | re.DOTALL)
        if found != 1:
            raise UserError(f"{SUMMARIES}: {found} paragraphs begin with {pattern!r}; exactly one is replaced")
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


def write_ratios(root: Path) -> None:
    """Draw RATIOS for the papers whose page shows it."""
    for name, made in read(root).items():
        path = PAPERS / name / RATIOS
        if str(path) in papers()[name].pictures:
            figure.save(beside_paper.ratios_picture(made), root / path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=there, default=Path(), help="of the repository (default: this folder)")
    root = parser.parse_args().root
    for path, text in pages(root).items():
        write_text(path, text)
    write_ratios(root)


if __name__ == "__main__":
    command(main)
