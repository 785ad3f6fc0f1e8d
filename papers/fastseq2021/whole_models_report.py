"""The speed of whole models on a CPU over transformers and CTranslate2, from ``whole_models``."""

from matplotlib.figure import Figure

from findings.comparison import CTRANSLATE2, NATIVE
from formats.spread import Spread
from papers.fastseq2021.documents import (
    BATCHES,
    CACHE,
    NGRAMS,
    OVERLAP,
    TRANSFORMERS,
    Times,
    WayRow,
    WholeModel,
    WholeModels,
)
from report import figure, markup

ENGINES = {NATIVE: "native", CTRANSLATE2: "CTranslate2"}
IDEAS = {OVERLAP: "overlap", NGRAMS: "n-grams", CACHE: "cache", BATCHES: "larger batches"}
COLORS = {
    (CTRANSLATE2, "float32"): "#e69f00",
    (CTRANSLATE2, "int8"): "#d55e00",
    (NATIVE, "float32"): "#56b4e9",
    (NATIVE, "int8"): "#0072b2",
}
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


def label(way: WayRow) -> str:
    """A way for people; in 8 bits the native engine has all ideas."""
    if way["engine"] == TRANSFORMERS:
        return f"transformers, batches of {way['batch']}"
    ideas = way["ideas"] if way["compute_type"] == "float32" else []
    return ", ".join([ENGINES[way["engine"]], way["compute_type"], *(IDEAS[idea] for idea in ideas)])


def spread(times: Times) -> Spread:
    return Spread(times["median"], times["lowest"], times["highest"])


def shown(times: Times | None, absent: str = "") -> str:
    return spread(times).short(".2f") if times else absent


def work(entry: WholeModel) -> str:
    blocked = f", no {entry['ngram']}-gram twice" if entry["ngram"] else ""
    source = f"{entry['sentences']} sources of {entry['pieces'] / entry['sentences']:,.0f} pieces on average"
    cores = f"{entry['cores']} core{'s' if entry['cores'] > 1 else ''}"
    return f"{source}, {entry['output']} out; beam {entry['beam']}{blocked}; {cores}"


def ratios_table(result: WholeModels) -> str:
    parts = []
    for name, entry in result["models"].items():
        rounds = len(entry["ways"][0]["seconds"])
        parts += [
            f"## {title(name)}",
            f"{work(entry)}; {rounds} round{'s' if rounds > 1 else ''}.",
            markup.table(cells(entry)),
        ]
    return markup.document("Whole models with random weights", NOTE.format(**result), *parts)


def cells(entry: WholeModel) -> list[dict[str, str]]:
    rows = []
    for way in entry["ways"]:
        row = {"way": label(way), "seconds": Spread.of(way["seconds"]).short(".2f")}
        row["sources / s"] = f"{way['sources_per_second']:.2f}"
        row["times faster"] = shown(way["times_faster"], "1")
        row["than without the last idea"] = shown(way.get("by_idea"))
        if entry["peer"]:
            row["than CTranslate2"] = shown(way.get("over_ctranslate2"))
        rows.append(row | {"same": f"{way['same']} of {entry['sentences']}"})
    return rows


@figure.styled
def ratios_picture(result: WholeModels) -> Figure:
    """For each model how many times faster than transformers it is: the native engine's last two ways, and its peer."""
    names = [name for name in result["models"] if name in TITLES]
    picture = Figure(figsize=(7, 0.75 * len(names) + 1), layout="constrained")
    axes = picture.subplots()
    for place, name in enumerate(names):
        last = {(way["engine"], way["compute_type"]): way for way in result["models"][name]["ways"]}
        bars = [(key, way["times_faster"]) for key, way in last.items() if way["times_faster"] and key in COLORS]
        for number, (key, times) in enumerate(bars):
            ratio, at = spread(times), place + 0.2 * (number - (len(bars) - 1) / 2)
            text = f"{ENGINES[key[0]]}, {key[1]}"
            axes.barh(at, ratio.middle, 0.18, color=COLORS[key], xerr=figure.whiskers(ratio), label=text)
            axes.annotate(f"{ratio.middle:.1f}", (ratio.high, at), (3, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(names)), [title(name) for name in names])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("times faster than transformers in float32")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    picture.legend(handles.values(), handles, loc="outside upper center", ncols=4)
    return picture
