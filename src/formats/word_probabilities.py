"""A teacher's probabilities of the next piece, at each piece of a translation and at its end, as a line of text.

The k most probable pieces of a position are 4 characters each: the base64 (RFC 4648, for addresses) of the piece's
number in vocabulary.txt, two bytes, the lower one first, and of its probability in 255ths, one byte. The most probable
one is first; those whose probability rounds to 0 are left out, all but the first. Positions have a space between them.
An empty line: the teacher did not read the pair.

The gradient of a cross-entropy by a logit is a difference of two probabilities, so what counts is the error of a
probability, at most 1/510 here, and not that of its logarithm.
"""

from base64 import urlsafe_b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

BYTES, CHARACTERS = 3, 4  # of a piece
ONE = 255  # the byte of probability 1
MOST_NUMBER = 2**16 - 1


def line(numbers: NDArray[Any], log_probabilities: NDArray[Any]) -> str:
    """The line of a translation. numbers, at most MOST_NUMBER, and log_probabilities: (positions, k), best first."""
    shares = np.rint(np.exp(log_probabilities) * ONE).astype(np.uint8)
    shares[:, 0] = np.maximum(shares[:, 0], 1)
    coded = np.stack([numbers & 255, numbers >> 8, shares], axis=-1).astype(np.uint8)
    kept = np.count_nonzero(shares, axis=1).tolist()
    return " ".join(urlsafe_b64encode(row[:count].tobytes()).decode() for row, count in zip(coded, kept, strict=True))
