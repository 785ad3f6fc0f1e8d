"""Permutations of record numbers that are computed, not stored: equal keys give equal orders."""

import hashlib

import numba
import numpy as np
from numpy.typing import NDArray

ROUNDS = 4
LEAST_HALF = 4  # bits; fewer numbers are not mixed evenly


def keys(*names: object) -> NDArray[np.uint64]:
    """The keys of the permutation identified by ``names``, such as seed, corpus and number: uint64[ROUNDS]."""
    digest = hashlib.blake2b("\t".join(map(str, names)).encode(), digest_size=8 * ROUNDS).digest()
    return np.frombuffer(digest, "<u8").astype(np.uint64)


@numba.njit(cache=True, nogil=True)
def places(numbers: NDArray[np.int64], size: int, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The places of these numbers in the permutation of 0..size-1: int64[numbers].

    A Feistel network of four rounds permutes the numbers below the next power of four; a result outside 0..n-1 is
    permuted again (cycle walking; Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). The rounds hash
    with MurmurHash3's finaliser, which is good enough for shuffling, not for a cipher.
    """
    half = LEAST_HALF
    while (1 << (2 * half)) < size:
        half += 1
    mask = np.uint64((1 << half) - 1)
    permuted = np.empty(len(numbers), np.int64)
    for row in range(len(numbers)):
        value = np.uint64(numbers[row])
        while True:
            left, right = value >> np.uint64(half), value & mask
            for key in keys:
                mixed = (right ^ key) * np.uint64(0xFF51AFD7ED558CCD)
                mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
                left, right = right, left ^ ((mixed ^ (mixed >> np.uint64(33))) & mask)
            value = left << np.uint64(half) | right
            if value < np.uint64(size):
                break
        permuted[row] = np.int64(value)
    return permuted
