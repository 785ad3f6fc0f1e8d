"""When a training does what: its phases, and its passes through the data, both resumable at any step.

A phase is a number of updates with the gradient of so many batches each; the WNGT 2020 paper (section 2.5) has a base
phase and then ten epochs with the gradient accumulated over 16 batches. A pass reads one epoch of the data in an order
that depends on the seed and the number of the pass only. So the batches of step n are the same whether or not the
training was killed before; only the rest of one pass is read again to get there.
"""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from formats.files import read_json, write_json

SHUFFLE_BUFFER = 500_000  # sentences; the data is shuffled on disk already, this mixes the passes over it


class Phase(NamedTuple):
    """``steps`` updates (at most, where training stops early), each with the gradient of ``accumulate`` batches.

    checkpoint_steps, validation_steps: updates between two checkpoints, and between two evaluations.
    """

    steps: int
    accumulate: int
    checkpoint_steps: int
    validation_steps: int


def phases(training: dict[str, Any], epoch_batches: Callable[[], int]) -> list[Phase]:
    """The phases of a ``training`` entry: its own, then those under ``then``.

    epoch_batches: counts the batches of an epoch, where a phase is given in epochs; at least one update is made.
    """

    def steps(phase: dict[str, Any]) -> int:
        return phase["steps"] or max(round(phase["epochs"] * epoch_batches() / phase["accumulate"]), 1)

    return [
        Phase(
            steps(phase),
            phase["accumulate"],
            phase["checkpoint_steps"] or training["checkpoint_steps"],
            phase["validation_steps"] or training["validation_steps"],
        )
        for phase in [training, *training["then"]]
    ]


def kept_checkpoints(training: dict[str, Any]) -> int:
    """How many of the last checkpoints are needed in the end."""
    return max(training["average_last"], *training["averages"], 1)


class Journal:
    """What a run folder knows beside its checkpoints: phases that stopped early, batches of a pass, a divergence."""

    def __init__(self, path: Path):
        self._path = path
        known = read_json(path) if path.exists() else {"stops": {}, "pass_batches": []}
        self.diverged: str | None = known.get("diverged")
        self._stops = {int(number): step for number, step in known["stops"].items()}
        self._pass_batches: list[int] = known["pass_batches"]

    def stop(self, phase: int, step: int) -> None:
        """Note that a phase was over at ``step`` already."""
        self._stops[phase] = step
        self._save()

    def finish_pass(self, number: int, batches: int) -> None:
        """Note how many batches a pass has; passes are finished in their order."""
        if len(self._pass_batches) == number:
            self._pass_batches.append(batches)
            self._save()

    def diverge(self, reason: str) -> None:
        """Note that the training has diverged, and why it is thought so."""
        self.diverged = reason
        self._save()

    def _save(self) -> None:
        known = {"stops": self._stops, "pass_batches": self._pass_batches, "diverged": self.diverged}
        write_json(self._path, known)

    def epoch_batches(self) -> int | None:
        """The batches of the first pass, if it was finished or counted."""
        return self._pass_batches[0] if self._pass_batches else None

    def ends(self, schedule: list[Phase]) -> list[int]:
        """The step at which each phase ends."""
        ends, end = [], 0
        for number, phase in enumerate(schedule):
            end = self._stops.get(number, end + phase.steps)
            ends.append(end)
        return ends

    def batches(self, step: int, schedule: list[Phase]) -> int:
        """Batches that are read for the updates up to ``step``."""
        total = start = 0
        for end, phase in zip(self.ends(schedule), schedule, strict=True):
            total += max(min(step, end) - start, 0) * phase.accumulate
            start = end
        return total

    def validation_due(self, step: int, schedule: list[Phase]) -> bool:
        """Whether the dev set is decoded after this step."""
        ends = self.ends(schedule)
        phase = next((phase for end, phase in zip(ends, schedule, strict=True) if step < end), schedule[-1])
        return step in ends or step % phase.validation_steps == 0

    def updates_left(self, step: int, number: int, schedule: list[Phase]) -> float:
        """Work that is left after ``step``, in updates of phase ``number``, which runs."""
        ends = self.ends(schedule)
        later = zip(pairwise(ends[number:]), schedule[number + 1 :], strict=True)
        batches = sum((end - start) * phase.accumulate for (start, end), phase in later)
        return ends[number] - step + batches / schedule[number].accumulate

    def position(self, batches: int) -> tuple[int, int]:
        """The pass, from 0, and the batch within it that come after so many batches."""
        for number, size in enumerate(self._pass_batches):
            if batches < size:
                return number, batches
            batches -= size
        return len(self._pass_batches), batches


class Passes:
    """Endless batches from a position on, pass after pass: the ``tf.data.Dataset`` of OpenNMT-tf's Trainer.

    make: the batches of the pass with this number, an iterable with the ``element_spec`` of a ``tf.data.Dataset``.
    """

    def __init__(self, make: Callable[[int], Any], journal: Journal, position: tuple[int, int]):
        self._make, self._journal, self._position = make, journal, position
        self.element_spec = make(position[0]).element_spec

    def __iter__(self) -> Iterator[Any]:
        number, skipped = self._position
        while True:
            count = skipped
            for batch in islice(self._make(number), skipped, None):
                count += 1
                yield batch
            if not count:
                return  # nothing in it that may be trained on; OpenNMT-tf says so
            self._journal.finish_pass(number, count)
            number, skipped = number + 1, 0
