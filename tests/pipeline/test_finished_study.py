"""The whole pipeline, with the real tools, on a tiny study; and what happens when it is killed."""

import itertools
import json
import os
import re
import signal
import subprocess
import time

import forked
import pytest
from forked import PLAIN_GRAPHS
from snakefile import BIN, TINY, arguments_of, dry_run, planned, snakemake, succeeded, warm_snakemake

from formats import records
from nmt_frontier.search.native import Native

pytestmark = pytest.mark.slow


def killed_when(target, cwd, happens):
    """Start to make a file of the study, kill it and everything it started with SIGKILL as soon as ``happens()``.

    Of the file alone, or a training beside it would be killed and started again, too.
    """
    command = [BIN / "snakemake", *arguments_of(target, "--configfile", TINY)]
    process = subprocess.Popen(
        command, cwd=cwd, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    deadline = time.monotonic() + 300
    while not happens():
        assert process.poll() is None and time.monotonic() < deadline, process.stdout.read().decode()[-3000:]
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The tiny study: killed during teacher training, killed during distillation, then run to its end.

    Graphs of the teacher are optimised, as users train.
    """
    cwd = tmp_path_factory.mktemp("tiny")
    study = cwd / "results/test-tiny"
    trained, distilled = study / "systems/teacher/averaged", study / "distilled/teacher/best/grammar.json"
    killed_when(trained.relative_to(cwd), cwd, lambda: list(study.glob("systems/teacher/run-*/ckpt-20.index")))
    assert not trained.exists()
    killed_when(distilled.relative_to(cwd), cwd, lambda: list(study.glob("distilled/teacher/best/grammar/*.json")))
    assert trained.exists() and not distilled.exists()
    succeeded(warm_snakemake("--configfile", TINY, cwd=cwd, timeout=1200, env=os.environ | {PLAIN_GRAPHS: "1"}))
    return study


def test_a_killed_training_continues_from_its_checkpoint(finished):
    learning = json.loads((finished / "systems/teacher/learning.json").read_text())
    assert [row["step"] for row in learning["validation"]] == [30, 60]
    assert len(list(finished.glob("systems/teacher/run-*"))) == 1
    assert len(list(finished.glob("systems/teacher/run-*/events.out.*"))) >= 2  # two starts of one run


def test_distillation_is_complete_after_the_kill(finished):
    for corpus in ("grammar", "grammar_english"):
        clean = json.loads((finished / f"corpora/clean/{corpus}.json").read_text())
        distilled = json.loads((finished / f"distilled/teacher/best/{corpus}.json").read_text())
        assert (
            clean["lines_out"] == distilled["lines_in"] == distilled["lines_out"] + sum(distilled["dropped"].values())
        )
        sources = [record[0] for record in records.read(finished / f"corpora/clean/{corpus}.tsv.zst")]
        kept = [record[0] for record in records.read(finished / f"distilled/teacher/best/{corpus}.tsv.zst")]
        left = iter(sources)
        assert kept and all(source in left for source in kept)  # in the order of the corpus


def test_no_held_out_sentence_is_in_any_training_data(finished):
    held_out = {side for name in ("dev", "test", "test2") for record in records.read(
        finished / f"corpora/clean/{name}.tsv.zst") for side in record}  # fmt: skip
    for data in ("training/original.1", "training/distilled.1", "corpora/clean/grammar_english"):
        sources = {record[0] for record in records.read(finished / f"{data}.tsv.zst")}
        assert len(sources) > 200 and not sources & held_out


def test_every_pair_of_the_mixture_is_aligned_once_whatever_the_weights(finished):
    corpora = [finished / f"distilled/teacher/best/{name}.tsv.zst" for name in ("grammar", "grammar_english")]
    pairs = [record for path in corpora for record in records.read(path)]
    assert sorted(records.read(finished / "alignment/corpus.tsv.zst")) == sorted(pairs)
    shards = (finished / "alignment/aligned").glob("*.tsv.zst")
    assert sum(map(records.count, shards)) == sum(all(pair[:2]) for pair in pairs)


def test_every_system_is_measured_in_every_way(finished):
    measurements = json.loads((finished / "measurements.json").read_text())
    found = {(m["system"], m["engine"], m["compute_type"], m["beam_size"], m["vocabulary_map"]) for m in measurements}
    systems = ("teacher", "deep", "deep-original")
    types = ("float32", "int8")
    engines = ["ctranslate2", *(["native"] if Native.supported() else [])]
    expected = {*itertools.product(systems, engines, types, [1], (True, False))}
    assert found == expected | {(system, "opennmt-tf", "float32", 4, False) for system in systems}
    assert {m["test_set"] for m in measurements} == {"test", "test2"}
    assert all(m["bleu_signature"] and m["target_tokens_per_second"] > 0 for m in measurements)
    fast = [m for m in measurements if m["engine"] == "ctranslate2"]
    on_dev = {(m["role"], m["dev_set"], m["dev_bleu"] is not None) for m in fast}
    assert on_dev == {(role, "dev", True) for role in ("teacher", "student", "control")}
    runs = {(m["system"], m["runs"]) for m in measurements if m["engine"] == "opennmt-tf"}
    assert runs == {(system, 1) for system in systems}
    timed = [m for m in measurements if m["engine"] != "opennmt-tf" and m["test_set"] == "test"]
    fastest = max(timed, key=lambda m: m["source_words_per_second_max"])  # of all single runs
    assert fastest["runs"] == 2 and {m["runs"] for m in timed} <= {1, 2}


def test_a_student_with_monolingual_text_does_not_show_the_effect_of_distillation(finished):
    measurements = json.loads((finished / "measurements.json").read_text())
    text = {record[0] for record in records.read(finished / "corpora/clean/grammar_english.tsv.zst")}
    read = {record[0] for record in records.read(finished / "training/distilled.1.tsv.zst")}
    differences = {m["control_difference"] for m in measurements if m["system"] == "deep"}
    (words,) = differences
    # A teacher that learned so little leaves some sentences of the pairs without a translation.
    found = re.fullmatch(r"distillation(?:,| and) ([\d,]+) more sentences(?: and \d+ fewer sentences?)?", words)
    more = int(found[1].replace(",", ""))
    passes = json.loads((finished / "systems/deep/learning.json").read_text())["seen"]["passes"]
    assert 0 < more <= len(text & read) and (passes < 1 or more == len(text & read))
    assert words in (finished / "report/table.md").read_text()


def test_the_report_is_there(finished):
    for name in ("report.html", "front.html", "table.md", "measurements.csv", "headline.json"):
        assert (finished / "report" / name).stat().st_size > 100
    assert len(list((finished / "report").glob("*.svg"))) >= 5


def test_what_people_write_is_translated_by_every_system(finished):
    found = json.loads((finished / "report/robustness.json").read_text())
    assert {row["system"] for row in found["rows"]} == {"teacher", "deep", "deep-original"}
    assert {row["engine"] for row in found["rows"]} == {"native" if Native.supported() else "ctranslate2"}
    assert all(row["lists"]["url"]["survived"]["url"][1] == 24 for row in found["rows"])
    assert "What people write" in (finished / "report/report.html").read_text()


def test_snakemake_report(finished):
    cwd = finished.parents[1]
    succeeded(snakemake("--configfile", TINY, "--report", "report.html", cwd=cwd))
    assert (cwd / "report.html").stat().st_size > 100_000


def test_any_exported_model_translates(finished, tmp_path):
    names = ["deep/int8", "teacher/opennmt-tf", *(["deep/native-int8"] if Native.supported() else [])]
    text, output = tmp_path / "text", tmp_path / "output"
    text.write_text("A man runs.\n\nA dog sleeps.\n")
    for name in names:
        given = ["--model", finished / "models" / name, "--input", text, "--output", output]
        succeeded(forked.Command("nmt_frontier", "translate", *given).wait())
        lines = output.read_text().split("\n")
        assert len(lines) == 4 and lines[1] == lines[3] == ""
        output.unlink()


def test_nothing_is_left_to_do_after_a_finished_run(finished):
    run = succeeded(dry_run("--configfile", TINY, cwd=finished.parents[1]))
    assert "Nothing to be done" in run.stdout + run.stderr


def test_a_text_that_was_edited_is_read_again_by_the_option_that_its_line_names(finished):
    read = "results/test-tiny/corpora/raw/grammar.tsv.zst"
    jobs = planned(dry_run("--configfile", TINY, "--forcerun", read, cwd=finished.parents[1]))
    assert (jobs["fetch"], jobs["train_teacher"]) == (1, 1) and jobs["clean"] >= 1


MADE = {"fetch", "clean", "vocabulary", "train_teacher", "translate_shard", "select_shard", "sample", "train_student"}


@pytest.mark.parametrize(
    ("change", "remade"),
    [
        ({"decoding": {"compute_types": ["float32", "int8", "int16"]}}, {"convert": 3, "benchmark": 1}),
        ({"decoding": {"runs": 1, "workers": 2, "cores": [0, 1]}}, {"benchmark": 1}),
        (
            {"corpora": {"grammar": {"licence": "CC0"}}, "mirror": "/mirror", "alignment": {"pairs": 10}},
            {"phrase_table": 1},
        ),
        ({"student_training": {"threads": 2}, "distillation": {"batch_tokens": 99}}, {}),
        ({"corpora": {"test": {"max_lines": 20}}}, {"clean": 4, "train_teacher": 1, "benchmark": 1}),
    ],
)
def test_an_edit_makes_what_it_concerns_and_nothing_else(finished, change, remade, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(json.dumps({"extends": str(TINY), **change}))
    jobs = planned(dry_run("--configfile", study, cwd=finished.parents[1]))
    assert remade.items() <= jobs.items()
    assert remade.get("clean") or not MADE & {*jobs}
