"""Where the native engine's time goes, by its own clock; rows of components for engines with a clock or profiler.

The engine reads the CPU's clock around each step and adds up twelve components, grouped as GROUPS and OPERATORS. *Rows*
are layer normalisation and quantisation, *memory* the keys and values that decoder layers make of the encoder's output,
*candidates* the gathering of the output layer's rows, *embeddings* those of both sides. In a recurrent model cells and
gates count as products and rows of encoder and decoder.

The projections around encoder-decoder attention are products of the decoder here, but attention in the other two
engines. The softmax of attention is part of its products, the softmax of a beam part of its search.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import convert

from formats.spread import Spread
from measure import in_process, timing_loop
from measure.in_process import Session
from measure.timing_loop import Usage, watch
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Batch, Engine, Search
from nmt_frontier.search.native import Native
from papers.wnmt2018.documents import CLOCK, ComponentsRow

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


@dataclass
class Profile(Usage):
    """Shares in the time. shares: of each of COMPONENTS; operators: of those of OPERATORS that can be told apart."""

    shares: dict[str, float] = field(default_factory=dict)
    operators: dict[str, float] = field(default_factory=dict)


Profiled = Callable[[Any, list[Batch], int], Profile]  # decodes batches in its engine on a core, with a clock


def row(
    model: Path, search: Search, how: str, profiled: Profiled, batches: list[Batch], session: Session
) -> ComponentsRow:
    """Shares of the components, and times of decoding without the clock; both take turns. how: kind of clock."""
    engine = loading.load(model, search)
    engine.translate(batches[0])  # warm-up
    ways: dict[str, Callable[[int], Usage]] = {
        "profiled": lambda _: profiled(engine, batches, session.core),
        "bare": functools.partial(in_process.watched, lambda: decode(engine, batches), [session.core]),
    }
    usages = timing_loop.timed(ways, session, f"{engine.label}, beam {search.beam_size}")
    profiles, bare = [usage for usage in usages["profiled"] if isinstance(usage, Profile)], usages["bare"]
    costs = [profile.seconds / usage.seconds - 1 for profile, usage in zip(profiles, bare, strict=True)]
    description = loading.describe(model)
    made = {
        "engine": engine.name,
        "engine_label": engine.label,
        "engine_version": engine.version,
        "how": how,
        "system": description.system,
        "shape": description.shape,
        "compute_type": engine.effective_compute_type,
        "beam_size": search.beam_size,
        "vocabulary_map": search.vocabulary_map,
        **in_process.seconds(bare, "cpu_seconds"),
        "others": in_process.others([*profiles, *bare]),
        "profiler_costs": Spread.of(costs).middle,
        "shares": spreads([profile.shares for profile in profiles]),
        "operators": spreads([profile.operators for profile in profiles]),
    }
    return convert(made, ComponentsRow)


def spreads(shares: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """The spread of the share of each part over all runs."""
    return {name: Spread.of(of_run[name] for of_run in shares).fields("share") for name in shares[0]}


def decode(engine: Engine, batches: list[Batch]) -> None:
    for batch in batches:
        engine.translate(batch)


def grouped(shares: dict[str, float], groups: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """The share of each group from those of the engine's components."""
    return {name: sum((shares[part] for part in parts), 0.0) for name, parts in groups.items()}


def profiled(engine: Native, batches: list[Batch], core: int) -> Profile:
    """Decode the batches with the clock on."""
    with watch([core]) as usage:
        shares = engine.components(batches)
    return Profile(**vars(usage), shares=grouped(shares, GROUPS), operators=grouped(shares, OPERATORS))


def rows(models: list[Path], beam_sizes: list[int], batches: list[Batch], session: Session) -> list[ComponentsRow]:
    """A row for each model, beam and, of the last model, map. Raises UserError for a folder of another engine."""
    mapped = [loading.describe_for(model, Native).vocabulary_map for model in models]
    ways = [(model, Search(beam)) for model, beam in product(models, beam_sizes)]
    ways += [(models[-1], Search(beam, vocabulary_map=True)) for beam in beam_sizes if mapped[-1]]
    return [row(model, search, CLOCK, profiled, batches, session) for model, search in ways]
