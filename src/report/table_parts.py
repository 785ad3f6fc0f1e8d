"""What the tables and pictures of experiments share: cells, titles, notes, marks of disturbed timings."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from findings import captions, comparison
from findings.captions import best_searches, cpu, mark, marks, once, repeats
from formats.experiments import Disturbed
from formats.measurement import Measurement, read
from formats.spread import Spread
from nmt_frontier.files import read_json
from report import figure, markup

SPEED_ONLY = "speed only"
WIDTH, BAR, AROUND = 9.0, 0.34, 1.5  # inches: the picture, a bar, the space above and below the bars
Row = TypeVar("Row", bound=Mapping[str, Any])


def tokens_per_second(record: Measurement) -> Spread:
    """Target tokens over the time from text to text, which includes the stages around the engine."""
    middle, low, high = comparison.spread(record, "text_seconds")
    tokens = comparison.number(record, "target_tokens")
    return Spread(*(tokens / value for value in (middle, high, low)))


def speed(record: Measurement, records: list[Measurement]) -> str:
    """Target tokens a second, with the marks of a disturbed timing and of one that was taken once among ``records``."""
    return f"{tokens_per_second(record):,.0f}{mark(record)}{once(record, records)}"


def times(record: Measurement, other: Measurement, digits: int = 2, seconds: str = "text_seconds") -> str:
    """How many times faster than another record, with the mark of a disturbed timing."""
    return f"{comparison.times_faster(record, other, seconds):.{digits}f}{mark(record, other)}"


def memory(record: Measurement) -> str:
    return f"{comparison.number(record, 'peak_rss_bytes') / 1e6:,.0f}"


def disk(record: Measurement) -> str:
    return f"{comparison.number(record, 'model_bytes') / 1e6:,.1f}"


def resources(record: Measurement) -> dict[str, str]:
    """The last cells of a rung."""
    return {"CPU s": f"{record.timing.cpu_seconds:.1f}", "memory, MB": memory(record), "on disk, MB": disk(record)}


def page(title: str, rows: list[dict[str, str]], note: str, left: Collection[str] | None = None) -> str:
    """A title, a table and the note below it, in Markdown."""
    return f"# {title}\n\n{markup.table(rows, left=left)}\n{note}"


def candidates(record: Measurement) -> str:
    """Pieces that the output layer scores, the mean of the batches; empty where it scores the whole vocabulary."""
    return f"{record.timing.candidates:,.0f}" if record.timing.candidates else ""


def paper(record: Measurement, number: str) -> str:
    """A number of a paper beside a record, marked where the paper's model was trained and this one was not."""
    return f"{number} (trained)" if number and record.speed_only else number


def bleu(record: Measurement) -> str:
    return SPEED_ONLY if record.speed_only else f"{record.scores.bleu:.2f}"


def loss(record: Measurement, records: list[Measurement]) -> str:
    """BLEU below the best search of the same weights among these records of one test set; empty without BLEU."""
    return "" if (value := comparison.loss(records, record)) is None else f"{value:z.2f}"


def title(record: Measurement) -> str:
    """The system and its shape, and whether it is there for its speed only."""
    text = f"{record.system.name}, {record.system.shape}, {record.system.parameters:,} parameters"
    return f"{text}, {SPEED_ONLY}" if record.speed_only else text


def conditions(records: list[Measurement], marked: bool = True) -> str:
    """The test set, machine, runs and scores behind the numbers, and what marks mean. ``marked`` is that of repeats."""
    first = records[0]
    counts = [record.timing.runs for record in records]
    runs = repeats(counts, marked) + ", interleaved" * (max(counts) > 1)
    text = f"{first.decoding.sentences:,} sentences of {first.test_set}; {runs}; {cpu(first)}."
    if untrained := [record for record in records if record.speed_only]:
        text += (
            f" Untrained weights are for {SPEED_ONLY}, there is no BLEU: {untrained[0].decoding.sentences:,} sentences,"
        )
        text += f" translations as long as their references ({lengths(untrained)} of their pieces)."
        text += " Papers' numbers are of trained models, which generate other words."
    if signature := next((record.scores.bleu_signature for record in records if record.scores.bleu_signature), None):
        text += f" BLEU: {signature}."
    if searches := best_searches(records):
        text += f" Loss: BLEU below the best search of the same weights in float32 without a map, {searches}."
    return f"{text} {marks(records)}".rstrip()


def lengths(records: list[Measurement]) -> str:
    """Pieces of the translations as a share of those of the references, from the lowest to the highest."""
    shares = sorted(
        comparison.number(record, "target_tokens") / comparison.number(record, "reference_tokens") for record in records
    )
    return " to ".join(dict.fromkeys(f"{share:.1%}" for share in (shares[0], shares[-1])))


def around(picture: Figure, text: str, colors: dict[str, str], records: list[Measurement]) -> None:
    """Write the title with the meaning of the colours above a picture, and the conditions in small print below it."""
    handles = [Patch(color=color, label=name) for name, color in colors.items()]
    style = {"alignment": "left", "ncols": len(handles), "fontsize": 8, "title_fontsize": 10}
    picture.legend(handles=handles, title=text, loc="outside upper left", **style)
    figure.footnote(picture, conditions(records, marked=False))


def bar_picture(bars: float) -> tuple[Figure, Axes]:
    """An empty picture with room for so many bars below one another."""
    picture = Figure(figsize=(WIDTH, AROUND + BAR * bars), layout="constrained")
    return picture, picture.add_subplot()


def bar_axes(axes: Axes, places: Sequence[float], names: list[str]) -> None:
    """Name horizontal bars, without lines or ticks beside them."""
    axes.set_yticks(places, names)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def ratio_bars(
    axes: Axes,
    pairs: list[tuple[Measurement, Measurement]],
    places: Sequence[float],
    names: list[str],
    colors: list[str],
) -> None:
    """A bar for each pair: how many times faster the first record is, from the lowest run to the highest."""
    for place, (record, base), color in zip(places, pairs, colors, strict=True):
        ratio = comparison.times_faster(record, base)
        axes.barh(place, ratio.middle, 0.66, xerr=figure.whiskers(ratio), color=color, error_kw={"elinewidth": 0.9})
        text = f"×{ratio.middle:.2f}{mark(record, base)}   {tokens_per_second(record).middle:,.0f} tokens/s"
        axes.annotate(text, (ratio.high, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
    bar_axes(axes, places, names)
    axes.invert_yaxis()
    longest = max(comparison.times_faster(*pair).high for pair in pairs)
    axes.set_xlim(0, 1.35 * longest)  # the text of the longest bar ends inside


def grouped(rows: list[Row], *keys: str) -> dict[tuple[str, ...], list[Row]]:
    """The rows by their values of these keys."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def row_mark(row: Disturbed, noise: float) -> str:
    """The mark of a timing (``findings.captions``)."""
    return captions.disturbance_mark(row["others"], noise)


def marked(row: Disturbed, noise: float, name: str, scale: float = 1.0, digits: int = 2) -> str:
    """The spread of a timing, times a scale, with its mark."""
    return f"{Spread.read(row, name, scale):,.{digits}f}{row_mark(row, noise)}"


def row_marks(rows: Sequence[Disturbed], noise: float) -> str:
    """What the marks of these timings mean."""
    return captions.legend(row_mark(row, noise) for row in rows)


def same_translations(path: Path) -> list[float]:
    """Of each record the share of the sentences that it translates as the first one does.

    From the file that ``report.keep`` has made, else from the translations that the records name.
    """
    if shares(path).exists():
        kept: list[float] = read_json(shares(path))
        return kept
    files = [comparison.translations(path, record) for record in read(path)]
    outputs = [file.read_text(encoding="utf-8").splitlines() for file in files]
    return [sum(map(str.__eq__, lines, outputs[0])) / len(outputs[0]) for lines in outputs]


def shares(path: Path) -> Path:
    """Where ``report.keep`` puts the shares of a file of records."""
    return path.with_suffix(".same.json")


def document_footnote(picture: Figure, about: Mapping[str, Any], text: str, *notes: str) -> None:
    """Write below a picture which system decoded what text, how often and where, then notes on the picture itself.

    about: the JSON of an experiment, with its model or rows, or of a record.
    """
    model = about.get("model") or about.get("rows", [about])[0]
    timed = f"{model['system']} ({model['shape']}); {about['test_set']}, {text}"
    words = f"{timed}; {repeats([about['runs']])}, {about['cpu']} ({about['isa']})."
    figure.footnote(picture, " ".join([words, *notes]))
