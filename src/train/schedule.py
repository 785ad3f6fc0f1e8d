"""The schedule of a training: its phases and its passes through the data, resumable at any step.

A phase is a number of updates, each with the gradient of several batches; the WNGT 2020 paper (section 2.5) has a base
phase, then ten epochs with the gradient accumulated over 16 batches. The order of a pass depends only on the seed and
its number. So step n reads the same batches whether or not the training was killed before, and a restart rereads at
most one pass.
"""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from nmt_frontier.files import read_json, write_json
from train import settings
from train.settings import TrainingSection

SHUFFLE_BUFFER = 500_000  # sentences; epochs are shuffled on disk, this makes passes differ


class Phase(NamedTuple):
    """``steps`` updates, each with the gradient of ``accumulate`` batches per replica; early stopping may cut it short.

    checkpoint_steps, validation_steps: updates between two. replicas: devices that train together. quantization: the
    type that the weights are rounded to.
    """

    steps: int
    accumulate: int
    checkpoint_steps: int
    validation_steps: int
    replicas: int = 1
    quantization: str | None = None

    @property
    def batches(self) -> int:
        """Read for one update, by all replicas together."""
        return self.accumulate * self.replicas


def phases(training: TrainingSection, epoch_batches: Callable[[], int]) -> list[Phase]:
    """The phases of a ``training`` entry of the configuration: its own, then those under ``then``.

    epoch_batches: counts the batches of an epoch; called only for phases given in epochs, which make at least one
    update.
    """
    replicas = training.gpus

    def steps(phase: TrainingSection | settings.PhaseSection) -> int:
        if phase.steps is not None:
            return phase.steps
        return max(round((phase.epochs or 0) * epoch_batches() / (phase.accumulate * replicas)), 1)

    return [
        Phase(
            steps(phase),
            phase.accumulate,
            phase.checkpoint_steps or training.checkpoint_steps,
            phase.validation_steps or training.validation_steps,
            replicas,
            phase.quantization,
        )
        for phase in training.phases
    ]


def kept_checkpoints(average_last: int, averages: list[int]) -> int:
    """How many checkpoints to keep: as many as the largest average needs."""
    return max(average_last, *averages, 1)


class Journal:
    """What a run folder records beside its checkpoints: phases stopped early, batches per pass, a divergence.

    diverged: the message of the error that ended the training, or None.
    """

    def __init__(self, path: Path):
        self._path = path
        state = read_json(path) if path.exists() else {"stops": {}, "pass_batches": []}
        self.diverged: str | None = state.get("diverged")
        self._stops = {int(number): step for number, step in state["stops"].items()}
        self._pass_batches: list[int] = state["pass_batches"]

    def stop(self, phase: int, step: int) -> None:
        """Record that a phase ended early, at ``step``."""
        self._stops[phase] = step
        self._save()

    def finish_pass(self, number: int, batches: int) -> None:
        """Record the batches of a finished pass, unless it is recorded already."""
        if len(self._pass_batches) == number:
            self._pass_batches.append(batches)
            self._save()

    def diverge(self, reason: str) -> None:
        """Record that the training diverged."""
        self.diverged = reason
        self._save()

    def _save(self) -> None:
        state = {"stops": self._stops, "pass_batches": self._pass_batches, "diverged": self.diverged}
        write_json(self._path, state)

    def epoch_batches(self) -> int | None:
        """The batches of the first pass; None until it is finished or counted."""
        return self._pass_batches[0] if self._pass_batches else None

    def ends(self, schedule: list[Phase]) -> list[int]:
        """The last step of each phase."""
        ends, end = [], 0
        for number, phase in enumerate(schedule):
            end = self._stops.get(number, end + phase.steps)
            ends.append(end)
        return ends

    def batches(self, step: int, schedule: list[Phase]) -> int:
        """How many batches the updates up to ``step`` read."""
        total = start = 0
        for end, phase in zip(self.ends(schedule), schedule, strict=True):
            total += max(min(step, end) - start, 0) * phase.batches
            start = end
        return total

    def validation_due(self, step: int, schedule: list[Phase]) -> bool:
        """Whether the model is validated after this step."""
        ends = self.ends(schedule)
        phase = next((phase for end, phase in zip(ends, schedule, strict=True) if step < end), schedule[-1])
        return step in ends or step % phase.validation_steps == 0

    def updates_left(self, step: int, number: int, schedule: list[Phase]) -> float:
        """The work left after ``step`` of phase ``number``, in updates of that phase."""
        ends = self.ends(schedule)
        later_phases = zip(pairwise(ends[number:]), schedule[number + 1 :], strict=True)
        batches = sum((end - start) * phase.batches for (start, end), phase in later_phases)
        return ends[number] - step + batches / schedule[number].batches

    def position(self, batches: int) -> tuple[int, int]:
        """The number of the pass after ``batches`` batches, and how many were read in it."""
        for number, size in enumerate(self._pass_batches):
            if batches < size:
                return number, batches
            batches -= size
        return len(self._pass_batches), batches


class Passes:
    """Endless batches, pass after pass; OpenNMT-tf's Trainer reads it like a ``tf.data.Dataset``.

    pass_batches: gives the batches of a pass by its number, an iterable with ``element_spec``. position: where to
    begin, from ``Journal.position``.
    """

    def __init__(self, pass_batches: Callable[[int], Any], journal: Journal, position: tuple[int, int]):
        self._pass_batches, self._journal, self._position = pass_batches, journal, position
        self._first = pass_batches(position[0])  # has the element_spec, and is read first
        self.element_spec = self._first.element_spec

    def __iter__(self) -> Iterator[Any]:
        (number, skipped), batches = self._position, self._first
        while True:
            count = skipped
            for batch in islice(batches, skipped, None):
                count += 1
                yield batch
            if not count:
                return  # no pair of the epoch can be trained on; OpenNMT-tf raises the error
            self._journal.finish_pass(number, count)
            number, skipped = number + 1, 0
            batches = self._pass_batches(number)
