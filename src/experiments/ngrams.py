"""No n-gram twice in a hypothesis (Paulus et al. 2018), in three ways with the same result (FastSeq, Algorithm 1).

Each step of a search bans every piece that would end an n-gram which the hypothesis already has. ``scan`` does it as
fairseq 0.9 did; ``sliding`` compares all places of all hypotheses at once, as the threads of FastSeq's kernel do
(section 4.2); ``compiled`` is the kernel's loop on one thread.

sequences: int (hypotheses, length), the pieces so far. scores: float (hypotheses, vocabulary); the algorithm writes
-inf for banned pieces.
"""

import numba
import numpy as np

Sequences = np.ndarray
Scores = np.ndarray


def scan(sequences: Sequences, scores: Scores, n: int) -> None:
    """Plain Python, hypothesis by hypothesis: index all n-grams by their first n - 1 pieces, anew in each step."""
    for row, pieces in enumerate(sequences.tolist()):
        seen: dict[tuple[int, ...], list[int]] = {}
        for ngram in zip(*(pieces[start:] for start in range(n)), strict=False):
            seen.setdefault(ngram[:-1], []).append(ngram[-1])
        for piece in seen.get(tuple(pieces[len(pieces) + 1 - n :]), []):
            scores[row, piece] = -np.inf


def sliding(sequences: Sequences, scores: Scores, n: int) -> None:
    """NumPy: compare every place of every hypothesis with its last n - 1 pieces."""
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
    """Numba: compare place by place; most places differ in the first piece."""
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
