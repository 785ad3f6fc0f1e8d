"""Random weights of layers.conditional_gru and layers.fully_connected, as export.lengths for Transformers.

Both have the same encoder, and a decoder whose state begins with the mean of the encoder's outputs. Two units are
reserved; nothing else writes into them, and all engines compute as usual.

- ``CONTENT``, of embeddings and in both directions of the encoder: the state adds up what each source piece says. The
  mean of a sum that grows from the left counts the first pieces most, one that grows from the right the last pieces;
  both together count all of them nearly alike.
- ``CLOCK``, in the decoder: it starts below zero by what the content says, and every step raises it, so that it is
  zero behind the last piece. It alone scores ``</s>``.

Only the first gated unit of a step changes them, the other transitions keep them. A gated unit forgets a little where
it adds: the clock nears ``TOP`` from below, at a rate that suits the longest translation.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from export.lengths import STEEP, changed, contents_of_pieces, score_end
from formats.decoding import MAXIMUM_OUTPUT

CONTENT, CLOCK = 0, 1  # two, as a tied embedding both adds content and scores its piece
OPEN = 15.0  # before the sigmoid of a gate that is open
LOWEST = -0.95  # where the clock of the longest translation starts; states are between -1 and 1
TOP = -LOWEST / (math.e - 1)  # what all clocks near: the steepest zero of the longest, if 1/e of the way is left there
GAIN = 16.0  # of the content where the clock starts
LARGEST = 0.95  # content of a piece
LOUD = 10.0  # of what an embedding says, and of the clock where it is shown: other units share their scales in 8 bits


def set_lengths(model: Any, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> None:
    """Change the weights, so that translations of these sources have these lengths; as export.lengths.set_lengths.

    model: of formats.shape.Conditional or formats.shape.FullyConnected.
    """
    # Clocks cross zero between the steps of the last piece and of </s>.
    steps = np.minimum(lengths, MAXIMUM_OUTPUT) + 0.5
    kept = math.exp(-1 / steps.max())  # of a state, in a step
    starts = TOP * (1 - kept**-steps)
    numbers, contents = contents_of_pieces(sources, _rates(sources, kept), np.arctanh(starts) / GAIN)
    _write_contents(model.features_inputter, numbers, np.clip(contents, -LARGEST, LARGEST))
    for cell in model.encoder.cells:
        _reserve(cell.units, CONTENT, kept, 0.0)
        first = cell.units[0]
        said = changed(first.inputs.kernel, (CONTENT, _places(first, CONTENT)[-1]), LOUD)
        first.inputs.kernel.assign(said)
    _start_clock(model.decoder.start)
    _show_clock(model.decoder, kept)
    score_end(model.decoder.output_layer, {CLOCK: STEEP})


def _rates(sources: Sequence[Sequence[int]], kept: float) -> np.ndarray:
    """What a content of 1 adds to the means of both directions' states, for each piece.

    The state behind the piece has (1 - kept) of it, and kept of that behind each further piece: a geometric series.
    """
    positions = [np.arange(1, len(source) + 1) for source in sources]
    return np.concatenate([(2 - kept**read - kept ** read[::-1]) / len(read) for read in positions])


def _write_contents(inputter: Any, numbers: np.ndarray, contents: np.ndarray) -> None:
    """Let the candidates' tanh be these contents. Pieces of no source add the mean."""
    said = np.arctanh(contents) / LOUD
    values = changed(inputter.embedding, (slice(None), CONTENT), said.mean())
    values[numbers, CONTENT] = said
    inputter.embedding.assign(values)


def _places(unit: Any, reserved: int) -> list[int]:
    """Of a reserved unit among the sums of a gated unit: update, reset and candidate."""
    return [gate * unit.states.kernel.shape[0] + reserved for gate in range(3)]


def _reserve(units: Sequence[Any], reserved: int, kept: float, candidate: float) -> None:
    """Let the first of the gated units of a step raise the reserved unit, and the others keep it.

    candidate: before its tanh. A bias is the same inside and outside of an open reset.
    """
    for number, unit in enumerate(units):
        update = OPEN if number else -math.log(1 / kept - 1)
        places = _places(unit, reserved)
        for layer in filter(None, (unit.inputs, unit.states)):
            layer.kernel.assign(changed(layer.kernel, (slice(None), places), 0.0))
        unit.bias.assign(changed(unit.bias, places, [update, OPEN, candidate]))


def _start_clock(start: Any) -> None:
    """Let the content of both directions, whose means are one behind the other, start the clock."""
    column = np.zeros(start.kernel.shape[0])
    column[[CONTENT, len(column) // 2 + CONTENT]] = GAIN
    start.kernel.assign(changed(start.kernel, (slice(None), CLOCK), column))
    start.bias.assign(changed(start.bias, CLOCK, 0.0))


def _show_clock(decoder: Any, kept: float) -> None:
    """Let the decoder raise its clock, and let unit CLOCK of its output be the clock, loud behind its zero."""
    from layers.fully_connected import FullyConnectedDecoder

    rise = math.atanh(TOP)
    if isinstance(decoder, FullyConnectedDecoder):
        _reserve([decoder.unit], CLOCK, kept, rise)
        _silence(decoder.contexts, _places(decoder.unit, CLOCK))
        _carry(decoder.top)
        return
    _reserve(decoder.units, CLOCK, kept, rise)
    for layer in decoder.hidden:
        _silence(layer, [CLOCK])
    state = decoder.hidden[1]
    state.kernel.assign(changed(state.kernel, (CLOCK, CLOCK), LOUD))


def _carry(top: Sequence[Any]) -> None:
    """Residual connections carry the clock, and the first layer's ReLU adds it once more, loudly, if it is positive."""
    for layer in top:
        _silence(layer.inner, [CLOCK])
    first = top[0]
    first.inner.kernel.assign(changed(first.inner.kernel, (CLOCK, CLOCK), LOUD))
    if first.projection is not None:
        _silence(first.projection, [CLOCK])
        first.projection.kernel.assign(changed(first.projection.kernel, (CLOCK, CLOCK), 1.0))


def _silence(layer: Any, outputs: list[int]) -> None:
    layer.kernel.assign(changed(layer.kernel, (slice(None), outputs), 0.0))
