"""What Snakemake would do for a study, as text: every command with its threads and resources, whatever the hash says.

python tests/plans.py FOLDER TARGET...: the plan of each FOLDER/*.yaml, in FOLDER/<name>.plan; in one process, as most
of the time of a dry run is the start of Python.
"""

import contextlib
import io
import logging
import sys
import traceback
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings

from distill import config, fetch

ROOT = Path(__file__).parents[1]


def plan(study: Path, targets: set[str], folder: Path) -> str:
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=2),
            config_settings=ConfigSettings(configfiles=[study]),
            snakefile=ROOT / "Snakefile",
            workdir=folder,
        )
        workflow.dag(DAGSettings(targets=targets, forceall=True))
        planned = workflow._workflow
        planned._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        planned._build_dag()
        jobs = [job for job in planned.dag.jobs if job.is_shell]
        return "\n".join(
            sorted(f"{job.shellcmd}\n{job.threads} threads, gpu {job.resources.get('gpu')}" for job in jobs)
        )


def main() -> None:
    folder, targets = Path(sys.argv[1]).resolve(), set(sys.argv[2:])
    config.config_hash = lambda _: "HASH"  # which everything changes
    fetch.available = lambda *_, **__: fetch.Problems([], [])
    logging.disable()
    for study in sorted(folder.glob("*.yaml")):
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                text = plan(study, targets, folder)
            except Exception:
                text = traceback.format_exc()
        study.with_suffix(".plan").write_text(text)


if __name__ == "__main__":
    main()
