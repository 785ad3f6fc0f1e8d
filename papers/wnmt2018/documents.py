"""The JSON of ``components`` and ``components_tf``, and the parts that time is divided into."""

from typing import NotRequired

from formats.experiments import Circumstances, CpuSeconds, TimeShare

COMPONENTS = ("encoder", "decoder", "attention", "generator", "search", "other")
# Figure 2 of WNMT 2018 also has the time by operators: products with weights, products of two states, ...
OPERATORS = ("linear", "attention", "softmax", "activations", "other")

# ``how`` the parts of a row were told apart
PROFILER, DIFFERENCES, CLOCK = "profiler", "differences", "clock"


class ComponentsRow(CpuSeconds):
    """One way to decode. how: its parts were told apart; profiler_costs: the time that a clock adds, as a share."""

    engine: str
    engine_label: NotRequired[str]  # files of earlier versions have none
    engine_version: str
    how: str
    system: str
    shape: str
    compute_type: str
    beam_size: int
    vocabulary_map: bool
    steps: NotRequired[int]
    readings: NotRequired[dict[str, float]]
    profiler_costs: NotRequired[float]
    shares: dict[str, TimeShare]
    operators: NotRequired[dict[str, TimeShare]]


class Components(Circumstances):
    """Of components and components_tf."""

    sentences: int
    batch_tokens: int
    rows: list[ComponentsRow]
