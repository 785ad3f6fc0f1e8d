"""Sampling: translations that are drawn from the probabilities of a model instead of searched for.

A Sampling is the only list of the options. From it come those of commands, the arguments of a Translator and what the
engine is told.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from nmt_frontier.errors import UserError

if TYPE_CHECKING:
    from argparse import ArgumentParser

MOST_SAMPLES = 1024  # of a sentence, in the engine


def _option(default: float, text: str, metavar: str) -> Any:
    return field(default=default, metadata={"help": text, "metavar": metavar})


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the pieces of a translation are drawn.

    A piece is drawn from those that ``top_k``, ``top_p`` (Holtzman et al. 2020) and ``epsilon`` (Hewitt et al. 2022)
    all keep, by probability^(1 / temperature). The three see the model's own probabilities, and always keep the most
    probable piece. The engine checks the values.
    """

    temperature: float = _option(1.0, "below 1 makes probable pieces more probable (default: 1)", "T")
    top_k: int = _option(0, "draw from the K most probable pieces only", "K")
    top_p: float = _option(1.0, "draw from the fewest pieces that have probability P together (nucleus)", "P")
    epsilon: float = _option(0.0, "draw from pieces of at least probability E only", "E")
    seed: int = _option(0, "another one draws other translations (default: 0)", "N")

    @property
    def options(self) -> dict[str, object]:
        return asdict(self)


def add(parser: "ArgumentParser") -> None:
    """Add the options to a command; ``chosen`` takes them."""
    from nmt_frontier.command_line import positive  # with argparse, which a Translator does without

    group = parser.add_argument_group("sampling", "the same line gets the same translation, wherever it stands")
    group.add_argument("--sample", action="store_true", help="draw a translation from the model's probabilities")
    group.add_argument("--samples", type=positive, default=1, metavar="N", help="so many of each line, each on a line")
    for one in fields(Sampling):
        group.add_argument(_flag(one.name), type=type(one.default), **one.metadata)


def chosen(args: Mapping[str, Any]) -> dict[str, object] | None:
    """The options that were given to a command; None without ``--sample``. Raises UserError if that is missing."""
    given = {one.name: args[one.name] for one in fields(Sampling) if args[one.name] is not None}
    if given and not args["sample"]:
        raise UserError(f"{_flag(next(iter(given)))}: is of sampling; add --sample")
    return given if args["sample"] else None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
