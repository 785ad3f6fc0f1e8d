"""Invisible characters in blocks of lines: which lines may have some is found in their bytes, as most have none."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.characters import INVISIBLE, classified
from nmt_frontier.sentence import composed


def visible_lines(utf8: bytes, text: str) -> str:
    """The lines of a block without invisible characters, those that had some in NFC. utf8: the same text."""
    if utf8.isascii() or not len(rows := _rows(utf8)):
        return text
    lines = text.split("\n")
    for row in rows:
        lines[row] = composed(lines[row])
    return "\n".join(lines)


def _rows(utf8: bytes) -> NDArray[np.int64]:
    """Numbers of the lines that have an invisible character."""
    data = np.frombuffer(utf8 + b"\n\n", np.uint8)
    found = [np.empty(0, np.int64)]
    for lead, (first, last, ends) in _sequences().items():
        if lead in utf8:  # the cheapest test comes first, and the exact one last
            places = np.flatnonzero((data[:-2] == lead) & (data[1:-1] - first <= last - first))
            found.append(places[ends[data[places + 1], data[places + 2]]])
    places = np.concatenate(found)
    return np.unique(np.searchsorted(np.flatnonzero(data == ord("\n")), places)) if len(places) else places


@cache
def _sequences() -> dict[int, tuple[np.uint8, np.uint8, NDArray[np.bool_]]]:
    """By the first byte of invisible characters: the range of the second one; which two may follow, bool[256, 256]."""
    found: dict[int, NDArray[np.bool_]] = {}
    for character in classified(INVISIBLE):
        lead, second, *more = character.encode()
        found.setdefault(lead, np.zeros((256, 256), bool))[second, more[0] if more else slice(None)] = True
    seconds = {lead: np.flatnonzero(ends.any(1)).astype(np.uint8) for lead, ends in found.items()}
    return {lead: (seconds[lead][0], seconds[lead][-1], ends) for lead, ends in found.items()}
