"""A study with a teacher behind HTTP, through Snakemake: what it asks, what it keeps, and that its key goes nowhere."""

import os
import shutil

import pytest
import yaml
from language_models import KEY, english, german
from snakefile import dry_run, snakemake, succeeded, warm_snakemake

from formats import records
from nmt_frontier.files import read_json

pytestmark = pytest.mark.slow

TRAINING = {"steps": 10, "batch_tokens": 100, "learning_rate": 0.1}
DISTILLED, SEEN = "results/llm/distilled/llm/best/text.tsv.zst", "results/llm/outputs/llm/beam4.seen.txt"

SEEN_NUMBERS = range(1000, 1006)


def study(folder, address, **changed):
    """A study on files of two sentences for each number, as the server knows them."""
    # Numbers of other lengths: cleaning takes texts that differ in digits alone for held-out ones.
    numbered = {"text": range(60), "watched": range(100, 104), "seen": SEEN_NUMBERS}
    for name, numbers in numbered.items():
        texts = [*map(english, numbers)]
        (folder / f"{name}.en").write_text("".join(f"{text}\n" for text in texts))
        (folder / f"{name}.de").write_text("".join(f"{german(text)}\n" for text in texts))
    roles = {"text": "train", "watched": "dev", "seen": "test"}
    corpora = {name: {"role": role, "file": f"{name}.{{lang}}"} for name, role in roles.items()}
    corpora = {name: entry | {"lines": len(numbered[name])} for name, entry in corpora.items()}
    http = {"address": address, "model": "tiny", "key": "LLM_KEY", "prices": {"input": 1, "output": 2}, "budget": 1}
    written = {
        "study": "llm", "source": "en", "target": "de", "cleaning_shards": 1, "distillation": {"shards": 2},
        "corpora": corpora,
        "cleaning": {"near_duplicates": False}, "teachers": {"llm": {"http": http | changed}},
        "students": {"small": {"shape": "wngt2020-4-3"}}, "student_training": TRAINING,
    }  # fmt: skip
    (folder / "llm.yaml").write_text(yaml.safe_dump(written))
    return [DISTILLED, SEEN, "--configfile", "llm.yaml"]


def test_a_study_asks_once_and_its_key_is_nowhere(model, tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_KEY", KEY)
    made = study(tmp_path, model.address)
    plan = succeeded(dry_run(*made, cwd=tmp_path))
    assert "66 requests, " in plan.stderr and " USD of 1, " in plan.stderr and model.bodies == []

    model.fault = lambda text, times: "refusal" if text == english(7) else "429" if times == 0 else None
    run = succeeded(warm_snakemake(*made, cwd=tmp_path, env=os.environ | {"LLM_KEY": KEY}))
    pairs = [(source, target) for source, target, _ in records.read(tmp_path / DISTILLED)]
    texts = [english(number) for number in range(60) if number != 7]
    assert pairs == [(text, german(text)) for text in texts]
    assert (tmp_path / SEEN).read_text().splitlines() == [german(english(number)) for number in SEEN_NUMBERS]
    counts = [read_json(path) for path in (tmp_path / "results/llm/n-best/llm/text").glob("*.json")]
    dropped = [each["dropped"] for each in counts if each["dropped"]]
    assert sum(each["lines_out"] for each in counts) == 60 and dropped == [{"refusal": 1}]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 20 and not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in run.stdout + run.stderr

    sent = len(model.bodies)
    made = study(tmp_path, "http://127.0.0.1:9/v1", budget=2, concurrency=2)  # nothing that makes an answer
    again = succeeded(dry_run(*made, cwd=tmp_path))
    assert "Nothing to be done" in again.stdout + again.stderr
    for name in ("n-best", "distilled", "outputs"):
        shutil.rmtree(tmp_path / "results/llm" / name)
    monkeypatch.delenv("LLM_KEY")
    run = succeeded(snakemake(*made, cwd=tmp_path))  # of the kept answers, without server and key
    assert [row[:2] for row in records.read(tmp_path / DISTILLED)] == pairs and len(model.bodies) == sent
    assert "teachers.llm.http.key: LLM_KEY is not set; without it only answers that are kept can be used" in run.stderr
