"""Figure 2 of Junczys-Dowmunt et al. 2018: the same as figure 1, linear, of the systems around and above 26 BLEU."""

from matplotlib.figure import Figure

from formats import measurement
from formats.measurement import Measurement
from report.cost_effectiveness import draw_systems

read = measurement.read

AROUND = 25.5  # BLEU: "around and above" 26, the quality that the paper aims at


def draw(records: list[Measurement]) -> Figure:
    """Raises UserError where none of the records is of a system of the paper."""
    return draw_systems(records, "Figure 2", "systems around and above 26 BLEU", "linear", AROUND)
