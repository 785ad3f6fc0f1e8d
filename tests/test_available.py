"""What is asked before anything runs: which corpora can be had, and which are read unchecked."""

import json
import subprocess
import threading
import time

import pytest
import warm
from mirrored_texts import ENGLISH, GERMAN, corpus, entry, mirrored, records_of
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)
from web import NOWHERE

from corpora import availability, download
from corpora.availability import available
from study import config


def test_available_tells_what_is_missing(server, tmp_path):
    server.files = {"/web.en": b"", "/web.de": b""}
    mirrored(tmp_path)
    entries = {
        "here": corpus(),
        "web": corpus("no/{lang}", [f"{server.url}/web.{{lang}}"]),
        "gone": corpus("no/{lang}", [f"{server.url}/gone.{{lang}}"]),
        "off": corpus("no/{lang}", [f"{NOWHERE}/off.{{lang}}"]),
        "made": config.corpus({"role": "test", "builtin": {"split": "test", "sentences": 1}}),
    }
    study = {"source": "en", "target": "de", "mirror": str(tmp_path), "corpora": entries}
    (gone,), (off,) = available(study, tmp_path / "cache")
    assert gone.startswith("gone: no ") and "/gone.en: HTTP 404" in gone
    assert off.startswith("off: no ") and "/off.en: no connection" in off
    assert server.requests == []


def test_available_knows_the_cache(server, tmp_path):
    server.files = {"/en": ENGLISH.encode(), "/de": GERMAN.encode()}
    asked = corpus(url=[f"{server.url}/{{lang}}"])
    records_of(asked, tmp_path)
    server.files = {}
    study = {"source": "en", "target": "de", "mirror": None, "corpora": {"x": asked}}
    assert available(study, tmp_path / "cache") == ([], [])
    assert len(available(study, tmp_path / "other").missing) == 1
    assert available(study, tmp_path / "other", names=[]) == ([], [])


def test_sixty_corpora_without_a_network_are_checked_in_time(tmp_path, monkeypatch):
    ended = threading.Event()

    def hang(url):
        ended.wait()
        raise download.NoAnswer(url)

    monkeypatch.setattr(download, "reach", hang)
    monkeypatch.setattr(availability, "CHECK_SECONDS", 0.2)
    corpora = {
        f"c{number}": config.corpus({"role": "train", "url": [f"http://127.0.0.1:9/{number}.{{lang}}"]})
        for number in range(60)
    }
    study = {"source": "en", "target": "de", "mirror": None, "corpora": corpora}
    start = time.monotonic()
    missing, unchecked = available(study, tmp_path)
    assert time.monotonic() - start < 10
    ended.set()
    assert (len(missing), len(unchecked)) == (0, 60)


@pytest.mark.slow
def test_what_has_no_name_to_look_for_in_a_mirror(tmp_path):
    source = {"package": {"name": "a", "version": "1", "member": "a.tsv", "sha256": "0" * 64}}
    study = {"source": "en", "target": "de", "mirror": None}
    study["corpora"] = {"x": config.corpus({"role": "train", **source})}
    for mirror, tried in (
        (None, "x: no mirror"),
        (str(tmp_path), "x: the study does not say where in the mirror it is"),
    ):
        lines = [line for kind in available(study | {"mirror": mirror}, tmp_path) for line in kind]
        assert [line.startswith(f"{tried}, and no download: ") for line in lines] == [True]
        assert "Set NMT_FRONTIER_MIRROR and say where in that folder it is (mirror)" in lines[0]


def run(*arguments):
    return subprocess.run(
        [warm.python(), "-m", "study.available", *map(str, arguments)], capture_output=True, text=True
    )


def test_command_available(tmp_path):
    entries = {role: entry(f"{role}/x.{{lang}}.gz") | {"role": role} for role in ("train", "dev", "test")}
    study = {
        "study": "x",
        "source": "en",
        "target": "de",
        "mirror": str(tmp_path),
        "corpora": entries,
        "teachers": {
            "t": {
                "shape": {"encoder_layers": 1, "decoder_layers": 1, "units": 8, "ffn_units": 8, "heads": 2},
                "training": (training := {"steps": 1, "batch_tokens": 1, "learning_rate": 1, "warmup_steps": 1}),
            }
        },
        "students": {
            "s": {"shape": {"encoder_layers": 1, "decoder_layers": 1, "units": 8, "ffn_units": 8, "heads": 2}}
        },
        "student_training": training,
        "decoding": {"compute_types": ["float32"]},
        "distillation": {"compute_type": "float32"},
    }
    path = tmp_path / "x.yaml"
    path.write_text(json.dumps(study))  # JSON is YAML
    for role in ("train", "dev"):
        (tmp_path / role).mkdir()
        mirrored(tmp_path / role)
    done = run(path)
    assert done.returncode == 1
    assert done.stdout.startswith("test: no ") and done.stdout.count("\n") == 1
    (tmp_path / "test").mkdir()
    mirrored(tmp_path / "test")
    done = run(path)
    assert (done.returncode, done.stdout) == (0, "")
