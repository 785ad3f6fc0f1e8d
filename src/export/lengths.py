"""Random weights that end translations where they should: with as many pieces as the references have.

How long translations are decides what a search costs, and how much their lengths differ decides what a batch costs an
engine that goes on until the longest is done. So an untrained model must not say 30 pieces to everything. Three of its
units are set apart (nothing but what follows writes into them; all engines compute as ever, and just as much):

- the decoder's ``clock`` has its position, a slow sine of the position encoding that rises from piece to piece;
- the encoder's ``content`` has a slow sine, too, and what each source piece adds; one head of the first decoder layer
  looks at all of the source alike, and takes the mean from the clock;
- ``still`` is all but zero in both, and what others are held against, as layer normalization moves all alike.

``</s>`` is scored by the clock, far below all pieces before it is zero, and far above them after. What the source
pieces add is found by least squares, so that the clock of each sentence is zero behind the last piece of its reference.
Other sentences are about as long as their sources.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from formats.decoding import MAXIMUM_OUTPUT

# Where 8 bits round: of a row to 1/127 of its largest value. So that the few values that count are large in theirs:
LOUD = 10.0  # times: content and clock, where they are normalized, and the clock, while it is an attention's output
STEEP = 300.0  # the weight of the clock in the score of </s>
RIDGE = 1e-3  # on what the source pieces add, of the mean diagonal: two sentences of equal pieces may differ
END = 2  # </s> in OpenNMT-tf's vocabularies
CHUNK = 64  # sentences that the encoder reads at a time


class Units(NamedTuple):
    clock: int
    content: int
    still: int


def units(depth: int, longest: int) -> Units:
    """Sines of OpenNMT-tf's position encoding that rise up to the longest translation, and the slowest one."""
    slowest = depth // 2 - 1
    clock = math.ceil(math.log(longest + 1, 10_000) * slowest)  # so that its angle there is at most 1
    return Units(clock, clock + 1, slowest)


def sine(positions: np.ndarray, unit: int, depth: int) -> np.ndarray:
    return np.sin(positions * 10_000.0 ** (-unit / (depth // 2 - 1)))


def set_lengths(model: Any, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> None:
    """Change the weights of an OpenNMT-tf Transformer, so that its translations of these sources end where they should.

    sources: numbers of the pieces of sentences, none of them empty; lengths: pieces of each translation, </s> not
    counted; above MAXIMUM_OUTPUT they are cut there, as everywhere. All weights but those of the units stay as they
    were drawn.
    """
    lengths = np.minimum(lengths, MAXIMUM_OUTPUT)
    depth = model.encoder.num_units
    own = units(depth, lengths.max())
    _set_apart(model, own)
    # Between the steps that say the last piece and </s>; the first step has position 1.
    wanted = sine(lengths + 0.5, own.clock, depth)
    given, rates = _encoded(model, sources, own)
    slope = (given @ wanted) / (given @ given)
    _say(model, own, slope)
    numbers, columns = np.unique(np.concatenate(sources), return_inverse=True)
    rows = np.repeat(np.arange(len(sources)), [*map(len, sources)])
    bags = np.zeros((len(sources), len(numbers)))
    np.add.at(bags, (rows, columns), rates)
    gram = bags @ bags.T
    gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram)
    added = bags.T @ np.linalg.solve(gram, wanted / slope - given)
    embedding = model.features_inputter.embedding
    values = embedding.numpy()
    values[numbers, own.content] = added / math.sqrt(depth)  # the encoder multiplies by it
    embedding.assign(values)


def _set_apart(model: Any, own: Units) -> None:
    """Nothing writes into the units, neither embeddings nor layers, and the score of </s> reads the clock alone."""
    layers = [*model.encoder.layers, *model.decoder.layers]
    attentions = [layer.self_attention.layer for layer in layers]
    attentions += [layer.attention[0].layer for layer in model.decoder.layers]
    for dense in [*(one.linear_output for one in attentions), *(layer.ffn.layer.outer for layer in layers)]:
        dense.kernel.assign(_with(dense.kernel, (slice(None), list(own)), 0.0))
    for inputter in (model.features_inputter, model.labels_inputter):
        inputter.embedding.assign(_with(inputter.embedding, (slice(None), list(own)), 0.0))
    output = model.decoder.output_layer
    kernel = output.kernel.numpy().T if output.transpose else output.kernel.numpy()
    kernel[:, END] = 0.0
    kernel[[own.clock, own.still], END] = STEEP, -STEEP
    output.kernel.assign(kernel.T if output.transpose else kernel)
    for norm, unit in ((model.encoder.layer_norm, own.content), (model.decoder.layer_norm, own.clock)):
        norm.gamma.assign(_with(norm.gamma, [unit, own.still], LOUD))


def _encoded(model: Any, sources: Sequence[Sequence[int]], own: Units) -> tuple[np.ndarray, np.ndarray]:
    """The mean of content over still of each sentence; of each piece what a content of 1 adds to that mean."""
    import tensorflow as tf

    depth = model.encoder.num_units
    given, rates = [], []
    for start in range(0, len(sources), CHUNK):
        batch = tf.ragged.constant([list(source) for source in sources[start : start + CHUNK]])
        embedded = tf.nn.embedding_lookup(model.features_inputter.embedding, batch.to_tensor())
        memory, *_ = model.encoder(embedded, sequence_length=batch.row_lengths())
        for length, states in zip(batch.row_lengths().numpy(), memory.numpy(), strict=True):
            there = states[:length, own.content] - states[:length, own.still]
            positions = np.arange(1, length + 1)
            put = sine(positions, own.content, depth) - sine(positions, own.still, depth)
            given.append(there.mean())
            rates.append(there / put / length)
    return np.array(given, float), np.concatenate(rates).astype(float)


def _say(model: Any, own: Units, slope: float) -> None:
    """The first head of the first decoder layer takes the mean of content over still, times slope, off the clock."""
    attention = model.decoder.layers[0].attention[0].layer
    queries, values, output = attention.linear_queries, attention.linear_values, attention.linear_output
    queries.kernel.assign(_with(queries.kernel, (slice(None), slice(attention.num_units_per_head)), 0.0))
    column = np.zeros(model.encoder.num_units)
    column[[own.content, own.still]] = LOUD * slope, -LOUD * slope
    values.kernel.assign(_with(values.kernel, (slice(None), 0), column))
    output.kernel.assign(_with(output.kernel, 0, 0.0))
    output.kernel.assign(_with(output.kernel, (0, own.clock), -1 / LOUD))


def _with(variable: Any, place: Any, value: Any) -> np.ndarray:
    """The values of a variable, with others at one place."""
    values = variable.numpy()
    values[place] = value
    return values
