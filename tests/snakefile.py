"""Run Snakemake as a user does, with the project's profile, in a folder of the test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import forked
import warm

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
TINY, TINY_ENSEMBLE, TINY_GIVEN, TINY_MULTI30K, TINY_BACK_TRANSLATION = (
    ROOT / f"tests/studies/tiny{name}.yaml" for name in ("", "-ensemble", "-given", "-multi30k", "-back-translation")
)


def arguments_of(*arguments):
    shared = ["--cores", "2", "--snakefile", ROOT / "Snakefile"]
    return [*shared, *arguments, "--workflow-profile", ROOT / "profiles/default"]


def snakemake(*arguments, cwd, **options):
    command = [BIN / "snakemake", *arguments_of(*arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, **options)


def warm_snakemake(*arguments, cwd, **options):
    """The same; but its jobs, which are many, need not load TensorFlow and what else takes long (warm.py)."""
    command = [*warm.snakemake(), *arguments_of(*arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, **options)


def dry_run(*arguments, cwd):
    """What would be done. Most of its time is that of loading Snakemake, which is loaded already (forked.py)."""
    return forked.Command("snakemake", *arguments_of("-n", *arguments), cwd=cwd).wait()


def on_last_core(study, folder):
    """The study with another core to time on than the default one, so that two studies do not wait for each other."""
    path = folder / study.name
    path.write_text(json.dumps({"extends": str(study), "decoding": {"cores": [max(os.sched_getaffinity(0))]}}))
    return path


def succeeded(run):
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-6000:]
    return run


def planned(run):
    """How many jobs of each rule a dry run plans."""
    lines = succeeded(run).stdout.split("Job stats:")[1].split("total")[0].splitlines()[3:]
    return {name: int(count) for name, count in map(str.split, filter(None, lines))}
