"""The command ``nmt-frontier``: translate text, import a model, describe a model folder, put it on a page, measure its
speed.

- ``translate``: translate text line by line, resumably
- ``import_model``: make model folders of a model that was trained elsewhere
- ``decoding``: the options of commands that decode
- ``describe``: say what a model folder is, and what decodes it here
- ``web``: write a page that translates in the browser; ``single_page``: as one HTML file
- ``benchmark``: measure how fast a model folder translates here
- ``guard``: a child process for a command that may run out of memory
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from nmt_frontier.command.guard import guarded
from nmt_frontier.errors import command

COMMANDS = {
    "translate": ("translate", "translate text with a model folder"),
    "import": ("import_model", "make model folders of a model of another toolkit"),
    "describe": ("describe", "say what a model folder is, and what decodes it here"),
    "web": ("web", "write a page that translates with a model folder in the browser"),
    "benchmark": ("benchmark", "measure how fast a model folder translates a text here"),
}
PACKAGES = ("cmake", "pkgconfig")  # folders beside this package's modules
# What to do when a command was killed for want of memory; these run in a child process, so that it can be said.
ADVICE = {
    "translate": "what was written is whole lines in order: lower --workers or --batch-tokens; with the native engine,"
    " --output goes on with --resume",
}


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from importlib import metadata  # inside: it takes longer to import than the rest of this

        from nmt_frontier.search.native import library  # inside: to ask for it opens the engine

        engine = library()
        sets = f"instruction set {engine.isa()}, of {', '.join(engine.available_sets())}"
        parser.exit(message=f"nmt-frontier {metadata.version('nmt-frontier')}, {sets}\n")


class _Folder(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(Path(__file__).resolve().parents[1] / self.dest.removesuffix("_dir"))
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> None:
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words and words[0] in COMMANDS:
        command(lambda: _run(*words))
        return
    about = "\n".join(f"  {name:<11}{text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="nmt-frontier",
        usage="nmt-frontier COMMAND ...",
        description=f"Translate with small, fast models.\n\n{about}\n\n`nmt-frontier COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="the version, and instruction sets of this CPU")
    for name in PACKAGES:
        parser.add_argument(f"--{name}-dir", action=_Folder, nargs=0, help=f"of the C interface's package for {name}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    parser.parse_args(words)


def _run(name: str, *arguments: str) -> None:
    """Run a command; no other one is imported."""

    def run() -> None:
        module, _ = COMMANDS[name]
        import_module(f"nmt_frontier.command.{module}").main(arguments)

    if advice := ADVICE.get(name):
        guarded(run, advice)
    else:
        run()
