"""The Pareto front: the points that no other point beats in both speed and quality."""

from collections.abc import Sequence


def dominates(point: tuple[float, float], other: tuple[float, float]) -> bool:
    """At least as good in both, better in one. More is better."""
    return point[0] >= other[0] and point[1] >= other[1] and point != other


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points (speed, quality) no point dominates; equal points are on the front together.

    From the fastest point to the slowest, a point is on the front if its quality is the best so far. Where several
    are equally fast, the best of them comes first.
    """
    on_front = [False] * len(points)
    last, best = None, float("-inf")
    for number in sorted(range(len(points)), key=lambda number: points[number], reverse=True):
        if points[number][1] > best or points[number] == last:
            on_front[number] = True
            last, best = points[number], points[number][1]
    return on_front
