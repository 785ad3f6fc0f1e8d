"""Plan a study for clusters of several sizes: hours, core-hours, GPU-hours, disk and USD by stage, as JSON.

Hours are lower bounds: the larger of the work over all cores or GPUs of the nodes, and of the critical path, the chain
of jobs that takes longest as each waits for the one before. Those of a stage are for its jobs alone on all nodes.

Rates, and the types that a CPU is fast in, are those that ship with the package; nothing depends on the machine that
plans. The speed of GPUs is assumed, and what follows from it is marked.
``python -m report scale_plan`` makes the table.
"""

import argparse
from pathlib import Path

from common.document import Document
from findings import cost
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from study import config
from study.configuration import StudyConfiguration
from study.jobs import Jobs, Node, critical_path, jobs, least_seconds, work_seconds
from study.rates import Shipped, shipped
from study.resources import TOKENS
from study.workload import GPU_DECODING, GPU_TRAINING, StudyStage, Work

HOUR = 3600
NODE = "p4d.24xlarge"


def plan(study: StudyConfiguration, machine: cost.Price, sizes: list[int], kept: Shipped) -> Document:
    """The plan. machine: the price of a node. sizes: numbers of nodes.

    Raises UserError for a job that fits no node, for corpora or teachers of unknown size, and for trainings on CPUs,
    whose rates no kept benchmark has.
    """
    work = Work(study, kept.rates)
    if work.unknown:
        unknown = ", ".join(work.unknown)
        raise UserError(f"{study.study}: a plan needs the size of {unknown}; set lines or parameters")
    if on_cpu := [system.name for system in work.learners if not work.trained_on_gpu(system)]:
        trained = f"trained on CPUs: {', '.join(on_cpu)}"
        raise UserError(f"{study.study}: {trained}; plans are for trainings on device: cuda")
    node, groups, disk = Node.of(machine), jobs(work, kept.text), work.disk()
    stages = [stage_of(stage, groups, disk.get(stage, 0), node, sizes) for stage in StudyStage]
    total = {str(nodes): round(least_seconds(groups, node, nodes) / HOUR, 3) for nodes in sizes}
    return {
        "study": study.study,
        "node": machine,
        "nodes": sizes,
        "stages": [stage for stage in stages if stage["jobs"] or stage["bytes"]],
        "work_hours": {str(nodes): round(work_seconds(groups, node, nodes) / HOUR, 3) for nodes in sizes},
        "critical_path": [{"job": each.name, "hours": round(each.seconds / HOUR, 4)} for each in critical_path(groups)],
        "hours": total,
        "usd_held": {nodes: round(hours * int(nodes) * node.usd_per_hour) for nodes, hours in total.items()},
        "rates": rates(kept),
        "assumed": assumed(work),
    }


def stage_of(stage: StudyStage, groups: list[Jobs], size: float, node: Node, sizes: list[int]) -> Document:
    """A stage alone. usd: the price of the parts of nodes that its jobs reserve."""
    own = [group for group in groups if group.stage == stage]
    longest = max(own, key=lambda group: group.seconds, default=None)
    hours = [group.number * group.seconds / HOUR for group in own]
    cores = sum(time * (group.cores or node.cores) for time, group in zip(hours, own, strict=True))
    gpus = sum(time * group.gpus for time, group in zip(hours, own, strict=True))
    usd = sum(time * group.share(node) for time, group in zip(hours, own, strict=True)) * node.usd_per_hour
    return {
        "stage": stage,
        "jobs": sum(group.number for group in own),
        "longest_job": longest and longest.name,
        "longest_job_hours": round(longest.seconds / HOUR, 4) if longest else 0,
        "core_hours": round(cores, 2),
        "gpu_hours": round(gpus, 2),
        "usd": round(usd, 2),
        "bytes": round(size),
        "assumed": any(group.gpus for group in own),
        "hours": {str(nodes): round(least_seconds(own, node, nodes) / HOUR, 4) for nodes in sizes},
    }


def rates(kept: Shipped) -> list[Document]:
    """What was measured, by the name of the work: the units that a core does in a second, the file, the CPU."""
    return [
        {
            "work": work,
            "per_second": float(f"{1 / rate.seconds:.4g}"),
            "unit": rate.unit,
            "file": rate.file,
            "cpu": rate.cpu,
        }
        for work, rate in kept.text.items()
    ]


def assumed(work: Work) -> Document:
    """What was not measured. sentences_per_second: translated by a teacher on one GPU, by the name of the teacher."""
    teachers = work.study.teachers
    operations = {name: 2 * teachers.lists[name].width * work.translated(name, 1) for name in teachers.computed}
    return {
        "gpu_training_operations_per_second": GPU_TRAINING,
        "gpu_decoding_operations_per_second": GPU_DECODING,
        "pieces_per_sentence": TOKENS,
        "sentences_per_second": {name: round(GPU_DECODING / each, 2) for name, each in operations.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=there, required=True, help="a file of configs/")
    parser.add_argument("--nodes", type=positive, nargs="+", default=[1, 8, 64], help="(default: 1 8 64)")
    node = "a machine of src/findings/prices.yaml, or such an entry as JSON (default: %(default)s)"
    parser.add_argument("--node", type=cost.price_argument, default=NODE, help=node)
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()
    write_json(args.output, plan(config.read(args.config), args.node, args.nodes, shipped()))


if __name__ == "__main__":
    command(main)
