"""Random weights of recurrent models whose translations end at the right length, as export.lengths for Transformers.

One unit of three layers is reserved; nothing else writes into it, and all engines compute as usual.

- ``content``, in the encoder's first layer, forwards: its state sums what each source piece adds, an embedding's unit.
- ``clock``, in the decoder's last layer: the bridge starts it below zero by what the content says, and every step
  raises it by the same amount, so that it is zero behind the last piece.
- The attention's output copies the clock, and the clock alone scores ``</s>``.

A GRU forgets a little in each step, as it cannot add without: the clock nears 1 from below, and earlier pieces of a
source count less than later ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from common.errors import UserError
from export.lengths import STEEP, changed, contents_of_pieces, score_end
from formats.decoding import MAXIMUM_OUTPUT

OPEN = 15.0  # before the sigmoid of a gate that is open
RISE = 0.05  # of an LSTM's clock, a step
KEEP = 4.0  # before the sigmoid of what a GRU keeps of its state in a step
GAIN = {"lstm": 1.0, "gru": 8.0}  # of the bridge: contents are between -1 and 1
LARGEST = 0.95  # content of a piece
CANDIDATE = 2  # of input, forget, candidate and output; of update, reset and candidate
UNIT = 0  # the one that is reserved everywhere


def set_lengths(model: Any, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> None:
    """Change the weights, so that translations of these sources have these lengths; as export.lengths.set_lengths.

    model: of formats.shape.Recurrent. Raises UserError for one whose bridge copies: it has no weights to start a clock.
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


def _starts(kind: str, lengths: np.ndarray) -> np.ndarray:
    """Where the clocks begin, so that they cross zero between the steps of the last piece and of </s>."""
    steps = lengths + 0.5
    return -RISE * steps if kind == "lstm" else 1 - _kept() ** -steps


def _kept() -> float:
    return 1 / (1 + np.exp(-KEEP))


def _contents(kind: str, sources: Sequence[Sequence[int]], sums: np.ndarray) -> dict[int, float]:
    """What each piece adds, so that the states behind the sources are these sums."""
    left = np.concatenate([np.arange(len(source))[::-1] for source in sources])  # pieces that follow
    weights = np.ones(len(left)) if kind == "lstm" else (1 - _kept()) * _kept() ** left
    numbers, found = contents_of_pieces(sources, weights, sums)
    found = np.clip(found, -LARGEST, LARGEST)
    return dict(zip(numbers.tolist(), np.arctanh(found).tolist(), strict=True))


def _reserve(cell: Any, kind: str, content: bool) -> None:
    """Let the unit add up what an embedding's unit says, or the same in each step."""
    gates = {"lstm": 4, "gru": 3}[kind]
    places = [gate * cell.units + UNIT for gate in range(gates)]
    for weights in (cell.kernel, cell.recurrent_kernel):
        weights.assign(changed(weights, (slice(None), places), 0.0))
    if content:
        cell.kernel.assign(changed(cell.kernel, (UNIT, places[CANDIDATE]), 1.0))
    rise = np.arctanh(RISE) if kind == "lstm" else OPEN  # before the candidate's tanh
    inside = 0.0 if content else rise
    values = [OPEN, OPEN, inside, OPEN] if kind == "lstm" else [KEEP, OPEN, inside]
    place = (slice(None), places) if kind == "gru" else places
    cell.bias.assign(changed(cell.bias, place, [values, [0.0] * gates] if kind == "gru" else values))


def _write_contents(inputter: Any, contents: dict[int, float]) -> None:
    """Pieces of no source add the mean."""
    values = inputter.embedding.numpy()
    values[:, UNIT] = np.mean([*contents.values()])
    values[[*contents], UNIT] = [*contents.values()]
    inputter.embedding.assign(values)


def _start_clock(model: Any, kind: str) -> None:
    """Let the bridge start the clock with the content. States are h and c of each layer in an LSTM, h in a GRU."""
    linear, units, layers = model.decoder.bridge.linear, model.decoder.cell.output_size, model.decoder.cell._cell.cells
    content = units + UNIT if kind == "lstm" else UNIT
    clock = (2 * len(layers) - 1 if kind == "lstm" else len(layers) - 1) * units + UNIT
    kernel = changed(linear.kernel, (slice(None), clock), 0.0)
    kernel[content, clock] = GAIN[kind]
    linear.kernel.assign(kernel)
    linear.bias.assign(changed(linear.bias, clock, 0.0))


def _score_end(model: Any) -> None:
    attention = model.decoder.cell._attention_layers[0]
    kernel = changed(attention.kernel, (slice(None), UNIT), 0.0)
    kernel[UNIT, UNIT] = 1.0
    attention.kernel.assign(kernel)
    score_end(model.decoder.output_layer, {UNIT: STEEP})
