"""Vocabulary maps of many knobs: what they allow, cost and save (table 1 of WNMT 2018), as a table and a picture."""

from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings import comparison
from findings.captions import repeats
from formats.experiments import Coverage, MapCoverage, MapTiming, MapTimingRow, Picked
from formats.spread import Spread
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, typed
from report import figure, markup, table_parts

NOTE = """{system}, {quantization}, {sentences} sentences of {test_set}, greedy, one core ({cpu}), {repeats}, all maps
in turn. "own": share of the pieces that the model generates with its whole vocabulary which the map allows;
"reference": that share of the references' pieces. "candidates": pieces that the output layer computes, those of a
sentence for each piece of its source, and those of a sentence or of a batch of so many pieces, which are the union over
its sentences; means.
"times faster": decoding without loading and tokenization, against the whole vocabulary; the median of the runs, the
lowest and the highest. BLEU is the difference to the whole vocabulary, a star where the paired bootstrap finds it
significant (p < 0.05). The bold map is used by the study: of those that allow at least {coverage} % of the model's
own pieces of the dev set, the one with the fewest candidates there{none}.

{own}BLEU of the whole vocabulary: {bleu:.2f} ({signature})."""
OWN = """The native engine decoded: in its batches, too, each sentence has candidates of its own, so "candidates" of a
batch are those of a sentence.

"""
COLORS = {1: "#e69f00", 2: "#0072b2", 3: "#009e73"}  # by the longest n-gram
MARKERS = "os^vDPX"  # by the minimum frequency


class TimedMap(MapCoverage):
    """A map with its timings by batch size."""

    timed: dict[int, MapTimingRow]


class MapGrid(NamedTuple):
    """The maps of a grid, and what they were timed under."""

    dev: Picked  # of the dev set, which picked the map of the study
    rows: list[TimedMap]  # of the test set, a map each
    timing: MapTiming  # of the test set

    @property
    def picked(self) -> str:
        """The name of the map that the study uses."""
        return self.dev["picked"]["map"]


def read(dev: Path, coverage: Path, timing: Path) -> MapGrid:
    """Read what export.coverage and experiments.map_timing wrote. Raises UserError where a map was not timed."""
    covered = "not made by export.coverage"
    return joined(
        typed(read_json(dev), Picked, f"{dev}: {covered}"),
        typed(read_json(coverage), Coverage, f"{coverage}: {covered}"),
        typed(read_json(timing), MapTiming, f"{timing}: not made by experiments.map_timing"),
    )


def joined(dev: Picked, coverage: Coverage, timing: MapTiming) -> MapGrid:
    """Put the rows of each map together. Raises UserError where a map was not timed, or without BLEU."""
    timed: dict[str, dict[int, MapTimingRow]] = {}
    for row in timing["rows"]:
        timed.setdefault(row["map"], {})[row["batch_tokens"]] = row
    if "bleu" not in timing["rows"][0]:
        raise UserError("the maps were timed without BLEU; time them on the whole test set, without --steps")
    if missing := [row["map"] for row in coverage["maps"] if row["map"] not in timed]:
        raise UserError(f"the map {missing[0]} was not timed; time all maps of the grid")
    return MapGrid(dev, [{**row, "timed": timed[row["map"]]} for row in coverage["maps"]], timing)


def table(maps: MapGrid) -> str:
    dev, rows, timing = maps
    whole = next(row for row in timing["rows"] if row["map"] == "whole")
    fallback = "" if dev["picked"]["own"] >= dev["coverage"] else " (none does; this one allows the most)"
    note = NOTE.format(
        **{**timing["model"], **timing, "bleu": whole["bleu"]},
        repeats=repeats([timing["runs"]]),
        signature=whole["bleu_signature"],
        coverage=dev["coverage"],
        none=fallback,
        own=OWN if timing["model"]["engine"] == comparison.NATIVE else "",
    )
    cells = [row_cells(row, row["map"] == maps.picked, timing["noise"]) for row in rows]
    marks = table_parts.row_marks([timed for row in rows for timed in row["timed"].values()], timing["noise"])
    return markup.document("Vocabulary maps", note, markup.table(cells, left=cells[0]), marks)


def row_cells(row: TimedMap, picked: bool, noise: float) -> dict[str, str]:
    """The cells of a map; the knobs of the picked one are bold, disturbed timings are marked."""
    knobs = {
        "n": row["max_ngram"],
        "min. frequency": row["min_frequency"],
        "meanings": row["meanings"],
        "always on": f"{row['unaligned']} + {row['most_frequent']}",
        "counted": row["counted"],
    }
    cells = {name: f"**{value}**" if picked else f"{value}" for name, value in knobs.items()}
    cells |= {
        "n-grams": f"{row['ngrams']:,}",
        "KB": f"{row['bytes'] / 1000:,.0f}",
        "own %": f"{row['own']:.2f}",
        "reference %": f"{row['reference']:.2f}",
        "candidates a source piece": f"{row['candidates_per_token']:.1f}",
    }
    for tokens, timed in row["timed"].items():
        where = "sentence by sentence" if tokens == 1 else f"{tokens} pieces"
        cells[f"candidates, {where}"] = f"{timed['candidates']:,.0f}"
        cells[f"times faster, {where}"] = table_parts.marked(timed, noise, "times_faster")
        cells[f"BLEU, {where}"] = f"{timed['bleu_delta']:+z.2f}{markup.star(timed['bleu_p'])}"
    return cells


@figure.styled
def draw(maps: MapGrid) -> Figure:
    """Left: coverage of the model's own pieces (filled) and of the references' (hollow). Right: times faster than the
    whole vocabulary, in batches of each size. Dotted: the map that the study uses."""
    picture = Figure(figsize=(10.4, 4.4), layout="constrained")
    left, right = picture.subplots(1, 2)
    coverage(left, maps.rows)
    speed(right, maps.rows)
    picked = next(row for row in maps.rows if row["map"] == maps.picked)
    for axes in (left, right):
        axes.axvline(picked["candidates"], color="#000000", linestyle=":", linewidth=1)
        axes.set_xlabel("candidates of a sentence")
    left.set_title(
        f"dotted: n = {picked['max_ngram']}, from {picked['min_frequency']} times on, {picked['meanings']} meanings"
    )
    return picture


def coverage(axes: Axes, rows: list[TimedMap]) -> None:
    frequencies = sorted({row["min_frequency"] for row in rows})
    for row in rows:
        marker = MARKERS[frequencies.index(row["min_frequency"]) % len(MARKERS)]
        color, style = COLORS[row["max_ngram"]], figure.Points(marker=marker, markersize=5, linestyle="")
        axes.plot(row["candidates"], row["own"], color=color, **style)
        axes.plot(row["candidates"], row["reference"], color=color, markerfacecolor="none", **style)
    for ngram in sorted({row["max_ngram"] for row in rows}):
        axes.plot([], [], marker="o", linestyle="", color=COLORS[ngram], label=f"n-grams up to {ngram}")
    for frequency, marker in zip(frequencies, MARKERS, strict=False):
        axes.plot([], [], marker=marker, linestyle="", color="#777777", label=f"frequency from {frequency}")
    axes.plot([], [], marker="o", linestyle="", color="#777777", markerfacecolor="none", label="of the references'")
    axes.set_ylabel("% of the model's own pieces that are allowed")
    axes.legend(fontsize=7.5)


def speed(axes: Axes, rows: list[TimedMap]) -> None:
    for number, tokens in enumerate(rows[0]["timed"]):
        spreads = [Spread.read(row["timed"][tokens], "times_faster") for row in rows]
        style = figure.STUDENTS[number % len(figure.STUDENTS)]
        axes.errorbar(
            [row["candidates"] for row in rows],
            [spread.middle for spread in spreads],
            figure.whiskers(*spreads),
            linestyle="",
            marker=style.marker,
            markersize=4,
            color=style.color,
            elinewidth=0.6,
            label="sentence by sentence" if tokens == 1 else f"batches of {tokens} pieces",
        )
    axes.axhline(1, color="#777777", linewidth=0.8)
    axes.set_ylabel("times faster than the whole vocabulary")
    axes.legend(fontsize=7.5)
