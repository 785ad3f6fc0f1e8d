"""Learning curves of all systems: training loss, and quality on the dev set, against steps."""

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from decode import figure
from formats.errors import UserError, command
from formats.files import read_json

QUALITIES = {"bleu": "BLEU", "perplexity": "perplexity"}  # the first that was measured is drawn


def read(path: Path) -> dict[str, Any]:
    """Read a learning.json. Raises UserError for a file without the curve of a system."""
    try:
        learning = read_json(path)
        return {key: learning[key] for key in ("system", "training", "validation")}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a learning curve ({error}); give the learning.json of a system") from None


def series(points: list[dict[str, Any]], quantity: str) -> tuple[list[int], list[float]]:
    """Steps, and the values that were measured at them."""
    known = [point for point in points if point.get(quantity) is not None]
    return [point["step"] for point in known], [point[quantity] for point in known]


@figure.styled
def draw(learning: list[dict[str, Any]]) -> Figure:
    """Two panels: loss, and BLEU (or perplexity where no BLEU was computed) on the dev set."""
    styles = figure.styles(system["system"] for system in learning)
    measured = [point for system in learning for point in system["validation"]]
    quality = next((q for q in QUALITIES if any(point.get(q) is not None for point in measured)), "bleu")
    picture = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = picture.subplots(1, 2, sharex=True)
    for system in learning:
        color, marker = styles[system["system"]]
        left.plot(*series(system["training"], "loss"), color=color)
        right.plot(*series(system["validation"], quality), color=color, marker=marker)
    left.set(title="Loss on the training data", xlabel="steps", ylabel="loss, nats per token")
    right.set(title=f"{QUALITIES[quality]} on the dev set", xlabel="steps", ylabel=QUALITIES[quality])
    left.xaxis.set_major_formatter("{x:,.0f}")
    handles = [Line2D([], [], color=style.color, marker=style.marker, label=name) for name, style in styles.items()]
    picture.legend(handles=handles, loc="outside upper left", ncols=len(handles))
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learning", type=Path, nargs="+", required=True, help="learning.json of each system")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw([read(path) for path in args.learning]), args.output)


if __name__ == "__main__":
    command(main)
