"""What the tables and pictures of the speed benchmarks (ladder, end_to_end, scaling) share: cells and notes."""

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from tabulate import tabulate

from decode import figure, measurements
from decode.measurements import Record, Spread, marks, repeats

SPEED_ONLY = "speed only"


def tokens_per_second(record: Record) -> Spread:
    """Target tokens over the time from text to text, so that what the stages around the engine cost is seen."""
    slow, fast = (record["target_tokens"] / record[f"text_seconds_{end}"] for end in ("max", "min"))
    return Spread(record["target_tokens"] / record["text_seconds"], slow, fast)


def candidates(record: Record) -> str:
    """Pieces that the output layer scores, the mean of the batches; nothing where it scores the whole vocabulary."""
    return f"{record['candidates']:,.0f}" if record["candidates"] else ""


def paper(record: Record, number: str) -> str:
    """A number of a paper, whose models were trained, beside a record."""
    return f"{number} (trained)" if number and record["speed_only"] else number


def bleu(record: Record) -> str:
    return SPEED_ONLY if record["speed_only"] else f"{record['bleu']:.2f}"


def loss(record: Record, records: list[Record]) -> str:
    """BLEU below the best search of the same weights among these records of one test set; nothing without BLEU."""
    return "" if (value := measurements.loss(records, record)) is None else f"{value:z.2f}"


def title(record: Record) -> str:
    """The system, its shape and whether what it says means anything."""
    text = f"{record['system']}, {record['shape']}, {record['parameters']:,} parameters"
    return f"{text}, {SPEED_ONLY}" if record["speed_only"] else text


def conditions(records: list[Record], marked: bool = True) -> str:
    """What the numbers were made with: test set, machine, runs, scores, and what they are not; marked as in repeats."""
    first = records[0]
    runs = repeats(records, marked) + ", interleaved" * (max(record["runs"] for record in records) > 1)
    text = f"{first['sentences']:,} sentences of {first['test_set']}; {runs}; {first['cpu']} ({first['isa']})."
    if untrained := [record for record in records if record["speed_only"]]:
        text += f" Untrained weights are for {SPEED_ONLY}, there is no BLEU: {untrained[0]['sentences']:,} sentences,"
        text += (
            f" translations as long as their references ({lengths(untrained)} of their pieces). Papers' numbers are of"
        )
        text += " trained models, which say other words."
    if signature := next((record["bleu_signature"] for record in records if record["bleu_signature"]), None):
        text += f" BLEU: {signature}."
    if searches := measurements.best_searches(records):
        text += f" Loss: BLEU below the best search of the same weights in float32 without a map, {searches}."
    return f"{text} {marks(records)}".rstrip()


def lengths(records: list[Record]) -> str:
    """Pieces of the translations as a share of those of the references, from the lowest to the highest."""
    shares = sorted(record["target_tokens"] / record["reference_tokens"] for record in records)
    return " to ".join(dict.fromkeys(f"{share:.1%}" for share in (shares[0], shares[-1])))


def heading(picture: Figure, text: str, colors: dict[str, str]) -> None:
    """The title, and below it what the colours stand for."""
    handles = [Patch(color=color, label=name) for name, color in colors.items()]
    style = {"alignment": "left", "ncols": len(handles), "fontsize": 8, "title_fontsize": 10}
    picture.legend(handles=handles, title=text, loc="outside upper left", **style)


def footnote(picture: Figure, records: list[Record]) -> None:
    """The conditions, small, below everything else."""
    figure.footnote(picture, conditions(records, marked=False))


def layout(rows: list[dict[str, str]], left: int = 1) -> str:
    """A Markdown table; the first ``left`` columns are words, all others numbers."""
    sides = ["left"] * left + ["right"] * (len(rows[0]) - left)
    return tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True, colalign=sides)
