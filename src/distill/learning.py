"""What a training was: its learning curve, the mixture of data it saw, its throughput."""

from itertools import pairwise
from pathlib import Path
from typing import Any


def learning_curve(run: Path) -> list[dict[str, float]]:
    """Loss, rates (tokens: source + target) and seconds since the start, from the TensorBoard logs of all starts."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorflow import make_ndarray

    events = EventAccumulator(str(run), size_guidance={"tensors": 0})
    events.Reload()

    def series(tag: str) -> dict[int, tuple[float, float]]:
        found = events.Tensors(tag) if tag in events.Tags()["tensors"] else []
        return {event.step: (event.wall_time, float(make_ndarray(event.tensor_proto))) for event in found}

    loss, source, target = (series(tag) for tag in ("loss", "words_per_sec/source", "words_per_sec/target"))
    rate = series("steps_per_sec")
    start = min((wall for wall, _ in loss.values()), default=0.0)
    return [
        {
            "step": step,
            "loss": value,
            "steps_per_second": rate.get(step, (0, 0.0))[1],
            "tokens_per_second": source.get(step, (0, 0.0))[1] + target.get(step, (0, 0.0))[1],
            "seconds": wall - start,
        }
        for step, (wall, value) in sorted(loss.items())
    ]


def training_seconds(curve: list[dict[str, float]]) -> float:
    """Time spent on updates, without starts, validations, and the pauses after a kill."""
    steps = [0, *(point["step"] for point in curve)]
    counts = (end - start for start, end in pairwise(steps))
    rates = [point["steps_per_second"] for point in curve]
    return sum(count / rate for count, rate in zip(counts, rates, strict=True) if rate)


def left_out(source: Path, target: Path, max_length: int) -> int:
    """Pairs of an epoch, in pieces, that are not trained on: a side has more than ``max_length`` pieces, or none."""
    with open(source, "rb") as sources, open(target, "rb") as targets:
        pairs = zip(sources, targets, strict=True)
        return sum(not all(0 < len(side.split()) <= max_length for side in pair) for pair in pairs)


def mixture(epochs: list[dict[str, Any]], left_out: list[int], passes: float) -> dict[str, Any]:
    """What a training saw in so many ``passes``: pairs, and the share of each corpus in what was drawn for it.

    epochs: the JSON files of distill.sample, in the order in which the training reads them, again and again; left_out:
    the pairs of each that are not trained on. The shares of a pass are exact. Within a pass the order is random, so a
    pass that is not finished has them but for chance.
    """
    seen: dict[str, float] = {}
    for number, epoch in enumerate(epochs):
        times = reads(passes, number, len(epochs))
        for corpus in epoch["corpora"]:
            seen[corpus["name"]] = seen.get(corpus["name"], 0) + corpus["drawn"] * times
    drawn = sum(seen.values())
    missed = sum(count * reads(passes, number, len(epochs)) for number, count in enumerate(left_out))
    return {
        "pairs": round(drawn - missed),
        "passes": round(passes, 3),
        "shares": {name: round(count / drawn, 6) for name, count in seen.items()},
    }


def sentences(epochs: list[dict[str, Any]], passes: float) -> dict[str, int]:
    """How many different sentences of each corpus a training saw in so many ``passes`` through the ``epochs``.

    Epochs draw from one endless stream of all sentences of a corpus, so none comes again before all have come. An epoch
    that was read in part counts by that part.
    """
    seen: dict[str, float] = {}
    for number, epoch in enumerate(epochs):
        read = min(reads(passes, number, len(epochs)), 1.0)
        for corpus in epoch["corpora"]:
            seen[corpus["name"]] = min(seen.get(corpus["name"], 0.0) + corpus["drawn"] * read, corpus["lines"])
    return {name: round(count) for name, count in seen.items()}


def reads(passes: float, number: int, epochs: int) -> float:
    """How often epoch ``number`` (from 0) of so many was read in so many passes, the last one perhaps in part."""
    whole, begun = divmod(int(passes), epochs)
    return whole + (1 if number < begun else passes - int(passes) if number == begun else 0)
