"""Names beside points that cover no point, no other name and no line to a name.

Coordinate descent: each label in turn moves to the cheapest of about a hundred places around its point until none
moves. The best of several starts wins; their seed is fixed, so a picture is the same on every machine.
"""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

RADIUS = 5  # points: half the width of a marker and some space
PADDING = np.array([5.0, 0.5])  # points between labels, across and up
# The background keeps a name legible on a line.
GROUND: dict[str, str | float] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.3}
TEXT: "NameStyle" = {"fontsize": 7.5, "color": "#222222", "bbox": GROUND}
LEADER: dict[str, str | float] = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
DIRECTIONS = np.exp(2j * np.pi * np.arange(16) / 16)
DISTANCES = np.array([0, 0.5, 1, 1.5, 2, 3, 4.5, 6])  # in heights of a label
STARTS, SWEEPS = 12, 8
# Cost of hiding something, of a line through it, of a name that the edge of the picture cuts; a distance of one height
# costs 1.
COVERED, CROSSED, CUT = 50, 10, 1e6
STEPS = np.linspace(0, 1, 8)  # where a line to a name is checked

Place = tuple[float, float]
Numbers = NDArray[np.float64]
Boxes = Numbers  # (n, 4): left, bottom, right, top in pixels


class NameStyle(TypedDict):
    """Of a name; as matplotlib has it."""

    fontsize: float
    color: str
    bbox: dict[str, str | float]


@dataclass
class Candidates:
    """Places of one label: boxes (n, 4), points along the line to each (n, steps, 2), and their cost (n,)."""

    boxes: Boxes
    lines: Numbers
    costs: Numbers

    @property
    def area(self) -> float:
        """Of each of the boxes."""
        left, bottom, right, top = self.boxes[0]
        return float((right - left) * (top - bottom))


def candidates(anchor: Numbers, size: Numbers, radius: float, frame: Boxes) -> Candidates:
    """Places on rings around the anchor. Near is cheap, and the right side a little cheaper than the others."""
    width, height = size
    distance, direction = (grid.ravel() for grid in np.meshgrid(DISTANCES, DIRECTIONS))
    gap = radius + distance * height
    centres = anchor + np.stack([direction.real * (gap + width / 2), direction.imag * (gap + height / 2)], axis=1)
    boxes = np.concatenate([centres - size / 2, centres + size / 2], axis=1)
    ends = np.clip(anchor, boxes[:, :2], boxes[:, 2:])
    lines = anchor + STEPS[None, :, None] * (ends - anchor)[:, None]
    outside = width * height - overlap(boxes, frame)[:, 0]
    costs = distance + 0.2 * (1 - direction.real) + COVERED * outside / height**2
    return Candidates(boxes, lines, costs)


def overlap(boxes: Boxes, others: Boxes) -> Numbers:
    """Area that boxes share, (n, m)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    sides = np.clip(high - low, 0, None)
    area: Numbers = sides[..., 0] * sides[..., 1]  # a reduction over two numbers takes four times as long
    return area


def inside(points: Numbers, boxes: Boxes) -> NDArray[np.bool_]:
    """Which of the points (..., 2) are in which of m boxes, (..., m)."""
    x, y = points[..., None, 0], points[..., None, 1]
    return (x > boxes[:, 0]) & (x < boxes[:, 2]) & (y > boxes[:, 1]) & (y < boxes[:, 3])


def choose(anchors: Numbers, sizes: Numbers, points: Numbers, radius: float, frame: Boxes, page: Boxes) -> Boxes:
    """A box for each label, the cheapest result of several starts.

    anchors: (n, 2), the points that have labels; sizes: (n, 2), of the labels; points: (m, 2), all that must stay
    visible, squares of twice ``radius``; frame and page: (1, 4), what labels should stay in, and what they must stay in
    if they fit. Everything in pixels.
    """
    markers = np.concatenate([points - radius, points + radius], axis=1)
    labels = [candidates(anchor, size, radius, frame) for anchor, size in zip(anchors, sizes, strict=True)]
    for label, anchor in zip(labels, anchors, strict=True):
        foreign = markers[~inside(anchor, markers)]
        label.costs += hidden(label, markers) + CROSSED * inside(label.lines, foreign).sum((1, 2))
        label.costs += CUT * (overlap(label.boxes, page)[:, 0] < label.area * (1 - 1e-9))
    generator = np.random.default_rng(1)
    results = [descend(labels, generator.permutation(len(labels))) for _ in range(STARTS)]
    _, chosen = min(results, key=lambda result: result[0])
    return np.array([label.boxes[place] for label, place in zip(labels, chosen, strict=True)])


def hidden(label: Candidates, boxes: Boxes) -> Numbers:
    """Cost of the part of the boxes that each place covers, (n,)."""
    height = label.boxes[0, 3] - label.boxes[0, 1]
    cost: Numbers = COVERED * overlap(label.boxes, boxes).sum(1) / height**2
    return cost


def descend(labels: list[Candidates], order: NDArray[np.int64]) -> tuple[float, NDArray[np.int64]]:
    """Move each label in turn to its cheapest place until none moves. Returns the total cost and the places, (n,)."""
    chosen = np.array([label.costs.argmin() for label in labels], int)
    total = np.inf
    for _ in range(SWEEPS):
        before, total = chosen.copy(), 0.0
        for number in order:
            label = labels[number]
            others = [(other, chosen[at]) for at, other in enumerate(labels) if at != number]
            boxes = np.array([other.boxes[place] for other, place in others]).reshape(-1, 4)
            lines = np.array([other.lines[place] for other, place in others]).reshape(-1, 2)
            crossed = inside(label.lines, boxes).sum((1, 2)) + inside(lines, label.boxes).sum(0)
            cost = label.costs + hidden(label, boxes) + CROSSED * crossed
            chosen[number] = cost.argmin()
            total += cost.min()
        if (before == chosen).all():
            break
    return total, chosen


def freeze(picture: Figure) -> None:
    """Lay the picture out for good: ``write`` fits names into axes that stay where they are."""
    picture.draw_without_rendering()
    picture.set_layout_engine("none")


def write(axes: Axes, labels: list[tuple[Place, str]], points: list[Place]) -> None:
    """Write labels beside some of the points, in data coordinates. Place and limits of the axes must be final."""
    if not labels:
        return
    pixels = axes.figure.dpi / 72
    texts = [axes.annotate(text, place, (0, 0), textcoords="offset points", **TEXT) for place, text in labels]
    sizes = np.array([text.get_window_extent().size for text in texts]) + PADDING * pixels
    anchors = axes.transData.transform([place for place, _ in labels])
    for text in texts:
        text.remove()
    frame = np.array([axes.bbox.extents])
    page = np.array([axes.figure.bbox.extents])
    boxes = choose(anchors, sizes, axes.transData.transform(points), RADIUS * pixels, frame, page)
    for (place, name), anchor, size, box in zip(labels, anchors, sizes, boxes, strict=True):
        near = np.clip((anchor - box[:2]) / size, 0, 1)
        axes.annotate(
            name,
            place,
            (box[:2] - anchor) / pixels + PADDING / 2,
            textcoords="offset points",
            va="bottom",
            annotation_clip=False,
            arrowprops={**LEADER, "relpos": tuple(near)},
            **TEXT,
        )
