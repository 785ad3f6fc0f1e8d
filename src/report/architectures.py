"""Models of every architecture in OpenNMT-tf and in the native engine (experiments.architectures): table and bars."""

from matplotlib.figure import Figure

from findings.captions import engine_label
from findings.comparison import BASELINE
from formats import measurement
from formats.measurement import Measurement
from report import figure, table_parts

read = measurement.read

TITLE = "Every architecture on one core"
NOTE = """
Target tokens a second from text to text, greedy, on one core, the median with the slowest and the fastest run:
OpenNMT-tf in float32 without a map, the native engine with the vocabulary map of each sentence. ×: times faster than
OpenNMT-tf, run by run. "on disk": what decoding needs. {conditions}
"""
COLORS = {BASELINE: "#999999", "float32": "#56b4e9", "int16": "#e69f00", "int8": "#d55e00"}
WIDTH, ROW, AROUND = 8.0, 0.6, 1.6  # inches: the picture, a system, the space above and below
BAR = 0.2

Ways = dict[str, Measurement]  # one system: by BASELINE, and by the native engine's types


def ways(records: list[Measurement]) -> dict[str, Ways]:
    """The ways to decode each system, in the order of the records."""
    found: dict[str, Ways] = {}
    for record in records:
        way = BASELINE if record.decoding.engine == BASELINE else record.decoding.compute_type
        found.setdefault(record.system.name, {})[way] = record
    return found


def name(way: str, record: Measurement) -> str:
    return engine_label(record) if way == BASELINE else f"{engine_label(record)} {way}"


def table(records: list[Measurement]) -> str:
    rows = [row(of, records) for of in ways(records).values()]
    note = NOTE.format(conditions=table_parts.conditions(records))
    return table_parts.page(TITLE, rows, note, left=("system", "shape"))


def row(of: Ways, records: list[Measurement]) -> dict[str, str]:
    baseline, first = of.get(BASELINE), next(iter(of.values()))
    cells = {"system": first.system.name, "shape": first.system.shape, "parameters": f"{first.system.parameters:,}"}
    shown = [way for way in COLORS if way in of]
    for way in shown:
        cells[f"{name(way, of[way])}, tokens/s"] = table_parts.speed(of[way], records)
    for way in shown:
        if baseline and way != BASELINE:
            cells[f"× {way}"] = table_parts.times(of[way], baseline, 1)
    for unit, cell in (("MB of memory", table_parts.memory), ("MB on disk", table_parts.disk)):
        cells |= {f"{name(way, of[way])}, {unit}": cell(of[way]) for way in shown}
    return cells


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Target tokens a second of each system, a bar for each way."""
    systems = ways(records)
    picture = Figure(figsize=(WIDTH, AROUND + ROW * len(systems)), layout="constrained")
    axes = picture.add_subplot()
    shown = {way: color for way, color in COLORS.items() if any(way in of for of in systems.values())}
    for number, (way, color) in enumerate(shown.items()):
        having = [(place, of[way]) for place, of in enumerate(systems.values()) if way in of]
        places = [place + (number - (len(shown) - 1) / 2) * BAR for place, _ in having]
        spreads = [table_parts.tokens_per_second(record) for _, record in having]
        axes.barh(places, [rate.middle for rate in spreads], BAR, color=color, xerr=figure.whiskers(*spreads))
    axes.set_yticks(range(len(systems)), systems)
    axes.set_ylim(len(systems) - 0.4, -0.6)
    figure.logarithmic(axes, "{x:,.0f}")
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("target tokens a second, logarithmic")
    labels = {name(way, of[way]): color for way, color in shown.items() for of in systems.values() if way in of}
    table_parts.around(picture, TITLE, labels, records)
    return picture
