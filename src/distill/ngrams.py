"""The n-grams that texts share, and sentence BLEU and chrF of each text against each other, compiled.

The k-th occurrence of an n-gram in a text is a feature of the text, so two texts share as many n-grams, clipped as BLEU
and chrF clip them, as they have features in common. Features are numbered, texts are sets of bits, and the work for a
pair of texts is a few dozen words of 64 bits.

Numba finds what it has compiled by the line of a function.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Symbols = NDArray[np.uint32]  # characters or numbers of tokens, below OCCURRENCES
OCCURRENCES = np.uint64(0xFFFFFFFF)  # less k: the symbol of the k-th further occurrence of an n-gram
HALF = np.uint64(32)
HASH, SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
ONE, WORD, BITS = np.uint64(1), np.uint64(63), np.uint64(6)
ODD, PAIRS, NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES, TWO, FOUR, TOP = np.uint64(0x0101010101010101), np.uint64(2), np.uint64(4), np.uint64(56)
BETA2 = 4.0  # recall counts twice as much as precision in sacreBLEU's chrF


def shared(symbols: Symbols, ends: NDArray[np.int64], order: int) -> NDArray[np.int32]:
    """How many n-grams of each order two texts share: (texts, texts, order).

    symbols: of all texts, one after the other. ends: of each text in them.
    """
    found: NDArray[np.int32] = _shared(*_features(symbols, ends, order), order)
    return found


def sentence_bleu(matches: NDArray[np.int32]) -> NDArray[np.float64]:
    """sacreBLEU's sentence BLEU (0 to 100) of each text (row) against each text as the reference (column).

    matches: of ``shared``. Exponential smoothing, effective order.
    """
    found: NDArray[np.float64] = _bleu(matches)
    return found


def sentence_chrf(matches: NDArray[np.int32]) -> NDArray[np.float64]:
    """The same with sacreBLEU's chrF."""
    found: NDArray[np.float64] = _chrf(matches)
    return found


def aggregate_chrf(
    symbols: Symbols, ends: NDArray[np.int64], weights: NDArray[np.float64], order: int
) -> NDArray[np.float64]:
    """chrF of each text against one reference: the mean of the n-gram counts of all (Vamvas and Sennrich 2024).

    weights: of the texts, with the sum 1. It takes time in proportion to the number of texts.
    """
    found: NDArray[np.float64] = _aggregate_chrf(*_features(symbols, ends, order), weights, order)
    return found


@numba.njit(cache=True, nogil=True)
def _child(keys, numbers, size, node, symbol):  # pragma: no cover (compiled)
    """The number of what follows a node by a symbol, in a hash table; ``size`` if it is new."""
    key = (np.uint64(node) << HALF | np.uint64(symbol)) + ONE
    mask = np.uint64(len(keys) - 1)
    place = key * HASH >> SPREAD & mask
    while keys[place] != key:
        if keys[place] == 0:
            keys[place] = key
            numbers[place] = size
            return size
        place = place + ONE & mask
    return numbers[place]


@numba.njit(cache=True, nogil=True)
def _lengths(ends, order):  # pragma: no cover (compiled)
    """The number of n-grams of each order: int32 (texts, order)."""
    lengths, start = np.zeros((len(ends), order), np.int32), 0
    for text in range(len(ends)):
        for n in range(order):
            lengths[text, n] = max(ends[text] - start - n, 0)
        start = ends[text]
    return lengths


@numba.njit(cache=True, nogil=True)
def _features(symbols, ends, order):  # pragma: no cover (compiled)
    """Number the features of the texts.

    Returns found, int32: the features of one text after the other; stops, int64: where those of each text end; grams,
    int32: the n-gram of each feature, which is its first occurrence; ranks, int32: the number of occurrences before it;
    orders, int8: its length; lengths, int32 (texts, order): the n-grams of each text.
    """
    texts, lengths = len(ends), _lengths(ends, order)
    most, slots = lengths.sum(), 16
    while slots < 2 * most:
        slots *= 2
    keys, numbers = np.zeros(slots, np.uint64), np.empty(slots, np.int32)
    found, stops = np.empty(most, np.int32), np.empty(texts, np.int64)
    grams, ranks = np.empty(most + 1, np.int32), np.empty(most + 1, np.int32)
    orders, latest, counts = np.empty(most + 1, np.int8), np.empty(most + 1, np.int32), np.empty(most + 1, np.int32)
    size, end, start = 1, 0, 0  # node 0 is the empty n-gram
    for text in range(texts):
        for place in range(start, ends[text]):
            node = 0
            for n in range(min(order, ends[text] - place)):
                node = _child(keys, numbers, size, node, symbols[place + n])
                if node == size:
                    grams[node], ranks[node], orders[node], latest[node] = node, 0, n, -1
                    size += 1
                if latest[node] != text:
                    latest[node], counts[node] = text, 0
                feature = node
                if counts[node]:
                    feature = _child(keys, numbers, size, node, OCCURRENCES - np.uint64(counts[node]))
                    if feature == size:
                        grams[feature], ranks[feature], orders[feature] = node, counts[node], n
                        size += 1
                counts[node] += 1
                found[end] = feature
                end += 1
        stops[text] = end
        start = ends[text]
    return found, stops, grams[:size], ranks[:size], orders[:size], lengths


@numba.njit(cache=True, nogil=True)
def _bits(found, stops, orders, order):  # pragma: no cover (compiled)
    """The features of each text as bits, uint64 (texts, words), and where the words of each order begin.

    A feature that no other text has gets no bit.
    """
    texts = len(stops)
    counts = np.zeros(len(orders), np.int32)  # texts that have a feature
    for feature in found:
        counts[feature] += 1
    sizes = np.zeros(order, np.int64)
    places = np.empty(len(orders), np.int64)  # the bit of each feature, among those of its order
    for feature in range(1, len(orders)):
        if counts[feature] > 1:
            places[feature] = sizes[orders[feature]]
            sizes[orders[feature]] += 1
    firsts = np.zeros(order + 1, np.int64)  # words of each order
    for n in range(order):
        firsts[n + 1] = firsts[n] + (sizes[n] + 63) // 64
    bits = np.zeros((texts, firsts[order]), np.uint64)
    start = 0
    for text in range(texts):
        for feature in found[start : stops[text]]:
            if counts[feature] > 1:
                place = np.uint64(places[feature])
                bits[text, firsts[orders[feature]] + np.int64(place >> BITS)] |= ONE << (place & WORD)
        start = stops[text]
    return bits, firsts


@numba.njit(cache=True, nogil=True)
def _shared(found, stops, grams, ranks, orders, lengths, order):  # pragma: no cover (compiled)
    """As ``shared``, from what ``_features`` returns."""
    texts, (bits, firsts) = len(stops), _bits(found, stops, orders, order)
    matches = np.empty((texts, texts, order), np.int32)
    for text in range(texts):
        matches[text, text] = lengths[text]
        for other in range(text):
            for n in range(order):
                same = 0
                for word in range(firsts[n], firsts[n + 1]):
                    same += _ones(bits[text, word] & bits[other, word])
                matches[text, other, n] = matches[other, text, n] = same
    return matches


@numba.njit(cache=True, nogil=True)
def _ones(word):  # pragma: no cover (compiled)
    """The number of bits that are set; LLVM makes one instruction of it."""
    word = word - (word >> ONE & ODD)
    word = (word & PAIRS) + (word >> TWO & PAIRS)
    word = word + (word >> FOUR) & NIBBLES
    return np.int32(word * BYTES >> TOP)


@numba.njit(cache=True, nogil=True)
def _f_score(precision, recall, orders):  # pragma: no cover (compiled)
    """chrF (0 to 100) of the sums over the orders that both texts have."""
    if orders == 0 or precision + recall == 0:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return 100 * (1 + BETA2) * precision * recall / (BETA2 * precision + recall)


@numba.njit(cache=True, nogil=True)
def _chrf(matches):  # pragma: no cover (compiled)
    texts, _, order = matches.shape
    scores = np.empty((texts, texts))
    for text in range(texts):
        for other in range(texts):
            precision, recall, orders = 0.0, 0.0, 0
            for n in range(order):
                own, total = matches[text, text, n], matches[other, other, n]
                if own and total:
                    precision += matches[text, other, n] / own
                    recall += matches[text, other, n] / total
                    orders += 1
            scores[text, other] = _f_score(precision, recall, orders)
    return scores


@numba.njit(cache=True, nogil=True)
def _bleu(matches):  # pragma: no cover (compiled)
    texts, _, order = matches.shape
    scores = np.zeros((texts, texts))
    for text in range(texts):
        length = matches[text, text, 0]
        for other in range(texts):
            if matches[text, other, 0] == 0:  # no longer n-gram either
                continue
            logarithms, smoothing, orders = 0.0, 1.0, 0
            for n in range(order):
                total, same = matches[text, text, n], float(matches[text, other, n])
                if total == 0:
                    break
                if same == 0:
                    smoothing *= 2
                    same = 1 / smoothing
                logarithms += np.log(100 * same / total)
                orders += 1
            brevity = min(1 - matches[other, other, 0] / length, 0.0)
            scores[text, other] = np.exp(brevity + logarithms / orders)
    return scores


@numba.njit(cache=True, nogil=True)
def _aggregate_chrf(found, stops, grams, ranks, orders, lengths, weights, order):  # pragma: no cover (compiled)
    """As ``aggregate_chrf``, from what ``_features`` returns."""
    texts = len(stops)
    means = np.zeros(len(grams))  # of the counts of each n-gram
    totals = np.zeros(order)
    start = 0
    for text in range(texts):
        for feature in found[start : stops[text]]:
            means[grams[feature]] += weights[text]
        start = stops[text]
        for n in range(order):
            totals[n] += weights[text] * lengths[text, n]
    scores = np.empty(texts)
    start = 0
    for text in range(texts):
        matches = np.zeros(order)
        for feature in found[start : stops[text]]:  # min(count, mean), occurrence by occurrence
            matches[orders[feature]] += min(max(means[grams[feature]] - ranks[feature], 0.0), 1.0)
        start = stops[text]
        precision, recall, both = 0.0, 0.0, 0
        for n in range(order):
            if lengths[text, n] and totals[n] > 0:
                precision += matches[n] / lengths[text, n]
                recall += matches[n] / totals[n]
                both += 1
        scores[text] = _f_score(precision, recall, both)
    return scores
