"""The plan of study.scale_plan for clusters of several sizes, as a table."""

import math
from pathlib import Path
from typing import TypedDict

from findings.cost import Price
from nmt_frontier.files import read_json, typed
from report import markup

NOTE = """A node is {instance}: {cores} virtual cores and {gpus} GPUs for {usd_per_hour:g} USD an hour ({provider}, \
{region}, {date}). Hours are lower bounds, the larger of two: "work" keeps all cores or all GPUs of the nodes busy; in \
the "critical path" each job waits for the one before it. From {enough} on, more nodes do not lower the bound. The \
hours of a stage are those of its own jobs on all nodes. "USD" pays for the parts of nodes that jobs reserve, "all \
nodes kept" for every node until the end. GB: what a stage leaves on disk. ~: follows from the speed of GPUs, which is \
assumed: {training:g} TFLOP/s in training and rescoring, {decoding:g} in beam search. Fetching is bound by the \
network. The shared file system has to take at most {writes} as they are written, and counts as no limit."""


class PlannedStage(TypedDict):
    """A stage that has all nodes for itself. hours: at least, by the number of nodes. assumed: as speeds are."""

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


class PlannedJob(TypedDict):
    """A job of the critical path, the chain of jobs that takes longest as each waits for the one before."""

    job: str
    hours: float


class NodePlan(TypedDict):
    """node: its price. work_hours, hours, usd_held: of all stages, at least, by the number of nodes."""

    study: str
    node: Price
    nodes: list[int]
    stages: list[PlannedStage]
    work_hours: dict[str, float]
    critical_path: list[PlannedJob]
    hours: dict[str, float]
    usd_held: dict[str, int]
    rates: list[PlannedRate]
    assumed: Assumed


def read(path: Path) -> NodePlan:
    return typed(read_json(path), NodePlan, f"{path}: not made by study.scale_plan")


def table(plan: NodePlan) -> str:
    """The stages, and the rates that they follow from."""
    parts = stages(plan), note(plan), critical_path(plan), "## Rates", rates(plan), assumptions(plan)
    return markup.document(f"Plan of {plan['study']}", *parts)


def stages(plan: NodePlan) -> str:
    """A row for each stage, and four for all of them."""
    rows = [row(stage, plan["nodes"]) for stage in plan["stages"]]
    every = any(stage["assumed"] for stage in plan["stages"])
    whole: PlannedStage = {
        "stage": "all, at least",
        "jobs": sum(stage["jobs"] for stage in plan["stages"]),
        "longest_job": None,
        "longest_job_hours": 0.0,
        "core_hours": sum(stage["core_hours"] for stage in plan["stages"]),
        "gpu_hours": sum(stage["gpu_hours"] for stage in plan["stages"]),
        "bytes": sum(stage["bytes"] for stage in plan["stages"]),
        "usd": sum(stage["usd"] for stage in plan["stages"]),
        "hours": plan["hours"],
        "assumed": every,
    }
    path = time(path_hours(plan))
    rows += [
        of_all("all: work", every, {nodes: time(hours) for nodes, hours in plan["work_hours"].items()}),
        of_all("all: critical path", every, {nodes: path for nodes in plan["hours"]}),
        row(whole, plan["nodes"]),
        of_all("all nodes kept, at least", every, {nodes: f"{usd:,} USD" for nodes, usd in plan["usd_held"].items()}),
    ]
    return markup.table(rows)


def of_all(name: str, guessed: bool, cells: dict[str, str]) -> dict[str, str]:
    """A row that only has cells for numbers of nodes."""
    return {"stage": name} | {column(int(nodes)): about(guessed, cell) for nodes, cell in cells.items()}


def path_hours(plan: NodePlan) -> float:
    return sum(job["hours"] for job in plan["critical_path"])


def critical_path(plan: NodePlan) -> str:
    jobs = ", ".join(f"`{job['job']}` {time(job['hours'])}" for job in plan["critical_path"])
    return f"The critical path: {jobs}."


def row(stage: PlannedStage, nodes: list[int]) -> dict[str, str]:
    jobs, guessed = stage["jobs"], stage["assumed"]
    cells = {
        "stage": stage["stage"],
        "jobs": f"{jobs:,}" if jobs else markup.NONE,
        "longest job": about(guessed, time(stage["longest_job_hours"])) if stage["longest_job"] else markup.NONE,
        "core-hours": about(guessed, f"{stage['core_hours']:,.1f}") if jobs else markup.NONE,
        "GPU-hours": about(guessed, f"{stage['gpu_hours']:,.0f}") if stage["gpu_hours"] else markup.NONE,
        "GB": f"{stage['bytes'] / 1e9:,.1f}" if stage["bytes"] else markup.NONE,
        "USD": about(guessed, f"{stage['usd']:,.0f}") if jobs else markup.NONE,
    }
    wall = {column(number): about(guessed, time(stage["hours"][str(number)])) for number in nodes}
    return cells | (wall if jobs else dict.fromkeys(wall, markup.NONE))


def column(nodes: int) -> str:
    return f"{nodes} node{'s' * (nodes > 1)}"


def about(guessed: bool, text: str) -> str:
    return f"~{text}" if guessed else text


def time(hours: float) -> str:
    """In seconds, minutes, hours or days."""
    for unit, length, most in (("s", 1 / 3600, 100 / 3600), ("min", 1 / 60, 2)):
        if hours < most:
            return f"{hours / length:.0f} {unit}"
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.1f} days"


def note(plan: NodePlan) -> str:
    guess = plan["assumed"]
    most = {nodes: fastest_writes(plan, str(nodes)) for nodes in plan["nodes"]}
    writes = ", ".join(
        f"{rate / 1e6:,.0f} MB/s with {column(nodes)} ({stage})" for nodes, (rate, stage) in most.items()
    )
    speeds = {"training": guess["gpu_training_operations_per_second"] / 1e12}
    speeds |= {"decoding": guess["gpu_decoding_operations_per_second"] / 1e12}
    nodes = plan["nodes"][0]
    enough = math.ceil(plan["work_hours"][str(nodes)] * nodes / path_hours(plan))
    return NOTE.format(writes=writes, enough=column(enough), **speeds, **plan["node"])


def fastest_writes(plan: NodePlan, nodes: str) -> tuple[float, str]:
    """The largest of the stages' bytes a second, and the stage."""
    some = sum(stage["bytes"] for stage in plan["stages"]) / 100  # what leaves less than a hundredth of all is no load
    working = [stage for stage in plan["stages"] if stage["jobs"] and stage["bytes"] > some]
    return max((stage["bytes"] / (stage["hours"][nodes] * 3600), stage["stage"]) for stage in working)


def rates(plan: NodePlan) -> str:
    rows = [
        {
            "work": rate["work"],
            "a second, one core": f"{rate['per_second']:,.0f} {rate['unit']}s",
            "measured on": rate["cpu"],
            "file": rate["file"].rpartition("/")[2],
        }
        for rate in plan["rates"]
    ]
    return markup.table(rows, left=["work", "measured on", "file"])


def assumptions(plan: NodePlan) -> str:
    guess = plan["assumed"]
    speeds = ", ".join(f"{name} {speed:,.0f}" for name, speed in guess["sentences_per_second"].items())
    text = f"Assumed: {guess['pieces_per_sentence']} pieces in a sentence of either side"
    return f"{text}; sentences that a GPU translates in a second: {speeds}." if speeds else f"{text}."
