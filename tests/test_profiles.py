"""The profile for Slurm says nothing that profiles/default says, and knows the rules that must be alone on a node."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def test_what_reruns_a_job_is_the_same_on_a_cluster():
    assert not {*profile("slurm")} & {*profile("default")}


def test_jobs_that_time_something_have_the_cores_of_a_node():
    """Snakemake cuts ALL_CORES down to --cores, which a cluster does not have."""
    alone = set()
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for rule in re.split(r"^(?=rule )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            if "threads: ALL_CORES" in rule:
                alone.add(re.match(r"rule (\w+):", rule)[1])
    assert {*profile("slurm")["set-threads"]} == alone and "benchmark" in alone
