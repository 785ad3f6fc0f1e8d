"""The pipelines of experiments.pipeline_cost as a table and a picture."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formats import disturbance
from formats.spread import Spread
from formats.wording import repeats
from report import figure, markdown, search

NOTE = """{lines:,} lines ({test_set}, again and again) through {system} ({shape}, {quantization}), greedy, from \
text to text, against the engine alone on batches that were cut before; {repeats}, all ways in turn, on {cpu} ({isa}). \
After section 4.3 of FastSeq, where the asynchronous pipeline was 1.5 times as fast. Where every core has a worker, \
text and engine share the cores, and no overlap can hide that work."""
COLORS = {"engine": "#777777", "synchronous": figure.STUDENTS[1].color, "asynchronous": figure.STUDENTS[0].color}


def setting(row: dict[str, Any]) -> str:
    workers, cores = row["workers"], len(row["cores"])
    return f"{workers} worker{'s' * (workers > 1)}, {cores} core{'s' * (cores > 1)}"


def by_engine(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each engine, by its name for people."""
    labels = dict.fromkeys(row["engine_label"] for row in rows)
    return {label: [row for row in rows if row["engine_label"] == label] for label in labels}


def cost(row: dict[str, Any]) -> Spread:
    """Per cent of time over the engine."""
    return Spread(*(100 * (times - 1) for times in Spread.read(row, "times_engine")))


# The table


def table(result: dict[str, Any]) -> str:
    rows, noise = result["rows"], result["noise"]
    bare = {(row["engine_label"], setting(row)): row for row in rows if row["way"] == "engine"}
    cells = [
        {
            "": setting(row),
            "engine": row["engine_label"],
            "way": row["way"]
            + disturbance.worst(search.mark(each, noise) for each in (row, bare[row["engine_label"], setting(row)])),
            "seconds": f"{Spread.read(row, 'seconds'):,.2f}",
            "source words/s": f"{row['source_words_per_second']:,.0f}",
            "% over the engine": "" if row["way"] == "engine" else f"{cost(row):+.1f}",
        }
        for row in rows
    ]
    note = NOTE.format(**{**result["model"], **result}, repeats=repeats([result["runs"]]))
    return markdown.document("Pipeline", note, markdown.table(cells), search.marks(rows, noise))


# The picture


@figure.styled
def draw(result: dict[str, Any]) -> Figure:
    """What both pipelines cost over the engine in every setting, a panel for each engine."""
    engines = by_engine(result["rows"])
    picture = Figure(figsize=(2.0 + 4.4 * len(engines), 3.6), layout="constrained")
    panels = picture.subplots(1, len(engines), squeeze=False, sharey=True)[0]
    for axes, (label, rows) in zip(panels, engines.items(), strict=True):
        panel(axes, rows)
        axes.set_title(label)
    panels[0].set_ylabel("% of time over the bare engine")
    panels[0].legend()
    search.footnote(picture, search.Conditions.read(result), f"{result['lines']:,} lines")
    return picture


def panel(axes: Axes, rows: list[dict[str, Any]]) -> None:
    settings = list(dict.fromkeys(map(setting, rows)))
    for number, way in enumerate(("synchronous", "asynchronous")):
        costs = [cost(row) for row in rows if row["way"] == way]
        axes.bar(
            [place + 0.36 * (number - 0.5) for place in range(len(settings))],
            [spread.middle for spread in costs],
            0.34,
            yerr=figure.whiskers(*costs),
            color=COLORS[way],
            label=way,
            error_kw={"elinewidth": 0.9},
        )
    axes.axhline(0, color="#777777", linewidth=0.8)
    axes.set_xticks(range(len(settings)), settings)
    axes.grid(visible=False, axis="x")
