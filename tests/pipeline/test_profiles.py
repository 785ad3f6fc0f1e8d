"""The profile for Slurm sets nothing that profiles/default sets, and gives timed rules a whole node."""

import re

import pytest
import yaml
from snakefile import ROOT, TINY, dry_run, succeeded


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def test_the_profiles_have_no_key_in_common():
    assert not {*profile("slurm")} & {*profile("default")}


def test_jobs_that_time_something_have_the_cores_of_a_node():
    """Snakemake cuts ALL_CORES down to --cores, which a cluster does not have."""
    paths = (
        path for folder in ("workflow/rules", "papers") for path in sorted((ROOT / folder).rglob("*.smk"), reverse=True)
    )
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    rules = re.split(r"^(?=(?:use )?rule )", text, flags=re.MULTILINE)[1:]
    alone = {re.match(r"rule (\w+):", rule)[1] for rule in rules if "threads: ALL_CORES" in rule}
    alone |= {name for base, name in re.findall(r"^use rule (\w+) as (\w+) with:", text, re.MULTILINE) if base in alone}
    assert {*profile("slurm")["set-threads"]} == alone and "benchmark" in alone


@pytest.mark.optional("snakemake_executor_plugin_slurm")
@pytest.mark.slow
def test_the_command_of_the_page_gives_jobs_the_cores_of_a_node(tmp_path):
    """On a submit host of two cores; no job gets more than --cores."""
    page = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
    options = re.search(r"^snakemake --profile profiles/slurm (.*)--configfile", page, re.MULTILINE)[1].split()
    command = ("--profile", ROOT / "profiles/slurm", *options, "--configfile", TINY)
    plan = succeeded(dry_run(*command, cwd=tmp_path)).stdout
    threads = re.search(r"^rule benchmark:\n(?:    .*\n)*?    threads: (\d+)", plan, re.MULTILINE)[1]
    assert int(threads) == profile("slurm")["set-threads"]["benchmark"]
