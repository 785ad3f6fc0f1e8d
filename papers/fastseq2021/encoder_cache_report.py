"""Copies of the encoder's cache (section 5.2), from the rows of ``encoder_cache``: tables and a picture."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings.captions import repeats
from formats.spread import Spread
from nmt_frontier.files import read_json, typed
from papers.fastseq2021.documents import Cache, CacheRow, CopiesRow, StepRow
from report import figure, markup, table_parts

NOTE = """The keys and values of the encoder, one copy a sentence or one a beam: after section 5.2 of FastSeq, where \
one copy takes 1.8 GB instead of 6.3, which its Table 2 estimates for 1,024 pieces in and 50 out, and does not \
measure. On one core of {cpu} ({isa}), {repeats}, CPU seconds; load average before: {load_average}."""
ENGINE = """**CTranslate2 {engine_version} keeps one copy a sentence.** {system} ({shape}, {quantization}), \
{sentences} sources of {length} pieces, {steps} pieces out, few candidates. Memory is what decoding adds to the \
loaded model, in a process for each run. The last column is what copies for all beams would take on top, in {layers} \
decoder layers of {units} units: where that is more than all that was added, there are none. With fewer beams the \
peak is that of the encoder and tells nothing about the decoder."""
NATIVE = """**The native engine decodes in both ways**: {batch}, with one copy a sentence, and with a copy for \
every beam, which is moved behind its beam at every step, as engines did that FastSeq improved. × is CPU time with \
copies over one copy, run by run."""
RECKONING = """What copies cost, in NumPy: attention of one layer of {units} units, {heads} heads, {batch} \
sentences. *Copied* multiplies every beam with its own copy, *reordered* also moves the copies behind their beams. \
Equal results are checked; milliseconds of a step, and times the shared copy."""
BATCH = "{system} ({shape}, {quantization}), {sentences} sources of {length} pieces, few candidates"
MEGA = 1e-6


def read(path: Path) -> Cache:
    return typed(read_json(path), Cache, f"{path}: not made by papers.fastseq2021.encoder_cache")


def table(result: Cache) -> str:
    noise = result["noise"]
    parts = [
        NOTE.format(**result, repeats=repeats([result["runs"]])),
        *(engine_parts(result) if result["engine"] else []),
        *(native_parts(result) if result["native"] else []),
        RECKONING.format(**result),
        markup.table(reckoned(result["reckoning"], noise)),
    ]
    timed = [row for name in ("engine", "native", "reckoning") for row in result[name]]
    return markup.document("Encoder cache", *parts, table_parts.row_marks(timed, noise))


def engine_parts(result: Cache) -> list[str]:
    """What CTranslate2 adds to its memory, where it runs the system."""
    note = ENGINE.format(**{**result["model"], **result, **result["engine"][0]})
    return [note, markup.table([measured(row, result["noise"]) for row in result["engine"]])]


def native_parts(result: Cache) -> list[str]:
    """The time and the memory of the native engine with one copy and with a copy a beam."""
    batch = "the same batch" if result["engine"] else BATCH.format(**{**result["model"], **result["native"][0]})
    return [NATIVE.format(batch=batch), markup.table([both_ways(row, result["noise"]) for row in result["native"]])]


def measured(row: CacheRow, noise: float) -> dict[str, str]:
    """The cells of a run of the engine."""
    return {
        "beam": str(row["beam_size"]),
        "CPU s": table_parts.marked(row, noise, "cpu_seconds"),
        "added memory, MB": f"{Spread.read(row, 'added_bytes', MEGA):,.0f}",
        "copies alone, MB": f"{row['copies_bytes'] * MEGA:.0f}",
    }


def both_ways(row: CopiesRow, noise: float) -> dict[str, str]:
    """The cells of a beam in the native engine."""
    return {
        "beam": str(row["beam_size"]),
        "one copy, CPU s": table_parts.marked(row, noise, "shared_seconds"),
        "a copy a beam, CPU s": table_parts.marked(row, noise, "copied_seconds"),
        "× copies": f"{Spread.read(row, 'times_shared'):.2f}",
        "one copy, added MB": f"{Spread.read(row, 'shared_bytes', MEGA):,.0f}",
        "a copy a beam, added MB": f"{Spread.read(row, 'copied_bytes', MEGA):,.0f}",
    }


def reckoned(rows: list[StepRow], noise: float) -> list[dict[str, str]]:
    """A line for each length and beam, with the ways side by side."""
    lines: dict[tuple[int, int], dict[str, str]] = {}
    for row in sorted(rows, key=lambda row: (row["length"], row["beam_size"])):
        line = lines.setdefault((row["length"], row["beam_size"]), {"pieces": str(row["length"])})
        line["beam"] = str(row["beam_size"])
        if row["way"] != "reordered":
            line[f"{row['way']}, MB"] = f"{row['cache_bytes'] * MEGA:.1f}"
        line[f"{row['way']}, ms"] = table_parts.marked(row, noise, "step_seconds", 1e3)
        if row["way"] != "shared":
            line[f"× {row['way']}"] = f"{row['times_shared']:.2f}"
    return list(lines.values())


@figure.styled
def draw(result: Cache) -> Figure:
    """Left: memory of the engines and of copies. Right: times the shared copy, in NumPy and the native engine."""
    picture = Figure(figsize=(9.6, 3.8), layout="constrained")
    left, right = picture.subplots(1, 2)
    rows = [*result["engine"], *result["native"]]
    if result["engine"]:
        memory(left, result["engine"])
    left.set_ylabel("MB")
    slower(right, result["reckoning"])
    if result["native"]:
        both_copies(left, right, result["native"])
    for axes in (left, right):
        beams = sorted({row["beam_size"] for row in rows})
        axes.set_xscale("log", base=2)
        axes.set_xticks(beams, [str(beam) for beam in beams])
        axes.set_xlabel("beam")
        axes.legend()
    text = f"{rows[0]['sentences']} sources of {rows[0]['length']} pieces"
    table_parts.document_footnote(picture, result, text)
    return picture


def memory(axes: Axes, rows: list[CacheRow]) -> None:
    beams = [row["beam_size"] for row in rows]
    measured = [row["added_bytes"] * MEGA for row in rows]
    blue = figure.STUDENTS[0].color
    axes.plot(beams, measured, color=blue, marker="o", label="all that CTranslate2 adds (measured)")
    copies = [row["copies_bytes"] * MEGA for row in rows]
    axes.plot(beams, copies, color="#777777", linestyle="--", label="copies of the cache alone would (reckoned)")


def slower(axes: Axes, rows: list[StepRow]) -> None:
    longest = max(row["length"] for row in rows)
    for way, style in zip(("copied", "reordered"), figure.STUDENTS, strict=False):
        shown = [row for row in rows if row["way"] == way and row["length"] == longest]
        beams, values = [row["beam_size"] for row in shown], [row["times_shared"] for row in shown]
        axes.plot(beams, values, color=style.color, marker=style.marker, label=f"{way}, one a beam")
    axes.axhline(1, color="#777777", linewidth=0.8)
    axes.set_ylabel("times the step of the shared copy")
    axes.set_title(f"NumPy, sources of {longest} pieces")


def both_copies(left: Axes, right: Axes, rows: list[CopiesRow]) -> None:
    """The native engine with one copy and with one a beam: what it adds, and how many times the CPU time."""
    beams, color = [row["beam_size"] for row in rows], figure.STUDENTS[1].color
    for way, line, label in (("shared", "-", "one copy"), ("copied", ":", "a copy a beam")):
        values = [Spread.read(row, f"{way}_bytes", MEGA).middle for row in rows]
        left.plot(beams, values, color=color, linestyle=line, marker="s", label=f"native, {label} (measured)")
    ratios = [row["times_shared"] for row in rows]
    right.plot(beams, ratios, color="#000000", marker="s", label="native engine, all of decoding")
