"""How systems translate what people write, from the JSON of measure.robustness."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formats.robustness import Robustness, RobustnessRow, TranslatedInputs
from nmt_frontier.errors import UserError
from nmt_frontier.files import document
from nmt_frontier.text.items import KINDS
from report import figure, markup
from report.figure import Style
from report.markup import NONE

NOTE = """BLEU on {test_set} as it is, and below it what a perturbed version changes it by; with other case, both are
scored without regard to case. Recased: with --recase, which translates lines in capitals without them. Survived: what
was inserted, or what an input of the suite must keep, is in the translation unchanged and exactly once. Failed, of all
lines: loops, where the same words or characters come at least four times in a row; empty translations; long ones, of
more than three times the expected length. Said twice: of single words and the inputs of the suite, those whose
translation is the same words two times."""
LISTS = {  # names on the page
    "clean": "as it is",
    "no_final_punctuation": "no final punctuation",
    "joined": "three sentences a line",
    "words": "single words",
    "url": "URL",
    "email": "e-mail address",
    "number": "number with currency",
}
Score = Literal["bleu", "chrf"]
Failure = Literal["loops", "empty", "long", "twice"]
COUNTED: dict[Failure, str] = {"loops": "loops", "empty": "empty", "long": "long", "twice": "said twice"}
PROTECTED = "Protected: what must survive was hidden behind symbols that the system learned to copy."
ALONE = ("words", "suite")  # lists without references


class InputList(NamedTuple):
    """A list of inputs. recased: translated without its capitals."""

    name: str
    recased: bool = False

    @property
    def label(self) -> str:
        return f"{name_of(self.name)}{', recased' * self.recased}"


CLEAN = InputList("clean")


def read(path: Path) -> Robustness:
    """Read a robustness.json. Raises UserError for another file."""
    found = document(path, Robustness, "not made by measure.robustness")
    if not found["rows"]:
        raise UserError(f"{path}: no system was translated; run measure.robustness again")
    return found


def label(row: RobustnessRow) -> str:
    """``deep int8 greedy map``, as in the tables of measurements."""
    search = "greedy" if row["beam_size"] == 1 else f"beam {row['beam_size']}"
    engine = "" if row["engine"] == "native" else f" {row['engine']}"
    protected = " protected" * row.get("protected", False)
    return f"{row['system']} {row['compute_type']} {search}{' map' * row['vocabulary_map']}{engine}{protected}"


def name_of(key: str) -> str:
    """A list, or a kind of what must survive, for people."""
    return LISTS.get(key, key.replace("_", " "))


def translated(row: RobustnessRow) -> dict[InputList, TranslatedInputs]:
    """Everything that was translated with references; the clean test set first."""
    found = {InputList(name): part for name, part in row["lists"].items() if name not in ALONE}
    return found | {InputList(name, True): part for name, part in row.get("recased", {}).items()}


def parts(data: Robustness) -> list[InputList]:
    return [*translated(data["rows"][0])]


def score(part: TranslatedInputs, key: Score, cased: bool) -> float:
    """BLEU or chrF, with or without regard to case."""
    if key == "bleu":
        value = part.get("bleu") if cased else part.get("bleu_lowercased")
    else:
        value = part.get("chrf") if cased else part.get("chrf_lowercased")
    if value is None:
        raise UserError(f"robustness.json: a list has no {key}; run measure.robustness again")
    return value


def lost(row: RobustnessRow, of: InputList, key: Score = "bleu") -> float:
    """What a perturbation changes a score by, without regard to case where case was changed."""
    part = translated(row)[of]
    return score(part, key, key in part) - score(row["lists"][CLEAN.name], key, key in part)


def survived(row: RobustnessRow, kind: str) -> list[int]:
    """Lines of the perturbed test set where a kind survives, and all of that kind."""
    return row["lists"][kind]["survived"][kind]


def counted(row: RobustnessRow, key: Failure) -> str:
    """The share of lines of all lists that are loops, empty, or long; of those without references, said twice."""
    lists = [part for name, part in row["lists"].items() if key != "twice" or name in ALONE]
    lines = sum(part["sentences"] for part in lists)
    return share([sum(part[key] for part in lists), lines]) if lines else NONE


def share(counts: list[int]) -> str:
    return f"{100 * counts[0] / counts[1]:.1f} %"


def scores(data: Robustness, key: Score) -> Iterator[dict[str, str]]:
    """A line for each list with references: the clean score, then the differences to it."""
    for part in parts(data):
        cells = {label(row): f"{lost(row, part, key):+z.1f}" for row in data["rows"]}
        if part == CLEAN:
            cells = {label(row): f"{score(row['lists'][part.name], key, True):.1f}" for row in data["rows"]}
        yield {"input": part.label, **cells}


def copies(data: Robustness) -> Iterator[dict[str, str]]:
    for kind in KINDS:
        yield {"survived": name_of(kind), **{label(row): share(survived(row, kind)) for row in data["rows"]}}
    for kind in data["rows"][0]["lists"].get("suite", {"survived": {}})["survived"]:
        cells = {label(row): share(row["lists"]["suite"]["survived"][kind]) for row in data["rows"]}
        yield {"survived": f"suite: {name_of(kind)}", **cells}


def failures(data: Robustness) -> Iterator[dict[str, str]]:
    for key, name in COUNTED.items():
        yield {"failed": name, **{label(row): counted(row, key) for row in data["rows"]}}


def table(data: Robustness) -> str:
    signatures = ", ".join(data["signatures"].values())
    hidden = [PROTECTED] if any(row.get("protected") for row in data["rows"]) else []
    about = f"sacreBLEU: {signatures}. Seed {data['seed']}; {data['test_set']} sha256 {data['sha256'][:12]}."
    tables = (markup.table([*rows(data)]) for rows in (bleu, chrf, copies, failures))
    return markup.document("Robustness", NOTE.format(**data), *tables, *hidden, about)


def bleu(data: Robustness) -> Iterator[dict[str, str]]:
    return scores(data, "bleu")


def chrf(data: Robustness) -> Iterator[dict[str, str]]:
    return ({"chrF": row.pop("input"), **row} for row in scores(data, "chrf"))


def section(data: Robustness) -> dict[str, list[dict[str, str]]]:
    """The tables of the page of a study, by the name of their first column."""
    return {"input": [*bleu(data)], "survived": [*copies(data)], "failed": [*failures(data)]}


@figure.in_column
def draw(data: Robustness) -> Figure:
    """Left: what each perturbation changes BLEU by. Right: what survives. A marker is a system."""
    labels = {label(row): row["role"] for row in data["rows"]}
    styles = figure.styles(labels)
    perturbed = [part for part in parts(data) if part != CLEAN]
    picture = Figure(figsize=(2 * figure.COLUMN, 0.7 + 0.24 * len(perturbed)), layout="constrained")
    left, right = picture.subplots(1, 2, width_ratios=[3, 2])
    for row in data["rows"]:
        style = styles[label(row)]
        points(left, [lost(row, part) for part in perturbed], style, label(row))
        points(right, [100 * ok / of for ok, of in (survived(row, kind) for kind in KINDS)], style)
    left.axvline(0, color="#555555", linewidth=0.8)
    changes = [part.label for part in perturbed]
    kinds = [name_of(kind) for kind in KINDS]
    for axes, rows, title in ((left, changes, "BLEU against the clean test set"), (right, kinds, "% that survive")):
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(title)
    right.set_xlim(-4, 104)
    figure.legend(picture, left.get_legend_handles_labels()[0], "outside upper center", min(len(labels), 4))
    return picture


def points(axes: Axes, values: list[float], style: Style, name: str | None = None) -> None:
    axes.plot(values, range(len(values)), style.marker, color=style.color, markersize=4, label=name)
