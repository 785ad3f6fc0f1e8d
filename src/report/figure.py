"""The style that all pictures share, and how they are saved."""

import io
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter, LogLocator, NullFormatter
from PIL import Image

from formats.spread import Spread
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path

STYLE = {
    "font.family": ["DejaVu Sans", "sans-serif"],  # the first comes with matplotlib: pictures are the same everywhere
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: half the size, and it can be searched
    "pdf.fonttype": 42,  # TrueType: letters stay letters, as publishers ask
    "svg.hashsalt": "nmt-frontier",  # equal input gives equal bytes
}
FORMATS: dict[str, dict[str, None]] = {  # metadata: no date, so that equal input gives equal bytes
    ".svg": {"Date": None},
    ".png": {},
    ".pdf": {"CreationDate": None},
}
COLUMN = 3.3  # inches; a column of two is 3.0 to 3.5 wide
SMALL = {
    "font.size": 7,
    "axes.titlesize": 7,
    "legend.columnspacing": 1,
    "legend.handletextpad": 0.3,
    "legend.borderpad": 0,
}
PNG_BYTES = 150_000  # of a picture in git, unless it is large even with the fewest pixels
PNG_DPI = (160, 130, 110, 90)
PNG_COLORS = 64
FOOTNOTE = {"fontsize": 7, "color": "#555555", "x": 0.01, "ha": "left"}
CHARACTERS = 17  # of a footnote, an inch

styled = matplotlib.rc_context(STYLE)  # decorator of functions that draw
in_column = matplotlib.rc_context(STYLE | SMALL)  # of those that draw for a column of a paper, or for a phone


class Style(NamedTuple):
    color: str
    marker: str


class Points(TypedDict, total=False):
    """How points look, but for their colour; as matplotlib has it."""

    linestyle: str
    marker: str
    markersize: float
    markerfacecolor: str


# Okabe and Ito's palette, which people with any colour vision can tell apart.
TEACHER = Style("#000000", "s")
CONTROL = Style("#e69f00", "D")
STUDENTS = [
    Style("#0072b2", "o"),
    Style("#d55e00", "^"),
    Style("#009e73", "v"),
    Style("#cc79a7", "P"),
    Style("#56b4e9", "X"),
]
MORE = [
    Style("#999933", "<"),
    Style("#882255", ">"),
    Style("#666666", "*"),
    Style("#332288", "p"),
    Style("#44aa99", "d"),
]
PALETTE = [TEACHER, *STUDENTS, CONTROL, *MORE]
# In the order in which the others of a marker are the farthest from black and from orange, in grey, too.
OF_ROLES = {"teacher": (TEACHER.color, "sDXPd<v^*>po"), "control": (CONTROL.color, "Dsp>*o^vPXd<")}


def styles(roles: Mapping[str, str]) -> dict[str, Style]:
    """A style for each system, in order. Up to 12 teachers, 12 controls and 100 students no two look alike.

    Teachers are black and controls orange; each has another marker.
    """
    counts: Counter[str] = Counter()
    found = {}
    for system, role in roles.items():
        kind = role if role in OF_ROLES else "student"  # models from elsewhere look like students, none like another
        found[system] = style(role, counts[kind])
        counts[kind] += 1
    return found


def style(role: str, number: int) -> Style:
    """The style of the system of this number, from 0, among those of its role."""
    if role in OF_ROLES:
        color, markers = OF_ROLES[role]
        return Style(color, markers[number % len(markers)])
    students = [*STUDENTS, *MORE]
    turn, place = divmod(number, len(students))
    shift = len(students) // 2 * turn + turn // 2  # the first one by half: dark colours meet the markers of light ones
    return Style(students[place].color, students[(place + shift) % len(students)].marker)


def whiskers(*spreads: Spread) -> list[list[float]]:
    """Error bars from the lowest run to the highest: the lengths below the medians, then those above."""
    return [[spread.middle - spread.low for spread in spreads], [spread.high - spread.middle for spread in spreads]]


def logarithmic(axes: Axes, numbers: str | Formatter) -> None:
    """Make the x axis logarithmic. ``numbers``: the format of its ticks, as matplotlib takes it."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(numbers)
    axes.xaxis.set_minor_formatter(NullFormatter())


def legend(picture: Figure, handles: list[Line2D], loc: str, ncols: int) -> int:
    """Draw a legend outside the axes, in at most ``ncols`` columns, in fewer where they are too wide.

    Returns the number of its rows.
    """
    made = picture.legend(handles=handles, loc=loc, ncols=ncols)
    while ncols > 1 and made.get_window_extent().width > picture.bbox.width:
        made.remove()
        ncols -= 1
        made = picture.legend(handles=handles, loc=loc, ncols=ncols)
    return -(-len(handles) // ncols)


def nothing(reason: str) -> Figure:
    """A small picture with the reason why there is nothing to draw."""
    picture = Figure(figsize=(COLUMN, 0.4))
    picture.text(0.5, 0.5, textwrap.fill(reason, 40), ha="center", va="center", fontsize=7)
    return picture


def footnote(picture: Figure, text: str) -> None:
    """Write small print below everything else."""
    picture.supxlabel(textwrap.fill(text, int(CHARACTERS * picture.get_figwidth())), **FOOTNOTE)


@styled
def save(figure: Figure, path: Path) -> None:
    """Write a picture in the format of its suffix. Raises UserError for a format we do not write."""
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: pictures are written as {', '.join(FORMATS)}")
    with atomic_path(path) as part:
        if path.suffix == ".png":
            part.write_bytes(png(figure))
        else:
            figure.savefig(part, format=path.suffix[1:], metadata=FORMATS[path.suffix])


def png(figure: Figure) -> bytes:
    """In few colours, and in fewer pixels where there would be more than PNG_BYTES to load."""
    for dpi in PNG_DPI:
        drawn, made = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=dpi)
        image = Image.open(drawn).convert("RGB").quantize(PNG_COLORS, dither=Image.Dither.NONE)
        image.save(made, "PNG", optimize=True)
        if made.tell() <= PNG_BYTES:
            break
    return made.getvalue()
