"""Whole studies of other kinds than the default one, with the real tools."""

import itertools
import json
import os
import re
import subprocess

import pytest
from forked import PLAIN_GRAPHS
from models import folders
from snakefile import (
    TINY,
    TINY_BACK_TRANSLATION,
    TINY_ENSEMBLE,
    TINY_GIVEN,
    TINY_MULTI30K,
    dry_run,
    on_last_core,
    planned,
    succeeded,
    warm_snakemake,
)

from corpora.availability import available
from distill import n_best_lists
from formats import records
from nmt_frontier.files import read_json
from nmt_frontier.search.native import Native
from study import config

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def plain_graphs(monkeypatch):
    """What a study makes with optimised graphs is seen in test_finished_study.py."""
    monkeypatch.setenv(PLAIN_GRAPHS, "1")


def given():
    """The teachers of a study that trains none: an untrained one, which splits text by its own model."""
    teacher = folders()["int8"]
    own = {"ctranslate2": str(teacher), "tokenization": {"sentencepiece": str(teacher / "sentencepiece.model")}}
    return {"teacher": None, "given": own}


def test_a_vocabulary_of_the_translations_of_a_given_teacher(tmp_path):
    """A corpus is sampled on the way to it."""
    study = tmp_path / "study.yaml"
    corpora, vocabulary = (
        {"grammar_english": {"sample": 120}, "test2": None},
        {"of": "distilled", "pieces": 150, "byte_fallback": False},
    )
    text = {"extends": str(TINY), "study": "given", "corpora": corpora, "vocabulary": vocabulary, "teachers": given()}
    text |= {"cleaning_shards": 1, "distillation": {"shards": 1}}
    study.write_text(json.dumps(text))
    results = tmp_path / "results/given"
    succeeded(warm_snakemake("results/given/training/distilled.1.source", "--configfile", study, cwd=tmp_path))
    counts = read_json(results / "corpora/clean/grammar_english.json")
    assert counts["dropped"]["not_sampled"] == 180 and counts["lines_in"] == 300 and counts["lines_out"] <= 120
    pieces = set((results / "vocabulary/vocabulary.txt").read_text().split())
    translations = [pair[1] for pair in records.read(results / "training/distilled.1.tsv.zst")]
    words = {"\u2581" + word for line in translations for word in line.split()}  # made up, none is in the corpora
    assert len(pieces & words) > 20
    assert not any(any(map(str.isdigit, piece)) for piece in pieces)  # the scores of distilled records are no text
    succeeded(dry_run("--configfile", study, cwd=tmp_path))


@pytest.mark.skipif(not Native.supported(), reason="the native engine is not installed here")
def test_an_ensemble_interpolation_and_a_recurrent_student(tmp_path):
    """Quality only: nothing is timed. Shapes, sizes and the wiring; so short a training learns nothing."""
    succeeded(warm_snakemake("explain", "--configfile", TINY_ENSEMBLE, cwd=tmp_path, timeout=1200))
    study = tmp_path / "results/test-tiny-ensemble"
    assert not (study / "decoding").exists()
    made = ("ensemble/best", "token-ensemble/interpolated")
    for name in made:
        counts = read_json(study / f"distilled/{name}/grammar.json")
        assert counts["lines_out"] == records.count(study / f"distilled/{name}/grammar.tsv.zst") > 500
    assert counts["sums"]["not_first"] > 0
    paths = (study / f"distilled/{name}/grammar.tsv.zst" for name in made)
    best, interpolated = ([record[1] for record in records.read(path)] for path in paths)
    assert best != interpolated
    for teacher in ("first", "second"):
        assert read_json(study / f"n-best/{teacher}/grammar/1-of-2.json")["engine"] == "native"
    assert "ssru" in read_json(study / "systems/second/learning.json")["shape"]
    for name in ("ensemble", "token-ensemble"):
        lists = [*n_best_lists.read(study / f"n-best/{name}/grammar/1-of-2.tsv.zst")]
        assert max(len(n_best_list.hypotheses) for n_best_list in lists) == 3  # in all, not of each teacher
    together = read_json(study / "systems/deep-interpolated/learned.json")
    assert (together["teachers"], together["ensemble"]) == (["first", "second"], "token_by_token")
    assert together["words"] == 0.5
    taught = read_json(study / "words/token-ensemble/4/interpolated.1.json")
    assert taught["lines_out"] == read_json(study / "training/interpolated.1.json")["lines"]
    assert taught["empty"] == 0 < taught["bytes"]
    assert taught["kept"] <= 4 * taught["positions"]
    assert not (study / "words/token-ensemble/4/interpolated.1.txt").exists()
    names = ("deep", "rnn-original")
    deep, rnn = (read_json(study / f"systems/{name}/learning.json") for name in names)
    assert deep["start_from"] == "results/test-tiny-ensemble/systems/first/averaged" and rnn["start_from"] is None
    assert deep["left_out"]["pairs"] == 0 < rnn["left_out"]["pairs"] < 600
    assert "600 |" in (study / "report/training.md").read_text()
    mixed = read_json(study / "training/interpolated.1.json")
    assert [corpus["name"] for corpus in mixed["corpora"]] == ["grammar"]
    assert mixed["lines"] == counts["lines_out"] - int(counts["lines_out"] * 0.2)
    last = read_json(study / "systems/last-middle/learned.json")
    assert last["teachers"] == ["deep"] and read_json(study / "n-best/deep/grammar/1-of-2.json")["engine"] == "native"
    gap = read_json(study / "report/gap.json")
    beams = gap["test_sets"]["test"]["beams"]
    names = [
        "first",
        "second",
        "ensemble",
        "token-ensemble",
        "deep",
        "deep-interpolated",
        "rnn-original",
        "last-middle",
    ]
    assert [row["system"] for row in beams["3"]["systems"]] == names
    (pair,) = beams["3"]["comparisons"]
    assert (pair["mixture"], pair["than"], pair["twins"]) == ("distilled", "interpolated", False)
    assert re.match(r"best against interpolated targets(,| and) [\d,]+ more sentences", pair["difference"])
    ensemble = next(row for row in beams["3"]["systems"] if row["system"] == "ensemble")
    assert ensemble["agreement_exact"] == 1 and ensemble["bleu_p_teacher"] == 1


def test_a_study_without_a_teacher_starts_at_the_student_and_picks_its_map(tmp_path):
    study = tmp_path / "results/test-tiny-given"
    names = ("packages/deep-int8.tar.gz", "submissions/deep-int8", "report/end_to_end.md", "report/end_to_end.svg")
    made = [f"results/test-tiny-given/{name}" for name in (*names, "report/scaling.wngt2020-4-3-untrained.md")]
    given_study = on_last_core(TINY_GIVEN, tmp_path)
    succeeded(warm_snakemake("all", "maps", *made, "--configfile", given_study, cwd=tmp_path, timeout=1200))
    measurements = read_json(study / "measurements.json")
    assert {m["system"] for m in measurements} == {"deep"}
    assert all(m["bleu_delta_teacher"] is None and m["teacher"] is None for m in measurements)
    assert (study / "report/report.html").stat().st_size > 100_000 and not (study / "report/gap.md").exists()
    assert not (study / "n-best").exists()

    picked = read_json(study / "alignment/coverage/dev.json")["picked"]
    used = read_json(study / "alignment/vmap.json")
    assert all(used[key] == picked[key] for key in ("max_ngram", "min_frequency", "meanings"))
    timing = read_json(study / "report/maps.timing.json")
    names = {"whole", "1-1-20-100-50-phrases", "2-1-20-100-50-phrases"}
    assert {(row["map"], row["batch_tokens"]) for row in timing["rows"]} == {*itertools.product(names, (1, 32, 512))}
    assert f"**{picked['max_ngram']}**" in (study / "report/maps.md").read_text()
    assert (study / "report/maps.png").stat().st_size > 10_000
    assert (study / "models/deep/int8/vmap.txt").read_bytes() == (study / "alignment/vmap.txt").read_bytes()
    assert all((tmp_path / path).exists() for path in made)
    run = [tmp_path / made[1] / "run.sh", "CPU-ST", "throughput"]
    assert subprocess.run(run, input=b"a dog\na cat\n", capture_output=True, check=True).stdout.count(b"\n") == 2

    ends = read_json(study / "report/end_to_end.json")
    found = {(r["system"], r["engine"], len(r["cores"])): (r["speed_only"], r["bleu"] is None) for r in ends}
    systems = {"deep": (False, False), "wngt2020-4-3-untrained": (True, True)}
    ways = [(engine, cores) for engine in ("opennmt-tf", "ctranslate2") for cores in {1, len(os.sched_getaffinity(0))}]
    assert found == {(system, *way): kind for system, kind in systems.items() for way in ways}
    scaling = read_json(study / "report/scaling.wngt2020-4-3-untrained.json")
    assert (scaling[0]["workers"], scaling[0]["threads"]) == (1, 1)
    untrained = [r for r in ends if r["speed_only"]]
    for record in untrained:  # where 8-bit products are cut off, the scores that end sentences are
        allowed = 0.3 if record["int8_saturates"] else 0.05
        assert abs(record["target_tokens"] / record["reference_tokens"] - 1) < allowed
    assert (study / "models/wngt2020-4-3-untrained/int8/README.md").read_text().count("mean nothing") == 1


@pytest.mark.skipif(not Native.supported(), reason="the native engine is not installed here")
def test_back_translations_for_a_teacher_and_a_control(tmp_path):
    succeeded(warm_snakemake("explain", "--configfile", TINY_BACK_TRANSLATION, cwd=tmp_path, timeout=1200))
    study = tmp_path / "results/test-tiny-back-translation"
    learning = read_json(study / "systems/backward/learning.json")
    assert learning["role"] == "backward" and len(learning["validation"]) == 1
    german = [record for (record,) in records.read(study / "corpora/clean/german.tsv.zst")]
    lists = [
        each for part in (1, 2) for each in n_best_lists.read(study / f"n-best/backward/german/{part}-of-2.tsv.zst")
    ]
    assert [each.source for each in lists] == german and max(len(each.hypotheses) for each in lists) == 1
    pairs, counts = (
        [*records.read(study / "back-translated/german.tsv.zst")],
        read_json(study / "back-translated/german.json"),
    )
    assert (counts["lines_in"], counts["lines_out"]) == (len(german), len(pairs)) and len(pairs) > 100
    assert {source.split()[0] for source, _ in pairs} == {"<BT>"} and {target for _, target in pairs} <= {*german}
    words = [word for source, _ in pairs for word in source.split()[1:]]
    assert 0 < words.count("<mask>") < len(words) / 2
    drawn = {name: read_json(study / f"training/{name}.1.json")["corpora"] for name in ("augmented", "original")}
    assert {one["name"]: one["share"] for one in drawn["augmented"]} == {"grammar": 0.5, "german": 0.5}
    assert [one["name"] for one in drawn["original"]] == ["grammar"]
    assert "<BT>" in (study / "training/augmented.1.source").read_text().split()
    seen = {
        name: read_json(study / f"systems/{name}/learned.json")["shares"]
        for name in ("teacher", "deep", "deep-augmented")
    }
    assert seen["teacher"] == seen["deep-augmented"] == {"german": 0.5, "grammar": 0.5} and seen["deep"] == {
        "grammar": 1
    }
    gap = read_json(study / "report/gap.json")["test_sets"]["test"]["beams"]["4"]["systems"]
    assert [row["system"] for row in gap] == ["teacher", "deep", "deep-augmented"]  # the backward one is none

    other = tmp_path / "study.yaml"
    other.write_text(json.dumps({"extends": str(TINY_BACK_TRANSLATION), "back_translation": {"noise": {"swap": 1}}}))
    run = dry_run("explain", "--configfile", other, cwd=tmp_path)
    assert planned(run)["back_translate_shard"] == 2 and planned(run)["translate_shard"] == 2  # those of the teacher
    assert "logs/translate_backward" not in run.stdout and "train_backward_teacher" not in planned(run)


def test_a_cut_of_multi30k(tmp_path):
    """Real text in another language, up to what a student learns from; the other studies go on from there."""
    given_teacher = tmp_path / "study.yaml"
    given_teacher.write_text(json.dumps({"extends": str(TINY_MULTI30K), "teachers": given()}))
    problems = available(config.read(given_teacher))
    if absent := problems.missing + problems.unchecked:
        pytest.skip(f"needs Multi30k in the folder NMT_FRONTIER_MIRROR or a network: {absent[0]}")
    made = ("training/distilled.1.source", "corpora/clean/test_2016_flickr.tsv.zst")
    made = [f"results/test-tiny-multi30k/{name}" for name in made]
    succeeded(warm_snakemake(*made, "--configfile", given_teacher, cwd=tmp_path, timeout=1200))
    study = tmp_path / "results/test-tiny-multi30k"
    corpora = [[*records.read(study / f"corpora/clean/{name}.tsv.zst")] for name in ("multi30k", "captions")]
    assert records.count(study / "corpora/clean/test_2016_flickr.tsv.zst") == 24
    assert 500 < len(corpora[0]) <= 600 and 300 < len(corpora[1]) <= 400
    assert sum("une" in record[1].lower().split() for record in corpora[0]) > 100  # French
    pairs, text = ({record[0] for record in corpus} for corpus in corpora)
    sources = {record[0] for record in records.read(study / "training/distilled.1.tsv.zst")}
    assert len(sources) > 200 and sources <= pairs | text and sources & text
