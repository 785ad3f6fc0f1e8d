"""What machines cost: the entries of prices.yaml, or one like them in the configuration of a study."""

import json
from argparse import ArgumentTypeError
from functools import cache
from pathlib import Path
from typing import Any

from common.files import read_yaml

PATH = Path(__file__).with_name("prices.yaml")

Price = dict[str, Any]  # as `price` in src/study/config.schema.yaml, against which study.config checks it


@cache
def prices() -> dict[str, Price]:
    """The entries of prices.yaml, by name of the machine."""
    return read_yaml(PATH)


def argument(text: str) -> Price:
    """Parse a command-line argument: the name of a listed machine, or an entry as JSON, as the rules pass it.

    Raises ArgumentTypeError for an unknown name.
    """
    if text.startswith("{"):
        return json.loads(text)
    if text not in prices():
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(prices())}")
    return prices()[text]


def fits(price: Price, cpu: str) -> bool:
    """Whether a machine with this CPU, as named in /proc/cpuinfo, can be the one that has the price."""
    return any(part in cpu for part in price["cpus"])


def source(price: Price) -> str:
    """The price in USD with all that a reader needs to look it up."""
    where = ", ".join(price[key] for key in ("instance", "region", "date", "address"))
    return f"{price['usd_per_hour']:g} USD an hour for {price['cores']} virtual cores, {price['provider']} {where}"
