"""Quantisation of the native engine's weights: float32 as integers of 16, 8 or 4 bits, with which no sum overflows."""

import numpy as np

from nmt_frontier.model.safetensors import Array

# Bounds that keep every sum exact (engine/kernels/dots.h).
MULTIPLES = 16  # of its step that the smallest weight of a row of integers has, at most
INT8_LANE = 128  # largest sum of the weights of one sign in a 16-bit lane: 255 x 128 < 2^15
INT16_INPUT = 4095  # magnitude of an int16 input
INT4_INPUTS = 32  # inputs of an int4 channel that share a step
INT4_STEPS = 2**31 // (255 * 8 * INT4_INPUTS)  # sum of the magnitudes of a channel's steps
INT4_DIVISORS = (*np.arange(-9, -5, 0.25), *np.arange(5.5, 8, 0.25))  # a step: the largest weight by one of these
INT32 = 2**31 - 1


def quantized(weights: Array, kind: str, bounded: bool = True, keep: bool = False) -> tuple[Array, Array]:
    """Rows of float32 weights as integers and the scale of each row: weight = integer x scale.

    bounded: choose scales with which no product can overflow; otherwise, for embeddings, by the largest weight.
    keep: in 8 bits, take the steps that weights have that were 8-bit integers before.
    """
    largest = np.maximum(np.abs(weights).max(axis=1, initial=0), 1e-9)
    if kind == "int16":
        scale = largest / 32767
        if bounded:
            rounding = weights.shape[1] * INT16_INPUT / 2  # integers are at most 1/2 above the exact quotient
            magnitudes = np.abs(weights.astype(np.float64)).sum(axis=1)
            scale = np.maximum(scale, magnitudes * INT16_INPUT / (INT32 - rounding))
        scale = scale.astype(np.float32)
        return np.rint(weights / scale[:, None]).astype(np.int16), scale
    scale = (largest / 127).astype(np.float32)
    if keep:
        found = steps(weights)
        scale = np.where(found > 0, found, scale)
    integers = np.rint(weights / scale[:, None])
    if bounded:
        over = lane_sum(integers) > INT8_LANE
        while over.any():
            # At least 0.1 % a round: rounding up may keep a sum above its bound although the quotient fits.
            factor = np.maximum(lane_sum(integers[over]) / INT8_LANE * 0.998, 1.001).astype(np.float32)
            scale[over] *= factor
            integers[over] = np.rint(weights[over] / scale[over, None])
            over[over] = lane_sum(integers[over]) > INT8_LANE
    return np.clip(integers, -127, 127).astype(np.int8), scale


def steps(weights: Array) -> Array:
    """For each row the largest number of which all its weights are at most 127 multiples, or 0 if there is none."""
    magnitudes = np.abs(weights.astype(np.float32))
    smallest = np.where(magnitudes > 0, magnitudes, np.inf).min(axis=1, initial=np.inf)
    found, left = np.zeros(len(weights), np.float32), np.flatnonzero(np.isfinite(smallest))
    for multiple in range(1, MULTIPLES + 1):
        step = smallest[left] / np.float32(multiple)
        quotients = magnitudes[left] / step[:, None]
        fits = (np.abs(quotients - np.rint(quotients)).max(axis=1, initial=0) < 1e-3) & (quotients.max(axis=1) < 127.5)
        # From the largest weight, whose quotient is known best.
        found[left[fits]] = magnitudes[left[fits]].max(axis=1) / np.rint(quotients[fits].max(axis=1))
        left = left[~fits]
    return found


def lane_sum(integers: Array) -> Array:
    """For each row, the largest sum of weights of one sign in a 16-bit lane of the products.

    Of eight inputs, 0, 1, 4, 5 share one lane and 2, 3, 6, 7 the other.
    """
    rows = integers.reshape(len(integers), -1, 2, 2, 2)  # step, group of four, lane, input of the lane
    positive, negative = (np.maximum(sign * rows, 0).sum(axis=(2, 4)).max(axis=(1, 2)) for sign in (1, -1))
    largest: Array = np.maximum(positive, negative)
    return largest


def halved(weights: Array) -> tuple[Array, Array, Array]:
    """Rows of float32 weights in 4 bits: weight = nibble x step x scale.

    Returns nibbles [rows, inputs], -8 to 7, steps [rows, inputs / 32], -127 to 127, and the scale of each row. Of all
    steps that a group of inputs may have, it gets the one with the least squared error. Inputs: a multiple of 32.
    """
    groups = weights.astype(np.float32).reshape(len(weights), -1, INT4_INPUTS)
    places = np.abs(groups).argmax(axis=2)
    extremes = np.take_along_axis(groups, places[:, :, None], axis=2)[:, :, 0]
    most = min(127, INT4_STEPS // groups.shape[1])
    scale = np.maximum(np.abs(extremes).max(axis=1), 1e-9) / 7 / most
    best = np.zeros(extremes.shape, np.int8)
    least = np.full(extremes.shape, np.inf, np.float32)
    for divisor in INT4_DIVISORS:  # negative: the extreme has the sign of -8
        found = np.rint(extremes / scale[:, None] / divisor).clip(-most, most)
        step = found * scale[:, None]
        error = np.square(groups - nibbles(groups, step) * step[:, :, None]).sum(axis=2)
        best, least = np.where(error < least, found, best).astype(np.int8), np.minimum(least, error)
    return nibbles(groups, best * scale[:, None]).reshape(weights.shape).astype(np.int8), best, scale.astype(np.float32)


def nibbles(groups: Array, step: Array) -> Array:
    """The nearest multiples of each group's step that 4 bits have."""
    found: Array = np.rint(groups / np.where(step == 0, np.inf, step)[:, :, None]).clip(-8, 7)
    return found


def offset(integers: Array) -> Array:
    """The correction of products whose inputs are all 128 too large; int32 [outputs]."""
    sums: Array = integers.astype(np.int64).sum(axis=1)
    return (-128 * sums).astype(np.int32)
