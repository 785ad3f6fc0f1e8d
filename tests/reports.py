"""Records and commands for tests of tables, pictures and pages."""

import subprocess
from pathlib import Path

import warm

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results/reference"
FIXTURE = ROOT / "tests/data/measurements.json"  # of two test sets
TIMED = "test_2016_flickr"  # the first of them


def run(module: str, *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """``python -m module``, finished."""
    call = [warm.python(), "-m", module, *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False, **options)
