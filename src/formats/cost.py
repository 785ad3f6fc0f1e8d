"""What a translation costs: core-seconds, and USD where the kind of machine has a listed price.

    core-seconds per million words = seconds from text to text * virtual cores * 10^6 / words
    USD per million words          = core-seconds / 3600 * USD an hour / virtual cores of the priced machine

A word is a whitespace token of the source. All cores that a run was pinned to count, busy or not. Core-seconds of
different CPUs are different things, so the CPU belongs beside them.

To plan, the other functions take the price of any machine, as if its cores were as fast as those that were measured;
records have USD from ``cost`` only.
"""

import json
import math
from argparse import ArgumentTypeError
from functools import cache
from pathlib import Path
from typing import Any

from common.files import read_yaml

PRICES = Path(__file__).with_name("prices.yaml")

Price = dict[str, Any]  # as `price` in src/study/config.schema.yaml, against which study.config checks it

SECONDS_PER_HOUR = 3600
DAYS_PER_MONTH = 365 / 12
NO_PRICE = "none, as the study names no machine whose price is listed"


@cache
def prices() -> dict[str, Price]:
    """The entries of prices.yaml, by name of the machine."""
    return read_yaml(PRICES)


def price_argument(text: str) -> Price:
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


def cost(seconds: float, cores: int, words: int, price: Price | None, cpu: str) -> dict[str, Any]:
    """The fields of a measurement record; price: where the USD come from, or why there are none.

    price: of the machine the study says it runs on. There are no USD if that one has another CPU.
    """
    core_seconds = seconds * cores * 1e6 / words
    priced = price is not None and fits(price, cpu)
    return {
        "core_seconds_per_million_words": core_seconds,
        "usd_per_million_words": usd_per_million_words(core_seconds, price) if priced else None,
        "price": source(price) if priced else without_price(price, cpu),
    }


def usd_per_million_words(core_seconds: float, price: Price) -> float:
    """USD for a million words that take so many core-seconds, on a machine that is never idle."""
    return core_seconds / SECONDS_PER_HOUR * price["usd_per_hour"] / price["cores"]


def words_per_second(core_seconds: float, price: Price) -> float:
    """Source words a second that one machine translates, whose words take so many core-seconds a million."""
    return price["cores"] * 1e6 / core_seconds


def machines(core_seconds: float, words: float, price: Price) -> int:
    """Whole machines that translate so many words a second; at least one. core_seconds: per million words."""
    return max(1, math.ceil(words / words_per_second(core_seconds, price)))


def usd_per_month(core_seconds: float, words: float, price: Price) -> float:
    """USD a month for the machines that translate so many words a second, paid for whether busy or not."""
    return machines(core_seconds, words, price) * price["usd_per_hour"] * 24 * DAYS_PER_MONTH


def without_price(price: Price | None, cpu: str) -> str:
    """Why there are no USD."""
    if price is None:
        return NO_PRICE
    return f"none, as {price['instance']} has {' or '.join(price['cpus'])}, and this CPU is {cpu}"
