"""langid.py's model and decision (Lui and Baldwin, 2012), computed in bulk.

langid.py runs a byte automaton over a text, counts the features of the states it visits, and multiplies the counts with
log-probabilities of 7,480 features by 97 languages. A sentence has some fifty features, and the compiled loops here add
up only their rows: as 16-bit integers; if rounding could change the decision (four sentences in 100,000), in float64;
if two languages are still equal within rounding, langid.py itself decides. So every label is langid.py's own.
"""

import copy
import functools
from collections.abc import Sequence

import numba
import numpy as np
from langid import langid
from numpy.typing import NDArray

from formats.batches import Places, Text
from nmt_frontier.errors import UserError

LANES = 16  # of vector registers; rows are padded to a multiple
MOST_VISITS = 60_000  # more visits could overflow 32 bits
TIE = 1e-9  # relative; 100,000 times the effect of the summation order in float64


@functools.cache
def _langid() -> langid.LanguageIdentifier:
    """langid.py with all languages; unpacking the model takes seconds."""
    return langid.LanguageIdentifier.from_modelstring(langid.model)


class Identifier:
    """Labels texts as ``langid.LanguageIdentifier`` does; texts are ranges of an array of UTF-8 bytes.

    languages: the choice, as in its set_languages(). exact: counts texts that were left to langid.py's arithmetic.
    Raises UserError for an unknown language.
    """

    def __init__(self, languages: Sequence[str] | None = None):
        self._reference = copy.copy(_langid())  # set_languages() changes nothing in place
        supported = self._reference.nb_classes
        for code in languages or []:
            if code not in supported:
                raise UserError(f"langid.py does not know the language {code!r}; it knows {' '.join(supported)}")
        if languages is not None:
            self._reference.set_languages(list(languages))
        self.classes: list[str] = list(self._reference.nb_classes)
        self.exact = 0
        self._moves = np.array(self._reference.tk_nextmove, np.uint16)
        self._rows, self._row_of_state = self._packed()
        self._small = _rounded(self._rows)

    def _packed(self) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
        """What a visit of a state adds to each language, float64[rows, padded languages]; row 0 holds the priors.

        Also the row of each state, int16[states]; 0 without a feature.
        """
        matrix, output = self._reference.nb_ptc, self._reference.tk_output
        states = sorted(state for state, features in output.items() if len(features))
        padded = -(-len(self.classes) // LANES) * LANES
        rows = np.full((len(states) + 1, padded), -np.inf)
        rows[0, : len(self.classes)] = self._reference.nb_pc
        row_of_state = np.zeros(len(self._moves) // 256, np.int16)
        for row, state in enumerate(states, 1):
            # The matrix is float32, langid.py's product float64.
            rows[row, : len(self.classes)] = matrix[list(output[state])].sum(0, dtype=np.float64)
            row_of_state[state] = row
        return rows, row_of_state

    def classify(self, text: Text, starts: Places, ends: Places) -> NDArray[np.int32]:
        """The language of each range of ``text`` (uint8), as index of ``classes``: int32[ranges]."""
        labels: NDArray[np.int32]
        labels, sure = _labels(text, starts, ends, self._moves, self._row_of_state, self._small)
        doubtful = np.flatnonzero(~sure)
        if len(doubtful):
            scores = self.log_probabilities(text, starts[doubtful], ends[doubtful])
            labels[doubtful] = scores.argmax(1)
            if len(self.classes) > 1:
                second, best = np.partition(scores, -2, axis=1)[:, -2:].T
                # A sum near 0 has larger terms, of either sign.
                for number in doubtful[best - second <= TIE * np.maximum(np.abs(best), 1)]:
                    label, _ = self._reference.classify(text[starts[number] : ends[number]].tobytes())
                    labels[number] = self.classes.index(label)
                    self.exact += 1
        return labels

    def log_probabilities(self, text: Text, starts: Places, ends: Places) -> NDArray[np.float64]:
        """langid.py's unnormalised log-probabilities of all languages, float64[n, classes]."""
        scores: NDArray[np.float64] = _scores(text, starts, ends, self._moves, self._row_of_state, self._rows)
        return scores[:, : len(self.classes)]

    def labels(self, texts: Sequence[str]) -> list[str]:
        encoded = [text.encode() for text in texts]
        lengths = np.array([len(text) for text in encoded], np.int64)
        ends = np.cumsum(lengths)
        labels = self.classify(np.frombuffer(b"".join(encoded), np.uint8), ends - lengths, ends)
        return [self.classes[label] for label in labels]


def _rounded(rows: NDArray[np.float64]) -> NDArray[np.int16]:
    """The rows as int16 multiples of one number, off by at most half of it."""
    finite = np.isfinite(rows)
    scale = np.iinfo(np.int16).max / np.abs(rows[finite]).max()
    return np.where(finite, np.rint(np.where(finite, rows, 0) * scale), np.iinfo(np.int16).min).astype(np.int16)


@numba.njit(cache=True, nogil=True, inline="always")
def _visited(
    text: Text,
    start: int,
    end: int,
    moves: NDArray[np.uint16],
    row_of_state: NDArray[np.int16],
    path: NDArray[np.int16],
) -> int:
    """Fill ``path`` with the rows of the visited states. Returns their number."""
    state, visits = 0, 0
    for place in range(start, end):
        state = moves[(np.int64(state) << 8) + text[place]]
        row = row_of_state[state]
        path[visits] = row
        visits += row != 0  # the next state overwrites one without features
    return visits


@numba.njit(cache=True, nogil=True, inline="always")
def _longest(starts: Places, ends: Places) -> int:
    longest = 0
    for number in range(len(starts)):
        longest = max(longest, ends[number] - starts[number])
    return longest


@numba.njit(cache=True, nogil=True)
def _labels(
    text: Text,
    starts: Places,
    ends: Places,
    moves: NDArray[np.uint16],
    row_of_state: NDArray[np.int16],
    rows: NDArray[np.int16],
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The best language by rounded numbers, and whether rounding cannot have changed the decision."""
    labels, sure = np.zeros(len(starts), np.int32), np.zeros(len(starts), np.bool_)
    path, total = np.empty(_longest(starts, ends) + 1, np.int16), np.empty(rows.shape[1], np.int32)
    for number in range(len(starts)):
        visits = _visited(text, starts[number], ends[number], moves, row_of_state, path)
        if visits > MOST_VISITS:
            continue
        for column in range(len(total)):
            total[column] = rows[0, column]
        for visit in range(visits):
            row = path[visit]
            for column in range(len(total)):
                total[column] += rows[row, column]
        best = total.max()
        rivals = 0
        for column in range(len(total) - 1, -1, -1):
            # Each sum has visits + 1 numbers, each off by at most a half.
            if total[column] >= best - (visits + 1):
                rivals += 1
                labels[number] = column
        sure[number] = rivals == 1
    return labels, sure


@numba.njit(cache=True, nogil=True)
def _scores(
    text: Text,
    starts: Places,
    ends: Places,
    moves: NDArray[np.uint16],
    row_of_state: NDArray[np.int16],
    rows: NDArray[np.float64],
) -> NDArray[np.float64]:
    scores = np.empty((len(starts), rows.shape[1]))
    path = np.empty(_longest(starts, ends) + 1, np.int16)
    for number in range(len(starts)):
        visits = _visited(text, starts[number], ends[number], moves, row_of_state, path)
        scores[number] = rows[0]
        for visit in range(visits):
            scores[number] += rows[path[visit]]
    return scores
