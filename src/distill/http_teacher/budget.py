"""What may be spent on a teacher: the highest price of a request is reserved before it is sent.

A file beside the answers has the sum, shared by all jobs. What a killed job had reserved counts as spent, as the server
may have worked for it.
"""

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, TypedDict

from msgspec import Meta

from common import folder_lock
from distill.settings import TokenPrices
from nmt_frontier.errors import UserError
from nmt_frontier.files import document, write_json

MILLION = 1e6


class Spent(TypedDict):
    """The file."""

    usd: Annotated[float, Meta(ge=0)]


def usd(prices: TokenPrices | None, input: int, output: int) -> float:
    """The price of tokens."""
    return (input * prices.input + output * prices.output) / MILLION if prices else 0.0


class Budget:
    """USD of all jobs. most: that may be spent, None for any sum. spent: at least, by the answers that are kept."""

    def __init__(self, path: Path, most: float | None, spent: float):
        self._path, self._most, self._lock = path, most, threading.Lock()
        if most is not None:
            with self._locked():
                write_json(path, {"usd": max(spent, self._spent() if path.exists() else 0.0)})

    def _spent(self) -> float:
        problem = 'does not say what was spent; write {"usd": so many} into it, at least the sum of this teacher'
        return document(self._path, Spent, problem)["usd"]

    def _locked(self) -> AbstractContextManager[object]:
        return folder_lock.lock(self._path.with_name(f".{self._path.name}.lock"))

    def reserve(self, price: float) -> None:
        """Raises UserError if this and all that was spent is more than the budget."""
        if self._most is not None:
            self._add(price, self._most)

    def settle(self, reserved: float, price: float) -> None:
        """What was reserved has cost this price."""
        if self._most is not None:
            self._add(price - reserved)

    def _add(self, price: float, most: float = float("inf")) -> None:
        with self._lock, self._locked():
            spent = self._spent()
            if spent + price > most:
                sums = f"{spent:.4f} USD of {most:g} are spent, and the next request may cost {price:.4f}"
                raise UserError(f"http.budget: {sums}; answers are kept: raise it and run again")
            write_json(self._path, {"usd": max(spent + price, 0.0)})  # a sum of rounded numbers may be below
