"""The command ``nmt-frontier``: translate text, import a model, describe a model folder.

- ``translate``: translate text line by line, resumably
- ``import_model``: make model folders of a model that was trained elsewhere
- ``decoding``: the options of commands that decode
- ``describe``: say what a model folder is, and what decodes it here
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Any

from nmt_frontier.errors import command

COMMANDS = {
    "translate": ("translate", "translate text with a model folder"),
    "import": ("import_model", "make model folders of a model of another toolkit"),
    "describe": ("describe", "say what a model folder is, and what decodes it here"),
}


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from nmt_frontier.search.native import library  # inside: to ask for it opens the engine

        engine = library()
        sets = f"instruction set {engine.isa()}, of {', '.join(engine.available_sets())}"
        parser.exit(message=f"nmt-frontier {metadata.version('nmt-frontier')}, {sets}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words and words[0] in COMMANDS:  # no other command is imported
        module, _ = COMMANDS[words[0]]
        command(lambda: import_module(f"nmt_frontier.command.{module}").main(words[1:]))
        return
    about = "\n".join(f"  {name:<11}{text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="nmt-frontier",
        usage="nmt-frontier COMMAND ...",
        description=f"Translate with small, fast models.\n\n{about}\n\n`nmt-frontier COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="the version, and instruction sets of this CPU")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    parser.parse_args(words)
