"""Figure 1 of Junczys-Dowmunt et al. 2018: cost-effectiveness, logarithmic, against BLEU of all systems, with ours."""

from matplotlib.figure import Figure

from formats import measurement
from formats.measurement import Measurement
from report.cost_effectiveness import draw_systems

read = measurement.read


def draw(records: list[Measurement]) -> Figure:
    """Raises UserError where none of the records is of a system of the paper."""
    return draw_systems(records, "Figure 1", "all systems", "log")
