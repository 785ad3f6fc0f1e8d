"""Work in a job with a time limit: it ends at a checkpoint, and goes on to the same bytes."""

import os
import signal
from argparse import Namespace
from contextlib import contextmanager

import pytest

from common import batch_job, folder_lock
from common.batch_job import BatchJob, JobEndsError
from common.errors import UserError
from common.files import read_json, write_json
from distill import parts
from formats import records


@pytest.fixture(autouse=True)
def signals():
    """SIGTERM as it was before."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A function that sets what Slurm says of this job. It writes down what it is told to put back."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    def says(answer, status=0, requeue=0):
        scripts = {"squeue": f"echo '{answer}'; exit {status}", "scontrol": f"echo $@ >> {folder}/told; exit {requeue}"}
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        (folder / "told").write_text("")
        return folder / "told"

    return says


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1-02:03:04", 93784), ("2:03:04", 7384), ("3:04", 184), ("0:00", 0), ("UNLIMITED", None), ("INVALID", 0)],
)
def test_times_of_slurm(text, expected):
    assert batch_job.seconds(text) == expected


def test_without_slurm_work_goes_on(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    BatchJob("x").checkpoint("step 1")


@pytest.mark.parametrize(
    ("answer", "status"), [("RUNNING 2:00:00", 0), ("RUNNING UNLIMITED", 0), ("", 1), ("", 0), ("RUNNING 1:00", 0)]
)
def test_a_job_with_time_left_goes_on(slurm, answer, status):
    told = slurm(answer, status)
    BatchJob("x").checkpoint("step 1")
    assert not told.read_text()


def test_a_job_that_may_not_reach_its_next_checkpoint_goes_back_to_the_queue(slurm, monkeypatch):
    told, job = slurm("RUNNING 1:00"), BatchJob("training of x")
    monkeypatch.setattr(batch_job.time, "monotonic", lambda start=job._last: start + 50)  # 1.5 x 50 + 20 > 60
    message = r"^training of x ended at step 9 \(60 s left of the job's time\); job 7 is back in the queue$"
    with pytest.raises(JobEndsError, match=message):
        job.checkpoint("step 9")
    assert told.read_text() == "requeue 7\n"


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
def test_a_job_that_is_told_to_end_ends_at_its_next_checkpoint(slurm, capfd, answer, requeue, asked, message):
    told, job = slurm(answer, requeue=requeue), BatchJob("x")
    os.kill(os.getpid(), signal.SIGTERM)
    assert "x: SIGTERM, ends at its next checkpoint" in capfd.readouterr().err
    with pytest.raises(JobEndsError, match=message):
        job.checkpoint("step 3")
    assert bool(told.read_text()) == asked


# Distillation


def write(path, key=None, items=7, total=7, calls=None):
    """Records whose second column says which part they were made in."""

    def made(part):
        if calls is not None:
            calls.append(part[0])
        return ((str(item), str(part[0])) for item in part)

    def counts(lines, checksum):
        return {"lines_out": lines, "sha256": checksum}

    parts.write(path, key or {}, range(items), total, made, "translate x", counts)
    return read_json(records.info(path))


@pytest.fixture
def threes(monkeypatch):
    monkeypatch.setattr(parts, "RECORDS", 3)


@pytest.mark.usefixtures("threes")
def test_interrupted_work_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    whole, path, calls = tmp_path / "whole.tsv.zst", tmp_path / "x.tsv.zst", []
    expected = write(whole)
    assert [*records.read(whole)] == [(str(item), str(item - item % 3)) for item in range(7)]
    monkeypatch.setattr(BatchJob, "checkpoint", ends_at("sentence 3 of 7"))
    with pytest.raises(JobEndsError):
        write(path, calls=calls)
    assert not path.exists()
    monkeypatch.setattr(BatchJob, "checkpoint", ends_at("sentence 6 of 7"))
    with pytest.raises(JobEndsError):
        write(path, calls=calls)
    assert write(path, calls=calls) == expected and calls == [0, 3, 6]
    assert path.read_bytes() == whole.read_bytes() and {*tmp_path.glob("*.zst*")} == {whole, path}


def ends_at(place):
    def checkpoint(self, where):
        if where == place:
            raise JobEndsError(where)

    return checkpoint


@pytest.mark.usefixtures("threes")
def test_parts_of_other_settings_are_made_again(tmp_path, monkeypatch):
    path, calls = tmp_path / "x.tsv.zst", []
    with monkeypatch.context() as patch, pytest.raises(JobEndsError):
        patch.setattr(BatchJob, "checkpoint", ends_at("sentence 3 of 7"))
        write(path, key={"beam_size": 4})
    write(path, key={"beam_size": 5}, calls=calls)
    assert calls == [0, 3, 6]


def test_parts_are_made_by_one_process_at_a_time(tmp_path):
    """A job whose scheduler died may still run when it is started again."""
    folder = tmp_path / ".x.tsv.zst.parts"
    with folder_lock.held(folder), pytest.raises(UserError, match=r"x\.tsv\.zst\.parts: process .* still writes there"):
        write(tmp_path / "x.tsv.zst")
    assert write(tmp_path / "x.tsv.zst")["lines_out"] == 7 and not folder.exists()


@pytest.mark.usefixtures("threes")
@pytest.mark.parametrize("total", [0, 2, 3, 6])
def test_every_number_of_records(tmp_path, total):
    path = tmp_path / "x.tsv.zst"
    assert write(path, items=total, total=total)["lines_out"] == total == records.count(path)


@pytest.mark.usefixtures("threes")
def test_an_input_that_grew_is_told(tmp_path):
    with pytest.raises(UserError, match="has more than 6 lines"):
        write(tmp_path / "x.tsv.zst", total=6)


def test_the_key_changes_with_options_and_files_but_not_with_threads(tmp_path):
    model, text = tmp_path / "model", tmp_path / "text"
    model.mkdir()
    (model / "weights").write_text("1")
    text.write_text("a")
    args = Namespace(beam_size=4, threads=1)
    before = parts.key(args, [text, model, None])
    assert parts.key(Namespace(beam_size=4, threads=8), [text, model, None]) == before
    assert parts.key(Namespace(beam_size=5, threads=1), [text, model, None]) != before
    (model / "weights").write_text("12")
    assert parts.key(args, [text, model, None]) != before


def test_the_key_takes_the_checksum_of_a_corpus_from_beside_it(tmp_path):
    records.write(path := tmp_path / "x.tsv.zst", [("a", "b")])
    write_json(records.info(path), {"sha256": "told"})
    assert parts.key(Namespace(), [path])["files"] == [[str(path), "told"]]


def test_a_lock_that_lives_until_it_is_closed_does_not_hold_the_parts(tmp_path, monkeypatch):
    """NFS renames an open file that is deleted, so that its folder is not empty until it is closed."""
    held = folder_lock.held

    @contextmanager
    def as_nfs(folder):
        with held(folder):
            yield
            assert folder.exists()

    monkeypatch.setattr(folder_lock, "held", as_nfs)
    write(tmp_path / "x.tsv.zst")
    assert not (tmp_path / ".x.tsv.zst.parts").exists()
