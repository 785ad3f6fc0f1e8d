"""How every system was trained: a table of size, throughput, time and data, and learning curves.

Throughput is the median of what OpenNMT-tf reports, source and target tokens a second; minutes are those spent on
updates, without starts, validations, and the pauses after a kill. Pairs are left out of the epochs where a side has
more than ``max_length`` pieces, or none; trainings of version 0.5 did not count them.

A system without updates has the weights that it started from, whose source is in its table, and no curve.

The curves are drawn against batches, not updates: a phase may add up the gradients of many batches for one update
(figure 1 of WNGT 2020).
"""

import re
import statistics
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from formats.learning import Learning, RecordedPhase
from nmt_frontier.files import document
from report import figure, markup

LEGEND_COLUMNS, LEGEND_ROW = 3, 0.14  # inches
MARKED = 0.15  # length of a line from marker to marker, as a share of the diagonal


def read(*paths: Path) -> list[Learning]:
    """Read a learning.json of each system. Raises UserError for a file without the curve of a system."""
    return [document(path, Learning, "not a learning curve; give the learning.json of a system") for path in paths]


def table(systems: list[Learning]) -> str:
    rows = [row(learning) for learning in systems]
    return markup.table(rows, left=set().union(*rows)) + "\n"


def row(learning: Learning) -> dict[str, str]:
    """The cells of a system."""
    scores = [point.bleu for point in learning.validation]
    return {
        "system": learning.system,
        "shape": learning.shape,
        "parameters": f"{learning.parameters:,}",
        **(updates(learning) if learned(learning) else {"steps": f"0, from {learning.start_from}"}),
        "dev BLEU, best": f"{max(scores):.2f}" if scores else "",
        **{f"average of {average.checkpoints}": f"{average.bleu:.2f}" for average in learning.averages},
    }


def learned(learning: Learning) -> bool:
    """Whether the system was trained at all."""
    return learning.phases[-1].end > 0


def updates(learning: Learning) -> dict[str, str]:
    """The cells of a training."""
    rates = [point.tokens_per_second for point in learning.training if point.tokens_per_second]
    return {
        "steps": " + ".join(phases(learning.phases)),
        "tokens/s": f"{statistics.median(rates):,.0f}" if rates else "",
        "minutes": f"{learning.seconds / 60:.0f}",
        "pairs seen": f"{learning.seen.pairs:,} ({learning.seen.passes:.1f} passes)",
        "left out": f"{learning.left_out.pairs:,} of {learning.left_out.of:,}" if learning.left_out else "",
    }


def phases(ends: list[RecordedPhase]) -> list[str]:
    """The steps of each phase, with the batches of an update where there are several."""
    starts = [0, *(phase.end for phase in ends)]
    return [
        f"{phase.end - start:,}" + (f" x{phase.accumulate}" if phase.accumulate > 1 else "")
        for start, phase in zip(starts, ends, strict=False)
    ]


@figure.in_column
def draw(systems: list[Learning]) -> Figure:
    """Two panels: loss, and BLEU on the dev set. The seeds of a system have one colour."""
    if not (systems := [*filter(learned, systems)]):
        return figure.nothing("No system was trained here: all have the weights that they started from.")
    styles = figure.styles({group(learning.system): learning.role for learning in systems})
    legend = LEGEND_ROW * -(-len(styles) // LEGEND_COLUMNS)
    picture = Figure(figsize=(figure.COLUMN, 3.8 + legend), layout="constrained")
    above, below = picture.subplots(2, 1, sharex=True)
    for learning in systems:
        color, marker = styles[group(learning.system)]
        line = {"color": color, "marker": marker, "markersize": 3.5, "linewidth": 0.9}
        losses = [(point.step, point.loss) for point in learning.training]
        above.plot(*series(losses, learning.phases), **line, markevery=MARKED)
        below.plot(*series([(score.step, score.bleu) for score in learning.validation], learning.phases), **line)
        for phase in learning.phases[:-1]:
            below.axvline(batches(phase.end, learning.phases), color=color, linestyle=":", linewidth=1)
    above.set(title="Loss on the training data", ylabel="loss, nats per token")
    below.set(title="BLEU on the dev set", xlabel="batches; a phase ends at a dotted line", ylabel="BLEU")
    above.xaxis.set_major_formatter("{x:,.0f}")
    handles = [Line2D([], [], color=style.color, marker=style.marker, label=name) for name, style in styles.items()]
    picture.legend(handles=handles, loc="outside lower left", ncols=min(len(handles), LEGEND_COLUMNS))
    return picture


def group(system: str) -> str:
    """The name of a system without its seed."""
    return re.sub(r"-seed\d+$", "", system)


def series(values: list[tuple[int, float | None]], phases: list[RecordedPhase]) -> tuple[list[int], list[float]]:
    """Batches, and the values that were measured after them. values: each with its step; None is left out."""
    known = [(batches(step, phases), value) for step, value in values if value is not None]
    return [place for place, _ in known], [value for _, value in known]


def batches(step: int, phases: list[RecordedPhase]) -> int:
    """How many batches were read for the updates up to ``step``."""
    total = start = 0
    for phase in phases:
        total += max(min(step, phase.end) - start, 0) * phase.accumulate
        start = phase.end
    return total
