"""A step of attention between decoder and encoder, its cache once a sentence or once a beam (FastSeq, section 4.1.2).

The keys and values of a sentence are the same for all of its beams. ``shared`` keeps one copy and lets all beams of a
sentence meet it in one matrix product; ``copied`` keeps a copy a beam, as toolkits did, so that each beam is a
product of one row; ``reordered`` also moves these copies behind their beams after the step, as if they were not all
the same.

queries: float32 (sentences, heads, beam, units a head). keys and values: float32 (sentences, heads, length, units a
head), of ``copied`` and ``reordered`` (sentences x beam, heads, length, units a head). All return contexts shaped as
the queries.
"""

import numpy as np

Array = np.ndarray


def copies(cache: Array, beam_size: int) -> Array:
    """The cache once a beam."""
    return np.repeat(cache, beam_size, axis=0)


def _weighted(queries: Array, keys: Array, values: Array) -> Array:
    scores = queries @ keys.swapaxes(2, 3)
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores @ values


def shared(queries: Array, keys: Array, values: Array) -> Array:
    return _weighted(queries, keys, values)


def copied(queries: Array, keys: Array, values: Array) -> Array:
    sentences, heads, beam_size, units = queries.shape
    rows = queries.swapaxes(1, 2).reshape(sentences * beam_size, heads, 1, units)
    contexts = _weighted(rows, keys, values)
    return contexts.reshape(sentences, beam_size, heads, units).swapaxes(1, 2)


def reordered(queries: Array, keys: Array, values: Array, origins: Array) -> tuple[Array, Array, Array]:
    """Contexts, and the caches of the next step; origins: int (sentences x beam,), the row each beam comes from."""
    return copied(queries, keys, values), keys[origins], values[origins]
