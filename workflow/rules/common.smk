# The configuration of the study, its plan, and what all rules share: wildcards, defaults, what happens on start.
import json
import os
import re
import shlex
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from common import folder_lock
from common.document import short
from nmt_frontier.errors import UserError
from corpora.availability import available, edited, read_unchecked
from experiments import table_rows
from findings import metrics
from snakemake.exceptions import WorkflowError
from study import back_translation_checks, machine_checks, precision, rates, system_checks
from study.config import read
from study.estimate import estimate
from study.systems import BACKWARD, absent_models
from study.plan import StudyPlan
from study.job_limits import Requests

DEFAULT_STUDY = f"{workflow.basedir}/configs/demo.yaml"

if workflow.config_settings.config:
    raise WorkflowError("--config is not supported: a study is one YAML file (it may have `extends: demo.yaml`)")
if len(workflow.configfiles) > 1:
    raise WorkflowError("give one --configfile: a study is one YAML file (it may have `extends: demo.yaml`)")
try:
    study = StudyPlan(read(next(iter(workflow.configfiles), DEFAULT_STUDY)))  # src/study/plan: what is made, and where
except UserError as error:
    raise WorkflowError(str(error)) from None
config.clear()  # what Snakemake reads, without bases and defaults
config.update(study.config.document)  # for workflow/report/workflow.rst; rules read study.config, which has types

requests = Requests(study.config)  # minutes and memory of jobs, by their size


# The image that jobs run in with `--software-deployment-method apptainer` (docs/images.md).
IMAGE = os.environ.get("NMT_FRONTIER_IMAGE")


container: IMAGE or ("pipeline.sif" if "--lint" in sys.argv else None)  # the linter wants each rule's software named


# Jobs run in the environment of this snakemake, activated or not, or in that of the image, and without TensorFlow's
# chatter. The long ones show their progress on the terminal too (`shown`).
# `trap`: after SIGTERM the shell waits for its command, which may have to reach a checkpoint (common.batch_job), and
# `shown` for the last lines of its progress.
PROGRAMS = "" if IMAGE else f'PATH="{Path(sys.executable).parent}:$PATH"'
shell.prefix(
    f"export {PROGRAMS} TF_CPP_MIN_LOG_LEVEL=2 PYTHONWARNINGS=ignore;"
    " trap : TERM; shown() {{ trap '' TERM; exec tee \"$1\" >&2; }}; "
)

ALL_CORES = 10_000  # Snakemake cuts this down to --cores: the job runs alone
CPU = f"--cpu {shlex.quote(study.config.decoding.cpu)}" if study.config.decoding.cpu else ""
ALONE = f"python -m measure.exclusive_node {CPU} &&"  # before what is timed: a job on a cluster may have neighbours
MACHINE = study.config.prices.machine  # its entry, if the study names one
PRICE = f"--price {shlex.quote(json.dumps(MACHINE))}" if MACHINE else ""
METRICS = study.config.metrics  # beside BLEU and chrF, if the study names any
COMET = " --comet {input.comet}" if METRICS else ""


def as_json(settings):
    """The settings of a program, with their types (src/study/plan), as the document that it takes.

    Without keys at their defaults, so that a later version, which has more keys, runs no job again.
    """
    return json.dumps(short(settings))


def augmentation(settings, aligner):
    """The options of train.sample, if the mixture has an augmentation, and if words are aligned for it."""
    options = f"--augmentation {shlex.quote(as_json(settings))}" if settings else ""
    if aligner:
        probabilities, pieces = aligner
        options += (
            f" --aligner {study.config.alignment.aligner} --probabilities {probabilities} --sentencepiece {pieces}"
        )
    return options


def growing(**resources):
    """Megabytes, minutes: numbers or functions of the wildcards. A job that was killed asks for twice as much."""

    def grows(resource):
        return lambda wildcards, attempt: (resource(wildcards) if callable(resource) else resource) * 2 ** (attempt - 1)

    return {name: grows(resource) for name, resource in resources.items()}


def absent_metrics():
    """A line for each thing that COMET lacks on this machine; in an image, the job itself reports that."""
    return metrics.comet_problems(METRICS.comet, METRICS.comet_score) if METRICS and not IMAGE else []


def one_of(names):
    """The regular expression of a wildcard that stands for one of these names, or for nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def candidates(wildcards):
    """The n-best lists of a shard that are chosen from."""
    lists, shard = study.teachers.chosen_from(wildcards.imitated), f"{wildcards.corpus}/{wildcards.scatteritem}"
    return [f"{study.folder}/n-best/{name}/{shard}.tsv.zst" for name in lists]


def speed_options(wildcards, output):
    """What all experiments of speed.smk and of the papers take that leave measurement records."""
    return f"{SPEED_OPTIONS} --translations {output.records.removesuffix('.json')}"


def unless(problem, files):
    """The files of a target that not every study can make: raises an error with the reason if this one cannot."""
    if problem:
        raise WorkflowError(problem)
    return files


wildcard_constraints:
    corpus=one_of([*study.config.corpora, *study.mixtures.changed]),
    system=one_of(dict.fromkeys([*study.systems, *study.teachers.imported])),
    teacher=one_of([*study.teachers.translating, *study.teachers.asked]),
    imitated=one_of(study.teachers.lists),
    mixture=one_of(study.mixtures.names),
    scatteritem=r"\d+-of-\d+",
    type=one_of(study.models.converted_types),
    targets=one_of(study.teachers.choices),
    epoch=r"\d+",


scattergather:
    part=study.config.cleaning_shards,
    shard=study.config.distillation.shards,
    score=study.scores.section.shards,
    alignment=study.config.alignment.shards,


if workflow.is_main_process:  # not in the jobs, which read this file too
    cores = workflow.resource_settings.cores or os.cpu_count()
    print(estimate(study.config, cores, rates.known()), file=sys.stderr)
    # What cannot be had stops even a dry run; what could not be asked for, without a network, stops a real one only.
    corpora = study.config.corpora
    unread = [name for name in study.config.corpora if not Path(study.paths.raw(name)).exists()]
    absent = available(study.config, names=unread)
    if absent.missing:
        raise WorkflowError("corpora that cannot be had:\n" + "\n".join(absent.missing))
    for line in absent.unchecked:
        print(f"could not be checked: {line}", file=sys.stderr)
    for line in absent_models(study.config):
        print(f"model is not there: {line}", file=sys.stderr)
    for line in study.models.refusals:
        print(line, file=sys.stderr)
    for line in absent_metrics():
        print(f"not there: {line}", file=sys.stderr)
    for checks in precision, system_checks, back_translation_checks:
        for line in checks.warnings(study.config):
            print(line, file=sys.stderr)
    if line := read_unchecked(study.config):
        print(line, file=sys.stderr)
    for line in edited(study.config, study.paths.raw):
        print(line, file=sys.stderr)


def repeated(dag):
    """A line of what a run finished before and this one makes again, if jobs have other settings than they had there."""
    again = [job for job in dag.needrun_jobs() if job.output and all(map(os.path.exists, job.output))]
    changed = Counter(job.rule.name for job in again if dag.reason(job).params_changed)
    rules = ", ".join(f"{name} ({number})" for name, number in sorted(changed.items()))
    reason = f"{rules} had other settings then, or an older version made them"
    keep = "`--rerun-triggers mtime` keeps their files"
    return f"finished jobs that run again: {len(again)}, as {reason}; {keep}" if changed else ""


def unset_keys(dag):
    """A line for each server that will be asked without its key; what is kept needs none."""
    if any(job.rule.name == "score_embeddings" for job in dag.needrun_jobs()):
        if (variable := study.scores.section.embeddings.key) and not os.environ.get(variable):
            yield f"scores.embeddings.key: {variable} is not set"
    asked = {job.wildcards.teacher for job in dag.needrun_jobs() if job.rule.name == "ask_shard"}
    for name in filter(asked.__contains__, study.teachers.asked):
        variable = study.config.teachers[name].http.key
        if variable and not os.environ.get(variable):
            yield f"teachers.{name}.http.key: {variable} is not set; without it only answers that are kept can be used"


def table_models(rows):
    """The model folders that the rows of a paper's table need, of untrained systems."""
    return [study.paths.model(*model) for model in table_rows.models(rows.values())]


onstart:
    if missing := absent_models(study.config):
        raise WorkflowError("models that are not there:\n" + "\n".join(missing))
    # What this machine lacks is no part of the plan. In an image, the jobs themselves report what they lack.
    if lacking := [] if IMAGE else [*machine_checks.problems(study)]:
        raise WorkflowError("the study cannot run here:\n" + "\n".join(lacking))
    for line in () if IMAGE else machine_checks.warnings(study):
        print(line, file=sys.stderr)
    for line in unset_keys(workflow.dag):
        print(line, file=sys.stderr)
    if line := repeated(workflow.dag):
        print(line, file=sys.stderr)
    if missing := absent_metrics():
        raise WorkflowError("metrics that cannot be computed:\n" + "\n".join(missing))
    if absent.unchecked:
        raise WorkflowError("corpora that could not be reached:\n" + "\n".join(absent.unchecked))
    # Two runs of one study at a time would mix their files. The kernel lets go of this lock when the process dies
    # in whatever way, so that a killed run continues without --unlock (Snakemake's own lock is off in the profile).
    workflow.study_lock = ExitStack()  # held as long as the workflow lives
    try:
        workflow.study_lock.enter_context(folder_lock.held(Path(study.folder)))
    except UserError as error:
        raise WorkflowError(f"another snakemake is running the study {study.name}: {error}") from None
