"""The command that translates, with a tiny model."""

import subprocess
import sys

COMMAND = [sys.executable, "-m", "decode.translate"]


def run(*arguments, text=b""):
    return subprocess.run([*COMMAND, *map(str, arguments)], input=text, capture_output=True, check=False)
