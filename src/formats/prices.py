"""What machines cost: prices.yaml, or the entry of a study that is like those."""

import json
from argparse import ArgumentTypeError
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).with_name("prices.yaml")

Price = dict[str, Any]  # `price` in workflow/schemas/config.schema.yaml, against which distill.config checks it


@cache
def prices() -> dict[str, Price]:
    """The listed prices, by name of the machine."""
    return yaml.safe_load(PATH.read_text(encoding="utf-8"))


def argument(text: str) -> Price:
    """Of a command line: the name of a listed machine, or an entry as JSON, which is how rules pass it on."""
    if text.startswith("{"):
        return json.loads(text)
    if text not in prices():
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(prices())}")
    return prices()[text]


def fits(price: Price, cpu: str) -> bool:
    """Whether a machine with this CPU can be of the kind that has the price."""
    return any(part in cpu for part in price["cpus"])


def source(price: Price) -> str:
    """The price as a reader can look it up."""
    where = ", ".join(price[key] for key in ("instance", "region", "date", "address"))
    return f"{price['usd_per_hour']:g} USD an hour for {price['cores']} virtual cores, {price['provider']} {where}"
