"""Teachers in the native engine equal those in CTranslate2, for any shards, windows and threads."""

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
from test_distillation import asked, run
from translation import plain

from distill import n_best_lists, parts
from distill import teacher_engines as native
from distill import translate as translate_shard
from distill.settings import Prefix
from distill.teacher import Teacher
from distill.teacher_engines import CTranslate2Teacher, NativeTeacher
from distill.tokenization import tokenizers
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers import read_ctranslate2
from nmt_frontier.limits import MAXIMUM_OUTPUT
from nmt_frontier.search.sampling import Sampling

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SENTENCES = sentences(150, seed=7)
LONG = " ".join(SENTENCES[:12])  # more pieces than a teacher reads
KINDS, FOLDERS = ("plain", "framed"), ("float32", "native-float32")
kinds = pytest.mark.parametrize("kind", KINDS)


def pieces(*lines):
    source, _ = sides()
    return [source.encode(line) for line in lines]


def sides():
    return tokenizers(None, folders() / "float32" / "sentencepiece.model", ["en", "de"])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The same float32 weights for both engines; ``framed``: sources end with </s>."""
    root = tmp_path_factory.mktemp("teachers")
    for kind in KINDS:
        config = shutil.copytree(folders() / "ctranslate2", root / kind / "float32") / "config.json"
        write_json(config, read_json(config) | ({"add_source_eos": True} if kind == "framed" else {}))
        read_ctranslate2.read(root / kind / "float32").write("float32", root / kind / "native-float32")
    return root


def both(models, kind):
    folder = models / kind
    return CTranslate2Teacher(folder / "float32", 1, "cpu"), NativeTeacher(folder / "native-float32", 1)


def check_equal(expected, found):
    """Of 150 sentences one may differ: on another CPU, rounding may decide between equally good continuations."""
    pairs = [*zip(expected, found, strict=True)]
    same = [(a, b) for a, b in pairs if [pieces for pieces, _ in a] == [pieces for pieces, _ in b]]
    assert len(same) >= len(pairs) - 1
    for a, b in same:
        assert [score for _, score in b] == pytest.approx([score for _, score in a], abs=1e-4)


def test_samples_are_kept_once_and_best_first(models):
    """The same on any number of threads; drawn from one piece, they are the translation of greedy search."""
    folder = models / "plain" / "native-float32"

    def lists(sampling, threads=1):
        drawn = Teacher(folder, sides(), threads).translate(SENTENCES, 4, 6, sampling)
        return [*map(n_best_lists.ranked, drawn)]

    found = lists(Sampling(temperature=2.0, seed=5))
    assert found == lists(Sampling(temperature=2.0, seed=5), 2) != lists(Sampling(temperature=2.0))
    assert {1, 6} < {*map(len, found)}
    greedy = map(n_best_lists.ranked, Teacher(folder, sides()).translate(SENTENCES, 1, 1))
    drawn = [[text._replace(weight=6) for text in found] for found in greedy]
    assert lists(Sampling(top_k=1)) == drawn


def test_ctranslate2_draws_no_samples(models):
    teacher = Teacher(models / "plain" / "float32", sides())
    with pytest.raises(UserError, match=r"CTranslate2 draws no samples here; distillation\.sampling needs the native"):
        next(teacher.translate(SENTENCES, 4, 2, Sampling()))


@kinds
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (4, 1), (4, 4), (8, 8)])
def test_n_best_lists_are_those_of_ctranslate2(models, kind, beam, n_best):
    expected, found = ([*teacher.n_best(pieces(*SENTENCES), beam, n_best)] for teacher in both(models, kind))
    check_equal(expected, found)
    assert {len(hypotheses) for hypotheses in found} == {n_best}
    assert all(pieces for hypotheses in found for pieces, _ in hypotheses)  # never empty, though empty ones score best


@kinds
def test_scores_are_those_of_ctranslate2(models, kind):
    """Of whole sentences, cut ones, empty ones and unknown pieces."""
    *some, long = pieces(*SENTENCES[:40], LONG)
    assert len(long) > MAXIMUM_OUTPUT
    pairs = [*zip(some, reversed(some), strict=True), (long, some[0]), (some[0], long), (long, long)]
    pairs += [(long[:size], long[:size]) for size in (MAXIMUM_OUTPUT - 1, MAXIMUM_OUTPUT, MAXIMUM_OUTPUT + 1)]
    pairs += [(some[0], []), (["no", *some[1]], [*some[1], "such piece"])]
    pairs += [([], some[0])] if kind == "plain" else []
    expected, found = ([*teacher.score(pairs)] for teacher in both(models, kind))
    assert found == pytest.approx(expected, abs=1e-4)


@kinds
@pytest.mark.parametrize(("beam", "n_best"), [(1, 1), (4, 4)])
def test_forced_beginnings_are_those_of_ctranslate2(models, kind, beam, n_best):
    given = pieces(*SENTENCES)
    begin = given[0][:2]
    expected, found = ([*teacher.n_best(given, beam, n_best, begin)] for teacher in both(models, kind))
    check_equal(expected, found)
    assert all(translation[:2] == begin for hypotheses in found for translation, _ in hypotheses)
    pairs = [*zip(given, reversed(given), strict=True)]
    expected, found = ([*teacher.score(pairs, begin)] for teacher in both(models, kind))
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_teacher_of_many_languages_needs_its_prefix(models, tmp_path, name):
    """Pieces of the model stand for the languages; texts of n-best lists do not have them."""
    folder, piece = models / "plain" / name, pieces(SENTENCES[0])[0][0]
    plain, prefixed = (Teacher(folder, sides(), prefix=given) for given in (None, Prefix(piece, piece)))
    (best,), (other,) = ([*teacher.translate(SENTENCES[:1], 4, 1)] for teacher in (plain, prefixed))
    assert best and other and best != other
    with pytest.raises(UserError, match=r"prefix\.target of this teacher has __xx__, which is none of its pieces"):
        Teacher(folder, sides(), prefix=Prefix(None, "__xx__"))
    many = shutil.copytree(folder, tmp_path / name)
    file = next(many.glob("*vocabulary.json"))
    stored = json.dumps(read_json(file))
    for word, language in zip({*pieces(*SENTENCES)[0]}, ("__en__", "__de__"), strict=False):
        stored = stored.replace(json.dumps(word), f'"{language}"')
    file.write_text(stored, encoding="utf-8")
    with pytest.raises(UserError, match=r"has 2 languages, such as .* say in `prefix: \{source, target\}`"):
        Teacher(many, sides())


def test_a_recurrent_teacher_scores_its_translations():
    """CTranslate2 has no such model: the scores of the search, step by step, are those of whole targets."""
    folder = recurrent.folders()["float32"]
    source, _ = tokenizers(None, folder / "sentencepiece.model", ["en", "de"])
    teacher, given = NativeTeacher(folder, 1), [source.encode(line) for line in SENTENCES[:40]]
    lists = [*teacher.n_best(given, 4, 4)]
    assert all(len({*map(str, hypotheses)}) == 4 for hypotheses in lists)
    rows = [(pieces, *scored) for pieces, best in zip(given, lists, strict=True) for scored in best]
    ended = [row for row in rows if len(row[1]) < MAXIMUM_OUTPUT]
    scores = [*teacher.score((pieces, translation) for pieces, translation, _ in ended)]
    assert len(scores) > 40 and scores == pytest.approx([score for *_, score in ended], abs=1e-3)


def test_a_source_of_as_many_pieces_as_are_read(models):
    (long,) = pieces(LONG)
    given = [long[:size] for size in (MAXIMUM_OUTPUT - 1, MAXIMUM_OUTPUT)]
    for kind in KINDS:
        expected, found = ([*teacher.n_best(given, 2, 2)] for teacher in both(models, kind))
        assert [*map(len, found)] == [2, 2]
        texts = ([[pieces for pieces, _ in best] for best in lists] for lists in (expected, found))
        assert next(texts) == next(texts)


def test_the_same_lines_are_skipped(models):
    """Long and empty lines have no hypotheses; later lines are not shifted."""
    lines = [SENTENCES[0], LONG, "", SENTENCES[1], " ", SENTENCES[0]]
    lists = [[*Teacher(models / "plain" / name, sides()).translate(lines, 3, 2)] for name in FOLDERS]
    for peer, native_list in zip(*lists, strict=True):
        assert [h.text for h in native_list] == [h.text for h in peer]
    assert [*map(len, lists[1])] == [2, 0, 0, 2, 0, 2] and lists[1][0] == lists[1][-1]


def test_bytes_that_are_no_text_are_left_out_beside_others(models, monkeypatch):
    """Samples have some wherever all bytes are pieces; a sentence is not lost for it."""
    texts = iter(["a", "b \ufffd", "a \ufffd", "\ufffd"])
    monkeypatch.setattr(sides()[1].__class__, "decode", lambda self, pieces: next(texts))
    teacher = Teacher(models / "plain" / "native-float32", sides())
    found = [*teacher.translate(SENTENCES[:2], 2, 2)]
    assert [[each.text for each in one] for one in found] == [["a"], ["a \ufffd", "\ufffd"]]


def test_unfinished_hypotheses_are_left_out(models, monkeypatch):
    for module in ("teacher", "teacher_engines"):
        monkeypatch.setattr(f"distill.{module}.MAXIMUM_OUTPUT", 12)
    for name in FOLDERS:
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


def test_teachers_translate_together_token_by_token(tmp_path):
    """As the command does; a model with itself is that model. The lists do not depend on threads and shards."""
    first, other = folders() / "int8", folders() / "float32"
    bare = shutil.copytree(other, tmp_path / "bare", ignore=shutil.ignore_patterns("model.json"))  # as a study has it
    lists = {}
    for name, others in {"alone": [], "twice": [first], "together": [other]}.items():
        own = [bare if each == other else each for each in others]
        found = [*Teacher(first, sides(), 2, others=own).translate(SENTENCES[:40], 4, 4)]
        lists[name] = [[hypothesis.text for hypothesis in hypotheses] for hypotheses in found]
        decoded = plain(first, beam_size=4, vocabulary_map=False, others=others).translate(SENTENCES[:40])
        rows = zip(found, decoded, strict=True)
        both = [(own[0].text, text) for own, text in rows if own and text]  # some have no end; no teacher's is empty
        assert sum(own == text for own, text in both) >= len(both) - 1 > 20
    same = sum(a == b for a, b in zip(lists["alone"], lists["twice"], strict=True))
    assert same >= 39 and lists["together"] != lists["alone"]
    teacher = Teacher(first, sides(), 1, others=[other])
    parts = [[*teacher.translate(SENTENCES[start : start + 20], 4, 4)] for start in (0, 20)]
    assert [[hypothesis.text for hypothesis in hypotheses] for part in parts for hypotheses in part] == lists[
        "together"
    ]
    assert teacher.arithmetic["compute_type"] == "int8 and float32"


def test_teachers_that_cannot_translate_together(models, tmp_path):
    packed = folders() / "int8"
    other = shutil.copytree(packed, tmp_path / "other")
    vocabulary = read_json(other / "vocabulary.json")
    write_json(other / "vocabulary.json", vocabulary | {"source": ["another", *vocabulary["source"][1:]]})
    with pytest.raises(
        UserError, match=r"other: has another \w+ in vocabulary\.json than .*int8; models of an ensemble"
    ):
        Teacher(packed, sides(), others=[other])
    exact = models / "plain/float32"
    for model, others in ((packed, [exact]), (exact, [packed])):
        with pytest.raises(UserError, match=r"plain/float32: CTranslate2 decodes with one model; an ensemble that"):
            Teacher(model, sides(), others=others)


@pytest.mark.slow
def test_an_ensemble_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    """The first part is not translated again, and other models begin anew."""
    records.write(tmp_path / "x.tsv.zst", [(line,) for line in SENTENCES[:30]])
    monkeypatch.setattr(parts, "RECORDS", 10)
    output, translated = tmp_path / "out.tsv.zst", []
    whole = Teacher.translate

    def translate(self, sources, *options):
        translated.append([*sources])
        if len(translated) == 2:
            raise KeyboardInterrupt
        return whole(self, translated[-1], *options)

    monkeypatch.setattr(Teacher, "translate", translate)
    models = [str(folders() / kind) for kind in ("int8", "float32")]
    call = ["translate", asked(2, beam_size=2, n_best=2), "--input", tmp_path / "x.tsv.zst", "--sentencepiece",
            folders() / "int8/sentencepiece.model", "--output", output, "--model"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", [*map(str, call), *models])
    with pytest.raises(KeyboardInterrupt):
        translate_shard.main()
    translate_shard.main()
    assert [lines[0] for lines in translated] == [SENTENCES[start] for start in (0, 10, 10, 20)]
    assert records.count(output) == 30 and not (tmp_path / ".out.tsv.zst.parts").exists()


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


@pytest.mark.slow
def test_the_record_names_what_computed(tmp_path):
    records.write(tmp_path / "x.tsv.zst", [(line,) for line in SENTENCES[:5]])
    run("distill.translate", asked(), "--input", tmp_path / "x.tsv.zst", "--model", folders() / "int8",
        "--threads", "2", "--sentencepiece", folders() / "int8/sentencepiece.model",
        "--output", tmp_path / "out.tsv.zst")  # fmt: skip
    counts = json.loads((tmp_path / "out.json").read_text())
    assert counts["lines_out"] == 5 and counts["sha256"]
    keys = ("engine", "compute_type", "effective_compute_type", "library", "int8_saturates")
    assert [counts[key] for key in keys] == ["native", "int8", "int8", engine.isa(), False]


@pytest.mark.slow
def test_teachers_of_both_engines_rescore_together(models, tmp_path):
    """The ensemble of a teacher with itself in the other engine is that teacher."""
    records.write(tmp_path / "x.tsv.zst", [(line,) for line in SENTENCES[:20]])
    names = [models / "plain" / name for name in FOLDERS]
    options = ["--sentencepiece", folders() / "float32/sentencepiece.model"]
    for number, model in enumerate(names):
        run("distill.translate", asked(beam_size=3, n_best=3), "--input", tmp_path / "x.tsv.zst", "--model", model,
            *options, "--output", tmp_path / f"{number}.tsv.zst")  # fmt: skip
    lists = [tmp_path / "0.tsv.zst", tmp_path / "1.tsv.zst"]
    run("distill.rescore", asked(2, n_best=3), "--inputs", *lists, "--models", *names, *options,
        "--output", tmp_path / "both.tsv.zst")  # fmt: skip
    counts = json.loads((tmp_path / "both.json").read_text())
    assert [teacher["engine"] for teacher in counts["teachers"]] == ["ctranslate2", "native"]
    lists = ([*n_best_lists.read(tmp_path / f"{name}.tsv.zst")] for name in ("both", "1"))
    texts = ([{h.text for h in row.hypotheses} for row in found] for found in lists)
    assert sum(a == b for a, b in zip(*texts, strict=True)) >= 19


def test_ctranslate2_stands_in_where_the_native_engine_is_not_installed(models, tmp_path, monkeypatch, capsys):
    exact, packed = (models / "plain" / name for name in FOLDERS)
    assert native.installed([packed, exact], [exact, exact]) == [packed, exact]
    monkeypatch.setattr(NativeTeacher, "supported", classmethod(lambda cls: []))
    assert native.installed([packed, exact], [exact, tmp_path]) == [exact, exact]
    assert capsys.readouterr().err == f"{packed}: the native engine is not installed; {exact} stands in for it\n"
    assert native.installed([packed], [tmp_path / "none"]) == native.installed([packed], []) == [packed]


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


def timed(script, model, folder):
    """The rows of a benchmark of both engines."""
    records.write(folder / "t.tsv.zst", [(line,) for line in SENTENCES[:20]])
    core, output = min(os.sched_getaffinity(0)), folder / "x.json"
    options = ["--models", model, "--types", "float32", "--runs", 1, "--noise", 1, "--core", core]
    call = [sys.executable, BENCHMARKS / script, *options, "--test-set", folder / "t.tsv.zst", "--output", output]
    subprocess.run([*map(str, call)], check=True, capture_output=True)
    rows = json.loads(output.read_text())
    assert all(row["peer"] == "ctranslate2" and row["sentences"] == 20 and row["ratio"] > 0 for row in rows)
    return rows


@pytest.mark.slow
def test_both_engines_are_timed_in_turn(models, tmp_path):
    rows = timed("engine_distillation.py", models / "plain", tmp_path)
    assert [(row["beam_size"], row["n_best"]) for row in rows] == [(4, 1), (8, 8)]
    assert all(row["equal"] >= 19 for row in rows)


@pytest.mark.slow
def test_both_engines_are_timed_in_turn_while_they_draw(models, tmp_path):
    rows = timed("engine_sampling.py", models / "plain", tmp_path)
    assert [(row["samples"], row["top_k"], row["temperature"]) for row in rows] == [
        (1, 0, 1.0), (8, 0, 1.0), (8, 0, 0.7), (8, 10, 1.0), (64, 0, 1.0)
    ]  # fmt: skip
