"""The gap between teacher and students, from the JSON of measure.teacher_student.

Tables of scores, of comparisons, and of the sentences where they differ most; a picture of BLEU by what the students
learned from and by the length of the sentence.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate

from formats.gap import Beam, ComparedSystem, Gap, Group, Scored, TestSetGap, Trainings, TwinTrainings
from formats.spread import Spread
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, typed
from report import figure, markup
from report.figure import Style
from report.markup import NONE, star

NOTE = """Mean over the seeds, with the lowest and the highest. "to the teacher": difference in BLEU to {teacher} with
{search}; a star where the paired bootstrap finds it significant (p < 0.05) for every seed. "like the
teacher": BLEU against the teacher's output, and the share of sentences that are the same. "lower-cased": BLEU without
regard to case, for comparison with papers that report it. "sentences": how many the training saw, each counted once (of
n-best targets, once for each of its translations)."""
APART = """What sets the two trainings apart is in the column "difference". Only twins, which learned from the same
sentences, show the effect of distillation; where one training saw more sentences than the other, they are counted."""
Score = Literal["bleu_lowercased", "chrf", "comet", "bleu_delta_teacher", "agreement_bleu", "agreement_exact"]


def read(path: Path) -> Gap:
    """Read a gap.json. Raises UserError for another file."""
    try:
        gap = read_json(path)
        empty = [name for name, test_set in gap["test_sets"].items() if not test_set["beams"]]
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not made by measure.teacher_student ({error!r})") from None
    if empty:
        raise UserError(f"{path}: no beam of the test set {empty[0]} was scored; run measure.teacher_student again")
    return typed(gap, Gap, f"{path}: not made by measure.teacher_student")


def label(row: Group | ComparedSystem) -> str:
    """The name of a group of seeds, from the group or one of its systems: ``deep, distilled``."""
    return row["student"] if row["mixture"] is None else f"{row['student']}, {row['mixture']}"


def table(gap: Gap) -> str:
    note = NOTE.format(teacher=gap["teacher"], search=of_teacher(gap) or f"beam {gap['teacher_beam']}")
    parts = ["# The gap between teacher and students\n", note + "\n"]
    for name, test_set in gap["test_sets"].items():
        parts += [f"## {name}, {test_set['sentences']:,} sentences\n", words(scores(test_set))]
        if compared := list(pairs(test_set, "comparisons")):
            parts += ["### What it learned from\n", APART + "\n", words(compared)]
        if changed := list(pairs(test_set, "changes")):
            parts += ["### One other setting of network or training\n", words(changed)]
        parts.append(sentences(test_set))
    beams = [beam for test_set in gap["test_sets"].values() for beam in test_set["beams"].values()]
    systems = [row for beam in beams for row in beam["systems"]]
    signatures = {row["bleu_signature"] for row in systems}
    comet = "".join(f" COMET: {name}." for name in sorted({row.get("comet_signature", "") for row in systems} - {""}))
    sums = ", ".join(f"{name} sha256 {test_set['sha256'][:12]}" for name, test_set in gap["test_sets"].items())
    parts.append(f"sacreBLEU: {', '.join(sorted(signatures))}.{comet} Configuration {gap['config_hash']}; {sums}.\n")
    return "\n".join(parts)


def of_teacher(gap: Gap) -> str | None:
    """How the translations of the teacher came about, if no beam found them."""
    return next(system.get("search") for system in gap["systems"] if system["system"] == gap["teacher"])


def words(rows: Iterable[dict[str, str]]) -> str:
    """A table of columns that all stand on the left."""
    rows = list(rows)
    return markup.table(rows, left=rows[0]) + "\n"


def scores(test_set: TestSetGap) -> Iterator[dict[str, str]]:
    """A row for each group and beam size."""
    for beam, result in test_set["beams"].items():
        for group in result["groups"]:
            rows = [row for row in result["systems"] if label(row) == label(group)]
            significant = star(*(row["bleu_p_teacher"] for row in rows))
            yield {
                "system": label(group),
                "search": rows[0].get("search") or search(beam),
                "seeds": str(group["seeds"]),
                "sentences": f"{group['sentences']:,}" if group["sentences"] else NONE,
                "BLEU": f"{Spread.read(group, 'bleu'):.2f}" if group["seeds"] > 1 else f"{group['bleu']:.2f}",
                "lower-cased": f"{mean(rows, 'bleu_lowercased'):.2f}",
                "chrF": f"{mean(rows, 'chrf'):.2f}",
                **({"COMET": f"{mean(rows, 'comet'):.2f}"} if "comet" in rows[0] else {}),
                "to the teacher": f"{mean(rows, 'bleu_delta_teacher'):+z.2f}{significant}",
                "like the teacher": f"{mean(rows, 'agreement_bleu'):.1f}, {mean(rows, 'agreement_exact'):.0%} the same",
            }


def pairs(test_set: TestSetGap, kind: str) -> Iterator[dict[str, str]]:
    """A row for each pair and beam size. kind: ``comparisons`` of two mixtures, or ``changes`` of one setting."""
    for beam, result in test_set["beams"].items():
        for pair in result["comparisons"] if kind == "comparisons" else result.get("changes", ()):
            seeds = zip(pair["bleu_deltas"], pair["bleu_p"], strict=True)
            instead = f" rather than {other}" if (other := pair.get("instead")) else ""
            yield {
                "student": pair["student"] or "",
                "search": search(beam),
                "learned from": pair["mixture"] or "",
                "rather than": pair["than"] or "",
                "difference": f"{pair['difference'] or NONE}{instead}",
                "BLEU": f"{pair['bleu_delta']:+z.2f}{star(*pair['bleu_p'])}",
                "seed by seed": ", ".join(f"{delta:+z.2f} (p = {p:.3f})" for delta, p in seeds),
            }


class Closed(Trainings, TwinTrainings):
    """What a mixture closes of the gap that another one leaves (``closed``)."""

    gap: float
    won: float
    closed: float | None
    p: float


def closed(gap: Gap, test_set: str, beam: str) -> list[Closed]:
    """For each pair of mixtures of a student the part of its gap to the teacher that the first one closes.

    ``gap`` is how far the student is below the teacher, in BLEU, after it learned from the other mixture; ``won`` what
    the first mixture adds; ``closed`` the share of the gap, None without a gap; ``p`` the p-value of the least
    significant seed. All are means over the seeds.
    """
    result = gap["test_sets"][test_set]["beams"][beam]
    rows: list[Closed] = []
    for pair in result["comparisons"]:
        than = pair["student"], pair["than"]
        systems = [row for row in result["systems"] if (row["student"], row["mixture"]) == than]
        below, won = -mean(systems, "bleu_delta_teacher"), pair["bleu_delta"]
        rows.append(
            {
                "student": pair["student"],
                "mixture": pair["mixture"],
                "than": pair["than"],
                "difference": pair["difference"],
                "twins": pair["twins"],
                "gap": below,
                "won": won,
                "closed": won / below if below > 0 else None,
                "p": max(pair["bleu_p"]),
            }
        )
    return rows


def search(beam: str) -> str:
    return "greedy" if beam == "1" else f"beam {beam}"


def mean(rows: list[Scored], key: Score) -> float:
    return sum(row[key] for row in rows) / len(rows)


def sentences(test_set: TestSetGap) -> str:
    """A small table for each of the sentences where a student is least like the teacher."""
    different = test_set["most_different"]
    parts = [f"### Where {different['system']} differs most from the teacher\n"]
    for sentence in different["sentences"]:
        rows = [[name, markup.escaped(sentence[name])] for name in ("source", "reference", "teacher", "student")]
        head = [f"line {sentence['line']}", f"chrF {sentence['chrf']:.1f}"]
        parts.append(tabulate(rows, head, "pipe", disable_numparse=True) + "\n")
    return "\n".join(parts)


@figure.in_column
def draw(gap: Gap) -> Figure:
    """A column of a paper for each test set.

    Above: greedy BLEU of every system, the mean of its seeds as a bar, the teacher as a line.
    Below: BLEU of the groups by the length of the source.
    """
    test_sets = gap["test_sets"]
    greedy = {name: next(iter(test_set["beams"].values())) for name, test_set in test_sets.items()}
    roles = {label(row): row["role"] for result in greedy.values() for row in result["systems"]}
    groups = [label(group) for group in max(greedy.values(), key=lambda result: len(result["groups"]))["groups"]]
    styles = figure.styles({group: roles[group] for group in groups})
    heights = [0.4 + 0.26 * len(groups), 1.8]
    picture = Figure(figsize=(figure.COLUMN * len(test_sets), sum(heights) + 0.8), layout="constrained")
    axes = picture.subplots(2, len(test_sets), squeeze=False, height_ratios=heights, sharey="row")
    for (name, result), (above, below) in zip(greedy.items(), axes.T, strict=True):
        beam = str(gap["teacher_beam"])
        systems = test_sets[name]["beams"][beam]["systems"]
        teacher = next(row["bleu"] for row in systems if row["system"] == gap["teacher"])
        bars(above, result, groups, styles)
        above.axvline(teacher, color="#000000", linestyle=":", linewidth=1)
        above.set(title=name, xlabel=f"BLEU, greedy; dotted: {gap['teacher']}, {of_teacher(gap) or search(beam)}")
        lengths(below, result["systems"], styles)
    axes[1, 0].set_ylabel("BLEU")
    return picture


def bars(axes: Axes, result: Beam, groups: list[str], styles: dict[str, Style]) -> None:
    """A bar for each group, a dot for each seed."""
    lowest = min(group["bleu_min"] for group in result["groups"])
    for group in result["groups"]:
        place = groups.index(label(group))
        axes.barh(place, group["bleu"], height=0.55, color=styles[label(group)].color, alpha=0.45)
        # At the left, where no dot is and no line of the teacher.
        axes.text(0.02, place, f"{group['bleu']:.2f}", transform=axes.get_yaxis_transform(), va="center", fontsize=6)
    for row in result["systems"]:
        color, marker = styles[label(row)]
        axes.plot(row["bleu"], groups.index(label(row)), marker=marker, markersize=3.5, color=color)
    seen = {label(group): group["sentences"] for group in result["groups"]}
    names = [f"{name}\n{seen[name]:,} sentences" if seen.get(name) else name for name in groups]
    axes.set_yticks(range(len(groups)), names)
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.margins(x=0.18)
    axes.set_xlim(left=max(0, lowest - 5))
    axes.grid(axis="y", visible=False)


def lengths(axes: Axes, rows: list[Scored], styles: dict[str, Style]) -> None:
    """A line for each group, the mean over its seeds."""
    parts = [f"{part['words'][0]} to {part['words'][1]}" for part in rows[0]["by_length"]]
    for name, (color, marker) in styles.items():
        seeds = [[part["bleu"] for part in row["by_length"]] for row in rows if label(row) == name]
        if seeds:
            means = [sum(values) / len(values) for values in zip(*seeds, strict=True)]
            axes.plot(means, marker=marker, markersize=3.5, linewidth=0.9, color=color, label=name)
    axes.set_xticks(range(len(parts)), parts)
    axes.set_xlabel("words of the source, equal parts")
