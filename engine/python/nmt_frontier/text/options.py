"""The options of text: the command line, the arguments of a Translator, and what a resume checks come from them."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nmt_frontier.errors import UserError
from nmt_frontier.limits import MAXIMUM_INPUT
from nmt_frontier.text.items import KINDS
from nmt_frontier.text.stage import Context, Option, Stage

if TYPE_CHECKING:
    from argparse import ArgumentParser

Values = dict[str, Any]  # of options, by name


def _kinds(chosen: str | Iterable[str]) -> list[str]:
    """The kinds to protect, which may be given as a text with commas. Raises UserError for an unknown one."""
    found = [kind.strip(" ") for kind in chosen.split(",")] if isinstance(chosen, str) else [*chosen]
    if unknown := [kind for kind in found if kind not in KINDS]:
        raise UserError(f"--protect {unknown[0]}: is none of {', '.join(KINDS)}")
    return found


HTML = Option("lines have markup: tags are put around what is aligned with their content")
# The options of stages, by module and class: to import them all takes longer than to translate a sentence. In this
# order texts pass through the stages. Markup comes first, as only it knows what is text; sentences before what must not
# cross their borders; capitals last, as symbols of protected text have none.
STAGES: Mapping[tuple[str, str], Mapping[str, Option]] = {
    ("markup", "Markup"): {
        "html": HTML,
    },
    ("sentences", "Sentences"): {
        "sentences": Option("lines are paragraphs: each sentence is translated by itself"),
    },
    ("protection", "Protection"): {
        "html": HTML,  # also of what is not to be translated
        "protect": Option(
            f"text to keep as it is: {','.join(KINDS)}, or some of them; all without KINDS",
            default=[],
            metavar="KINDS",
            bare=KINDS,
            read=_kinds,
        ),
        "protect_missing": Option(
            "what the model loses: put it at the end, or translate the line in pieces around it",
            default=None,
            choices=("append", "keep"),
        ),
    },
    ("capitals", "Capitals"): {
        "recase": Option(
            "translate lines in ALL CAPS or Title Case without their capitals, and give these to the translations"
        ),
    },
}

OPTIONS: Mapping[str, Option] = {
    **{name: option for own in STAGES.values() for name, option in own.items()},
    "replace_unknown": Option("write the aligned source word instead of a piece that the vocabulary lacks"),
    "long_lines": Option(f"of over {MAXIMUM_INPUT} pieces", default="cut", choices=("cut", "split")),
    "copying": Option("translate numbers and other lines without letters", default=True),
    "end_loops": Option(
        "do not end a translation that repeats itself over and over, as the native engine does",
        default=True,
        flag="--keep-loops",
    ),
}


ONE = {"replace_unknown", *(name for own in STAGES.values() for name in own)}  # take one translation of a text


def add(parser: "ArgumentParser") -> None:
    """Add the options to a command."""
    group = parser.add_argument_group("text")
    for name, option in OPTIONS.items():
        words = name.replace("_", "-")
        if isinstance(option.default, bool):
            flag = option.flag or f"--{'no-' if option.default else ''}{words}"
            action = "store_false" if option.default else "store_true"
            group.add_argument(flag, dest=name, action=action, help=option.help)
        else:
            value: Values = {"choices": option.choices, "metavar": option.metavar, "default": option.default}
            value |= {"nargs": "?", "const": option.bare} if option.bare else {}
            group.add_argument(f"--{words}", help=option.help, **value)


def divided(options: Mapping[str, Any]) -> tuple[Values, Values]:
    """All options of text, those not given with their defaults; and the options that are of something else.

    Raises UserError for a value that is none of its option's.
    """
    others = {name: value for name, value in options.items() if name not in OPTIONS}
    return {name: option.read(options.get(name, option.default)) for name, option in OPTIONS.items()}, others


def complete(options: Mapping[str, Any]) -> Values:
    """With the defaults of text for what is not there."""
    return {name: option.default for name, option in OPTIONS.items()} | dict(options)


def changed(options: Mapping[str, Any]) -> Values:
    """Without those of text that have their defaults."""
    return {name: value for name, value in options.items() if name not in OPTIONS or value != OPTIONS[name].default}


def aligned(options: Mapping[str, Any]) -> bool:
    """Whether translations are to be aligned with their texts."""
    return bool(options["html"] or options["replace_unknown"])


def of_one(options: Mapping[str, Any]) -> str | None:
    """An option among these that takes one translation of a text, if any does."""
    return next((name for name in OPTIONS if name in changed(options) and name in ONE), None)


def stages(options: Mapping[str, Any], context: Context) -> list[Stage[Any]]:
    """The stages that these options ask for. Raises UserError for what they or the model do not allow."""
    if aligned(options) and options["long_lines"] == "split":
        raise UserError("--long-lines split: its parts cannot be aligned; divide lines with --sentences")
    if aligned(options) and not context.processors:
        raise UserError(f"{context.folder}: only text in pieces of SentencePiece is aligned")
    given = changed(options)
    classes = (_class(*stage) for stage, own in STAGES.items() if given.keys() & own)
    chosen = (each.chosen(options, context) for each in classes)
    return [stage for stage in chosen if stage]


def _class(module: str, name: str) -> type[Stage[Any]]:
    found: type[Stage[Any]] = getattr(import_module(f"nmt_frontier.text.{module}"), name)
    return found
