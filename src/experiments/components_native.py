"""Where the native engine's time goes, by its own clock, in the components of experiments.components.

The engine reads the CPU's clock around each of its steps and adds up twelve components, which are grouped here:

    encoder     encoder products, encoder attention, encoder rows (layer normalisation, quantisation)
    decoder     embeddings (of both sides), decoder products, self-attention, decoder rows
    attention   memory (the keys and values that decoder layers make of the encoder's output), encoder-decoder attention
    generator   candidates (gathering the output layer's rows), output layer
    search      search

In a recurrent model the products of cells and the gates between them are those of encoder and decoder, and there is no
self-attention; memory holds the keys of its one attention.

The projections of queries and outputs around encoder-decoder attention are products of the decoder here, while the
other two engines count them as attention. Nothing is left over for *other*.

By operators, the softmax of attention is part of its products, and the softmax of a beam part of its search.
"""

from itertools import product
from pathlib import Path
from typing import Any

from decode import engines
from decode.engines import Batch, Search
from decode.engines.native import Native
from experiments import component_rows
from experiments.component_rows import Profile
from measure.in_process import Conditions
from measure.usage import watch

GROUPS = {
    "encoder": ("encoder products", "encoder attention", "encoder rows"),
    "decoder": ("embeddings", "decoder products", "self-attention", "decoder rows"),
    "attention": ("memory", "encoder-decoder attention"),
    "generator": ("candidates", "output layer"),
    "search": ("search",),
    "other": (),
}
OPERATORS = {
    "linear": ("encoder products", "memory", "decoder products", "output layer"),
    "attention": ("encoder attention", "self-attention", "encoder-decoder attention"),
    "activations": ("encoder rows", "decoder rows"),
    "other": ("embeddings", "candidates", "search"),
}


def grouped(shares: dict[str, float], groups: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """The share of each group from those of the engine's own components."""
    return {name: sum((shares[part] for part in parts), 0.0) for name, parts in groups.items()}


def profiled(engine: Native, batches: list[Batch], core: int) -> Profile:
    """Decode the batches with the clock on."""
    with watch([core]) as usage:
        shares = engine.components(batches)
    return Profile(**vars(usage), shares=grouped(shares, GROUPS), operators=grouped(shares, OPERATORS))


def rows(
    models: list[Path], beam_sizes: list[int], batches: list[Batch], conditions: Conditions
) -> list[dict[str, Any]]:
    """A row for each model and beam, and for each beam of the last model with its map, if it has one.

    Raises UserError for a folder of another engine.
    """
    mapped = [engines.describe_for(model, Native)["vocabulary_map"] for model in models]
    ways = [(model, Search(beam)) for model, beam in product(models, beam_sizes)]
    ways += [(models[-1], Search(beam, vocabulary_map=True)) for beam in beam_sizes if mapped[-1]]
    return [component_rows.row(model, search, "clock", profiled, batches, conditions) for model, search in ways]
