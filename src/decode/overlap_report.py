"""The pipelines of decode.overlap as a table and a picture."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from decode import figure
from decode.markdown import between, document, table
from decode.measurements import mark, marks, repeats
from decode.search_conditions import conditions

NOTE = """{lines:,} lines ({test_set}, again and again) through {system} ({shape}, {quantization}), greedy, from \
text to text, against the engine alone on batches that were cut before; {repeats}, all ways in turn, on {cpu}. \
After section 4.3 of FastSeq, where the asynchronous pipeline was 1.5 times as fast. Where every core has a worker, \
text and engine share the cores, and no overlap can hide that work."""
COLORS = {"engine": "#777777", "synchronous": figure.STUDENTS[1].color, "asynchronous": figure.STUDENTS[0].color}


def setting(row: dict[str, Any]) -> str:
    workers, cores = row["workers"], len(row["cores"])
    return f"{workers} worker{'s' * (workers > 1)}, {cores} core{'s' * (cores > 1)}"


def costs(row: dict[str, Any]) -> list[float]:
    """Per cent over the engine: median, lowest, highest."""
    return [100 * (row[f"times_engine{end}"] - 1) for end in ("", "_min", "_max")]


def markdown(found: dict[str, Any]) -> str:
    rows, limit = [], found["noise"]
    engines = {setting(row): row for row in found["rows"] if row["way"] == "engine"}
    for row in found["rows"]:
        cells = {"": setting(row), "way": row["way"] + mark(row, engines[setting(row)], limit=limit)}
        cells |= {"seconds": between(row, "seconds", digits=2)}
        cells |= {"source words/s": f"{row['source_words_per_second']:,.0f}"}
        over = "{:+.1f} ({:+.1f} to {:+.1f})".format(*costs(row)) if row["way"] != "engine" else ""
        rows.append(cells | {"% over the engine": over})
    return document(
        "Pipeline",
        NOTE.format(**{**found["model"], **found}, repeats=repeats([found])),
        table(rows),
        marks(found["rows"], limit),
    )


@figure.styled
def draw(found: dict[str, Any]) -> Figure:
    """What both pipelines cost over the engine in every setting."""
    picture = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = picture.subplots()
    places = list(dict.fromkeys(setting(row) for row in found["rows"]))
    for number, way in enumerate(("synchronous", "asynchronous")):
        rows = [row for row in found["rows"] if row["way"] == way]
        middle, low, high = map(np.array, zip(*map(costs, rows), strict=True))
        at = np.arange(len(places)) + 0.36 * (number - 0.5)
        axes.bar(
            at,
            middle,
            0.34,
            yerr=(middle - low, high - middle),
            color=COLORS[way],
            label=way,
            error_kw={"elinewidth": 0.9},
        )
    axes.axhline(0, color="#777777", linewidth=0.8)
    axes.set_xticks(range(len(places)), places)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("% of time over the bare engine")
    axes.legend()
    figure.footnote(picture, conditions(found, f"{found['lines']:,} lines"))
    return picture
