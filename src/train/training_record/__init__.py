"""The record of a training: its learning curve, its time, and what it saw of each corpus.

Comparisons read it to decide whether two systems are twins.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from formats.learning import CurvePoint, Seen
from nmt_frontier.files import read_json, typed


class Drawn(Struct):
    """A corpus in an epoch."""

    name: str
    lines: int
    drawn: int  # pairs of the epoch


class Epoch(Struct):
    """The JSON of train.sample."""

    lines: int
    corpora: list[Drawn]


def read_epochs(paths: Iterable[Path]) -> list[Epoch]:
    """Raises UserError for a file that train.sample did not make."""
    return [typed(read_json(path), Epoch, f"{path}: not made by train.sample") for path in paths]


def learning_curve(run: Path) -> list[CurvePoint]:
    """The points of the TensorBoard logs in a run folder, over all restarts, by step."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorflow import make_ndarray

    events = EventAccumulator(str(run), size_guidance={"tensors": 0})
    events.Reload()

    def series(tag: str) -> dict[int, tuple[float, float]]:
        """Step to clock time and value."""
        tensors = events.Tensors(tag) if tag in events.Tags()["tensors"] else []
        return {event.step: (event.wall_time, float(make_ndarray(event.tensor_proto))) for event in tensors}

    loss, source, target = (series(tag) for tag in ("loss", "words_per_sec/source", "words_per_sec/target"))
    rate = series("steps_per_sec")
    start = min((clock for clock, _ in loss.values()), default=0.0)
    return [
        CurvePoint(
            step=step,
            loss=value,
            steps_per_second=rate.get(step, (0, 0.0))[1],
            tokens_per_second=source.get(step, (0, 0.0))[1] + target.get(step, (0, 0.0))[1],
            seconds=clock - start,
        )
        for step, (clock, value) in sorted(loss.items())
    ]


def training_seconds(curve: list[CurvePoint]) -> float:
    """Seconds spent on updates, without startup, validation, and the pauses after a kill."""
    steps = [0, *(point.step for point in curve)]
    updates = (end - start for start, end in pairwise(steps))
    rates = [point.steps_per_second for point in curve]
    return sum(count / rate for count, rate in zip(updates, rates, strict=True) if rate)


def left_out(source: Path, target: Path, max_length: int) -> int:
    """Count the pairs of an encoded epoch that training skips: a side is empty or exceeds ``max_length`` pieces."""
    with open(source, "rb") as sources, open(target, "rb") as targets:
        pairs = zip(sources, targets, strict=True)
        return sum(not all(0 < len(side.split()) <= max_length for side in pair) for pair in pairs)


def mixture(epochs: list[Epoch], left_out: list[int], passes: float) -> Seen:
    """Count the pairs that a training reads in ``passes`` passes, and the share of each corpus in the pairs drawn.

    epochs: the JSON files of train.sample in the order in which the training cycles through them. left_out: how many
    pairs of each are skipped. The shares of a whole pass are exact; those of a pass that was cut short are expected
    values, since the order within a pass is random.
    """
    draws: dict[str, float] = {}
    for number, epoch in enumerate(epochs):
        repeats = reads(passes, number, len(epochs))
        for corpus in epoch.corpora:
            draws[corpus.name] = draws.get(corpus.name, 0) + corpus.drawn * repeats
    total = sum(draws.values())
    skipped = sum(count * reads(passes, number, len(epochs)) for number, count in enumerate(left_out))
    shares = {name: round(count / total, 6) if total else 0.0 for name, count in draws.items()}
    return Seen(round(total - skipped), round(passes, 3), shares)


def sentences(epochs: list[Epoch], passes: float) -> dict[str, int]:
    """Count the distinct sentences of each corpus that a training sees in ``passes`` passes.

    Epochs draw from an endless stream of each corpus, in which no sentence repeats before all have appeared. An epoch
    that was read in part counts in that proportion.
    """
    counts: dict[str, float] = {}
    for number, epoch in enumerate(epochs):
        part = min(reads(passes, number, len(epochs)), 1.0)
        for corpus in epoch.corpora:
            counts[corpus.name] = min(counts.get(corpus.name, 0.0) + corpus.drawn * part, corpus.lines)
    return {name: round(count) for name, count in counts.items()}


def reads(passes: float, number: int, epochs: int) -> float:
    """How often a training reads epoch ``number`` (from 0) of ``epochs`` in ``passes`` passes, perhaps cut short."""
    cycles, remainder = divmod(int(passes), epochs)
    return cycles + (1 if number < remainder else passes - int(passes) if number == remainder else 0)
