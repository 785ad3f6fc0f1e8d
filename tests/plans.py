"""Write what Snakemake would do for a study as text: every command with its threads and GPUs, and neither
hash nor name of its file.

python tests/plans.py FOLDER TARGET...: the plan of each FOLDER/*.yaml goes to FOLDER/<name>.plan. All are made in one
process, as a dry run spends most of its time on the start of Python.
"""

import contextlib
import functools
import io
import logging
import sys
import traceback
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings

from corpora import availability
from study import plan as study_plan

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
        inner = workflow._workflow
        inner._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        inner._build_dag()
        jobs = [job for job in inner.dag.jobs if job.is_shell]
        text = "\n".join(
            sorted(f"{job.shellcmd}\n{job.threads} threads, gpu {job.resources.get('gpu')}" for job in jobs)
        )
        return text.replace(study.name, "STUDY")  # the page quotes the name of the file


def parsed_once(parse):
    """Snakemake's ``parse``, which takes most of the time of a plan, with its results for earlier files."""
    parsed = {}

    def kept(path, workflow, linemap, overwrite_shellcmd=None, rulecount=0):
        key = path.get_path_or_uri(secret_free=True), rulecount
        if key not in parsed:
            lines = {}
            parsed[key] = parse(path, workflow, lines, overwrite_shellcmd, rulecount), lines
        result, lines = parsed[key]
        linemap.update(lines)
        return result

    return kept


def main() -> None:
    from snakemake import workflow  # which snakemake.api has to import first

    workflow.parse = parsed_once(workflow.parse)
    workflow.compile = functools.cache(compile)
    folder, targets = Path(sys.argv[1]).resolve(), set(sys.argv[2:])
    study_plan.config_hash = lambda _: "HASH"  # every change of a configuration changes its hash
    availability.available = lambda *_, **__: availability.Problems([], [])
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
