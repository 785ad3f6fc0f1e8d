"""The shares of decode.components and decode.components_tf as a table and a picture."""

from typing import Any

from matplotlib.figure import Figure

from decode import figure
from decode.components import COMPONENTS, FEW
from decode.markdown import between, document, table
from decode.measurements import mark, marks, repeats
from decode.search_conditions import conditions

NOTE = """Share of the time of decoding by component, in per cent, {repeats}, with the lowest and \
highest, on one core of {cpu}: {sentences:,} sentences of {test_set}, batches of {batch_tokens} tokens. After Figure 2 \
of WNMT 2018, where the generator was the largest part.

* **profiler**: measured. TensorFlow's own profiler noted every operation of OpenNMT-tf by its place in the model; \
*other* is TensorFlow between the operations. The profiler's own cost is in the last column.
* **differences**: the wheel of CTranslate2 {version} is built without its profiler. *Encoder* is measured, running \
alone in the engine. The rest is inferred from what decoding costs less without a part: *attention* without the \
layers between decoder and encoder, *generator* with {few} candidates in place of the vocabulary (output layer, \
softmax, choice of the best pieces), *search* from beams against as many greedy rows (what reordering and \
bookkeeping cost more, zero for greedy search by definition), *decoder* is what is left. Every sentence has the same \
number of pieces ({steps}). A difference may be below zero where it is smaller than the spread; the picture leaves \
it out, and its other parts fill the bar."""
NEGATIVE = "Parts below zero are not drawn; the others fill the bar."
COLORS = dict(zip(COMPONENTS, [*(style.color for style in figure.STUDENTS), "#999999"], strict=True))
ENGINES = {"opennmt-tf": "OpenNMT-tf", "ctranslate2": "CTranslate2"}


def name(row: dict[str, Any]) -> str:
    mapped = ", map" if row["vocabulary_map"] else ""
    return f"{ENGINES[row['engine']]}, {row['compute_type']}, beam {row['beam_size']}{mapped}"


def markdown(found: dict[str, Any]) -> str:
    rows = []
    for row in found["rows"]:
        cells = {part: between(row["shares"][part], "share", 100) for part in COMPONENTS}
        rows.append(
            {"": name(row) + mark(row, limit=found["noise"]), "how": row["how"], **cells}
            | {"CPU s": between(row, "cpu_seconds", digits=2)}
            | {"profiler's cost": f"{row['profiler_costs']:+.0%}" if "profiler_costs" in row else ""}
        )
    inferred = next(row for row in found["rows"] if row["how"] == "differences")
    note = NOTE.format(
        **found, repeats=repeats([found]), version=inferred["engine_version"], few=FEW, steps=inferred["steps"]
    )
    return document("Components", note, table(rows), marks(found["rows"], found["noise"]))


@figure.styled
def draw(found: dict[str, Any]) -> Figure:
    """A bar for each way to decode; parts below zero are not drawn, and the others fill the bar."""
    rows = found["rows"]
    picture = Figure(figsize=(9.6, 1.2 + 0.36 * len(rows)), layout="constrained")
    axes = picture.subplots()
    left = [0.0] * len(rows)
    for part in COMPONENTS:
        shares = [max(row["shares"][part]["share"], 0.0) for row in rows]
        sums = [sum(max(row["shares"][other]["share"], 0.0) for other in COMPONENTS) for row in rows]
        widths = [100 * share / whole for share, whole in zip(shares, sums, strict=True)]
        axes.barh(range(len(rows)), widths, left=left, color=COLORS[part], label=part, height=0.75)
        for y, (start, width) in enumerate(zip(left, widths, strict=True)):
            if width >= 5:
                axes.text(start + width / 2, y, f"{width:.0f}", ha="center", va="center", color="white", fontsize=8)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(rows)), [f"{name(row)} ({row['how']})" for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.grid(visible=False)
    axes.set_xlabel("% of the time of decoding")
    picture.legend(loc="outside upper center", ncols=len(COMPONENTS))
    figure.footnote(picture, conditions(found, f"{found['sentences']:,} sentences", NEGATIVE))
    return picture
