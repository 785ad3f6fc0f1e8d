"""The command that translates, with a tiny model."""

import subprocess
import sys

from nmt_frontier.translator import Translator

COMMAND = [sys.executable, "-m", "nmt_frontier", "translate"]


def run(*arguments, text=b""):
    return subprocess.run([*COMMAND, *map(str, arguments)], input=text, capture_output=True, check=False)


def plain(folder, **options):
    """A Translator like those of toolkits: they copy no line and end no loop, of which random models have many."""
    return Translator(folder, **{"end_loops": False, "copying": False} | options)
