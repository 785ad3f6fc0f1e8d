"""The bounds of filters, by pairs of which it is known whether they are good (benchmarks/filters.py)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

Drops = NDArray[np.bool_]  # of each pair: whether a filter drops it, or something else that is true or false
Numbers = NDArray[np.float64]

CANDIDATES = 400  # bounds of the first of two scores that are tried
STEPS, RIDGE = 25, 1.0  # of the logistic regression


@dataclass(frozen=True)
class Filter:
    """Drops the pairs that its rules drop, and those below the bound of one of its scores, of which it has two at most.

    pairs: that it is measured on, which have all scores. chosen: those that choose its bounds, if others.
    """

    name: str
    ruled: Drops
    pairs: Drops
    scores: dict[str, Numbers] = field(default_factory=dict)
    chosen: Drops | None = None


def dropped(each: Filter, bounds: dict[str, float]) -> Drops:
    found = each.ruled.copy()
    for name, bound in bounds.items():
        found |= each.scores[name] < bound
    return found


def bounds(
    each: Filter, noise: Drops, pairs: Drops, found: float | None = None, lost: float | None = None
) -> dict[str, float] | None:
    """Those that drop the share ``found`` of the noise and the fewest good pairs, or at most the share ``lost`` of the
    good pairs and the most noise. None if the rules drop more good pairs alone.

    pairs: by which they are chosen.
    """
    tried = [*_tried(each, noise, pairs, found, lost)]
    better = (lambda cost: -cost[1]) if found else (lambda cost: cost[0])
    costs = [(_share(each, chosen, noise & pairs), _share(each, chosen, ~noise & pairs)) for chosen in tried]
    allowed = [place for place, cost in enumerate(costs) if lost is None or cost[1] <= lost]
    return tried[max(allowed, key=lambda place: better(costs[place]))] if allowed else None


def _share(each: Filter, chosen: dict[str, float], pairs: Drops) -> float:
    return float(dropped(each, chosen)[pairs].mean())


def _tried(
    each: Filter, noise: Drops, pairs: Drops, found: float | None, lost: float | None
) -> Iterator[dict[str, float]]:
    """Bounds that just reach the share: of one score, or for each of many bounds of the first that of the second."""
    *first, last = each.scores
    drop, share, most = (noise & pairs, found, False) if found else (~noise & pairs, lost, True)
    assert share is not None
    number = int(share * drop.sum()) if most else int(np.ceil(share * drop.sum()))
    starts: list[dict[str, float]] = [{}]
    if first:
        values = each.scores[first[0]][noise & pairs & ~each.ruled]
        starts = [{first[0]: float(value)} for value in np.quantile(values, np.linspace(0, 1, CANDIDATES))]
    for start in starts:
        already = dropped(each, start)
        rest, missing = np.sort(each.scores[last][drop & ~already]), number - int((drop & already).sum())
        if most and missing >= 0:
            yield start | {last: float(rest[min(missing, len(rest) - 1)])}
        elif not most:
            yield start | {last: float(np.nextafter(rest[missing - 1], np.inf)) if missing > 0 else -np.inf}


def weighed(features: Sequence[Numbers], noise: Drops, pairs: Drops) -> Numbers:
    """The log-odds that each pair is good, by a logistic regression on the features and their products.

    pairs: that it learns from. A pair without a feature has none.
    """
    scaled = [np.clip((each - each[pairs].mean()) / (each[pairs].std() or 1), -5, 5) for each in features]
    products = [one * other for one, other in combinations_with_replacement(scaled, 2)]
    inputs = np.column_stack([np.ones(len(noise)), *scaled, *products])
    weights, wanted, known = np.zeros(inputs.shape[1]), ~noise[pairs], inputs[pairs]
    for _ in range(STEPS):  # Newton's
        good = 1 / (1 + np.exp(-known @ weights))
        curvature = (known * (good * (1 - good))[:, None]).T @ known + RIDGE * np.eye(len(weights))
        weights += np.linalg.solve(curvature, known.T @ (wanted - good) - RIDGE * weights)
    odds: Numbers = inputs @ weights
    return odds
