"""What distinguishes a study from others: the folder of its results, and the hash of its configuration."""

import hashlib
import json
from pathlib import Path

from study.schema import Config

RESULTS = Path("results")
RESERVED = "reference"  # results/reference is in git


def results(config: Config) -> Path:
    """The folder of everything that a run of the study makes, relative to the folder it runs in."""
    return RESULTS / config["study"]


def config_hash(config: Config) -> str:
    """First 12 hexadecimal digits of the sha256 of the configuration as canonical JSON.

    A study without ``metrics`` has the hash that it had before this key was there, so that none is scored again.
    """
    counted = {key: value for key, value in config.items() if key != "metrics" or value is not None}
    text = json.dumps(counted, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
