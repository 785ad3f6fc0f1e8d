"""A study through a real Slurm, with everything that happens to jobs there, gives the bytes that one machine gives.

`make test-cluster` installs Slurm and keeps what happened in results/reference/cluster/ (variable CLUSTER_RECORD).
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
import slurm
import yaml
from snakefile import BIN, ROOT, dry_run, succeeded, warm_snakemake

from common.batch_job import state_and_seconds_left
from nmt_frontier import machine
from nmt_frontier.files import read_json, sha256

STUDY = ROOT / "tests/studies/cluster.yaml"
NAME = "test-cluster"
# What two runs of a study do not have in common: times, and what has them inside. The checkpoints of a training that
# was continued have the same weights, as their averages show, and other records of TensorFlow beside them.
DIFFERENT = re.compile(
    r"(logs|benchmarks|report|decoding/translations/runs)/|decoding/measured.json|measurements.json|\.lock"
    r"|systems/[^/]*/run-.*|.*/checkpoint|.*/__pycache__/.*|.*/\.snakemake_timestamp"
)
TIMED_KEYS = {"seconds", "training", "last_preserved_timestamp", "sha256"}
# Rules that take seconds here, between those that something happens to: one job in the queue for each group, as its way
# through the queue takes longer than its work.
GROUPS = {
    "clean": ("copy_held_out", "clean", "gather_clean"),
    "mixture": ("select_shard", "gather_distilled", "sample", "encode"),
    "convert": ("convert", "convert_native", "outputs"),
    "map": (
        *("alignment_corpus", "alignment_probabilities", "align_shard"),
        *("extract_shard", "phrase_table", "vocabulary_map"),
    ),
    "report": ("score", "gap"),
}
MINUTE = "1 if attempt == 1 else 60"
# Seconds that the teacher's first job, of 120, has left after a stall. A fast machine trains after 4 s and stalls for
# 46 s: it would need 1.5 * 46 + 20 s to go on. A slow one trains after 16 s and has 70 s to its first checkpoint.
AFTER_STALL = 70

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(bool(slurm.missing()), reason=str(slurm.missing())),
    pytest.mark.skipif(
        not importlib.util.find_spec("snakemake_executor_plugin_slurm"),
        reason="needs the packages of requirements-slurm.lock; `make test-cluster` installs them",
    ),
]


def profile(folder):
    """The project's profile for Slurm as a user fills it in, with limits that some jobs go over."""
    settings = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    settings |= {
        "jobs": 4,
        "slurm-keep-successful-logs": True,
        "latency-wait": 10,
        "slurm-status-command": "squeue",
        "slurm-init-seconds-before-status-checks": 8,  # what a short job takes; the next look is ten seconds later
        "seconds-between-status-checks": 1,
        "set-threads": dict.fromkeys(settings["set-threads"], os.cpu_count()),
    }
    settings["set-resources"] |= {
        "vocabulary": {"mem_mb": "20 if attempt == 1 else 1500"},
        "train_teacher": {"runtime": "2 * attempt"},  # ends at its checkpoints, and goes back to the queue
    }
    settings["set-resources"]["benchmark"] |= {"runtime": MINUTE}
    settings["groups"] += [f"{rule}={group}" for group, rules in GROUPS.items() for rule in rules]
    (folder / "profile").mkdir()
    (folder / "profile/config.yaml").write_text(yaml.safe_dump(settings))
    return folder / "profile"


def process_of(folder, *arguments):
    """The number of the process that runs in a folder with these arguments, if there is one."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # one that has just ended
            command = (path / "cmdline").read_text(errors="replace").split("\0")
            if {*arguments} <= {*command} and (path / "cwd").readlink() == folder:
                return int(path.name)
    return None


class Fate(threading.Thread):
    """Watches the queue, and does to jobs what happens on a cluster. events: what was done and seen, in order."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.events, self.ended = [], threading.Event()
        self._cluster, self._seen, self._done = cluster, set(), set()
        self._since = time.monotonic()

    def run(self):
        while not self.ended.wait(0.5):
            try:
                jobs = self._cluster.jobs()
            except subprocess.CalledProcessError:  # the controller restarts
                continue
            for number, state, rule in jobs:
                rule = re.sub(r"^rule_|_wildcards_.*", "", rule)
                if (number, state) not in self._seen or state == "RUNNING":
                    self._happens(number, state, rule)
                self._seen.add((number, state))

    def _happens(self, number, state, rule):
        if (number, state) not in self._seen:
            self.note(job=number, rule=rule, state=state)
        if state != "RUNNING":
            return
        if rule == "train_teacher" and self._trains("teacher") and self._first("stalled"):
            self._stall(number, rule)
        elif rule == "translate_shard" and self._first("cancelled"):
            self._cluster.call("scancel", number)
            self.note(job=number, rule=rule, done="cancelled by its user")
        elif rule == "train_student" and self._trains("deep", "ckpt-*.index") and self._first("taken"):
            self._cluster.call("scontrol", "requeue", number)
            self.note(job=number, rule=rule, done="its node was taken away, it went back to the queue")
        elif rule == "benchmark" and (process := self._process("measure.benchmark")) and self._first("held"):
            os.kill(process, signal.SIGSTOP)  # Slurm wakes it to end it
            self.note(job=number, rule=rule, done="its measurement stalled until the end of its job")
        elif rule == "train_teacher" and "stalled" in self._done and self._first("restarted"):
            self._cluster.stop("slurmctld")
            time.sleep(3)
            self._cluster.start("slurmctld")
            self.note(done="the controller was restarted")

    def _stall(self, number, rule):
        """Stop the teacher's training for a while, as a busy file system does; else a fast one ends within its job."""
        _, left = state_and_seconds_left(number)
        seconds = max(0, left - AFTER_STALL)
        process = self._process("train.train", f"results/{NAME}/systems/teacher/learning.json")
        os.kill(process, signal.SIGSTOP)
        threading.Timer(seconds, os.kill, [process, signal.SIGCONT]).start()  # whatever becomes of the test
        self.note(job=number, rule=rule, done=f"its training stalled for {seconds:.0f} s")

    def _process(self, *arguments):
        return process_of(self._cluster.folder / "run", *arguments)

    def _first(self, deed):
        return not (deed in self._done or self._done.add(deed))

    def _trains(self, system, files=""):
        """Whether a training has got so far. One whose job is about to start would wait minutes for the controller."""
        return any((self._cluster.folder / f"run/results/{NAME}/systems").glob(f"{system}/run-*/{files}"))

    def note(self, **event):
        self.events.append({"seconds": round(time.monotonic() - self._since, 1), **event})


@pytest.fixture(scope="module")
def finished():
    """Folder, events and run of a study that went through Slurm; the paths of sockets have to be short."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    (folder / "run").mkdir()
    with slurm.slurm(folder) as cluster:
        fate = Fate(cluster)
        fate.start()
        command = [BIN / "snakemake", "--snakefile", ROOT / "Snakefile", "--configfile", STUDY]
        command += ["--workflow-profile", ROOT / "profiles/default", "--profile", profile(folder)]
        run = subprocess.run(command, cwd=folder / "run", capture_output=True, text=True)
        version = cluster.call("sinfo", "--version").strip()
        fate.ended.set()
        fate.join()
    if kept := os.environ.get("CLUSTER_RECORD"):
        record(Path(kept), folder, version, fate.events, run)
    yield folder, fate.events, run
    shutil.rmtree(folder)


def record(kept, folder, version, events, run):
    """Keep what happened: the events as JSON, and Snakemake's log without folders of this machine and what jobs are."""
    kept.mkdir(parents=True, exist_ok=True)
    about = {"command": "make test-cluster", "slurm": version, "cpu": machine.describe()["cpu"]}
    about |= {"cores": os.cpu_count(), "status": run.returncode, "events": events}
    (kept / "slurm.json").write_text(json.dumps(about, indent=1) + "\n")
    log = run.stderr.replace(str(folder), "FOLDER").replace(str(ROOT), "PROJECT").replace(str(Path.home()), "HOME")
    lines = [line for line in log.splitlines(keepends=True) if not line.startswith("    ")]
    (kept / "slurm.log").write_text("".join(lines))


def logs(folder, rule):
    """The text of Slurm's logs of the jobs of a rule."""
    paths = (folder / f"run/.snakemake/slurm_logs/rule_{rule}").rglob("*.log")
    return "".join(path.read_text() for path in sorted(paths))


def happened(events, rule):
    """The states of the jobs of a rule, in order."""
    return [event["state"] for event in events if event.get("rule") == rule and "state" in event]


def test_a_study_reaches_its_front_whatever_happens_to_its_jobs(finished):
    folder, events, run = finished
    succeeded(run)
    assert (folder / f"run/results/{NAME}/report/report.html").exists()
    assert "exceeded memory limit" in logs(folder, "vocabulary") and len(happened(events, "vocabulary")) > 1
    assert "TIMEOUT" in happened(events, "benchmark")
    assert "CANCELLED" in happened(events, "translate_shard")
    deeds = {event["done"].split()[1] for event in events if "done" in event}
    assert deeds == {"training", "by", "node", "controller", "measurement"}
    assert all(happened(events, rule)[-1] == "COMPLETED" for rule in ("vocabulary", "benchmark", "train_student"))


def test_a_training_longer_than_its_job_ends_itself_and_goes_on(finished):
    folder, events, _ = finished
    ended = r"training of teacher ended at step \d+ \(\d+ s left of the job's time\); job \d+ is back in the queue"
    assert re.search(ended, logs(folder, "train_teacher")) and happened(events, "train_teacher")[-1] == "COMPLETED"


def contents(folder):
    """The untimed files of a study, by their names: checksums, or JSON without times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or DIFFERENT.match(name):
            continue
        found[name] = untimed(read_json(path)) if path.suffix == ".json" else sha256(path)
    return found


def untimed(value):
    if isinstance(value, dict):
        return {key: untimed(each) for key, each in value.items() if key not in TIMED_KEYS}
    return [*map(untimed, value)] if isinstance(value, list) else value


def test_the_bytes_are_those_of_one_machine(finished, tmp_path):
    folder, _, _ = finished
    omitted = ("benchmark", "gap", "picture", "table")
    succeeded(warm_snakemake("--omit-from", *omitted, "--configfile", STUDY, cwd=tmp_path))
    alone, cluster = (contents(path / f"results/{NAME}") for path in (tmp_path, folder / "run"))
    assert {name for name in cluster if not name.startswith("decoding/translations/")} == alone.keys() and len(
        alone
    ) > 100
    assert [name for name in alone if alone[name] != cluster[name]] == []
    assert any("averaged/ckpt" in name for name in alone) and any(name.endswith("model.bin") for name in alone)


def test_what_reruns_a_job_is_the_same_as_on_one_machine(finished):
    """Nothing is to be done when the study is finished, in either profile; the reasons of a changed file are equal."""
    folder, _, _ = finished
    assert "Nothing to be done" in succeeded(dry_run("--configfile", STUDY, cwd=folder / "run")).stdout
    with open(folder / f"run/results/{NAME}/corpora/raw/grammar.tsv.zst", "ab") as corpus:
        corpus.write(b"changed")  # a new time alone does not count: Snakemake compares the checksums of small files

    def reasons(*options):
        run = dry_run("--configfile", STUDY, *options, cwd=folder / "run")
        found = re.findall(r"reason: (.*)", succeeded(run).stdout)
        return sorted(sorted(re.split(r"[,;\s]+", reason)) for reason in found)  # files are named in any order

    assert reasons() == reasons("--profile", folder / "profile") != []
