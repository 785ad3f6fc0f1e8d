"""The time left in OpenNMT-tf's log of a training."""

import logging
from collections.abc import Callable
from typing import Any


class TimeLeft(logging.Filter):
    """Appends the minutes left to OpenNMT-tf's log of a step, whose first arguments are step and steps/s.

    updates_left: the work left after a step, in updates of the running phase.
    """

    def __init__(self, updates_left: Callable[[int], float]):
        super().__init__()
        self._updates_left = updates_left

    def filter(self, record: logging.LogRecord) -> bool:
        values: Any = record.args
        if str(record.msg).startswith("Step = %d ; steps/s") and values[1]:
            step, rate = values[:2]
            record.msg += f" ; {self._updates_left(step) / rate / 60:.1f} minutes left"
        return True
