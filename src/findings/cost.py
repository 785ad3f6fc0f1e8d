"""The cost of a translation: core-seconds, and USD where the kind of machine has a listed price.

    core-seconds per million words = seconds from text to text * virtual cores * 10^6 / words
    USD per million words          = core-seconds / 3600 * USD an hour / virtual cores of the priced machine

A word is a whitespace token of the source. All cores that a run was pinned to count, busy or not. Core-seconds of
different CPUs are not comparable. Functions for planning take any price and assume cores as fast as the measured ones.
"""

import json
import math
import re
from argparse import ArgumentTypeError
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple, NotRequired, TypedDict

from common.document import Count, Positive, limits
from nmt_frontier.files import read_yaml

PRICES = Path(__file__).with_name("prices.yaml")


Text = Annotated[str, limits(minLength=1)]


class Price(TypedDict):
    """What a kind of machine costs, and where that is published."""

    provider: Text
    """Who rents it out."""
    instance: Text
    """The provider's name of the machine."""
    region: Text
    """Where it stands; prices differ."""
    date: Annotated[str, limits(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """Of the price, "YYYY-MM-DD" in quotes."""
    address: Annotated[str, limits(pattern="^https?://.")]
    """Where the price is published."""
    usd_per_hour: Positive
    """Price of the whole machine, USD an hour."""
    cores: Count
    """Its virtual cores; a run pays for those it was pinned to."""
    gpus: NotRequired[Annotated[int, limits(minimum=0, default=0)]]
    """Its GPUs; plans for clusters of such machines count them (study.scale_plan)."""
    cpus: Annotated[list[Text], limits(minItems=1)]
    """Parts of the names of CPUs (model name in /proc/cpuinfo) that such a machine has. With another CPU there are no
    USD."""


MODELS = {  # of prices.yaml: what a virtual machine that hides the model still shows, family and best instruction set
    "Platinum 8124M": ("Xeon", "avx512"),
    "Platinum 8175M": ("Xeon", "avx512"),
    "Platinum 8275CL": ("Xeon", "avx512-vnni"),
    "Platinum 8375C": ("Xeon", "avx512-vnni"),
    "Platinum 8488C": ("Xeon", "amx"),
    "EPYC 7R13": ("EPYC", "avx2"),
    "EPYC 9R14": ("EPYC", "avx512-vnni"),
    "EPYC 9R45": ("EPYC", "avx512-vnni"),
}
SECONDS_PER_HOUR = 3600
DAYS_PER_MONTH = 365 / 12
NO_PRICE = "none, as the study names no machine whose price is listed"


@cache
def prices() -> dict[str, Price]:
    """The entries of prices.yaml, by machine."""
    entries: dict[str, Price] = read_yaml(PRICES)
    return entries


def price_argument(text: str) -> Price:
    """Parse the name of a listed machine, or an entry as JSON. Raises ArgumentTypeError for an unknown name."""
    if text.startswith("{"):
        price: Price = json.loads(text)
        return price
    if text not in prices():
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(prices())}")
    return prices()[text]


def fits(price: Price, cpu: str) -> bool:
    """Whether a machine with this CPU, as named in /proc/cpuinfo, can be the priced one."""
    return any(part in cpu for part in price["cpus"])


def hides(cpu: str) -> bool:
    """Whether the name of a CPU has no model, as in many virtual machines: ``AMD EPYC``, ``Xeon(R) CPU @ 2.00GHz``."""
    return not re.search(r"\d", cpu.partition("@")[0])


def may_be(price: Price, cpu: str, isa: str) -> bool:
    """Whether a CPU that hides its model has the family and the instructions of the priced machine."""
    kinds = (MODELS.get(model) for model in price["cpus"])
    return hides(cpu) and any(kind and kind[0] in cpu and kind[1] == isa for kind in kinds)


def source(price: Price) -> str:
    """The price in USD and where to look it up."""
    where = f"{price['instance']}, {price['region']}, {price['date']}, {price['address']}"
    return f"{price['usd_per_hour']:g} USD an hour for {price['cores']} virtual cores, {price['provider']} {where}"


class Cost(NamedTuple):
    """Fields of a measurement. price: the source of the USD, or the reason why they are None."""

    core_seconds_per_million_words: float
    usd_per_million_words: float | None
    price: str


def cost(seconds: float, cores: int, words: int, price: Price | None, cpu: str, isa: str) -> Cost:
    """price: of the study's machine; not used if that has another CPU. isa: the best of this one's instruction sets."""
    core_seconds = seconds * cores * 1e6 / words
    return Cost(core_seconds, *usd(core_seconds, price, cpu, isa))


def usd(core_seconds: float, price: Price | None, cpu: str, isa: str) -> tuple[float | None, str]:
    """USD per million words, and the source of the price or the reason why there are none."""
    if not price:
        return None, NO_PRICE
    if fits(price, cpu):
        return usd_per_million_words(core_seconds, price), source(price)
    if may_be(price, cpu, isa):
        said = f"the machine is a person's word: its CPU shows only as {cpu} with {isa}"
        return usd_per_million_words(core_seconds, price), f"{source(price)}; {said}"
    models = " or ".join(f"{model} ({MODELS[model][1]})" if model in MODELS else model for model in price["cpus"])
    return None, f"none, as {price['instance']} has {models}, and this CPU is {cpu} ({isa})"


def usd_per_million_words(core_seconds: float, price: Price) -> float:
    """USD per million words, on a machine that is never idle. core_seconds: per million words, as below."""
    return core_seconds / SECONDS_PER_HOUR * price["usd_per_hour"] / price["cores"]


def words_per_second(core_seconds: float, price: Price) -> float:
    """Source words a second that one machine translates."""
    return price["cores"] * 1e6 / core_seconds


def machines(core_seconds: float, words: float, price: Price) -> int:
    """The number of machines that translate ``words`` a second, at least one."""
    return max(1, math.ceil(words / words_per_second(core_seconds, price)))


def usd_per_month(core_seconds: float, words: float, price: Price) -> float:
    """USD a month for the machines that translate ``words`` a second, busy or not."""
    return machines(core_seconds, words, price) * price["usd_per_hour"] * 24 * DAYS_PER_MONTH
