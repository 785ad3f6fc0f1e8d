"""The options of text: the command line, the arguments of a Translator, and what a resume checks come from them."""

import argparse
from collections.abc import Mapping
from typing import Any

from nmt_frontier.errors import UserError
from nmt_frontier.limits import MAXIMUM_INPUT
from nmt_frontier.text.capitals import Capitals
from nmt_frontier.text.markup import Markup
from nmt_frontier.text.protection import Protection
from nmt_frontier.text.sentences import Sentences
from nmt_frontier.text.stage import Context, Option, Stage

# In this order texts pass through them. Markup comes first, as only it knows what is text; sentences before what must
# not cross their borders; capitals last, as symbols of protected text have none.
STAGES: tuple[type[Stage[Any]], ...] = (Markup, Sentences, Protection, Capitals)

OPTIONS: Mapping[str, Option] = {
    **{name: option for stage in STAGES for name, option in stage.options.items()},
    "replace_unknown": Option("write the aligned source word instead of a piece that the vocabulary lacks"),
    "long_lines": Option(f"of over {MAXIMUM_INPUT} pieces", default="cut", choices=("cut", "split")),
    "copying": Option("translate numbers and other lines without letters", default=True),
    "end_loops": Option(
        "do not end a translation that repeats itself over and over, as the native engine does",
        default=True,
        flag="--keep-loops",
    ),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    group = parser.add_argument_group("text")
    for name, option in OPTIONS.items():
        words = name.replace("_", "-")
        if isinstance(option.default, bool):
            flag = option.flag or f"--{'no-' if option.default else ''}{words}"
            action = "store_false" if option.default else "store_true"
            group.add_argument(flag, dest=name, action=action, help=option.help)
        else:
            value: dict[str, Any] = {"choices": option.choices, "metavar": option.metavar, "default": option.default}
            value |= {"nargs": "?", "const": option.bare} if option.bare else {}
            group.add_argument(f"--{words}", help=option.help, **value)


def divided(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """All options of text, those not given with their defaults; and the options that are of something else.

    Raises UserError for a value that is none of its option's.
    """
    others = {name: value for name, value in options.items() if name not in OPTIONS}
    return {name: option.read(options.get(name, option.default)) for name, option in OPTIONS.items()}, others


def complete(options: Mapping[str, Any]) -> dict[str, Any]:
    """With the defaults of text for what is not there."""
    return {name: option.default for name, option in OPTIONS.items()} | dict(options)


def changed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Without those of text that have their defaults."""
    return {name: value for name, value in options.items() if name not in OPTIONS or value != OPTIONS[name].default}


def aligned(options: Mapping[str, Any]) -> bool:
    """Whether translations are to be aligned with their texts."""
    return bool(options["html"] or options["replace_unknown"])


def stages(options: Mapping[str, Any], context: Context) -> list[Stage[Any]]:
    """The stages that these options ask for. Raises UserError for what they or the model do not allow."""
    if aligned(options) and options["long_lines"] == "split":
        raise UserError("--long-lines split: its parts cannot be aligned; divide lines with --sentences")
    if aligned(options) and not context.processors:
        raise UserError(f"{context.folder}: only text in pieces of SentencePiece is aligned")
    chosen = (stage.chosen(options, context) for stage in STAGES)
    return [stage for stage in chosen if stage]
