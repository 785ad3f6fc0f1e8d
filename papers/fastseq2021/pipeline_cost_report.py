"""What the pipeline costs over the bare engine (section 4.3), from the rows of ``pipeline_cost``: table and bars."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings import captions
from findings.captions import repeats
from formats.spread import Spread
from nmt_frontier.files import read_json, typed
from papers.fastseq2021.documents import ASYNCHRONOUS, ENGINE, SYNCHRONOUS, PipelineCost, PipelineRow
from report import figure, markup, table_parts
from report.table_parts import grouped

NOTE = """{lines:,} lines ({test_set}, again and again) through {system} ({shape}, {quantization}), greedy, from \
text to text, against the engine alone on batches that were cut before; {repeats}, all ways in turn, on {cpu} ({isa}). \
After section 4.3 of FastSeq, where the asynchronous pipeline was 1.5 times as fast. Where every core has a worker, \
text and engine share the cores, and no overlap can hide that work."""
COLORS = {
    ENGINE: "#777777",
    SYNCHRONOUS: figure.STUDENTS[1].color,
    ASYNCHRONOUS: figure.STUDENTS[0].color,
}


def read(path: Path) -> PipelineCost:
    return typed(read_json(path), PipelineCost, f"{path}: not made by papers.fastseq2021.pipeline_cost")


def setting(row: PipelineRow) -> str:
    workers, cores = row["workers"], len(row["cores"])
    return f"{workers} worker{'s' * (workers > 1)}, {cores} core{'s' * (cores > 1)}"


def cost(row: PipelineRow) -> Spread:
    """Per cent of time over the engine."""
    return Spread(*(100 * (times - 1) for times in Spread.read(row, "times_engine")))


def table(result: PipelineCost) -> str:
    rows, noise = result["rows"], result["noise"]
    bare = {(row["engine_label"], setting(row)): row for row in rows if row["way"] == ENGINE}
    cells = [
        {
            "": setting(row),
            "engine": row["engine_label"],
            "way": row["way"] + captions.worst(table_parts.row_mark(each, noise) for each in (row, bare[key])),
            "seconds": f"{Spread.read(row, 'seconds'):,.2f}",
            "source words/s": f"{row['source_words_per_second']:,.0f}",
            "% over the engine": "" if row["way"] == ENGINE else f"{cost(row):+.1f}",
        }
        for row in rows
        if (key := (row["engine_label"], setting(row)))
    ]
    note = NOTE.format(**{**result["model"], **result}, repeats=repeats([result["runs"]]))
    return markup.document("Pipeline", note, markup.table(cells), table_parts.row_marks(rows, noise))


@figure.styled
def draw(result: PipelineCost) -> Figure:
    """What both pipelines cost over the engine in every setting, a panel for each engine."""
    engines = grouped(result["rows"], "engine_label")
    picture = Figure(figsize=(2.0 + 4.4 * len(engines), 3.6), layout="constrained")
    panels = picture.subplots(1, len(engines), squeeze=False, sharey=True)[0]
    for axes, ((label,), rows) in zip(panels, engines.items(), strict=True):
        panel(axes, rows)
        axes.set_title(label)
    panels[0].set_ylabel("% of time over the bare engine")
    panels[0].legend()
    table_parts.document_footnote(picture, result, f"{result['lines']:,} lines")
    return picture


def panel(axes: Axes, rows: list[PipelineRow]) -> None:
    settings = list(dict.fromkeys(map(setting, rows)))
    for number, way in enumerate((SYNCHRONOUS, ASYNCHRONOUS)):
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
