"""Random weights of recurrent models whose translations end at the right length, as export.lengths for Transformers.

Nothing else writes into the units that are reserved, and all engines compute as usual. With Luong's attention it is one
unit of three layers:

- ``content``, in the encoder's first layer, forwards: its state sums what each source piece adds, an embedding's unit.
- ``clock``, in the decoder's last layer: the bridge starts it below zero by the content, and every step raises it by
  the same amount, so that it is zero behind the last piece.
- The attention's output copies the clock, and the clock alone scores ``</s>``.

A GRU cannot add without forgetting a little: the clock nears 1 from below, and earlier pieces of a source count less.

In the models of layers.conditional_gru and layers.fully_connected, whose decoder's state begins with the mean of the
encoder's outputs, it is two units:

- ``CONTENT``, of embeddings and in both directions of the encoder: the state adds up the contents of source pieces. The
  mean of a sum that grows from the left counts the first pieces most, one that grows from the right the last pieces;
  both together count all of them nearly alike.
- ``CLOCK``, in the decoder: it starts below zero by the content, every step raises it, so that it is zero behind the
  last piece, and it alone scores ``</s>``.

Only the first gated unit of a step changes them; the other transitions keep them. A gated unit forgets a little where
it adds: the clock nears ``TOP`` from below, at a rate that suits the longest translation.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.lengths import STEEP, contents_of_pieces, put, score_end
from nmt_frontier.errors import UserError
from nmt_frontier.limits import MAXIMUM_OUTPUT

OPEN = 15.0  # before the sigmoid of a gate that is open
RISE = 0.05  # of an LSTM's clock, a step
KEEP = 4.0  # before the sigmoid of what a GRU keeps of its state in a step
GAIN = {"lstm": 1.0, "gru": 8.0}  # of the bridge: contents are between -1 and 1
LARGEST = 0.95  # content of a piece
CANDIDATE = 2  # of input, forget, candidate and output; of update, reset and candidate
UNIT = 0  # the one that is reserved everywhere

CONTENT, CLOCK = 0, 1  # two, as a tied embedding both adds content and scores its piece
LOWEST = -0.95  # where the clock of the longest translation starts; states are between -1 and 1
TOP = -LOWEST / (math.e - 1)  # what all clocks near: the steepest zero of the longest, if 1/e of the way is left there
ATTENDING_GAIN = 16.0  # of the content where the clock starts
LOUD = 10.0  # of a content in embeddings and of the clock where it is scored: other units share their scales in 8 bits


def set_lengths(model: Any, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> None:
    """Change the weights, so that translations of these sources have these lengths; as export.lengths.set_lengths.

    model: of formats.shape.RecurrentShape. Raises UserError for one whose bridge copies, as it cannot start a clock.
    """
    if not hasattr(model.decoder.bridge, "linear"):
        raise UserError("an untrained model whose decoder begins with copies of the encoder's states has no lengths")
    cell = _cell(model.decoder.cell._cell.cells[-1])
    kind = "gru" if cell.bias.shape.rank == 2 else "lstm"  # Keras's GRU has two biases
    starts = _starts(kind, np.minimum(lengths, MAXIMUM_OUTPUT))
    contents = _contents(kind, sources, starts / GAIN[kind])
    layer = model.encoder.rnn.rnn
    first = _cell(getattr(layer, "forward_layer", layer).cell.cells[0])
    _reserve(first, kind, content=True)
    _reserve(cell, kind, content=False)
    _write_contents(model.features_inputter, contents)
    _start_clock(model, kind)
    _score_end(model)


def _cell(wrapper: Any) -> Any:
    return getattr(wrapper, "cell", wrapper)  # OpenNMT-tf wraps cells where there is dropout


def _starts(kind: str, lengths: NDArray[Any]) -> NDArray[Any]:
    """Where the clocks begin, so that they cross zero between the steps of the last piece and of </s>."""
    steps = lengths + 0.5
    return -RISE * steps if kind == "lstm" else 1 - _kept() ** -steps


def _kept() -> float:
    return float(1 / (1 + np.exp(-KEEP)))


def _contents(kind: str, sources: Sequence[Sequence[int]], sums: NDArray[Any]) -> dict[int, float]:
    """What each piece adds, so that the states behind the sources are these sums."""
    left = np.concatenate([np.arange(len(source))[::-1] for source in sources])  # pieces that follow
    weights = np.ones(len(left)) if kind == "lstm" else (1 - _kept()) * _kept() ** left
    numbers, found = contents_of_pieces(sources, weights, sums)
    found = np.clip(found, -LARGEST, LARGEST)
    return dict(zip(numbers.tolist(), np.arctanh(found).tolist(), strict=True))


def _reserve(cell: Any, kind: str, content: bool) -> None:
    """Let the unit add up its content in the embeddings, or a constant in each step."""
    gates = {"lstm": 4, "gru": 3}[kind]
    places = [gate * cell.units + UNIT for gate in range(gates)]
    for weights in (cell.kernel, cell.recurrent_kernel):
        put(weights, (slice(None), places), 0.0)
    if content:
        put(cell.kernel, (UNIT, places[CANDIDATE]), 1.0)
    rise = np.arctanh(RISE) if kind == "lstm" else OPEN  # before the candidate's tanh
    inside = 0.0 if content else rise
    values = [OPEN, OPEN, inside, OPEN] if kind == "lstm" else [KEEP, OPEN, inside]
    place = (slice(None), places) if kind == "gru" else places
    put(cell.bias, place, [values, [0.0] * gates] if kind == "gru" else values)


def _write_contents(inputter: Any, contents: dict[int, float]) -> None:
    """Pieces of no source add the mean."""
    put(inputter.embedding, (slice(None), UNIT), np.mean([*contents.values()]))
    put(inputter.embedding, ([*contents], UNIT), [*contents.values()])


def _start_clock(model: Any, kind: str) -> None:
    """Let the bridge start the clock with the content. States are h and c of each layer in an LSTM, h in a GRU."""
    linear, units, layers = model.decoder.bridge.linear, model.decoder.cell.output_size, model.decoder.cell._cell.cells
    content = units + UNIT if kind == "lstm" else UNIT
    clock = (2 * len(layers) - 1 if kind == "lstm" else len(layers) - 1) * units + UNIT
    put(linear.kernel, (slice(None), clock), 0.0)
    put(linear.kernel, (content, clock), GAIN[kind])
    put(linear.bias, clock, 0.0)


def _score_end(model: Any) -> None:
    (attention, *_) = model.decoder.cell._attention_layers
    _silence(attention, [UNIT])
    put(attention.kernel, (UNIT, UNIT), 1.0)
    score_end(model.decoder.output_layer, {UNIT: STEEP})


def set_attending_lengths(model: Any, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> None:
    """Change the weights, so that translations of these sources have these lengths; as export.lengths.set_lengths.

    model: of formats.shape.ConditionalShape or formats.shape.FullyConnectedShape.
    """
    # Clocks cross zero between the steps of the last piece and of </s>.
    steps = np.minimum(lengths, MAXIMUM_OUTPUT) + 0.5
    kept = math.exp(-1 / steps.max())  # of a state, in a step
    starts = TOP * (1 - kept**-steps)
    numbers, contents = contents_of_pieces(sources, _rates(sources, kept), np.arctanh(starts) / ATTENDING_GAIN)
    _write_attending_contents(model.features_inputter, numbers, np.clip(contents, -LARGEST, LARGEST))
    for cell in model.encoder.cells:
        _reserve_attending(cell.units, CONTENT, kept, 0.0)
        first = cell.units[0]
        put(first.inputs.kernel, (CONTENT, _places(first, CONTENT)[-1]), LOUD)
    _start_attending_clock(model.decoder.start)
    _show_clock(model.decoder, kept)
    score_end(model.decoder.output_layer, {CLOCK: STEEP})


def _rates(sources: Sequence[Sequence[int]], kept: float) -> NDArray[Any]:
    """What a content of 1 adds to the means of both directions' states, for each piece.

    The state behind the piece has (1 - kept) of it, and kept of that behind each further piece: a geometric series.
    """
    positions = [np.arange(1, len(source) + 1) for source in sources]
    return np.concatenate([(2 - kept**read - kept ** read[::-1]) / len(read) for read in positions])


def _write_attending_contents(inputter: Any, numbers: NDArray[Any], contents: NDArray[Any]) -> None:
    """Let the candidates' tanh be these contents. Pieces of no source add the mean."""
    stored = np.arctanh(contents) / LOUD
    put(inputter.embedding, (slice(None), CONTENT), stored.mean())
    put(inputter.embedding, (numbers, CONTENT), stored)


def _places(unit: Any, reserved: int) -> list[int]:
    """Where the update, reset and candidate of the reserved unit are among a gated unit's sums."""
    return [gate * unit.states.kernel.shape[0] + reserved for gate in range(3)]


def _reserve_attending(units: Sequence[Any], reserved: int, kept: float, candidate: float) -> None:
    """Let the first gated unit of a step raise the reserved unit, and the others keep it.

    candidate: before its tanh. With an open reset, a bias inside and outside of it does the same.
    """
    for number, unit in enumerate(units):
        update = OPEN if number else -math.log(1 / kept - 1)
        places = _places(unit, reserved)
        for layer in filter(None, (unit.inputs, unit.states)):
            put(layer.kernel, (slice(None), places), 0.0)
        put(unit.bias, places, [update, OPEN, candidate])


def _start_attending_clock(start: Any) -> None:
    """Let the content of both directions, whose means are one behind the other, start the clock."""
    column = np.zeros(start.kernel.shape[0])
    column[[CONTENT, len(column) // 2 + CONTENT]] = ATTENDING_GAIN
    put(start.kernel, (slice(None), CLOCK), column)
    put(start.bias, CLOCK, 0.0)


def _show_clock(decoder: Any, kept: float) -> None:
    """Let the decoder raise its clock, and let unit CLOCK of its output be the clock, loud behind its zero."""
    from layers.fully_connected import FullyConnectedDecoder

    rise = math.atanh(TOP)
    if isinstance(decoder, FullyConnectedDecoder):
        _reserve_attending([decoder.unit], CLOCK, kept, rise)
        _silence(decoder.contexts, _places(decoder.unit, CLOCK))
        _carry(decoder.top)
        return
    _reserve_attending(decoder.units, CLOCK, kept, rise)
    for layer in decoder.hidden:
        _silence(layer, [CLOCK])
    state = decoder.hidden[1]
    put(state.kernel, (CLOCK, CLOCK), LOUD)


def _carry(top: Sequence[Any]) -> None:
    """Residual connections carry the clock, and the first layer's ReLU adds it once more, loudly, if it is positive."""
    for layer in top:
        _silence(layer.inner, [CLOCK])
    first = top[0]
    put(first.inner.kernel, (CLOCK, CLOCK), LOUD)
    if first.projection is not None:
        _silence(first.projection, [CLOCK])
        put(first.projection.kernel, (CLOCK, CLOCK), 1.0)


def _silence(layer: Any, outputs: list[int]) -> None:
    put(layer.kernel, (slice(None), outputs), 0.0)
