"""The whole pipeline, with the real tools, on tiny studies; and what happens when it is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from models import folders

from distill import candidates, config
from distill.fetch import available
from formats import records

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
STUDIES = sorted(ROOT.glob("configs/*.yaml"))
TINY = ROOT / "tests/studies/tiny.yaml"
TINY_ENSEMBLE = ROOT / "tests/studies/tiny-ensemble.yaml"
TINY_GIVEN = ROOT / "tests/studies/tiny-given.yaml"
TINY_MULTI30K = ROOT / "tests/studies/tiny-multi30k.yaml"


def snakemake(*arguments, cwd, **options):
    command = [BIN / "snakemake", "--cores", "2", "--snakefile", ROOT / "Snakefile", *arguments]
    profile = ["--workflow-profile", ROOT / "profiles/default"]
    return subprocess.run([*command, *profile], cwd=cwd, capture_output=True, text=True, **options)


def succeeded(run):
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-6000:]
    return run


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_dry_run_of_every_study_gives_an_estimate(study, tmp_path):
    if missing := available(config.load(study)).missing:  # files that no address is known for
        pytest.skip(f"needs the corpora of {study.name} in the folder NMT_FRONTIER_MIRROR: {missing[0]}")
    run = succeeded(snakemake("-n", "--configfile", study, cwd=tmp_path))
    assert "Estimate for the study" in run.stderr and "minutes" in run.stderr and "GB of disk" in run.stderr
    assert "train_student" in run.stdout + run.stderr


def test_search_is_planned_with_a_system_that_can_be_measured(tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(f"extends: {ROOT}/configs/offline.yaml\nsearch: {{system: tiny}}\n")
    plan = succeeded(snakemake("-n", "search", "--configfile", study, cwd=tmp_path))
    assert "models/tiny/int8" in plan.stdout and "search-components.svg" in plan.stdout
    study.write_text(f"extends: {ROOT}/configs/offline.yaml\nsearch: {{system: big}}\n")
    run = snakemake("-n", "search", "--configfile", study, cwd=tmp_path)
    assert run.returncode != 0 and "search.system: big is no Transformer" in run.stdout + run.stderr


def options(text):
    return set(re.findall(r"--[a-z-]+", text))


def required(usage):
    """The options outside of all brackets."""
    while usage != (outside := re.sub(r"\[[^\[\]]*\]", "", usage)):
        usage = outside
    return options(usage)


def test_the_programs_of_search_know_the_options_that_they_are_given(tmp_path):
    """Even on the tiny study they take minutes, so they are not run here."""
    plan = succeeded(snakemake("-n", "-p", "search", "--configfile", TINY, cwd=tmp_path)).stdout
    calls = dict(re.findall(r"python -m (decode\.\w+) (.*?) 2> ", plan))
    assert len(calls) == 7
    for module, given in calls.items():
        call = [sys.executable, "-m", module, "--help"]
        text = subprocess.run(call, capture_output=True, text=True, check=True).stdout
        assert required(text.split("\n\n")[0]) <= options(given) <= options(text), module


def test_a_vocabulary_of_the_translations_of_a_given_teacher(tmp_path):
    """The teacher splits text by its own model; a corpus is sampled on the way to it."""
    teacher = folders()["int8"]
    study = tmp_path / "study.yaml"
    own = {"ctranslate2": str(teacher), "tokenization": {"sentencepiece": str(teacher / "sentencepiece.model")}}
    text = {
        "extends": str(TINY),
        "study": "given",
        "corpora": {"grammar_english": {"sample": 120}, "test2": None},
        "cleaning_shards": 1,
        "distillation": {"shards": 1},
        "vocabulary": {"of": "distilled", "pieces": 150},
        "teachers": {"teacher": None, "given": own},
    }
    study.write_text(json.dumps(text))
    results = tmp_path / "results/given"
    succeeded(snakemake("results/given/training/distilled.1.source", "--configfile", study, cwd=tmp_path))
    counts = json.loads((results / "corpora/clean/grammar_english.json").read_text())
    assert counts["dropped"]["not_sampled"] == 180 and counts["lines_in"] == 300 and counts["lines_out"] <= 120
    pieces = set((results / "vocabulary/vocabulary.txt").read_text().split())
    translations = [pair[1] for pair in records.read(results / "training/distilled.1.tsv.zst")]
    words = {"\u2581" + word for line in translations for word in line.split()}  # made up, none is in the corpora
    assert len(pieces & words) > 20
    succeeded(snakemake("-n", "--configfile", study, cwd=tmp_path))


def test_lint(tmp_path):
    run = succeeded(snakemake("--lint", cwd=tmp_path))
    assert "in a good condition" in run.stdout + run.stderr


def test_french_differs_in_language_and_name_only():
    german, french = (config.load(ROOT / f"configs/{name}.yaml") for name in ("demo", "demo-fr"))
    assert {key for key in german if german[key] != french[key]} == {"study", "target"}


def test_a_mistake_in_the_study_is_one_line_without_traceback(tmp_path):
    study = tmp_path / "bad.yaml"
    study.write_text(f"extends: {ROOT}/configs/offline.yaml\ndecoding: {{beam: 4}}\n")
    run = snakemake("-n", "--configfile", study, cwd=tmp_path)
    assert run.returncode != 0
    assert "unknown key decoding.beam; did you mean decoding.beam_sizes?" in run.stderr
    assert "Traceback" not in run.stderr


def killed_when(command, cwd, happens):
    """Start a command, kill it and everything it started with SIGKILL as soon as ``happens()``."""
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
    """The tiny study: killed during teacher training, killed during distillation, then run to its end."""
    cwd = tmp_path_factory.mktemp("tiny")
    study = cwd / "results/test-tiny"
    command = [BIN / "snakemake", "--cores", "2", "--snakefile", ROOT / "Snakefile", "--configfile", TINY,
               "--workflow-profile", ROOT / "profiles/default"]  # fmt: skip
    killed_when(command, cwd, lambda: list(study.glob("systems/teacher/run-*/ckpt-20.index")))
    assert not (study / "systems/teacher/averaged").exists()
    killed_when(command, cwd, lambda: list(study.glob("distilled/teacher/best/grammar/*.json")))
    assert not (study / "distilled/teacher/best/grammar.json").exists()
    succeeded(snakemake("--configfile", TINY, cwd=cwd, timeout=1200))
    return study


@pytest.mark.xdist_group("finished")
def test_a_killed_training_continues_from_its_checkpoint(finished):
    learning = json.loads((finished / "systems/teacher/learning.json").read_text())
    assert [row["step"] for row in learning["validation"]] == [30, 60]
    assert len(list(finished.glob("systems/teacher/run-*"))) == 1
    assert len(list(finished.glob("systems/teacher/run-*/events.out.*"))) >= 2  # two starts of one run


@pytest.mark.xdist_group("finished")
def test_distillation_is_complete_after_the_kill(finished):
    for corpus in ("grammar", "grammar_english"):
        clean = json.loads((finished / f"corpora/clean/{corpus}.json").read_text())
        distilled = json.loads((finished / f"distilled/teacher/best/{corpus}.json").read_text())
        assert (
            clean["lines_out"] == distilled["lines_in"] == distilled["lines_out"] + sum(distilled["dropped"].values())
        )
        sources = [record[0] for record in records.read(finished / f"corpora/clean/{corpus}.tsv.zst")]
        kept = [record[0] for record in records.read(finished / f"distilled/teacher/best/{corpus}.tsv.zst")]
        assert kept == sources or (len(kept) < len(sources) and set(kept) <= set(sources))


@pytest.mark.xdist_group("finished")
def test_no_held_out_sentence_is_in_any_training_data(finished):
    held_out = {side for name in ("dev", "test", "test2") for record in records.read(
        finished / f"corpora/clean/{name}.tsv.zst") for side in record}  # fmt: skip
    for data in ("training/original.1", "training/distilled.1", "corpora/clean/grammar_english"):
        sources = {record[0] for record in records.read(finished / f"{data}.tsv.zst")}
        assert len(sources) > 200 and not sources & held_out


@pytest.mark.xdist_group("finished")
def test_every_pair_of_the_mixture_is_aligned_once_whatever_the_weights(finished):
    corpora = [finished / f"distilled/teacher/best/{name}.tsv.zst" for name in ("grammar", "grammar_english")]
    pairs = [record for path in corpora for record in records.read(path)]
    assert sorted(records.read(finished / "alignment/corpus.tsv.zst")) == sorted(pairs)
    shards = (finished / "alignment/aligned").glob("*.tsv.zst")
    assert sum(map(records.count, shards)) == sum(all(pair[:2]) for pair in pairs)


@pytest.mark.xdist_group("finished")
def test_every_system_is_measured_in_every_way(finished):
    measurements = json.loads((finished / "measurements.json").read_text())
    found = {(m["system"], m["engine"], m["compute_type"], m["beam_size"], m["vocabulary_map"]) for m in measurements}
    systems = ("teacher", "deep", "tiny", "deep-original")
    types = ("float32", "int16", "int8")
    expected = {(s, "ctranslate2", t, b, v) for s in systems for t in types for b in (1, 4) for v in (True, False)}
    assert found == expected | {(system, "opennmt-tf", "float32", 4, False) for system in systems}
    assert {m["test_set"] for m in measurements} == {"test", "test2"}
    assert all(m["bleu_signature"] and m["target_tokens_per_second"] > 0 for m in measurements)
    fast = [m for m in measurements if m["engine"] == "ctranslate2"]
    on_dev = {(m["role"], m["dev_set"], m["dev_bleu"] is not None) for m in fast}
    assert on_dev == {("teacher", "dev", False), ("student", "dev", True), ("control", "dev", True)}
    runs = {(m["role"], m["runs"]) for m in fast if m["test_set"] == "test" and m["compute_type"] == "int8"}
    assert runs == {("teacher", 1), ("student", 2), ("control", 1)}


@pytest.mark.xdist_group("finished")
def test_a_student_with_monolingual_text_is_not_said_to_show_what_distillation_is_worth(finished):
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


@pytest.mark.xdist_group("finished")
def test_the_report_is_there(finished):
    for name in ("report.html", "table.md", "measurements.csv", "headline.json"):
        assert (finished / "report" / name).stat().st_size > 100
    assert len(list((finished / "report").glob("*.svg"))) >= 5


@pytest.mark.xdist_group("finished")
def test_snakemake_report(finished):
    cwd = finished.parents[1]
    succeeded(snakemake("--configfile", TINY, "--report", "report.html", cwd=cwd))
    assert (cwd / "report.html").stat().st_size > 100_000


@pytest.mark.xdist_group("finished")
def test_any_exported_model_translates(finished):
    for folder in (finished / "models/deep/int8", finished / "models/teacher/opennmt-tf"):
        command = [sys.executable, "-m", "decode.translate", "--model", folder]
        run = subprocess.run(
            command, input="A man runs.\n\nA dog sleeps.\n", capture_output=True, text=True, check=True
        )
        lines = run.stdout.split("\n")
        assert len(lines) == 4 and lines[1] == lines[3] == ""


@pytest.mark.xdist_group("finished")
def test_nothing_is_left_to_do_after_a_finished_run(finished):
    run = succeeded(snakemake("-n", "--configfile", TINY, cwd=finished.parents[1]))
    assert "Nothing to be done" in run.stdout + run.stderr


def test_an_ensemble_interpolation_and_a_recurrent_student(tmp_path):
    """Quality only: nothing is timed. Shapes, sizes and the wiring; so short a training learns nothing."""
    succeeded(snakemake("explain", "--configfile", TINY_ENSEMBLE, cwd=tmp_path, timeout=1200))
    study = tmp_path / "results/test-tiny-ensemble"
    assert not (study / "decoding").exists()
    for targets in ("best", "interpolated"):
        counts = json.loads((study / f"distilled/ensemble/{targets}/grammar.json").read_text())
        assert counts["lines_out"] == records.count(study / f"distilled/ensemble/{targets}/grammar.tsv.zst") > 500
    assert counts["sums"]["not_first"] > 0
    best, interpolated = (
        [record[1] for record in records.read(study / f"distilled/ensemble/{targets}/grammar.tsv.zst")]
        for targets in ("best", "interpolated")
    )
    assert best != interpolated
    lists = [*candidates.read(study / "n-best/ensemble/grammar/1-of-2.tsv.zst")]
    assert max(len(entry.translations) for entry in lists) == 3  # in all, not of each teacher
    names = ("deep", "rnn-original")
    deep, rnn = (json.loads((study / f"systems/{name}/learning.json").read_text()) for name in names)
    assert deep["start_from"] == "results/test-tiny-ensemble/systems/first/averaged" and rnn["start_from"] is None
    assert deep["left_out"]["pairs"] == 0 < rnn["left_out"]["pairs"] < 600
    assert "600 |" in (study / "report/training.md").read_text()
    mixed = json.loads((study / "training/interpolated.1.json").read_text())
    assert [corpus["name"] for corpus in mixed["corpora"]] == ["grammar"]
    assert mixed["lines"] == counts["lines_out"] - int(counts["lines_out"] * 0.2)
    gap = json.loads((study / "report/gap.json").read_text())
    beams = gap["test_sets"]["test"]["beams"]
    names = ["first", "second", "ensemble", "deep", "deep-interpolated", "rnn-original"]
    assert [row["system"] for row in beams["beam 3"]["systems"]] == names
    (pair,) = beams["beam 3"]["comparisons"]
    assert (pair["mixture"], pair["than"], pair["twins"]) == ("distilled", "interpolated", False)
    assert re.match(r"best against interpolated targets(,| and) [\d,]+ more sentences", pair["difference"])
    ensemble = next(row for row in beams["beam 3"]["systems"] if row["system"] == "ensemble")
    assert ensemble["agreement_exact"] == 1 and ensemble["bleu_p_teacher"] == 1


def test_a_study_without_a_teacher_starts_at_the_student_and_picks_its_map(tmp_path):
    study = tmp_path / "results/test-tiny-given"
    names = ("packages/deep-int8.tar.gz", "submissions/deep-int8", "report/end_to_end.md", "report/end_to_end.svg")
    names += ("report/ladder.deep.md", "report/ladder.deep.svg", "report/scaling.wngt2020-4-3-untrained.md")
    made = [f"results/test-tiny-given/{name}" for name in names]
    succeeded(snakemake("all", "maps", *made, "--configfile", TINY_GIVEN, cwd=tmp_path, timeout=1200))
    measurements = json.loads((study / "measurements.json").read_text())
    assert {m["system"] for m in measurements} == {"deep"}
    assert all(m["bleu_delta_teacher"] is None and m["teacher"] is None for m in measurements)
    assert (study / "report/report.html").stat().st_size > 100_000 and not (study / "report/gap.md").exists()
    assert not (study / "n-best").exists()

    picked = json.loads((study / "alignment/coverage/dev.json").read_text())["picked"]
    used = json.loads((study / "alignment/vmap.json").read_text())
    assert {key: used[key] for key in ("max_ngram", "min_frequency", "meanings")} == {
        key: picked[key] for key in ("max_ngram", "min_frequency", "meanings")
    }
    timing = json.loads((study / "report/maps.timing.json").read_text())
    names = {"whole", "1-1-20-100-50-phrases", "2-1-20-100-50-phrases"}
    assert {(row["map"], row["batch_tokens"]) for row in timing["rows"]} == {
        (n, t) for n in names for t in (1, 32, 512)
    }
    assert f"**{picked['max_ngram']}**" in (study / "report/maps.md").read_text()
    assert (study / "report/maps.png").stat().st_size > 10_000
    assert (study / "models/deep/int8/vmap.txt").read_bytes() == (study / "alignment/vmap.txt").read_bytes()
    assert all((tmp_path / path).exists() for path in made)
    assert (tmp_path / made[1] / "SIZES.md").read_text().count("model/") >= 4

    ends = json.loads((study / "report/end_to_end.json").read_text())
    found = {(r["system"], r["engine"], len(r["cores"])): (r["speed_only"], r["bleu"] is None) for r in ends}
    systems = {"deep": (False, False), "wngt2020-4-3-untrained": (True, True)}
    ways = [(engine, cores) for engine in ("opennmt-tf", "ctranslate2") for cores in {1, len(os.sched_getaffinity(0))}]
    assert found == {(system, *way): kind for system, kind in systems.items() for way in ways}
    rungs = [record["rung"] for record in json.loads((study / "report/ladder.deep.json").read_text())]
    assert rungs[:2] == ["OpenNMT-tf, beam 4", "OpenNMT-tf, greedy"] and any("best of 4" in rung for rung in rungs)
    scaling = json.loads((study / "report/scaling.wngt2020-4-3-untrained.json").read_text())
    assert (scaling[0]["workers"], scaling[0]["threads"]) == (1, 1)
    untrained = [r for r in ends if r["speed_only"]]
    assert all(0.95 < r["target_tokens"] / r["reference_tokens"] < 1.05 for r in untrained)
    assert (study / "models/wngt2020-4-3-untrained/int8/README.md").read_text().count("means nothing") == 1


def planned(run):
    """How many jobs of each rule a dry run plans."""
    lines = succeeded(run).stdout.split("Job stats:")[1].split("total")[0].splitlines()[3:]
    return {name: int(count) for name, count in map(str.split, filter(None, lines))}


def test_speed_tables_are_planned_where_a_study_times_something(tmp_path):
    run = snakemake("-n", "-p", "speed", "--configfile", TINY_GIVEN, cwd=tmp_path)
    jobs = planned(run)
    calls = re.findall(r"python -m (decode\.\w+) (.*)", run.stdout)
    assert "decode.ladder" in dict(calls) and not any("--sentences" in given for _, given in calls)
    assert {name: jobs[name] for name in ("untrained", "ladder", "scaling", "end_to_end", "speed_table")} == {
        "untrained": 1, "ladder": 2, "scaling": 2, "end_to_end": 1, "speed_table": 5,
    }  # fmt: skip


def test_speed_is_of_all_transformers_where_none_is_named(tmp_path):
    run = snakemake("-n", "-p", "speed", "--configfile", ROOT / "configs/offline.yaml", cwd=tmp_path)
    assert planned(run)["ladder"] == planned(run)["scaling"] == 1
    (call,) = re.findall(r"decode.end_to_end .*--rounded (.*?) --test-sets", run.stdout)
    for format in ("int8", "float32"):
        assert re.findall(rf"models/([^/]*)/{format}", call) == ["deep", "deep-original", "tiny", "teacher"]
    study = tmp_path / "x.yaml"
    study.write_text(f"extends: {ROOT}/configs/offline.yaml\nstudy: x\ndecoding: {{compute_types: [float32]}}\n")
    run = snakemake("-n", "speed", "--configfile", study, cwd=tmp_path)
    assert run.returncode != 0 and "decoding.compute_types: speed needs int8, too" in run.stdout + run.stderr


def test_the_speed_of_the_papers_sizes_needs_no_training(tmp_path):
    study = ROOT / "configs/paper-sizes.yaml"
    if missing := available(config.load(study)).missing:
        pytest.skip(f"needs the corpora of {study.name} in the folder NMT_FRONTIER_MIRROR: {missing[0]}")
    jobs = planned(snakemake("-n", "speed", "--configfile", study, cwd=tmp_path))
    expected = {
        "untrained": 4, "ladder": 1, "scaling": 1, "end_to_end": 1, "vocabulary_map": 1,
        "encode": 1,  # the epoch in which the pieces that are always on are counted
    }  # fmt: skip
    assert {name: jobs[name] for name in expected} == expected
    assert not {"train_student", "train_teacher", "model_outputs"} & set(jobs)


def test_a_cut_of_multi30k(tmp_path):
    problems = available(config.load(TINY_MULTI30K))
    if absent := problems.missing + problems.unchecked:
        pytest.skip(f"needs Multi30k in the folder NMT_FRONTIER_MIRROR or a network: {absent[0]}")
    succeeded(snakemake("--configfile", TINY_MULTI30K, cwd=tmp_path, timeout=1200))
    measurements = json.loads((tmp_path / "results/test-tiny-multi30k/measurements.json").read_text())
    assert {m["system"] for m in measurements} == {"teacher", "deep", "deep-original"}
