"""A step of attention between decoder and encoder, with one cache per sentence or per beam (FastSeq, section 4.1.2).

All beams of a sentence attend to the same keys and values. ``shared`` keeps one copy, which all beams of a sentence
multiply in one matrix product. ``copied`` keeps one copy per beam, as toolkits did, so that each beam is a product of
one row. ``reordered`` also moves the copies with their beams after the step, as if they differed.

queries: float32 (sentences, heads, beam, units per head). keys and values: float32 (sentences, heads, length, units
per head); for ``copied`` and ``reordered`` (sentences x beam, heads, length, units per head). The returned contexts
have the shape of the queries.
"""

import numpy as np

Array = np.ndarray


def copies(cache: Array, beam_size: int) -> Array:
    """One copy of the cache per beam."""
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
    """Contexts, keys and values of the next step; origins: int (sentences x beam,), the row each beam continues."""
    return copied(queries, keys, values), keys[origins], values[origins]
