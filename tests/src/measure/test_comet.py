"""COMET by a program of another environment, for which a stand-in with its options and its output is here."""

import json
import sys
from pathlib import Path

import pytest
from measured import measured
from snakefile import TINY, dry_run, planned, snakemake

from findings import metrics
from findings.metrics import CometScores
from formats import measurement, records
from measure import comet as scoring
from measure import score, teacher_student
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256
from report import teacher_student as gap_tables

SENTENCES = ["ein Hund läuft", "eine Katze schläft", "", "das Gras ist grün"]
# The options and the JSON of unbabel-comet 2.2.7. A score is the share of the reference's words that were found.
STAND_IN = f"""#!{sys.executable}
import argparse, json, os, sys
parser = argparse.ArgumentParser()
parser.add_argument("-t", "--translations", nargs="+", required=True)
for names in (("-s", "--sources"), ("-r", "--references"), ("--model",), ("--to_json",)):
    parser.add_argument(*names, required=True)
parser.add_argument("--gpus", type=int, default=1)
for name in ("--quiet", "--only_system"):
    parser.add_argument(name, action="store_true")
args = parser.parse_args()
assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1" and args.gpus == 0
assert args.model.endswith(".ckpt") and os.path.exists(args.model)
with open(os.environ["CALLS"], "a") as calls:
    calls.write(f"{{len(args.translations)}}\\n")
if "FAIL" in os.environ:
    sys.exit("Traceback\\nOSError: could not connect, and xlm-roberta-large is not in the cache")
read = lambda path: [line.strip() for line in open(path, encoding="utf-8").readlines()]
sources, references, data = read(args.sources), read(args.references), {{}}
for file in args.translations:
    found = [len({{*r.split()}} & {{*t.split()}}) / max(1, len(r.split())) for t, r in zip(read(file), references)]
    found[0] = float(os.environ.get("FIRST", found[0]))
    data[file] = [{{"src": s, "mt": t, "ref": r, os.environ.get("FIELD", "COMET"): f}}
                  for s, t, r, f in zip(sources, read(file), references, found)]
    del data[file][int(os.environ.get("KEPT", 1000)):]
    print(f"{{file}}\\tscore: 0.0")
json.dump(data, open(args.to_json, "w", encoding="utf-8"), ensure_ascii=False, indent=4)
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder with a checkpoint, comet-score in an environment of its own, and records of two test sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    for folder in ("tiny-da/checkpoints", "env/bin", "env/lib/python3.11/site-packages/unbabel_comet-2.2.7.dist-info"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tiny-da/checkpoints/model.ckpt").write_bytes(b"weights")
    (tmp_path / "tiny-da/hparams.yaml").touch()
    (tmp_path / "env/bin/comet-score").write_text(STAND_IN)
    (tmp_path / "env/bin/comet-score").chmod(0o755)
    for name in ("t", "u"):
        records.write(tmp_path / f"{name}.tsv.zst", [(f"source {line}", line) for line in SENTENCES])
    for name, lines in {"good": SENTENCES, "same": SENTENCES, "bad": ["ein Hund", "ein", "", "rot"]}.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [{"output": "good.txt"}, {"output": "same.txt"}, {"output": "bad.txt"}, {"speed_only": True}]
    rows += [{"output": "bad.txt", "test_set": "u"}, {"output": "good.txt", "test_set": "dev", "split": "dev"}]
    measurement.write(tmp_path / "all.json", [measured(**{"output": "none.txt"} | row) for row in rows])
    return tmp_path


def run(monkeypatch, module, *arguments):
    monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
    module.main()


CHECKPOINT, PROGRAM = "tiny-da/checkpoints/model.ckpt", "env/bin/comet-score"
COMET = ["--checkpoint", CHECKPOINT, "--program", PROGRAM, "--output", "comet.json"]


def score_all(monkeypatch):
    run(monkeypatch, scoring, *COMET, "--test-sets", "t=t.tsv.zst", "u=u.tsv.zst", "--records", "all.json")
    return CometScores.read(Path("comet.json"))


def test_one_call_a_test_set_scores_equal_translations_once(study, monkeypatch):
    found = score_all(monkeypatch)
    assert (study / "calls").read_text().splitlines() == ["2", "1"]
    assert found.scores["t"] == {
        sha256("good.txt"): pytest.approx(75),  # an empty line has 0
        sha256("bad.txt"): pytest.approx(100 * (2 / 3 + 0 + 0 + 0) / 4),
    }
    assert found.signature == f"model:tiny-da|sha256:{sha256(CHECKPOINT)}|scale:100|version:2.2.7"


def test_the_measurements_have_the_score_and_its_signature_beside_bleu(study, monkeypatch):
    found = score_all(monkeypatch)
    tests = ["--test-sets", "t=t.tsv.zst", "u=u.tsv.zst", "--dev", "dev=t.tsv.zst", "--samples", 2]
    call = ["--records", "all.json", *tests, "--target-language", "de"]
    run(monkeypatch, score, *call, "--output", "plain.json")
    run(monkeypatch, score, *call, "--comet", "comet.json", "--output", "scored.json")
    plain, scored = read_json("plain.json"), read_json("scored.json")
    assert not any("comet" in record for record in plain)
    assert [record.get("comet") for record in scored] == pytest.approx([75, 75, 100 / 6, None, 100 / 6])
    assert {record.get("comet_signature") for record in scored} == {found.signature, None}
    assert [{k: v for k, v in record.items() if "comet" not in k} for record in scored] == plain
    (study / "good.txt").write_text("x\n" * 4)
    with pytest.raises(UserError, match=r"comet\.json: no score of good\.txt; delete the former"):
        run(monkeypatch, score, *call, "--comet", "comet.json", "--output", "scored.json")


def test_the_gap_has_a_column(study, monkeypatch):
    for system, lines in {"one": SENTENCES, "s": ["ein Hund", "Katze", "", "Gras ist"]}.items():
        (study / system).mkdir()
        (study / system / "beam1.t.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run(monkeypatch, scoring, *COMET, "--test-sets", "t=t.tsv.zst", "--outputs", "t=one/beam1.t.txt", "t=s/beam1.t.txt")
    roles = {"one": "teacher", "s": "student"}
    systems = [{"system": s, "student": s, "role": role, "mixture": None, "seed": None} for s, role in roles.items()]
    task = {"systems": systems, "teacher": "one", "teacher_beam": 1, "beam_sizes": [1]}
    task |= {"target_language": "de", "config_hash": "abc"}
    call = [json.dumps(task), "--outputs", ".", "--test-sets", "t=t.tsv.zst", "--output", "gap.json"]
    tables = []
    for options in ([], ["--comet", "comet.json"]):
        run(monkeypatch, teacher_student, *call, *options)
        tables.append(gap_tables.table(gap_tables.read(study / "gap.json")))
    plain, scored = tables
    assert "COMET" not in plain and "| COMET" in scored and "| 75.00" in scored
    assert f" COMET: {CometScores.read(study / 'comet.json').signature}. Configuration abc" in scored


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FAIL", "1", r"comet-score ended with status 1; .* Its last lines:\nTraceback\nOSError: could not connect"),
        ("KEPT", "3", r"comet-score: 3 scores for the 4 sentences of (good|same)\.txt"),
        ("FIRST", "nan", r"comet-score: some scores of (good|same)\.txt are no numbers"),
        ("FIELD", "score", r"its scores are not in the form of unbabel-comet 2\.2"),
    ],
)
def test_a_program_that_fails(study, monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=message):
        score_all(monkeypatch)
    assert not (study / "comet.json").exists()


def test_each_missing_thing_is_a_line(study, monkeypatch):
    assert metrics.comet_problems(CHECKPOINT, PROGRAM) == []
    (line,) = metrics.comet_problems("Unbabel/wmt22-comet-da", PROGRAM)
    assert "metrics.comet: Unbabel/wmt22-comet-da is no file NAME.ckpt" in line and "nothing is downloaded" in line
    (line,) = metrics.comet_problems(CHECKPOINT, "env/bin/no-comet")
    assert "metrics.comet_score: no program env/bin/no-comet; install unbabel-comet" in line
    (study / "tiny-da/hparams.yaml").unlink()
    (line,) = metrics.comet_problems(CHECKPOINT, PROGRAM)
    assert line.startswith(f"metrics.comet: no {study}/tiny-da/hparams.yaml")
    with pytest.raises(UserError, match=r"hparams\.yaml"):
        score_all(monkeypatch)


def test_models_in_the_cache_of_hugging_face_have_their_name(study):
    cached = study / "models--Unbabel--wmt22-comet-da/snapshots/1a2b/checkpoints/model.ckpt"
    assert metrics.comet_name(cached) == "wmt22-comet-da"
    assert metrics.comet_version(study / "elsewhere/bin/comet-score") == "unknown"


@pytest.mark.slow
def test_only_a_study_that_asks_for_comet_has_jobs_of_it(study):
    assert "comet" not in dry_run("-p", "--configfile", TINY, cwd=study).stdout
    path = study / "scored.yaml"
    path.write_text(f"extends: {TINY}\nmetrics: {{comet: tiny-da/checkpoints/model.ckpt, comet_score: nowhere}}\n")
    run = dry_run("-p", "--configfile", path, cwd=study)
    jobs = planned(run)
    assert (jobs["comet"], jobs["comet_gap"]) == (1, 1)
    assert "not there: metrics.comet_score: no program nowhere" in run.stderr
    assert run.stdout.count(" --comet results/") == 2
    real = snakemake("--configfile", path, cwd=study)
    assert real.returncode != 0 and "metrics that cannot be computed:" in real.stderr
    assert not (study / "results/test-tiny/corpora").exists()
