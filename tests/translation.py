"""The command that translates, with a tiny model."""

import subprocess
import sys


def run(*arguments, text=b""):
    command = [sys.executable, "-m", "decode.translate", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, check=False)
