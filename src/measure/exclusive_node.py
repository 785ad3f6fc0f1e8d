"""Check before timing that this job is alone on its node and that the CPU is the one that the study names.

Without a batch system nothing is known about neighbours; measurements then notice them (findings.captions).
"""

import argparse
import os
import subprocess

from nmt_frontier import machine
from nmt_frontier.errors import UserError, command

ALONE = "NO"  # of squeue's %h: "can the resources be over subscribed by other jobs"


def check_alone() -> None:
    """Raises UserError in a Slurm job that shares its node, or for which Slurm does not answer."""
    if not (job := os.environ.get("SLURM_JOB_ID")):
        return
    query = ["squeue", "--noheader", "--jobs", job, "--format", "%h"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(f"cannot ask Slurm whether job {job} is alone on its node: {error}") from None
    if answer != ALONE:
        raise UserError(
            f"job {job} shares its node, and neighbours disturb measurements; "
            "give this rule slurm_extra: --exclusive in the profile (docs/cluster.md)"
        )


def check_cpu(name: str) -> None:
    """Raises UserError if the model name of this machine's CPU does not contain ``name``."""
    if name not in (found := machine.describe()["cpu"]):
        raise UserError(
            f"decoding.cpu: {name}, but {os.uname().nodename} has {found}; one table is of one CPU: "
            "give this rule a constraint in the profile, or name the other CPU"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", help="part of the model name of the CPU to time on (default: any)")
    args = parser.parse_args()
    check_alone()
    if args.cpu:
        check_cpu(args.cpu)


if __name__ == "__main__":
    command(main)
