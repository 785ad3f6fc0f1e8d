"""Dry runs: the jobs that Snakemake plans for a study, and its errors."""

import json
import re

import forked
import pytest
from snakefile import ROOT, TINY, TINY_GIVEN, dry_run, planned, snakemake, succeeded

from corpora.availability import available
from study import config
from study.schema import config_hash

pytestmark = pytest.mark.slow

STUDIES = sorted(ROOT.glob("configs/*.yaml"))
OFFLINE = ROOT / "configs/offline.yaml"


def extended(folder, base, text, name="x.yaml"):
    """A study with these lines of YAML over those of a base."""
    (folder / name).write_text(f"extends: {base}\n{text}\n")
    return folder / name


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_dry_run_of_every_study_gives_an_estimate(study, tmp_path):
    if missing := available(config.read(study)).missing:  # files that no address is known for
        pytest.skip(f"needs the corpora of {study.name} in the folder NMT_FRONTIER_MIRROR: {missing[0]}")
    shards = "cleaning_shards: 2\ndistillation: {shards: 2}\nalignment: {shards: 2}"
    few = extended(tmp_path, study, shards, study.name)  # the plan of 13,000 jobs takes half a minute
    run = succeeded(dry_run("--configfile", few, cwd=tmp_path))
    assert re.search(r"Estimate for the study \S+: about .+ on \d+ cores?.* GB of disk", run.stderr)
    assert "train_student" in run.stdout + run.stderr


def test_files_that_a_person_downloads_are_asked_for_then_planned(tmp_path):
    """Students learn from published translations; the published teachers translate the test sets alone."""
    study = ROOT / "configs/wmt22-efficiency.yaml"
    run = dry_run("--configfile", study, cwd=tmp_path)
    missing = "no file wmt22-efficiency/parallel.en.gz in .*; if it is not yours, the comments of the study's configur"
    assert run.returncode != 0 and re.search(missing, run.stdout + run.stderr)
    (tmp_path / "wmt22-efficiency").mkdir()
    for name in ("parallel.en", "parallel.de", "parallel.teacher.de", "monolingual.en", "monolingual.teacher.de"):
        (tmp_path / f"wmt22-efficiency/{name}.gz").touch()
    few = extended(tmp_path, study, "cleaning_shards: 2\nalignment: {shards: 2}", study.name)
    jobs = planned(run := dry_run("--configfile", few, cwd=tmp_path))
    assert jobs["train_student"] == 5 and jobs["import_teacher"] == 4
    assert jobs["translate_shard"] == jobs["foreign_outputs"] == 2 * 5  # two test sets, each teacher and all together
    assert run.stderr.count("model is not there: teacher-4: no wmt22-efficiency/") == 2


def test_a_backward_teacher_may_come_from_elsewhere(tmp_path):
    """It splits text itself, and what is not drawn is not translated."""
    back = "{teacher: {ctranslate2: /there, tokenization: {sentencepiece: /there/model}}}"
    german = "{role: monolingual_target, builtin: {split: test2, sentences: 9}}"
    mixtures = "{back: {targets: original, weights: {grammar: 1, german: 1}}}"
    changes = f"corpora: {{german: {german}}}\nback_translation: {back}\nmixtures: {mixtures}\n"
    run = dry_run("-p", "--configfile", extended(tmp_path, OFFLINE, changes), cwd=tmp_path)
    assert "import_teacher" not in planned(run) and "model is not there: backward: no /there" in run.stderr
    assert "no teacher and no student has the mixture back, so nothing is translated" in run.stderr
    students = "students: {deep: {mixtures: [distilled, back]}}"
    run = dry_run("-p", "--configfile", extended(tmp_path, OFFLINE, changes + students), cwd=tmp_path)
    assert planned(run)["import_teacher"] == planned(run)["gather_back_translation"] == 1
    assert "so nothing is translated" not in run.stderr
    (call,) = {*re.findall(r"distill.translate (.*?) --input \S*german\S* --shard 1/", run.stdout)}
    assert '"languages": ["de", "en"]' in call and "/there/model" in call
    assert "systems/backward/imported/" in run.stdout and "train_backward_teacher" not in planned(run)


def test_search_is_planned_with_a_system_that_can_be_measured(tmp_path):
    study = extended(tmp_path, OFFLINE, "search: {system: tiny}")
    plan = succeeded(dry_run("search", "--configfile", study, cwd=tmp_path))
    assert "models/tiny/int8" in plan.stdout and "search-components.svg" in plan.stdout
    run = dry_run("search", "--configfile", extended(tmp_path, OFFLINE, "search: {system: big}"), cwd=tmp_path)
    assert run.returncode != 0 and "search.system: 'big' is not one of the systems" in run.stdout + run.stderr


def test_changed_pairs_are_aligned_where_a_student_learns_from_them(tmp_path):
    """An epoch with links needs what the aligner learned, which learns from no epoch."""
    loud = "{targets: best, augmentation: {both_sides: {upper_case: 0.1}, source: {lower_case: 0.2}}}"
    learned = "{tiny: {mixtures: [distilled, loud], training: {alignment: guided}}}"
    study = extended(tmp_path, OFFLINE, f"mixtures: {{loud: {loud}}}\nstudents: {learned}")
    run = dry_run("-p", "results/offline/training/loud.1.links", "--configfile", study, cwd=tmp_path)
    (job,) = re.findall(r"train.sample .*--output \S*alignment/corpus", succeeded(run).stdout)
    assert "best/grammar~loud.tsv.zst" in job and """--added '{"both_sides": {"upper_case": 0.1}""" in job


def options(text):
    return {*re.findall(r"--[a-z-]+", text)}


def required(usage):
    """The options outside of all brackets."""
    outside = re.sub(r"\[[^\[\]]*\]", "", usage)
    return options(usage) if outside == usage else required(outside)


def test_the_programs_of_search_know_the_options_that_they_are_given(tmp_path):
    """Even on the tiny study they take minutes, so they are not run here."""
    plan = succeeded(dry_run("-p", "search", "--configfile", TINY, cwd=tmp_path)).stdout
    calls = dict(re.findall(r"python -m ((?:experiments|papers|report)[\w.]*) (.*?) 2> ", plan))
    assert len(calls) == 7
    for module, given in calls.items():
        text = succeeded(forked.Command(module, "--help").wait()).stdout
        assert required(text.split("\n\n")[0]) <= options(given) <= options(text), module


def test_lint(tmp_path):
    run = succeeded(snakemake("--lint", cwd=tmp_path))
    assert "in a good condition" in run.stdout + run.stderr


def test_pieces_are_made_before_trainings_which_may_leave_only_one_core(tmp_path):
    plan = succeeded(dry_run("--configfile", OFFLINE, cwd=tmp_path)).stdout
    priorities = dict(re.findall(r"^rule (\w+):\n(?:    .*\n)*?    priority: (\d+)", plan, re.MULTILINE))
    trainings = [int(number) for rule, number in priorities.items() if rule.startswith("train_")]
    assert len(trainings) == 2 and int(priorities["encode"]) > max(trainings)


def test_a_mistake_in_the_study_is_one_line_without_traceback(tmp_path):
    run = dry_run("--configfile", extended(tmp_path, OFFLINE, "decoding: {beam: 4}"), cwd=tmp_path)
    assert run.returncode != 0
    text = run.stdout + run.stderr  # Snakemake 9.27 writes errors of a dry run to stdout
    assert "unknown key decoding.beam; did you mean decoding.beam_sizes?" in text
    assert "Traceback" not in text


def test_jobs_have_the_hash_of_the_configuration_as_it_is_printed(tmp_path):
    """Without the key `extends`, which Snakemake leaves in its own."""
    run = succeeded(dry_run("-p", "--configfile", TINY_GIVEN, cwd=tmp_path))
    assert {*re.findall(r'config[-_]hash"?:? "?(\w+)', run.stdout)} == {config_hash(config.read(TINY_GIVEN))}
    assert "alignment/corpus.tsv.zst" in run.stdout and "--added" not in run.stdout  # no pair is changed in this study


def test_a_run_says_first_which_finished_jobs_it_repeats(tmp_path):
    raw = "results/test-tiny/corpora/raw/test.tsv.zst"
    shorter = extended(tmp_path, TINY, "corpora: {test: {max_lines: 7}}")
    first, same, other = (
        succeeded(snakemake(raw, "--configfile", study, cwd=tmp_path)).stderr for study in (TINY, TINY, shorter)
    )
    assert "that run again" not in first + same
    assert "finished jobs that run again: 1, as fetch (1) had other settings then" in other


def test_text_without_spaces_is_split_as_its_language_is(tmp_path):
    """Dev BLEU in training and the choice of translations have sacreBLEU's tokens of the language."""
    texts = {"grammar_english": None}
    for role, name in (("train", "grammar"), ("dev", "dev"), ("test", "test")):
        texts[name] = {"role": role, "file": f"{name}.{{lang}}", "licence": "none", "builtin": None}
        for language in ("en", "zh"):
            (tmp_path / f"{name}.{language}").write_text(f"{name}\n" * 40)
    changed = {"target": "zh", "mirror": str(tmp_path), "corpora": texts}
    study = extended(tmp_path, OFFLINE, "\n".join(f"{key}: {json.dumps(value)}" for key, value in changed.items()))
    plan = succeeded(dry_run("-p", "--configfile", study, cwd=tmp_path)).stdout
    calls = re.findall(r"python -m (train\.train|distill\.select) (.*)", plan)
    assert len(dict(calls)) == 2 and all(re.search('target[-_]language"?:? "?zh\\b', call) for _, call in calls)


def test_speed_tables_are_planned_where_a_study_times_something(tmp_path):
    run = dry_run("-p", "speed", "--configfile", TINY_GIVEN, cwd=tmp_path)
    jobs = planned(run)
    calls = re.findall(r"python -m ((?:experiments|papers|report)[\w.]*) (.*)", run.stdout)
    assert "papers.wngt2020.ladder" in dict(calls)
    assert all(("--sentences 8 " in given) == (not name.startswith("report")) for name, given in calls)
    expected = {"ladder": 2, "scaling": 2, "table": 6, "picture": 6}
    expected |= dict.fromkeys(("untrained", "end_to_end", "architectures"), 1)
    assert {name: jobs[name] for name in expected} == expected and "switches" not in jobs
    assert "native-" not in run.stdout


def test_speed_tables_have_the_native_engine_where_a_study_has_it(tmp_path):
    study = extended(tmp_path, TINY_GIVEN, "study: x\ndecoding: {engines: [native]}\nspeed: {sentences: null}")
    run = dry_run("-p", "speed", "--configfile", study, cwd=tmp_path)
    jobs = planned(run)
    assert (jobs["switches"], jobs["table"], jobs["picture"]) == (2, 8, 8)
    calls = re.findall(r"python -m (?:experiments|papers\.\w+)\.(\w+) (.*)", run.stdout)
    assert {name for name, _ in calls} == {"ladder", "scaling", "end_to_end", "switches", "architectures"}
    assert all("/native-int8 " in given and "--sentences" not in given for _, given in calls)
    given = next(given for name, given in calls if name == "switches")
    assert re.search(r"--model (\S*)native-int8 --others \1native-float32 --test-sets", given)


def test_speed_is_of_all_transformers_where_none_is_named(tmp_path):
    run = dry_run("-p", "speed", "--configfile", OFFLINE, cwd=tmp_path)
    assert planned(run)["ladder"] == planned(run)["scaling"] == 1
    (call,) = re.findall(r"papers.wngt2020.end_to_end (.*?) --test-sets", run.stdout)
    for format in ("int8", "float32"):
        assert re.findall(rf"models/([^/]*)/{format}", call) == ["deep", "tiny", "direct-original", "teacher"]
    study = extended(tmp_path, OFFLINE, "study: x\ndecoding: {compute_types: [float32]}")
    run = dry_run("-p", "speed", "--configfile", study, cwd=tmp_path)
    assert planned(run)["ladder"] == 1 and "models/deep/int8" in run.stdout  # made for these tables alone


def test_a_recurrent_student_takes_part_in_speed_search_and_maps(tmp_path):
    """CTranslate2 runs none of the students: the native engine's folders stand in for its own."""
    shape = "{cell: gru, encoder_layers: 2, decoder_layers: 1, units: 32, embedding_units: 16}"
    changes = f"""study: x
students: {{deep: null, tiny: null, direct: null, first: {{shape: {shape}}}, second: {{shape: {shape}}}}}
decoding: {{in_every_engine: null}}
speed: {{systems: [second], untrained: [wnmt2018-rnn-tiny]}}
search: {{system: second}}
vocabulary_map: {{grid: {{}}}}"""
    study = extended(tmp_path, OFFLINE, changes)
    ladder = "results/x/report/ladder.wnmt2018-rnn-tiny-untrained.md"
    samples = "results/x/report/samples.md"
    run = dry_run("-p", "speed", "search", "maps", ladder, samples, "--configfile", study, cwd=tmp_path)
    jobs, calls = (
        planned(run),
        dict(re.findall(r"python -m (?:experiments|papers\.\w+|export)\.(\w+) (.*)", run.stdout)),
    )
    assert [jobs[name] for name in ("ladder", "scaling", "switches", "search_grid", "map_timing")] == [2, 2, 2, 1, 1]
    for name in ("ladder", "scaling", "end_to_end", "beam_batch", "components", "ngram_timing", "map_timing"):
        assert re.search(r"models/[\w-]+/native-int8", calls[name]), name
        assert not re.search(r"models/[\w-]+/int8", calls[name]), name
    assert "/native/native-int8" in calls["model_outputs"]
    assert re.search(r"report\.samples .* first=\S*/first\.native-\w+\.beam4\.test\.txt second=", run.stdout)
    entries = "students.first, students.second, speed.untrained.wnmt2018-rnn-tiny"
    assert f"\n{entries}: CTranslate2 has no recurrent model; OpenNMT-tf and native decode it\n" in run.stderr


def test_the_speed_of_the_papers_sizes_needs_no_training(tmp_path):
    study = ROOT / "configs/paper-sizes.yaml"
    if missing := available(config.read(study)).missing:
        pytest.skip(f"needs the corpora of {study.name} in the folder NMT_FRONTIER_MIRROR: {missing[0]}")
    jobs = planned(dry_run("speed", "--configfile", study, cwd=tmp_path))
    expected = {
        "untrained": 24, "ladder": 1, "scaling": 1, "end_to_end": 1, "architectures": 1, "vocabulary_map": 1,
        "encode": 1,  # the epoch in which the pieces that are always on are counted
    }  # fmt: skip
    assert {name: jobs[name] for name in expected} == expected
    assert not {"train_student", "train_teacher", "model_outputs"} & set(jobs)
