"""Rows of components for engines that can tell them: shares under the engine's own clock, and its times without."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from decode import engines
from decode.engines import Batch, Engine, Search
from formats.spread import Spread
from measure import in_process, interleave
from measure.in_process import Conditions
from measure.usage import Usage


@dataclass
class Profile(Usage):
    """shares: of each of COMPONENTS in the time; operators: of those of OPERATORS that the clock tells apart."""

    shares: dict[str, float] = field(default_factory=dict)
    operators: dict[str, float] = field(default_factory=dict)


Profiled = Callable[[Engine, list[Batch], int], Profile]  # decodes batches on a core under the engine's own clock


def row(
    model: Path, search: Search, how: str, profiled: Profiled, batches: list[Batch], conditions: Conditions
) -> dict[str, Any]:
    """The shares of the components, and the times of decoding without the clock; the two take turns. how: in a word."""
    engine = engines.load(model, search)
    engine.translate(batches[0])  # warm-up
    usages = interleave.timed(
        {
            "profiled": lambda _: profiled(engine, batches, conditions.core),
            "bare": in_process.watched(lambda: decode(engine, batches), [conditions.core]),
        },
        conditions,
        f"{engine.label}, beam {search.beam_size}",
    )
    profiles, bare = usages["profiled"], usages["bare"]
    costs = [profile.seconds / usage.seconds - 1 for profile, usage in zip(profiles, bare, strict=True)]
    description = engines.describe(model)
    return {
        "engine": engine.name,
        "engine_label": engine.label,
        "engine_version": engine.version,
        "how": how,
        **{name: description.get(name) for name in ("system", "shape")},
        "compute_type": engine.effective_compute_type,
        "beam_size": search.beam_size,
        "vocabulary_map": search.vocabulary_map,
        **in_process.cpu_seconds(bare),
        "others": in_process.others([*profiles, *bare]),
        "profiler_costs": Spread.of(costs).middle,
        "shares": spreads([profile.shares for profile in profiles]),
        "operators": spreads([profile.operators for profile in profiles]),
    }


def spreads(shares: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """The spread over all runs of the share of each part."""
    return {name: Spread.of(of_run[name] for of_run in shares).fields("share") for name in shares[0]}


def decode(engine: Engine, batches: list[Batch]) -> None:
    for batch in batches:
        engine.translate(batch)
