"""``scale_plan.json`` of study.scale_plan: hours and cost of a study on the nodes of a cluster."""

from typing import TypedDict

from formats.cost import Price


class PlannedStage(TypedDict):
    """A stage that has all nodes for itself. hours: by the number of nodes. assumed: follows from assumed speeds."""

    stage: str
    jobs: int
    longest_job: str | None
    longest_job_hours: float
    core_hours: float
    gpu_hours: float
    usd: float
    bytes: int
    assumed: bool
    hours: dict[str, float]


class PlannedRate(TypedDict):
    """A measured rate: units of work that a core does in a second, the file it is from, and the CPU."""

    work: str
    per_second: float
    unit: str
    file: str
    cpu: str


class Assumed(TypedDict):
    """What was not measured. sentences_per_second: that a teacher translates on one GPU, by its name."""

    gpu_training_operations_per_second: float
    gpu_decoding_operations_per_second: float
    pieces_per_sentence: int
    sentences_per_second: dict[str, float]


class NodePlan(TypedDict):
    """node: its price. hours, usd_held: of all stages, by the number of nodes."""

    study: str
    node: Price
    nodes: list[int]
    stages: list[PlannedStage]
    hours: dict[str, float]
    usd_held: dict[str, int]
    rates: list[PlannedRate]
    assumed: Assumed
