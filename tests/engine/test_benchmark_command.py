"""The command that measures a model folder here: its numbers agree with each other, and its record names nobody."""

import getpass
import json
import socket
from pathlib import Path

import models
import native
import pytest

from nmt_frontier import machine, peaks
from nmt_frontier.command import benchmark, main
from nmt_frontier.errors import UserError
from nmt_frontier.files import sha256

LINES = models.sentences(60, seed=8)


@pytest.fixture
def quick(monkeypatch, tmp_path) -> Path:
    """Short peaks, and the folder with the text, in which the record is written; the process keeps its cores."""
    monkeypatch.setattr(peaks, "SECONDS", 0.001)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("\n".join(LINES))
    cores = machine.cores()
    yield tmp_path
    machine.pin(cores)


@pytest.mark.slow
def test_its_numbers_agree_with_each_other(quick, capsys):
    folder = native.folders() / "int8"
    main(["benchmark", str(folder), "text", "--runs", "3", "--beam-size", "2"])
    record, text = json.loads((quick / benchmark.OUTPUT).read_text()), capsys.readouterr().out
    words = sum(len(line.split()) for line in LINES)
    assert record["text"] == {"lines": len(LINES), "words": words, "sha256": sha256(quick / "text")}
    cores = [*dict.fromkeys((1, len(machine.cores())))]
    assert [(speed["cores"], speed["beam_size"]) for speed in record["speeds"]] == [
        (n, b) for n in cores for b in (1, 2)
    ]
    for speed in record["speeds"]:
        assert len(speed["runs"]) == 3 and len({run["operations"] for run in speed["runs"]}) == 1
        every = sorted(words / run["seconds"] for run in speed["runs"])
        assert speed["words_per_second"] == pytest.approx(every[1]) and f"{every[1]:,.0f} (" in text
        assert 0 < speed["share_of_peak"] < 1
        for run in speed["runs"] if speed["cores"] == 1 else ():  # no stages overlap
            parts = run["tokenization"] + run["decode"] + run["detokenization"]
            assert 0 < run["decode"] < parts <= run["seconds"]
    greedy, beam = record["speeds"][:2]
    assert beam["runs"][0]["operations"] > greedy["runs"][0]["operations"]


@pytest.mark.slow
def test_its_record_names_nobody(quick):
    folder = native.folders() / "int8"
    main(["benchmark", str(folder), "text", "--runs", "1", "--cores", "1", "--output", "mine.json"])
    text = (quick / "mine.json").read_text()
    record = json.loads(text)
    assert not any(word in text for word in (str(quick), str(folder), max(LINES, key=len)))
    assert not {getpass.getuser(), socket.gethostname()} & {*text.split('"')}
    assert {"cpu", "isa", "python", "nmt-frontier", "system"} <= record["machine"].keys()
    assert [speed["cores"] for speed in record["speeds"]] == [1, 1] and len(record["model"]["sha256"]) == 64


def test_what_it_cannot_measure_is_one_line(quick):
    (quick / "empty").write_text("\n\n")
    with pytest.raises(UserError, match=r"^empty: has no words$"):
        benchmark.main([str(native.folders() / "int8"), "empty"])
    with pytest.raises(UserError, match=r"is for CTranslate2, not|this measures the native engine"):
        benchmark.main([str(models.folders()["int8"]), "text"])
    assert not (quick / benchmark.OUTPUT).exists()
