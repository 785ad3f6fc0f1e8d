import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.comparison import dominates, pareto

# Few values, so that equal speeds, equal qualities and equal points are common.
POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30)


@pytest.mark.parametrize(
    ("points", "front"),
    [
        ([], []),
        ([(1, 1)], [True]),
        ([(1, 2), (2, 1)], [True, True]),
        ([(1, 1), (2, 2)], [False, True]),
        ([(1, 1), (1, 2)], [False, True]),  # equally fast, one better
        ([(1, 2), (2, 2)], [False, True]),  # equally good, one faster
        ([(1, 1), (1, 1)], [True, True]),  # the same twice
        ([(3, 1), (2, 2), (1, 3), (2, 1)], [True, True, True, False]),
    ],
)
def test_examples(points, front):
    assert pareto(points) == front


@given(POINTS)
def test_a_point_is_on_the_front_if_and_only_if_no_point_dominates_it(points):
    assert pareto(points) == [not any(dominates(other, point) for other in points) for point in points]


@given(POINTS)
def test_every_other_point_is_dominated_by_one_on_the_front(points):
    flags = pareto(points)
    front = [point for point, flag in zip(points, flags, strict=True) if flag]
    others = [point for point, flag in zip(points, flags, strict=True) if not flag]
    assert all(any(dominates(one, other) for one in front) for other in others)


@given(POINTS.flatmap(lambda points: st.tuples(st.just(points), st.permutations(range(len(points))))))
def test_the_order_of_the_points_does_not_matter(case):
    points, order = case
    flags = pareto(points)
    assert pareto([points[at] for at in order]) == [flags[at] for at in order]
