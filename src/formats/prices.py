"""What machines cost: prices.yaml."""

from functools import cache
from pathlib import Path

import yaml


@cache
def prices() -> dict[str, float]:
    """USD an hour by name of the machine."""
    return yaml.safe_load(Path(__file__).with_name("prices.yaml").read_text(encoding="utf-8"))
