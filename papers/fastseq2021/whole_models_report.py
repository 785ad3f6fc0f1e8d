"""The speed of whole models on a CPU over transformers and CTranslate2, from ``whole_models``."""

from typing import Any

from matplotlib.figure import Figure

from formats.measurement import Spread
from report import figure, markup

Result = dict[str, Any]

PEER = "CTranslate2"
TITLES = {
    "bart": "BART-large",
    "distilbart": "DistilBART",
    "t5": "T5-base",
    "transformer": "Transformer, big",
    "opus-mt": "OPUS-MT",
    "nllb-600m": "NLLB-600M",
}
NOTE = """Random weights in the models' true sizes; from text to text on {cpu} ({isa}), {date}; \
transformers {versions[transformers]} with torch {versions[torch]}, CTranslate2 {versions[ctranslate2]}. Ways take \
turns: seconds and ratios are medians, with the lowest and the highest round. The ratios are over transformers in \
float32 with its better batch, round by round. *Same*: translations with the pieces of that way. *Overlap*: the \
stages of the pipeline, *n-grams*: found with vectors, *cache*: one copy of the encoder's keys and values for all \
beams, *larger batches*: all that a row's work says, else the smaller batch."""


def title(name: str) -> str:
    return TITLES.get(name, name)


def shown(spread: dict[str, float]) -> str:
    return Spread(spread["median"], spread["lowest"], spread["highest"]).short(".2f")


def work(entry: Result) -> str:
    blocked = f", no {entry['ngram']}-gram twice" if entry["ngram"] else ""
    source = f"{entry['sentences']} sources of {entry['pieces'] / entry['sentences']:,.0f} pieces on average"
    cores = f"{entry['cores']} core{'s' if entry['cores'] > 1 else ''}"
    return f"{source}, {entry['output']} out; beam {entry['beam']}{blocked}; {cores}"


def ratios_table(result: Result) -> str:
    parts = []
    for name, entry in result["models"].items():
        rounds = len(entry["seconds"][entry["baseline"]])
        parts += [
            f"## {title(name)}",
            f"{work(entry)}; {rounds} round{'s' if rounds > 1 else ''}.",
            markup.table(cells(entry)),
        ]
    return markup.document("Whole models with random weights", NOTE.format(**result), *parts)


def cells(entry: Result) -> list[dict[str, str]]:
    rows = []
    for way, seconds in entry["seconds"].items():
        row = {"way": way, "seconds": Spread.of(seconds).short(".2f")}
        row["sources / s"] = f"{entry['sources_per_second'][way]:.2f}"
        row["times faster"] = "1" if way == entry["baseline"] else shown(entry["times_faster"][way])
        row["than without the last idea"] = shown(entry["by_idea"][way]) if way in entry["by_idea"] else ""
        if peers := entry["over_ctranslate2"]:
            row["than CTranslate2"] = shown(peers[way]) if way in peers else ""
        rows.append(row | {"same": f"{entry['same'][way]} of {entry['sentences']}"})
    return rows


@figure.styled
def ratios_picture(result: Result) -> Figure:
    """For each model how many times faster than transformers it is: the native engine's last two ways, and its peer."""
    names = [name for name in result["models"] if name in TITLES]
    picture = Figure(figsize=(7, 0.75 * len(names) + 1), layout="constrained")
    axes = picture.subplots()
    styles = {f"{PEER}, float32": "#e69f00", f"{PEER}, int8": "#d55e00", "float32": "#56b4e9", "int8": "#0072b2"}
    for place, name in enumerate(names):
        entry = result["models"][name]
        ways = list(entry["seconds"])
        shown = {"float32": ways[ways.index("native, int8") - 1], "int8": "native, int8"}
        shown |= {way: way for way in ways if way.startswith(PEER)}
        for number, (label, way) in enumerate(shown.items()):
            spread = Spread(*(entry["times_faster"][way][name] for name in ("median", "lowest", "highest")))
            at = place + 0.2 * (number - (len(shown) - 1) / 2)
            axes.barh(at, spread.middle, 0.18, color=styles[label], xerr=figure.whiskers(spread), label=label)
            axes.annotate(f"{spread.middle:.1f}", (spread.high, at), (3, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(names)), [title(name) for name in names])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("times faster than transformers in float32")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    names_of = {"float32": "native, float32", "int8": "native, int8"}
    picture.legend(
        handles.values(), [names_of.get(label, label) for label in handles], loc="outside upper center", ncols=4
    )
    return picture
