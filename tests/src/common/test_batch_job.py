"""Work in a job with a time limit: it ends at a checkpoint and continues to the same bytes."""

import os
import signal
from argparse import Namespace
from contextlib import contextmanager

import pytest

from common import batch_job, folder_lock
from common.batch_job import BatchJob, JobEndsError
from distill import parts
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json


@pytest.fixture(autouse=True)
def signals():
    """SIGTERM as it was before."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A function that sets Slurm's answers on this job and returns the file with the requeued jobs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    def answers(answer, status=0, requeue=0):
        log = folder / "log"
        scripts = {"squeue": f"echo '{answer}'; exit {status}", "scontrol": f"echo $@ >> {log}; exit {requeue}"}
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        log.write_text("")
        return log

    return answers


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1-02:03:04", 93784), ("2:03:04", 7384), ("3:04", 184), ("0:00", 0), ("UNLIMITED", None), ("INVALID", 0)],
)
def test_times_of_slurm(text, expected):
    assert batch_job.seconds(text) == expected


@pytest.mark.parametrize(
    ("job", "answer", "status"),
    [
        ("7", "RUNNING 2:00:00", 0), ("7", "RUNNING UNLIMITED", 0), ("7", "", 1), ("7", "", 0),
        ("7", "RUNNING 1:00", 0), (None, "RUNNING 0:00", 0),
    ],
)  # fmt: skip
def test_a_job_with_time_left_or_without_slurm_goes_on(slurm, monkeypatch, job, answer, status):
    monkeypatch.setenv("SLURM_JOB_ID", job) if job else monkeypatch.delenv("SLURM_JOB_ID")
    requeued = slurm(answer, status)
    BatchJob("x").checkpoint("step 1")
    assert not requeued.read_text()


def test_a_job_that_may_not_reach_its_next_checkpoint_goes_back_to_the_queue(slurm, monkeypatch):
    requeued, job = slurm("RUNNING 1:00"), BatchJob("training of x")
    monkeypatch.setattr(batch_job.time, "monotonic", lambda start=job._last: start + 50)  # 1.5 x 50 + 20 > 60
    message = r"^training of x ended at step 9 \(60 s left of the job's time\); job 7 is back in the queue$"
    with pytest.raises(JobEndsError, match=message):
        job.checkpoint("step 9")
    assert requeued.read_text() == "requeue 7\n"


def test_the_longest_time_between_two_checkpoints_counts(slurm, monkeypatch):
    slurm("RUNNING 1:00")
    job = BatchJob("x")
    times = iter([job._last + 26, job._last + 27])
    monkeypatch.setattr(batch_job.time, "monotonic", lambda: next(times))
    job.checkpoint("step 1")  # 1.5 x 26 + 20 < 60
    slurm("RUNNING 0:58")
    with pytest.raises(JobEndsError):
        job.checkpoint("step 2")


@pytest.mark.parametrize(
    ("answer", "requeue", "asked", "message"),
    [
        ("RUNNING 9:00:00", 0, True, "back in the queue"),
        ("RUNNING 9:00:00", 1, True, "the same command"),
        ("COMPLETING 9:00:00", 0, False, "the same command"),  # the user cancelled it
    ],
)
def test_a_job_ends_at_its_next_checkpoint_after_sigterm(slurm, capfd, answer, requeue, asked, message):
    requeued, job = slurm(answer, requeue=requeue), BatchJob("x")
    os.kill(os.getpid(), signal.SIGTERM)
    assert "x: SIGTERM, ends at its next checkpoint" in capfd.readouterr().err
    with pytest.raises(JobEndsError, match=message):
        job.checkpoint("step 3")
    assert bool(requeued.read_text()) == asked


# Distillation


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The file to write, in parts of three records."""
    monkeypatch.setattr(parts, "RECORDS", 3)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return tmp_path / "x.tsv.zst"


def write(path, key=None, items=7, total=7, calls=None):
    """Write records whose second column names their part; ``calls`` collects the parts made."""

    def made(part):
        if calls is not None:
            calls.append(part[0])
        return ((str(item), str(part[0])) for item in part)

    def counts(lines, checksum):
        return {"lines_out": lines, "sha256": checksum}

    parts.write(path, key or {}, range(items), total, made, "translate x", counts)
    return read_json(records.info(path))


def interrupted(path, place, **keys):
    """Write until the job ends at this checkpoint."""

    def checkpoint(self, where):
        if where == place:
            raise JobEndsError(where)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(JobEndsError):
        patch.setattr(BatchJob, "checkpoint", checkpoint)
        write(path, **keys)
    assert not path.exists()


def test_interrupted_work_goes_on_to_the_same_bytes(path):
    whole, calls = path.with_name("whole.tsv.zst"), []
    expected = write(whole)
    assert [*records.read(whole)] == [(str(item), str(item - item % 3)) for item in range(7)]
    interrupted(path, "sentence 3 of 7", calls=calls)
    interrupted(path, "sentence 6 of 7", calls=calls)
    assert write(path, calls=calls) == expected and calls == [0, 3, 6]
    assert path.read_bytes() == whole.read_bytes() and {*path.parent.glob("*.zst*")} == {whole, path}


def test_parts_of_other_settings_are_made_again(path):
    interrupted(path, "sentence 3 of 7", key={"beam_size": 4})
    write(path, key={"beam_size": 5}, calls=(calls := []))
    assert calls == [0, 3, 6]


def test_parts_are_made_by_one_process_at_a_time(path):
    """A job whose scheduler has died may still run when it is started again."""
    folder = path.with_name(".x.tsv.zst.parts")
    with folder_lock.held(folder), pytest.raises(UserError, match=r"x\.tsv\.zst\.parts: process .* still writes there"):
        write(path)
    assert write(path)["lines_out"] == 7 and not folder.exists()


@pytest.mark.parametrize("total", [0, 2, 3, 6])
def test_every_number_of_records(path, total):
    assert write(path, items=total, total=total)["lines_out"] == total == records.count(path)


def test_an_input_that_grew_is_an_error(path):
    with pytest.raises(UserError, match="has more than 6 lines"):
        write(path, total=6)


def test_the_key_changes_with_options_and_files_but_not_with_threads(tmp_path):
    def key(beam_size=4, threads=1):
        return parts.key(Namespace(beam_size=beam_size, threads=threads), [text, model, None])

    model, text = tmp_path / "model", tmp_path / "text"
    model.mkdir()
    (model / "weights").write_text("1")
    text.write_text("a")
    before = key()
    assert key(threads=8) == before != key(beam_size=5)
    (model / "weights").write_text("12")
    assert key() != before


def test_the_key_takes_the_checksum_of_a_corpus_from_its_json(path):
    records.write(path, [("a", "b")])
    write_json(records.info(path), {"sha256": "kept"})
    assert parts.key(Namespace(), [path])["files"] == [[str(path), "kept"]]


def test_a_lock_that_lives_until_it_is_closed_does_not_keep_the_folder_of_parts(path, monkeypatch):
    """NFS renames an open file that is deleted, so that its folder is not empty until it is closed."""
    held = folder_lock.held

    @contextmanager
    def as_nfs(folder):
        with held(folder):
            yield
            assert folder.exists()

    monkeypatch.setattr(folder_lock, "held", as_nfs)
    write(path)
    assert not path.with_name(".x.tsv.zst.parts").exists()
