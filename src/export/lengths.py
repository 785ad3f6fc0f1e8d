"""Random weights whose translations end at the right length: they have as many pieces as the references.

The length of translations decides what a search costs, and their spread what a batch costs an engine that waits for its
longest sentence; a model that answers everything with 30 pieces would mislead. So three units are reserved: nothing but
the following writes into them. All engines compute as usual, and as much.

- The decoder's ``clock`` carries its position, a slow sine of the position encoding that rises from piece to piece.
- The encoder's ``content`` carries a slow sine too, plus what each source piece adds. One head of the first decoder
  layer attends to the whole source uniformly, and subtracts the mean from the clock.
- ``still`` is almost zero in both. Clock and content are read relative to it, because layer normalization shifts all
  units alike.

A decoder without self-attention has the clock, too: it comes from the positions, not from what a layer remembers.

The clock scores ``</s>``: far below all pieces while it is negative, far above them once it is positive. What the
source pieces add is a least-squares solution: the clock of each sentence is zero behind the last piece of its
reference. Other sentences come out about as long as their sources.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formats import opennmt_tf
from nmt_frontier.limits import MAXIMUM_OUTPUT

# 8-bit weights round to 1/127 of the largest value of their row. These scale the few values that count to be large:
LOUD = 10.0  # factor of content and clock where they are normalized, and of the clock as an attention's output
STEEP = 300.0  # weight of the clock in the score of </s>
RIDGE = 1e-3  # ridge penalty, as a share of the mean diagonal: two sentences of equal pieces may differ in length
END = opennmt_tf.CONTROL.index("</s>")
CHUNK = 64  # sentences that the encoder reads at a time


class ClockUnits(NamedTuple):
    clock: int
    content: int
    still: int


def reserved_units(depth: int, longest: int) -> ClockUnits:
    """Units of OpenNMT-tf's position encoding whose sines rise up to the longest translation, and the slowest one.

    depth: units of the model; longest: pieces.
    """
    slowest = depth // 2 - 1
    clock = math.ceil(math.log(longest + 1, 10_000) * slowest)  # so that its angle there is at most 1
    return ClockUnits(clock, clock + 1, slowest)


def sine(positions: NDArray[Any], unit: int, depth: int) -> NDArray[Any]:
    """OpenNMT-tf's position encoding (Vaswani et al. 2017, section 3.5; all sines first) in one of its sines."""
    waves: NDArray[Any] = np.sin(positions * 10_000.0 ** (-unit / (depth // 2 - 1)))
    return waves


def set_lengths(model: Any, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> None:
    """Change the weights of an OpenNMT-tf Transformer, so that its translations of these sources have these lengths.

    sources: piece numbers of sentences, none of them empty; lengths: pieces of each translation without </s>, cut at
    MAXIMUM_OUTPUT as everywhere. Besides the weights of the reserved units, only those of one attention head and of
    </s> change.
    """
    cut = np.minimum(lengths, MAXIMUM_OUTPUT)
    depth = model.encoder.num_units
    units = reserved_units(depth, cut.max())
    _reserve(model, units)
    # The clock crosses zero between the steps of the last piece and of </s>; the first step has position 1.
    clocks = sine(cut + 0.5, units.clock, depth)
    means, rates = _encode(model, sources, units)
    slope = (means @ clocks) / (means @ means)
    _subtract_mean(model, units, slope)
    numbers, contents = contents_of_pieces(sources, rates, clocks / slope - means)
    # The encoder multiplies embeddings by the square root.
    put(model.features_inputter.embedding, (numbers, units.content), contents / math.sqrt(depth))


def _reserve(model: Any, units: ClockUnits) -> None:
    """Let neither embeddings nor layers write into the units, and let the clock alone score </s>."""
    layers = [*model.encoder.layers, *model.decoder.layers]
    writers = [layer.attention[0].layer.linear_output for layer in model.decoder.layers]
    writers += [layer.ffn.layer.outer for layer in layers]
    writers += [dense for layer in layers for dense in _look_back(layer.self_attention, units)]
    embeddings = [inputter.embedding for inputter in (model.features_inputter, model.labels_inputter)]
    for weights in (*(dense.kernel for dense in writers), *embeddings):
        put(weights, (slice(None), list(units)), 0.0)
    score_end(model.decoder.output_layer, {units.clock: STEEP, units.still: -STEEP})
    for norm, unit in ((model.encoder.layer_norm, units.content), (model.decoder.layer_norm, units.clock)):
        put(norm.gamma, [unit, units.still], LOUD)


def _look_back(wrapper: Any, units: ClockUnits) -> list[Any]:
    """The layers that write what a sub-layer sees of earlier positions; a mean without layers is made to read zeros."""
    from layers.history_decoder import Averaging, SimpleRecurrence

    layer = wrapper.layer
    if isinstance(layer, SimpleRecurrence):
        return [layer.candidate]
    if not isinstance(layer, Averaging):
        return [layer.linear_output]
    put(wrapper.input_layer_norm.gamma, list(units), 0.0)
    return [] if layer.ffn is None else [layer.ffn.outer]


def _encode(model: Any, sources: Sequence[Sequence[int]], units: ClockUnits) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run the encoder with the sine alone as content.

    Returns, float64 (sentences,), the mean of content less still of each sentence; and, float64 (pieces of all
    sentences,), by how much that mean grows if the piece adds a content of 1.
    """
    import tensorflow as tf

    depth = model.encoder.num_units
    means, rates = [], []
    for start in range(0, len(sources), CHUNK):
        batch = tf.ragged.constant([list(source) for source in sources[start : start + CHUNK]])
        embedded = tf.nn.embedding_lookup(model.features_inputter.embedding, batch.to_tensor())
        memory, *_ = model.encoder(embedded, sequence_length=batch.row_lengths())
        for length, states in zip(batch.row_lengths().numpy(), memory.numpy(), strict=True):
            outputs = states[:length, units.content] - states[:length, units.still]
            positions = np.arange(1, length + 1)
            inputs = sine(positions, units.content, depth) - sine(positions, units.still, depth)
            means.append(outputs.mean())
            rates.append(outputs / inputs / length)
    return np.array(means, float), np.concatenate(rates).astype(float)


def _subtract_mean(model: Any, units: ClockUnits, slope: float) -> None:
    """Let the first head of the first decoder layer subtract slope * mean(content - still) from the clock."""
    attention = model.decoder.layers[0].attention[0].layer
    queries, values, output = attention.linear_queries, attention.linear_values, attention.linear_output
    put(queries.kernel, (slice(None), slice(attention.num_units_per_head)), 0.0)
    column = np.zeros(model.encoder.num_units)
    column[[units.content, units.still]] = LOUD * slope, -LOUD * slope
    put(values.kernel, (slice(None), 0), column)
    put(output.kernel, 0, 0.0)
    put(output.kernel, (0, units.clock), -1 / LOUD)


def contents_of_pieces(
    sources: Sequence[Sequence[int]], rates: NDArray[Any], sums: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What each piece must add, so that the sentences add up to these sums: ridge regression in its dual form.

    rates: by how much a sum grows if the piece adds 1, float64 (pieces of all sentences,); sums: float64 (sentences,).
    Returns the different pieces of the sources and what they add.
    """
    numbers, columns = np.unique(np.concatenate(sources), return_inverse=True)
    rows = np.repeat(np.arange(len(sources)), [*map(len, sources)])
    bags = np.zeros((len(sources), len(numbers)))
    np.add.at(bags, (rows, columns), rates)
    gram = bags @ bags.T  # sentences by sentences
    gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram)
    return numbers, bags.T @ np.linalg.solve(gram, sums)


def score_end(output: Any, weights: dict[int, float]) -> None:
    """Let these units of the decoder's output alone score </s>, with these weights, and let them score nothing else."""
    scores = output.kernel.numpy().T if output.transpose else output.kernel.numpy()
    scores[:, END] = scores[[*weights]] = 0.0
    scores[[*weights], END] = [*weights.values()]
    output.kernel.assign(scores.T if output.transpose else scores)


def put(variable: Any, place: Any, value: Any) -> None:
    """Change a variable of TensorFlow's at one place, as NumPy indexes it."""
    values = variable.numpy()
    values[place] = value
    variable.assign(values)
