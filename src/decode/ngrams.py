"""No n-gram twice in a hypothesis, in three ways with the same result (FastSeq, section 4.2, Algorithm 1).

At each step of a search every piece is banned that would end an n-gram which the hypothesis already has. ``scan``
does it as fairseq 0.9 did, ``sliding`` compares all places of all hypotheses at once, as the threads of FastSeq's
kernel do, and ``compiled`` is the kernel's loop on one thread. Paulus et al. 2018.

sequences: int (hypotheses, length), pieces so far. scores: float (hypotheses, vocabulary); -inf where a piece is
banned.
"""

import numba
import numpy as np

Sequences = np.ndarray
Scores = np.ndarray


def scan(sequences: Sequences, scores: Scores, n: int) -> None:
    """Plain Python, hypothesis by hypothesis: all n-grams by what they begin with, anew in each step."""
    for row, pieces in enumerate(sequences.tolist()):
        seen: dict[tuple[int, ...], list[int]] = {}
        for ngram in zip(*(pieces[start:] for start in range(n)), strict=False):
            seen.setdefault(ngram[:-1], []).append(ngram[-1])
        for piece in seen.get(tuple(pieces[len(pieces) + 1 - n :]), []):
            scores[row, piece] = -np.inf


def sliding(sequences: Sequences, scores: Scores, n: int) -> None:
    """NumPy: every place of every hypothesis is compared with its last n - 1 pieces."""
    places = sequences.shape[1] - n + 1
    if places < 1:
        return
    equal = np.ones((len(sequences), places), bool)
    for ahead in range(n - 1):
        equal &= sequences[:, ahead : ahead + places] == sequences[:, places + ahead, None]
    rows, starts = equal.nonzero()
    scores[rows, sequences[rows, starts + n - 1]] = -np.inf


@numba.njit(cache=True)
def compiled(sequences: Sequences, scores: Scores, n: int) -> None:
    """The same loop over places, compiled; most places differ in the first piece."""
    hypotheses, length = sequences.shape
    places = length - n + 1
    for row in range(hypotheses):
        for start in range(places):
            ahead = 0
            while ahead < n - 1 and sequences[row, start + ahead] == sequences[row, places + ahead]:
                ahead += 1
            if ahead == n - 1:
                scores[row, sequences[row, start + ahead]] = -np.inf


ALGORITHMS = {"scan": scan, "sliding": sliding, "compiled": compiled}
