"""Teachers in the native engine find what they find in CTranslate2, whatever the shards, windows and threads."""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import recurrent
from models import sentences
from native import engine, folders
from test_distillation import run

from common.errors import UserError
from common.files import read_json, write_json
from distill import n_best_lists
from distill import teacher as native
from distill.teacher import CTranslate2Teacher, NativeTeacher, Teacher
from distill.tokenization import tokenizers
from export import read_ctranslate2
from formats import records
from formats.decoding import MAXIMUM_OUTPUT

BENCHMARK = Path(__file__).parents[1] / "benchmarks/engine_distillation.py"
SENTENCES = sentences(150, seed=7)
LONG = " ".join(SENTENCES[:12])  # more pieces than a teacher reads


def pieces(count=150):
    return [source.encode(line) for source in sides()[:1] for line in SENTENCES[:count]]


def sides():
    return tokenizers(None, folders() / "float32" / "sentencepiece.model", ["en", "de"])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The same float32 weights for both engines: as they are, and with a model whose sources end with </s>."""
    root = tmp_path_factory.mktemp("teachers")
    shutil.copytree(folders() / "ctranslate2", root / "plain/float32")
    shutil.copytree(folders() / "ctranslate2", root / "framed/float32")
    config = root / "framed/float32/config.json"
    write_json(config, read_json(config) | {"add_source_eos": True})
    for kind in ("plain", "framed"):
        read_ctranslate2.read(root / kind / "float32").write("float32", root / kind / "native-float32")
    return root


def both(models, kind):
    folder = models / kind
    return CTranslate2Teacher(folder / "float32", 1, "cpu"), NativeTeacher(folder / "native-float32", 1)


def check_equal(expected, found):
    """Of 150 sentences one may differ: on another CPU, rounding may decide between continuations that are as good."""
    pairs = [*zip(expected, found, strict=True)]
    same = [(a, b) for a, b in pairs if [pieces for pieces, _ in a] == [pieces for pieces, _ in b]]
    assert len(same) >= len(pairs) - 1
    for a, b in same:
        assert [score for _, score in b] == pytest.approx([score for _, score in a], abs=1e-4)


@pytest.mark.parametrize("kind", ["plain", "framed"])
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (4, 1), (4, 4), (8, 8)])
def test_n_best_lists_are_those_of_ctranslate2(models, kind, beam, n_best):
    expected, found = ([*teacher.n_best(pieces(), beam, n_best)] for teacher in both(models, kind))
    check_equal(expected, found)
    assert {len(hypotheses) for hypotheses in found} == {n_best}
    assert all(said for hypotheses in found for said, _ in hypotheses)  # never empty, although this model would like to


@pytest.mark.parametrize("kind", ["plain", "framed"])
def test_scores_are_those_of_ctranslate2(models, kind):
    """Of whole sentences, of what both cut, of empty ones and of pieces that the model does not know."""
    some, (long,) = pieces(40), [source.encode(LONG) for source in sides()[:1]]
    assert len(long) > MAXIMUM_OUTPUT
    pairs = [*zip(some, reversed(some), strict=True), (long, some[0]), (some[0], long), (long, long)]
    pairs += [(long[:size], long[:size]) for size in (MAXIMUM_OUTPUT - 1, MAXIMUM_OUTPUT, MAXIMUM_OUTPUT + 1)]
    pairs += [(some[0], []), (["no", *some[1]], [*some[1], "such piece"])]
    pairs += [([], some[0])] if kind == "plain" else []
    expected, found = ([*teacher.score(pairs)] for teacher in both(models, kind))
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_recurrent_teacher_scores_what_it_says():
    """CTranslate2 has none to compare with: what is said step by step is scored from its start to its end."""
    folder = recurrent.folders()["float32"]
    source, _ = tokenizers(None, folder / "sentencepiece.model", ["en", "de"])
    teacher, given = NativeTeacher(folder, 1), [source.encode(line) for line in SENTENCES[:40]]
    lists = [*teacher.n_best(given, 4, 4)]
    assert all(len({*map(str, hypotheses)}) == 4 for hypotheses in lists)
    said = [(pieces, *scored) for pieces, best in zip(given, lists, strict=True) for scored in best]
    ended = [row for row in said if len(row[1]) < MAXIMUM_OUTPUT]
    scores = [*teacher.score((pieces, translation) for pieces, translation, _ in ended)]
    assert len(scores) > 40 and scores == pytest.approx([score for *_, score in ended], abs=1e-3)


def test_a_source_of_as_many_pieces_as_are_read(models):
    (long,) = (source.encode(LONG) for source in sides()[:1])
    given = [long[:size] for size in (MAXIMUM_OUTPUT - 1, MAXIMUM_OUTPUT)]
    for kind in ("plain", "framed"):
        expected, found = ([*teacher.n_best(given, 2, 2)] for teacher in both(models, kind))
        assert [*map(len, found)] == [2, 2]
        for a, b in zip(expected, found, strict=True):
            assert [said for said, _ in a] == [said for said, _ in b]


def test_the_same_lines_are_skipped(models):
    """What is too long or has no pieces has no hypotheses; what comes after is not shifted."""
    lines = [SENTENCES[0], LONG, "", SENTENCES[1], " ", SENTENCES[0]]
    lists = [
        [*Teacher(models / "plain" / name, sides()).translate(lines, 3, 2)] for name in ("float32", "native-float32")
    ]
    for theirs, ours in zip(*lists, strict=True):
        assert [h.text for h in ours] == [h.text for h in theirs]
    assert [*map(len, lists[1])] == [2, 0, 0, 2, 0, 2] and lists[1][0] == lists[1][-1]


def test_unfinished_hypotheses_are_left_out(models, monkeypatch):
    monkeypatch.setattr("distill.teacher.MAXIMUM_OUTPUT", 12)
    for name in ("float32", "native-float32"):
        found = [*Teacher(models / "plain" / name, sides()).translate(SENTENCES, 2, 2)]
        assert 0 < sum(map(len, found)) < 2 * len(SENTENCES)


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_results_are_the_same_bytes_for_any_shards_windows_and_threads(kind, tmp_path, monkeypatch):
    def written(name, threads, shards):
        teacher = Teacher(folders() / kind, sides(), threads)
        bounds = [len(SENTENCES) * k // shards for k in range(shards + 1)]
        parts = [SENTENCES[start:end] for start, end in pairwise(bounds)]
        lists = [found for part in parts for found in teacher.translate(iter(part), 4, 4)]
        pairs = [*zip(SENTENCES, reversed(SENTENCES), strict=True)]
        scores = [score for start, end in pairwise(bounds) for score in teacher.score(pairs[start:end])]
        rows = (n_best_lists.NBestList(line, found) for line, found in zip(SENTENCES, lists, strict=True))
        n_best_lists.write(tmp_path / name, rows)
        return (tmp_path / name).read_bytes(), scores

    expected = written("a.tsv.zst", 1, 1)
    assert written("b.tsv.zst", 3, 4) == expected
    monkeypatch.setattr(native, "WINDOW", 7)
    monkeypatch.setattr(native, "NATIVE_BATCH_TOKENS", 40)
    assert written("c.tsv.zst", 2, 3) == expected


def test_no_more_than_two_windows_are_read_ahead(monkeypatch):
    monkeypatch.setattr(native, "WINDOW", 10)
    read = 0

    def lines():
        nonlocal read
        for line in SENTENCES:
            read += 1
            yield line

    translations = Teacher(folders() / "int8", sides(), threads=2).translate(lines(), 1, 1)
    for number, _ in enumerate(translations):
        assert read <= number + 2 * 10 * 2
    assert read == len(SENTENCES)


def test_the_record_says_what_computed(tmp_path):
    records.write(tmp_path / "x.tsv.zst", [(line,) for line in SENTENCES[:5]])
    run("distill.translate", "--input", tmp_path / "x.tsv.zst", "--model", folders() / "int8", "--threads", "2",
        "--sentencepiece", folders() / "int8/sentencepiece.model", "--languages", "en", "de",
        "--output", tmp_path / "out.tsv.zst")  # fmt: skip
    counts = json.loads((tmp_path / "out.json").read_text())
    assert counts["lines_out"] == 5 and counts["sha256"]
    told = ("engine", "compute_type", "effective_compute_type", "library", "int8_saturates")
    assert [counts[key] for key in told] == ["native", "int8", "int8", engine.isa(), False]


def test_teachers_of_both_engines_rescore_together(models, tmp_path):
    """The ensemble of a teacher and itself in the other engine is that teacher."""
    records.write(tmp_path / "x.tsv.zst", [(line,) for line in SENTENCES[:20]])
    names = [models / "plain/float32", models / "plain/native-float32"]
    options = ["--sentencepiece", folders() / "float32/sentencepiece.model", "--languages", "en", "de"]
    for number, model in enumerate(names):
        run("distill.translate", "--input", tmp_path / "x.tsv.zst", "--model", model, *options,
            "--beam-size", "3", "--n-best", "3", "--output", tmp_path / f"{number}.tsv.zst")  # fmt: skip
    lists = [tmp_path / "0.tsv.zst", tmp_path / "1.tsv.zst"]
    run("distill.rescore", "--inputs", *lists, "--models", *names, "--tokenizations", "null", "null", *options,
        "--n-best", "3", "--output", tmp_path / "both.tsv.zst")  # fmt: skip
    counts = json.loads((tmp_path / "both.json").read_text())
    assert [teacher["engine"] for teacher in counts["teachers"]] == ["ctranslate2", "native"]
    rescored, ours = (list(n_best_lists.read(tmp_path / f"{name}.tsv.zst")) for name in ("both", "1"))
    same = [
        {h.text for h in a.hypotheses} == {h.text for h in b.hypotheses} for a, b in zip(rescored, ours, strict=True)
    ]
    assert sum(same) >= 19


def test_errors_are_one_line(models, tmp_path):
    with pytest.raises(UserError, match="native-float32: the native engine translates on the CPU; leave out --device"):
        Teacher(models / "plain/native-float32", sides(), device="cuda")
    with pytest.raises(
        UserError, match=r"n-best must be .*; CTranslate2 may do it, distillation: \{engine: ctranslate2\}"
    ):
        [*Teacher(models / "plain/native-float32", sides()).translate(SENTENCES[:1], 1, 2)]
    shutil.copytree(models / "plain/native-float32", tmp_path / "damaged")
    (tmp_path / "damaged/weights.safetensors").write_bytes(b"x")
    with pytest.raises(UserError, match="damaged"):
        Teacher(tmp_path / "damaged", sides())


@pytest.mark.slow
def test_both_engines_are_timed_in_turn(models, tmp_path):
    records.write(tmp_path / "t.tsv.zst", [(line,) for line in SENTENCES[:20]])
    call = [
        sys.executable,
        BENCHMARK,
        "--models",
        models / "plain",
        "--types",
        "float32",
        "--runs",
        "1",
        "--noise",
        "1",
    ]
    call += [
        "--core",
        min(os.sched_getaffinity(0)),
        "--test-set",
        tmp_path / "t.tsv.zst",
        "--output",
        tmp_path / "x.json",
    ]
    subprocess.run([*map(str, call)], check=True, capture_output=True)
    rows = json.loads((tmp_path / "x.json").read_text())
    assert [(row["beam_size"], row["n_best"], row["sentences"]) for row in rows] == [(4, 1, 20), (8, 8, 20)]
    assert all(row["peer"] == "ctranslate2" and row["equal"] >= 19 and row["ratio"] > 0 for row in rows)
