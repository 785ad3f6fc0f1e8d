"""The time of n-gram blocking (Table 3), by three algorithms and in the engines, from ``ngram_timing``."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings.captions import repeats
from formats.spread import Spread
from nmt_frontier.files import read_json, typed
from papers.fastseq2021.documents import (
    DIFFERENT,
    ON,
    PLACES,
    VECTORS,
    VOCABULARY,
    AlgorithmRow,
    BlockingRow,
    Ngrams,
)
from report import figure, markup, table_parts
from report.table_parts import grouped

NOTE = """No trigram twice, in batches of {sentences} sentences, on one core of {cpu} ({isa}); {repeats}, all \
ways in turn, CPU seconds; load average before: {load_average}. After Table 3 of FastSeq (4,477 ms as found, 585 ms as \
a scan on the CPU, 7.8 ms on a GPU; the paper does not state the amount of work, so the numbers here are not \
comparable)."""
ALONE = f"""Milliseconds of a step, by the pieces that every hypothesis has: *scan* goes through each hypothesis in \
Python, *sliding* compares all places at once in NumPy, *compiled* is a loop of numba. All ban the same pieces \
(checked). The hypotheses are no translations: their pieces are drawn at random, of {DIFFERENT} so that trigrams come \
again, from a vocabulary of {VOCABULARY:,}."""
ENGINE = """{engines}, {system} ({shape}, {quantization}), every translation as long as stated. The extra \
milliseconds of a step are all that blocking costs an engine: its scan in C++, and the scores it writes. Where they \
are smaller than the spread of the runs they may be zero or less; the picture, which is logarithmic, leaves those \
out."""
ENGINES = {  # by a way that only this engine has
    ON: "CTranslate2 {engine_version} with `no_repeat_ngram_size` and without",
    VECTORS: "the native engine, which looks for n-grams with vectors, or one place after the other",
}
WAYS = {ON: "on", VECTORS: "with vectors", PLACES: "place by place"}  # of the engines, for people
LINES = {ON: "-", VECTORS: "--", PLACES: ":"}  # of the engines, whose lines are black
RANDOM = "The algorithms work on random hypotheses. Extra milliseconds of zero or less are not drawn."


def read(path: Path) -> Ngrams:
    return typed(read_json(path), Ngrams, f"{path}: not made by papers.fastseq2021.ngram_timing")


def table(result: Ngrams) -> str:
    noise = result["noise"]
    parts = [
        NOTE.format(**result, repeats=repeats([result["runs"]])),
        ALONE,
        markup.table(alone(result["algorithms"], noise)),
        ENGINE.format(**result["model"], engines=engines(result)),
        markup.table([in_engine(row, noise) for row in result["engine"]]),
    ]
    marks = table_parts.row_marks([*result["algorithms"], *result["engine"]], noise)
    return markup.document("N-gram blocking", *parts, marks)


def engines(result: Ngrams) -> str:
    """The engines that decoded, in words."""
    ways = dict.fromkeys(row["way"] for row in result["engine"] if row["way"] in ENGINES)
    text = "; and ".join(ENGINES[way].format(**result) for way in ways)
    return text[0].upper() + text[1:]


def alone(rows: list[AlgorithmRow], noise: float) -> list[dict[str, str]]:
    """A line for each beam and length, with the algorithms side by side."""
    lines: dict[tuple[int, int], dict[str, str]] = {}
    for row in rows:
        line = lines.setdefault((row["beam_size"], row["length"]), {"beam": str(row["beam_size"])})
        line["pieces"], line["banned"] = str(row["length"]), str(row["banned"])
        line[row["way"]] = table_parts.marked(row, noise, "step_seconds", 1e3, digits=3)
        if row["way"] != "scan":
            line[f"× {row['way']}"] = f"{row['times_scan']:.1f}"
    return list(lines.values())


def in_engine(row: BlockingRow, noise: float) -> dict[str, str]:
    """The cells of a run of an engine."""
    return {
        "engine": row["engine_label"],
        "way": WAYS[row["way"]],
        "beam": str(row["beam_size"]),
        "pieces": str(row["length"]),
        "off, s": f"{Spread.read(row, 'off_seconds'):,.2f}",
        "on, s": f"{Spread.read(row, 'on_seconds'):,.2f}",
        "on / off": f"{Spread.read(row, 'times_off'):,.2f}",
        "extra ms a step": table_parts.marked(row, noise, "extra_step_seconds", 1e3, digits=3),
    }


@figure.styled
def draw(result: Ngrams) -> Figure:
    """A panel for each beam: milliseconds of a step over the length, both logarithmic."""
    beams = sorted({row["beam_size"] for row in result["algorithms"]})
    picture = Figure(figsize=(4.6 * len(beams), 3.8), layout="constrained")
    for axes, beam in zip(picture.subplots(1, len(beams), squeeze=False, sharey=True)[0], beams, strict=True):
        panel(axes, result, beam)
    picture.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)  # lines cross the panels
    text = f"batches of {result['sentences']} sentences"
    table_parts.document_footnote(picture, result, text, RANDOM)
    return picture


def panel(axes: Axes, result: Ngrams, beam: int) -> None:
    alone = [row for row in result["algorithms"] if row["beam_size"] == beam]
    for ((way,), rows), style in zip(grouped(alone, "way").items(), figure.STUDENTS, strict=False):
        values = [1e3 * row["step_seconds"] for row in rows]
        axes.plot([row["length"] for row in rows], values, color=style.color, marker=style.marker, label=way)
    for (label, way), blocking in grouped(result["engine"], "engine_label", "way").items():
        drawn = [row for row in blocking if row["beam_size"] == beam and row["extra_step_seconds"] > 0]
        places, values = [row["length"] for row in drawn], [1e3 * row["extra_step_seconds"] for row in drawn]
        name = f"{label}, {WAYS[way]}, extra"
        axes.plot(places, values, label=name, linestyle=LINES[way], marker="s", color="#000000")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    lengths = sorted({row["length"] for row in alone})
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.set_xlabel("pieces of a hypothesis")
    axes.set_ylabel("milliseconds of a step")
    axes.set_title(f"beam {beam}, {result['sentences']} sentences")
