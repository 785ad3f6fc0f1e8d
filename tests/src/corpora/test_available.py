"""The check before anything runs: which corpora can be had."""

import json
import os
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
import warm
from mirrored_texts import ENGLISH, GERMAN, corpus, entry, mirrored, records_of
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)
from web import NOWHERE

from corpora import availability, download
from corpora.availability import available, edited
from corpora.sources.addressed import WebFile
from study import config

STUDY = {"source": "en", "target": "de", "mirror": None}


def of(corpora, mirror=None):
    return SimpleNamespace(**STUDY | {"mirror": mirror, "corpora": corpora})


def test_available_lists_what_is_missing(server, tmp_path):
    server.files = {"/web.en": b"", "/web.de": b""}
    mirrored(tmp_path)
    entries = {
        "here": corpus(),
        "web": corpus("no/{lang}", [f"{server.url}/web.{{lang}}"]),
        "gone": corpus("no/{lang}", [f"{server.url}/gone.{{lang}}"]),
        "off": corpus("no/{lang}", [f"{NOWHERE}/off.{{lang}}"]),
        "made": config.corpus({"role": "test", "builtin": {"split": "test", "sentences": 1}}),
    }
    (gone,), (off,) = available(of(entries, str(tmp_path)), tmp_path / "cache")
    assert gone.startswith("gone: no ") and "/gone.en: HTTP 404" in gone
    assert off.startswith("off: no ") and "/off.en: no connection" in off
    assert server.requests == []


def test_available_knows_the_cache(server, tmp_path):
    server.files = {"/en": ENGLISH.encode(), "/de": GERMAN.encode()}
    asked = corpus(url=[f"{server.url}/{{lang}}"])
    records_of(asked, tmp_path)
    server.files = {}
    study = of({"x": asked})
    assert available(study, tmp_path / "cache") == ([], [])
    assert len(available(study, tmp_path / "other").missing) == 1
    assert available(study, tmp_path / "other", names=[]) == ([], [])


def test_what_was_edited_after_it_was_read_is_named_if_no_checksum_guards_it(tmp_path):
    mirror, read = mirrored(tmp_path / "mirror"), tmp_path / "own.tsv.zst"
    (mirror / "x.laser").write_text("1\n")
    scored = corpus(score={"laser": {"file": "x.laser"}})
    corpora = {
        "own": corpus(sha256=None),
        "checked": corpus(),
        "scored": scored,
        "unread": scored,
        "gone": corpus("gone", sha256=None),
        "half": corpus(sha256={"de": "0" * 64}),
        "loaded": corpus("no/{lang}", [f"{NOWHERE}/off.{{lang}}"], sha256=None),
    }
    raw = dict.fromkeys(corpora, str(read)) | {"unread": str(tmp_path / "no.tsv.zst")}
    for code in ("en", "de"):  # a download, newer than what was read of it
        path = WebFile(f"{NOWHERE}/off.{code}").path(tmp_path / "cache")
        path.parent.mkdir(parents=True)
        path.touch()
    read.touch()
    os.utime(read, (path.stat().st_mtime - 9, path.stat().st_mtime - 9))
    changed = {None: [], "x.en.gz": ["own", "half"], "x.laser": ["scored"]}
    for name, named in changed.items():
        for file in mirror.iterdir():
            seconds = read.stat().st_mtime + (1 if file.name == name else -1)
            os.utime(file, (seconds, seconds))
        lines = [*edited(of(corpora, str(mirror)), raw.__getitem__, tmp_path / "cache")]
        assert [line.split(":")[0] for line in lines] == named
    text = f"{mirror / 'x.laser'} is newer than what was read of it; --forcerun {read} has it read again"
    assert lines == [f"scored: {text}"]


def test_scores_that_are_missing_are_named_and_not_the_text(tmp_path):
    mirrored(tmp_path)
    asked = corpus(url=[f"{NOWHERE}/off.{{lang}}"], score={"laser": {"file": "no.laser"}})
    (line,), unchecked = available(of({"x": asked}, str(tmp_path)), tmp_path / "cache")
    assert not unchecked and line.startswith("x: score.laser.file: no file no.laser, searched for in the mirror ")


def test_sixty_corpora_without_a_network_are_checked_in_time(tmp_path, monkeypatch):
    ended = threading.Event()

    def hang(url):
        ended.wait()
        raise download.NoAnswer(url)

    monkeypatch.setattr(download, "reach", hang)
    monkeypatch.setattr(availability, "CHECK_SECONDS", 0.2)
    urls = [f"{NOWHERE}/{number}.{{lang}}" for number in range(60)]
    corpora = {url: config.corpus({"role": "train", "url": [url]}) for url in urls}
    start = time.monotonic()
    missing, unchecked = available(of(corpora), tmp_path)
    assert time.monotonic() - start < 10
    ended.set()
    assert (len(missing), len(unchecked)) == (0, 60)


@pytest.mark.slow
@pytest.mark.parametrize("mirror", [None, "."])
def test_what_has_no_name_to_look_for_in_a_mirror(tmp_path, mirror):
    source = {"package": {"name": "a", "version": "1", "member": "a.tsv", "sha256": "0" * 64}}
    study = of({"x": config.corpus({"role": "train", **source})}, mirror)
    (line,) = [line for kind in available(study, tmp_path) for line in kind]
    tried = "the study does not say where in the mirror it is" if mirror else "no mirror"
    assert line.startswith(f"x: {tried}, and no download: ")
    assert "Set NMT_FRONTIER_MIRROR and say where in that folder it is (mirror)" in line


@pytest.mark.slow
def test_command_available(tmp_path):
    def run():
        command = [warm.python(), "-m", "study.available", tmp_path / "x.yaml"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    shape = {"encoder_layers": 1, "decoder_layers": 1, "units": 8, "ffn_units": 8, "heads": 2}
    training = {"steps": 1, "batch_tokens": 1, "learning_rate": 1, "warmup_steps": 1}
    study = STUDY | {
        "study": "x",
        "mirror": str(tmp_path),
        "corpora": {role: entry(f"{role}/x.{{lang}}.gz") | {"role": role} for role in ("train", "dev", "test")},
        "teachers": {"t": {"shape": shape, "training": training}},
        "students": {"s": {"shape": shape}},
        "student_training": training,
        "decoding": {"compute_types": ["float32"]},
        "distillation": {"compute_type": "float32"},
    }
    (tmp_path / "x.yaml").write_text(json.dumps(study))  # JSON is YAML
    for role in ("train", "dev"):
        mirrored(tmp_path / role)
    status, output = run()
    assert status == 1
    assert output.startswith("test: no ") and output.count("\n") == 1
    mirrored(tmp_path / "test")
    assert run() == (0, "")
