"""Show the JSON of a benchmark as a picture (.svg, .png) or a table (.md)."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from marian import BEAMS, RATE
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from decode.engines import ENGINES
from findings.captions import marks
from formats import measurement
from formats.measurement import Measurement
from formats.spread import Spread
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_text
from papers.fastseq2021 import whole_models_report
from report import figure, markup

Row = dict[str, Any]

# engine.py

SIZES = {"1": "1 sentence", "8": "8", "32": "32", "512t": "512 tokens"}
TYPES = {"float32": "#999999", "int16": "#e69f00", "int8": "#0072b2"}
ENGINE_TITLE = "The native engine against CTranslate2 on one core"
ENGINE_NOTE = """Target tokens per second of CPU time on one core of {cpu}, native engine with {isa}, sentences of
{test_set}; medians of {runs} runs in turn. Solid: the native engine; dashed: CTranslate2 with the same weights, map and
batches"""
LINES = {"ctranslate2": "--", "marian": ":", "opennmt-tf": "-."}
LIMITS = {  # by whether the record has the rates of the caches; those of 0.9 and before have none
    True: "In brackets: the share of the limit, which is the larger of operations over the core's peak and the bytes of"
    " the weights over the rate of the cache in which they lie.",
    False: "In brackets: the share of the limit, which is operations over the core's peak; the rates of caches were not"
    " measured then.",
}
OTHERS = {"marian": "; dotted: Marian with the same", "opennmt-tf": "; dash-dotted: OpenNMT-tf, without a map"}
COLUMNS = 3


def name(row: Row) -> str:
    return row["model"] if row["beam_size"] == 1 else f"{row['model']}, beam {row['beam_size']}"


def engine_table(rows: list[Row]) -> str:
    """Ratios with their spreads and, in brackets, the share of the limit; then the shares of components."""
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        line = lines.setdefault((name(row), row["compute_type"], row["peer"]), {})
        line |= {"model": name(row), "type": row["compute_type"], "against": ENGINES[row["peer"]].label}
        share = f" [{row['share_of_limit']:.0%}]" if "share_of_limit" in row else ""
        line[SIZES[row["batch"]]] = f"{Spread.read(row, 'ratio'):.2f}{share}"
    components = [
        {"model": name(row), "type": row["compute_type"]}
        | {k: f"{share:.0%}" for k, share in row["components"].items()}
        for row in rows
        if row["batch"] == "32" and "components" in row
    ]
    limit = next((LIMITS["levels" in row] for row in rows if "share_of_limit" in row), "")
    return markup.document(ENGINE_TITLE, markup.table([*lines.values()]), limit, markup.table(components))


def speeds(axes: Axes, rows: list[Row]) -> None:
    """Speed over the size of batches, a line for each type and engine."""
    for kind, color in TYPES.items():
        for peer, line in LINES.items():
            shown = [row for row in rows if row["compute_type"] == kind and row["peer"] == peer]
            places = [[*SIZES].index(row["batch"]) for row in shown]
            looks = {"marker": "o", "markersize": 3, "color": color}
            if shown and peer == "ctranslate2":
                axes.plot(places, [row["tokens_per_cpu_second"] for row in shown], "-", label=kind, **looks)
            axes.plot(places, [row["peer_tokens_per_cpu_second"] for row in shown], line, **looks)
    axes.set_xticks(range(len(SIZES)), SIZES.values())
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(name(rows[0]))


@figure.styled
def engine_picture(rows: list[Row]) -> Figure:
    names = [*dict.fromkeys(map(name, rows))]
    columns, lines = min(len(names), COLUMNS), math.ceil(len(names) / COLUMNS)
    picture = Figure(figsize=(3.4 * columns, 0.6 + 3 * lines), layout="constrained")
    grid = picture.subplots(lines, columns, squeeze=False)
    for axes, shown in zip(grid.flat, names, strict=False):
        speeds(axes, [row for row in rows if name(row) == shown])
    for axes in [*grid.flat][len(names) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("target tokens per CPU second")
    max(picture.axes, key=lambda axes: len(axes.get_legend_handles_labels()[0])).legend()  # one with all types
    picture.suptitle(ENGINE_TITLE, x=0.01, ha="left", fontsize=10)
    others = "".join(text for peer, text in OTHERS.items() if any(row["peer"] == peer for row in rows))
    figure.footnote(picture, f"{ENGINE_NOTE.format(**rows[0])}{others}.")
    return picture


# engine_recurrent.py

LABELS = {"native": "native", "onnxruntime": "onnxruntime", "marian": "Marian"}  # onnxruntime: only in a kept result
RECURRENT_NOTE = """Target tokens per second of CPU time on one core of {cpu}, native engine with {isa}; {compute_type},
{pieces} pieces in and out, {candidates:,} candidates, untrained weights; medians of {runs} runs in turn, with the
lowest and the highest."""


def recurrent_table(rows: list[Row]) -> str:
    """Speeds, and ratios with their spreads."""
    lines = []
    for row in rows:
        line = {"shape": row["shape"], "sentences": f"{row['batch']}", "engine": LABELS[row["engine"]]}
        line["tokens/s"] = f"{Spread.read(row, 'tokens_per_cpu_second'):,.0f}"
        compared = "native_times_faster" in row
        line["native × faster"] = f"{Spread.read(row, 'native_times_faster'):.2f}" if compared else ""
        lines.append(line)
    shown = markup.table(lines, left=("shape", "engine"))
    title = "Recurrent, averaging and simple recurrent decoders on one core"
    return markup.document(title, shown, " ".join(RECURRENT_NOTE.format(**rows[0]).split()))


# marian.py

COLORS = {"opennmt-tf": "#999999", "marian": "#d55e00", "ctranslate2": "#0072b2"}
BAR, AROUND = 0.26, 1.5  # inches: a bar, what is above and below
MARIAN_NOTE = """{how.sentences:,} sentences of {first.test_set}, {first.timing.runs} runs in turn, {cpu}
({how.isa}). Bars are medians, whiskers the slowest and the fastest run; ×: times faster than {beams}, run by run, the
median. CTranslate2 and Marian decode the same weights; OpenNMT-tf's are others, of the same shape ({shape}):
compare its speed alone. {marks}"""


def bars(axes: Axes, rows: list[Row]) -> None:
    """A bar for each way to decode."""
    for place, row in enumerate(rows):
        spread, ratio = Spread.read(row, RATE), row["times_faster"][BEAMS]
        looks = {"color": COLORS[row["engine"]], "xerr": figure.whiskers(spread), "error_kw": {"elinewidth": 0.9}}
        axes.barh(place, spread.middle, 0.66, **looks)
        text = f"{spread.middle:,.0f}{row['mark']}   ×{ratio['middle']:.1f}{ratio['mark']}"
        axes.annotate(text, (spread.high, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row["way"] for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.25)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("source words per second")
    axes.set_title(f"{rows[0]['cores']} core{'s' if rows[0]['cores'] > 1 else ''}")


@figure.styled
def marian_picture(result: dict[str, Any]) -> Figure:
    """A panel for each number of cores."""
    known = {column.name for column in measurement.columns()}  # the kept file has fields of earlier versions
    records = [Measurement.of({key: old[key] for key in known & old.keys()}) for old in result["records"]]
    rows = result["ratios"]
    cores = sorted({row["cores"] for row in rows})
    panels = [[row for row in rows if row["cores"] == count] for count in cores]
    picture = Figure(figsize=(6.2 * len(cores), AROUND + BAR * max(map(len, panels))), layout="constrained")
    for axes, shown in zip(picture.subplots(1, len(cores), squeeze=False)[0], panels, strict=True):
        bars(axes, shown)
    picture.suptitle("CTranslate2 and Marian with the same weights, and OpenNMT-tf", x=0.01, ha="left", fontsize=10)
    first = records[0]
    named = {"how": first.decoding, "cpu": first.conditions.cpu, "shape": first.system.shape}
    note = MARIAN_NOTE.format(first=first, **named, beams=BEAMS, marks=marks(records))
    first = records[0]
    named = {"how": first.decoding, "cpu": first.conditions.cpu, "shape": first.system.shape}
    note = MARIAN_NOTE.format(first=first, **named, beams=BEAMS, marks=marks(records))
    figure.footnote(picture, note)
    return picture


# stream.py


@figure.styled
def stream_picture(result: dict[str, Any]) -> Figure:
    picture = Figure(figsize=(7, 3), layout="constrained")
    axes = picture.subplots()
    axes.plot([bytes / 1e6 for bytes in result["memory_bytes"]], color=figure.STUDENTS[0].color)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("resident memory, MB")
    axes.set_title(f"{result['lines']:,} lines in {result['seconds']:,.0f} s on {result['workers']} cores")
    return picture


# agreement.py

PEERS = {"opennmt-tf": "OpenNMT-tf", "marian": "Marian"}
AGREEMENT_NOTE = """Equal translations of {sentences:,} sentences with the same weights in float32; of the others, how
many are ties (scores within 1e-4), and how many have a better score with the native engine's search or with the
peer's; wider: how many the native engine translates as the peer if its beam is twice as wide. Models are small,
OpenNMT-tf's with random weights, Marian's trained for seconds; sources are {text}, with {pieces} pieces instead of
words, with Marian 1 to {longest} of each, as its models have learned no longer ones. Score: the largest difference
between both engines' scores of a translation by the peer. Native engine with {isa} on {cpu}."""


def agreement_table(result: dict[str, Any]) -> str:
    def cells(row: dict[str, Any]) -> dict[str, str]:
        return {
            "peer": PEERS[row["peer"]], "architecture": row["architecture"],
            "search": f"beam {row['beam_size']}" if row["beam_size"] > 1 else "greedy",
            "equal": f"{row['equal']:,}", "%": f"{100 * row['equal'] / row['sentences']:.1f}", "ties": f"{row['ties']}",
            "native better": f"{row['ours_better']}", "peer better": f"{row['theirs_better']}",
            "wider": "" if row["wider"] is None else f"{row['wider']}", "score": f"{row['score_difference']:.1e}",
        }  # fmt: skip

    rows = result["rows"]
    shown = markup.table([cells(row) for row in rows], left=("peer", "architecture", "search"))
    note = " ".join(AGREEMENT_NOTE.format(sentences=rows[0]["sentences"], **result).split())
    return markup.document("Equal translations of two engines", shown, note)


# engine_build.py, of benchmarks-0.9


def build_table(result: dict[str, Any]) -> str:
    builds = [
        {
            "compiler": row["version"], "cores": str(row["cores"]), "seconds": f"{row['seconds']:.0f}",
            "CPU seconds": f"{row['cpu_seconds']:.0f}", "used by others": f"{row['others']:.0%}",
            "library, KB": f"{row['library_bytes'] / 1e3:,.0f}",
        }
        | {f"{name}, KB": f"{size / 1e3:,.0f}" for name, size in row["set_bytes"].items()}
        for row in result["builds"]
    ]  # fmt: skip
    folders = [
        {"folder": name, "lines": f"{row['lines']:,}", "code": f"{row['code_lines']:,}"}
        for name, row in result["lines"].items()
    ]
    title = f"Building the native engine on {result['cpu']}"
    return markup.document(title, markup.table(builds), markup.table(folders))


# engine_loading.py, of benchmarks-0.9

LOADING = {
    "CPU ms to load": ("cpu_seconds", 1e3),
    "without the import": ("load_cpu_seconds", 1e3),
    "MB after loading": ("loaded_rss_bytes", 1e-6),
    "of these own": ("loaded_own_bytes", 1e-6),
    "MB at most": ("peak_rss_bytes", 1e-6),
    "added by the engine": ("added_rss_bytes", 1e-6),
    "own at the end": ("decoded_own_bytes", 1e-6),
}


def loading_table(rows: list[Row]) -> str:
    """A line for each comparison: native, CTranslate2, and their ratio with its spread."""
    lines = []
    for row in rows:
        line = {"model": row["model"], "type": row["compute_type"], "workers": str(row["workers"])}
        for column, (field, scale) in LOADING.items():
            sides = f"{row[field] * scale:.1f} : {row[f'peer_{field}'] * scale:.1f}"
            line[column] = f"{sides} = {Spread.read(row, f'ratio_{field}'):.2f}"
        lines.append(line)
    return markup.document("Loading and memory: the native engine, CTranslate2 and their ratio", markup.table(lines))


# src/export/agreement.py, of benchmarks-0.9


def aligners_table(result: dict[str, Any]) -> str:
    aligners = [
        {
            "aligner": name, "links a pair": f"{row['links_per_pair']:.2f}",
            "source without": f"{row['unlinked_source']:.1%}", "target without": f"{row['unlinked_target']:.1%}",
            "seconds": f"{row['seconds']:.0f}",
        }
        for name, row in result["aligners"].items()
    ]  # fmt: skip
    agreement = [
        {
            "links in both": f"{row['first']}, {row['second']}", "of the first": f"{row['of_the_first']:.1%}",
            "of the second": f"{row['of_the_second']:.1%}", "Dice": f"{row['dice']:.1%}",
            "pairs with the same links": f"{row['the_same_pairs']:.1%}",
        }
        for row in result["agreement"]
    ]  # fmt: skip
    note = f"{result['pairs']:,} pairs in subword units, trained and applied."
    return markup.document("Word aligners", note, markup.table(aligners), markup.table(agreement))


class ScriptSubject(NamedTuple):
    """How the result of a script is shown."""

    picture: Callable[[Any], Figure] | None = None
    table: Callable[[Any], str] | None = None


SUBJECTS = {
    "agreement": ScriptSubject(table=agreement_table),
    "aligners": ScriptSubject(table=aligners_table),
    "engine": ScriptSubject(engine_picture, engine_table),
    "engine_build": ScriptSubject(table=build_table),
    "engine_loading": ScriptSubject(table=loading_table),
    "engine_recurrent": ScriptSubject(table=recurrent_table),
    "marian": ScriptSubject(marian_picture),
    "stream": ScriptSubject(stream_picture),
    "whole_models": ScriptSubject(whole_models_report.ratios_picture, whole_models_report.ratios_table),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", choices=SUBJECTS, help="that made the result")
    parser.add_argument("--result", type=Path, required=True, help="its JSON")
    parser.add_argument("--output", type=Path, required=True, help=".md, .svg or .png")
    args = parser.parse_args()
    subject, result = SUBJECTS[args.script], read_json(args.result)
    if args.output.suffix == ".md" and subject.table:
        write_text(args.output, subject.table(result))
    elif args.output.suffix != ".md" and subject.picture:
        figure.save(subject.picture(result), args.output)
    else:
        raise UserError(f"{args.output}: {args.script}.py has no {'table' if subject.picture else 'picture'}")


if __name__ == "__main__":
    command(main)
