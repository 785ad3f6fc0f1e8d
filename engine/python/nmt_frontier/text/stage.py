"""Stages of text around a model: each hides what the model should not see, and restores it in the translation.

A stage is a class in a file of its own, and an entry with its options in text.options.STAGES.
"""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from nmt_frontier.text.tokenizers import Processors

if TYPE_CHECKING:
    from nmt_frontier.text.alignment import Alignment

State = TypeVar("State")


def _as_given(value: Any) -> Any:
    return value


class Option(NamedTuple):
    """A user's option of text. default: what an unfinished output without the option had, too.

    An option whose default is True or False is a switch: the command line has ``--NAME`` or ``--no-NAME``, or the
    ``flag`` that is given here. choices, metavar: of its value. bare: its value where the command line gives none.
    read: makes a value of what is given, or raises UserError.
    """

    help: str
    default: Any = False
    choices: Sequence[str] | None = None
    metavar: str | None = None
    bare: Any = None
    flag: str = ""
    read: Callable[[Any], Any] = _as_given


class Translation(NamedTuple):
    """A translation of a text. align: makes its alignment with the text, if stages ask the engine for attention."""

    text: str
    align: "Callable[[], Alignment] | None" = None

    @property
    def alignment(self) -> "Alignment":
        assert self.align
        return self.align()


class Again(NamedTuple):
    """Further texts to be translated before a text can be restored, and its state for then."""

    texts: Sequence[str]
    state: Any


class Context(NamedTuple):
    """What stages know of a model: its languages in ISO 639-1, and SentencePiece's models, if it has any.

    counts: what happens to texts, by name; stages add to it when they restore a text.
    """

    folder: Path
    source: str | None
    target: str | None
    processors: Processors | None
    counts: Counter[str]


class Stage(ABC, Generic[State]):
    """State: what it knows of a text between ``hide`` and ``restore``."""

    @classmethod
    @abstractmethod
    def chosen(cls, options: Mapping[str, Any], context: Context) -> "Stage[State] | None":
        """The stage, if these options ask for it. Raises UserError if it cannot be had as they say."""

    @abstractmethod
    def hide(self, text: str) -> tuple[Sequence[str], State]:
        """The texts that are translated instead, none or several, and what ``restore`` needs to know."""

    @abstractmethod
    def restore(self, state: State, outputs: Sequence[Translation]) -> Translation | Again:
        """The translation of the text, from those of the texts that were translated instead."""


Texts = Sequence[str]
States = list[list[tuple[Any, int]]]  # by stage: of each text its state, and how many texts replace it
# Translates the texts of lines, window by window. Its second argument says whether messages may count these lines.
Translate = Callable[[Iterable[Texts], bool], Iterator[list[list[Translation]]]]


class Stages:
    """Stages in their order: the first one hides first and restores last.

    translate: what is hidden from no stage. first: False for texts that are translated again.
    """

    def __init__(self, stages: Sequence[Stage[Any]], translate: Translate, first: bool = True):
        self._stages, self._translate, self._first = stages, translate, first

    def windows(self, lines: Iterable[str]) -> Iterator[list[Translation]]:
        """Yield the translations of the lines of each window; without stages a line may have several, its samples."""
        if not self._stages:
            for window in self._translate(((line,) for line in lines), self._first):
                yield [*chain.from_iterable(window)]
            return
        waiting: deque[States] = deque()

        def hidden() -> Iterator[Texts]:
            for line in lines:
                texts, states = self._hide(line)
                waiting.append(states)
                yield texts

        for window in self._translate(hidden(), self._first):
            of_lines = [waiting.popleft() for _ in window]
            outputs = [*chain.from_iterable(window)]
            for place in reversed(range(len(self._stages))):
                states = chain.from_iterable(states[place] for states in of_lines)
                outputs = self._restored(place, states, iter(outputs))
            yield outputs

    def _hide(self, line: str) -> tuple[Texts, States]:
        texts: Texts = [line]
        states: States = []
        for stage in self._stages:
            hidden = [stage.hide(text) for text in texts]
            states.append([(state, len(instead)) for instead, state in hidden])
            texts = [text for instead, _ in hidden for text in instead]
        return texts, states

    def _restored(
        self, place: int, states: Iterable[tuple[Any, int]], outputs: Iterator[Translation]
    ) -> list[Translation]:
        """The translations of a stage's texts. Those that it wants again pass through the stages behind it."""
        stage = self._stages[place]
        found = [stage.restore(state, [*islice(outputs, size)]) for state, size in states]
        if again := [one for one in found if isinstance(one, Again)]:
            behind = Stages(self._stages[place + 1 :], self._translate, first=False)
            more = chain.from_iterable(behind.windows(chain.from_iterable(one.texts for one in again)))
            found = [
                stage.restore(one.state, [*islice(more, len(one.texts))]) if isinstance(one, Again) else one
                for one in found
            ]
        return [one for one in found if isinstance(one, Translation)]
