"""From records to pieces, to candidates, to the targets students learn: nothing is lost, shifted or half written."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import ctranslate2
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from models import folders
from sacrebleu import sentence_bleu

from distill import candidates, drop
from distill.candidates import Candidate, Candidates, ranked
from distill.encode import encode
from distill.rescore import rescored, united
from distill.select import Selection
from distill.teacher import Teacher
from distill.tokenization import MosesBPE, SentencePiece, tokenizers
from distill.vocabulary import train
from export.import_teacher import import_teacher
from formats import records
from formats.errors import UserError

PAIRS = [(f"a dog runs past {n} houses", f"ein Hund läuft an {n} Häusern vorbei") for n in range(60)]
SOURCES = ["ab", "cab dab", "fed had", "head bag gaff", "ab"]
IMPORT = {"checkpoint": None, "ctranslate2": None, "converted": None}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "sentencepiece.model"
    path.write_bytes(train([side for pair in PAIRS for side in pair], "unigram", 100, 1.0, 1))
    return path


@pytest.fixture
def teacher():
    """A tiny model and the options that name it."""
    folder = folders()["float32"]
    return folder, ["--sentencepiece", folder / "sentencepiece.model", "--languages", "en", "de"]


def run(module, *options, code=0):
    command = [sys.executable, "-m", f"distill.{module}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def test_pieces_decode_to_the_sentences(model, tmp_path):
    records.write(tmp_path / "all.tsv.zst", [(*pair, "-1.5") for pair in PAIRS])  # a score, which nobody learns
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    decoded = [tuple(processor.decode(side.split()) for side in pieces)
               for pieces in encode([tmp_path / "all.tsv.zst"], model, 2, 1)]  # fmt: skip
    assert decoded == PAIRS


# Candidates

texts = st.text("ab ", max_size=3).map(str.strip)
lists = st.lists(st.builds(Candidate, texts, st.floats(-9, 0)), max_size=6)


@given(lists)
def test_candidates_are_different_sorted_and_never_empty(translations):
    found = ranked(translations)
    assert {c.text for c in found} == {c.text for c in translations} - {""} and len({c.text for c in found}) == len(
        found
    )
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
    assert all(c.score == max(d.score for d in translations if d.text == c.text) for c in found)


def test_candidates_are_read_as_they_were_written(tmp_path):
    made = [Candidates("a", [Candidate('"Tab" ä', -0.5), Candidate("x", -1.25)]), Candidates("b", [])]
    candidates.write(tmp_path / "x.tsv.zst", made)
    assert list(candidates.read(tmp_path / "x.tsv.zst")) == made
    run("candidates", "--candidates", tmp_path / "x.tsv.zst", "--output", tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == '"Tab" ä\n\n'


def test_a_shard_is_translated_in_order_with_scores(teacher, tmp_path):
    folder, options = teacher
    records.write(tmp_path / "x.tsv.zst", [(source,) for source in SOURCES])
    run("translate", "--input", tmp_path / "x.tsv.zst", "--shard", "1/1", "--model", folder, *options,
        "--beam-size", "3", "--n-best", "3", "--output", tmp_path / "out.tsv.zst")  # fmt: skip
    found = list(candidates.read(tmp_path / "out.tsv.zst"))
    assert [entry.source for entry in found] == SOURCES and found[0] == found[4]
    about = json.loads((tmp_path / "out.json").read_text())
    assert about["lines_out"] == 5
    assert {"compute_type", "effective_compute_type", "library", "int8_saturates"} <= set(about)
    # Forced decoding gives the scores of the beam but for a constant of each sentence: the beam may not begin with the
    # end of the sentence, which is likely to this untrained model and to no trained one.
    processor = SentencePiece(folder / "sentencepiece.model")
    scorer = Teacher(folder, tokenizers(None, folder / "sentencepiece.model", ["en", "de"]))
    compared = 0
    for entry in found:
        same = [c for c in entry.translations if processor.decode(processor.encode(c.text)) == c.text]
        same = [c for c in same if len(processor.encode(c.text)) < 100]  # not cut
        sizes = [len(processor.encode(c.text)) + 1 for c in same]
        again = scorer.score((entry.source, c.text) for c in same)
        gaps = [size * (c.score - score) for size, c, score in zip(sizes, same, again, strict=True)]
        assert gaps == pytest.approx(gaps[:1] * len(gaps), abs=0.01)
        compared += len(gaps) > 1
    assert compared >= 2


def test_an_ensemble_of_a_teacher_and_itself_is_that_teacher(teacher, tmp_path):
    folder, options = teacher
    other = folders()["int8"]
    records.write(tmp_path / "x.tsv.zst", [(source,) for source in SOURCES])
    for name, one in (("a", folder), ("b", other)):
        run("translate", "--input", tmp_path / "x.tsv.zst", "--model", one, *options,
            "--beam-size", "2", "--n-best", "2", "--output", tmp_path / f"{name}.tsv.zst")  # fmt: skip

    def both_scored(*names):
        models = {"a": folder, "b": other}
        run("rescore", "--inputs", *(tmp_path / f"{name}.tsv.zst" for name in names), "--models",
            *(models[name] for name in names), "--tokenizations", *["null"] * len(names), *options,
            "--n-best", "4", "--output", tmp_path / "both.tsv.zst")  # fmt: skip
        return list(candidates.read(tmp_path / "both.tsv.zst"))

    single = list(candidates.read(tmp_path / "a.tsv.zst"))
    same = both_scored("a", "a")
    assert [[c.text for c in entry.translations] for entry in same] == [
        [c.text for c in entry.translations] for entry in single
    ]
    both = both_scored("a", "b")
    for entry, one, two in zip(both, single, candidates.read(tmp_path / "b.tsv.zst"), strict=True):
        assert {c.text for c in entry.translations} == {c.text for c in one.translations + two.translations}
        assert entry.translations == sorted(entry.translations, key=lambda c: -c.score)


@given(st.lists(st.tuples(st.integers(-9, 0), st.integers(-9, 0)), max_size=8), st.integers(1, 5))
def test_an_ensemble_keeps_the_best_in_all(scores, n_best):
    """So many as the search of an ensemble would give, whatever number of teachers found them."""
    entry = Candidates("s", [Candidate(f"t{number}", -1.0) for number in range(len(scores))])
    teachers = [SimpleNamespace(score=lambda pairs, side=side: [row[side] for row in scores]) for side in (0, 1)]
    found, empty = rescored([entry, Candidates("empty", [])], teachers, n_best)
    means = [sum(row) / 2 for row in scores]
    assert [c.score for c in found.translations] == sorted(means, reverse=True)[:n_best]
    assert all(c.score == means[int(c.text[1:])] for c in found.translations) and not empty.translations


def test_no_translation_of_a_source_that_is_not_read_to_its_end(teacher):
    folder, _ = teacher
    sides = tokenizers(None, folder / "sentencepiece.model", ["en", "de"])
    found = list(Teacher(folder, sides).translate([SOURCES[0], "a " * 400, SOURCES[0]], beam_size=1, n_best=1))
    assert [len(entry) for entry in found] == [1, 0, 1] and found[0] == found[2]


def test_candidates_of_different_sentences_are_no_ensemble(tmp_path):
    for name in "ab":
        candidates.write(tmp_path / f"{name}.tsv.zst", [Candidates("same", []), Candidates(name, [])])
    with pytest.raises(UserError, match="record 2: another sentence"):
        list(united([tmp_path / "a.tsv.zst", tmp_path / "b.tsv.zst"]))


# Targets

LISTS = [
    Candidates("s1", [Candidate("ein hund läuft", -0.1), Candidate("der hund rennt schnell", -0.2)]),
    Candidates("s2", []),
    Candidates("s3", [Candidate("x", -1.0), Candidate("y", -2.0)]),
]
ORIGINALS = [("s1", "der hund rennt sehr schnell"), ("s2", "b"), ("s3", "c d")]


def test_best_takes_the_first_and_counts_the_empty():
    selection = Selection()
    assert list(selection.best(iter(LISTS))) == [("s1", "ein hund läuft", "-0.1000"), ("s3", "x", "-1.0000")]
    counts = selection.counts("best")
    assert (counts["lines_in"], counts["lines_out"], counts["dropped"]) == (3, 2, {"empty_translation": 1})


def test_interpolated_takes_the_one_closest_to_the_original():
    selection = Selection()
    chosen = list(selection.interpolated(iter(LISTS), iter(ORIGINALS)))
    assert chosen == [("s1", "der hund rennt schnell", "-0.2000"), ("s3", "x", "-1.0000")]  # of equal ones the first
    sums = selection.counts("interpolated")["sums"]
    expected = sentence_bleu("der hund rennt schnell", [ORIGINALS[0][1]]).score
    assert sums == {"not_first": 1, "sentence_bleu": pytest.approx(expected)}


def test_originals_of_another_corpus_are_told():
    with pytest.raises(UserError, match="record 1: candidates of another corpus: 's1', not 's9'"):
        list(Selection().interpolated(iter(LISTS), iter([("s9", "x")])))


def test_the_command_selects_within_a_shard(tmp_path):
    records.write(tmp_path / "corpus.tsv.zst", ORIGINALS)
    candidates.write(tmp_path / "c.tsv.zst", LISTS)
    chosen = ["--candidates", tmp_path / "c.tsv.zst", "--targets", "interpolated"]
    run(
        "select",
        *chosen,
        "--corpus",
        tmp_path / "corpus.tsv.zst",
        "--shard",
        "1/1",
        "--output",
        tmp_path / "out.tsv.zst",
    )
    assert [record[0] for record in records.read(tmp_path / "out.tsv.zst")] == ["s1", "s3"]
    done = run("select", *chosen, "--output", tmp_path / "o.tsv.zst", code=1)
    assert "needs --corpus" in done.stderr and not (tmp_path / "o.tsv.zst").exists()


@given(st.lists(st.integers(-5, 0), min_size=1, max_size=30), st.integers(0, 99))
def test_the_worst_are_dropped_and_no_more(tmp_path_factory, scores, per_cent):
    path = tmp_path_factory.mktemp("drop") / "x.tsv.zst"
    pairs = [(f"s{number}", "t", f"{score:.4f}") for number, score in enumerate(scores)]
    records.write(path, pairs)
    kept = list(drop.kept(pairs, path, *drop.threshold(path, per_cent)))
    assert len(kept) == len(scores) - int(len(scores) * per_cent / 100)
    dropped = [float(pair[2]) for pair in pairs if pair not in kept]
    assert not dropped or max(dropped) <= min(float(pair[2]) for pair in kept)
    assert kept == [pair for pair in pairs if pair in kept]


def test_dropping_needs_scores(tmp_path):
    records.write(tmp_path / "x.tsv.zst", PAIRS)
    done = run(
        "drop", "--input", tmp_path / "x.tsv.zst", "--per-cent", "10", "--output", tmp_path / "y.tsv.zst", code=1
    )
    assert "has no score in its third column" in done.stderr


def test_a_reverse_model_scores_the_source(teacher, tmp_path):
    folder, options = teacher
    pairs = [(source, target, "-9.0000") for source, target in zip(SOURCES, reversed(SOURCES), strict=True)]
    records.write(tmp_path / "x.tsv.zst", pairs)
    (tmp_path / "x.json").write_text('{"lines_in": 5, "lines_out": 5}')
    run("reverse", "--input", tmp_path / "x.tsv.zst", "--model", folder, *options, "--output", tmp_path / "y.tsv.zst")
    scored = list(records.read(tmp_path / "y.tsv.zst"))
    model = Teacher(folder, tokenizers(None, folder / "sentencepiece.model", ["de", "en"]))
    expected = list(model.score((target, source) for source, target, _ in pairs))
    assert [record[:2] for record in scored] == [pair[:2] for pair in pairs]
    assert [float(record[2]) for record in scored] == pytest.approx(expected, abs=1e-4)


# Teachers from elsewhere


def test_a_folder_without_a_model_is_said_plainly(tmp_path):
    with pytest.raises(UserError, match="cannot load this model"):
        Teacher(tmp_path, tokenizers(None, folders()["float32"] / "sentencepiece.model", ["en", "de"]))


@pytest.mark.parametrize("codes", ["#version: 0.2\nl o\nlo w</w>\n", "l o 90\nlo w</w> 80\n"])
def test_bpe_over_moses_as_in_fairseq(codes, tmp_path):
    (tmp_path / "codes").write_text(codes)
    tokenizer = MosesBPE(tmp_path / "codes", "en")
    pieces = tokenizer.encode("It's low, very-low.")
    assert "low" in pieces and "v@@" in pieces and ("lo" if "</w>" not in codes else "low") in pieces
    words = " ".join(pieces).replace("@@ ", "")
    assert words == "It &apos;s low , very @-@ low ."
    assert tokenizer.decode(tokenizer.encode("It's low, very-low.")) == "It's low, very-low."


@pytest.mark.parametrize("content", [b"a b c d\n", b"\xff\n"])
def test_files_that_are_no_bpe_codes(content, tmp_path):
    (tmp_path / "codes").write_bytes(content)
    with pytest.raises(UserError, match="codes"):
        MosesBPE(tmp_path / "codes", "en")


def test_two_sentencepiece_models_one_for_each_side(model, tmp_path):
    other = folders()["float32"] / "sentencepiece.model"
    source, target = tokenizers({"sentencepiece": [str(model), str(other)]}, tmp_path, ["en", "de"])
    assert source.encode("a dog") != target.encode("a dog")
    with pytest.raises(UserError, match="no SentencePiece model"):
        tokenizers({"sentencepiece": str(tmp_path / "none")}, model, ["en", "de"])


@pytest.mark.parametrize("kind", ["checkpoint", "ctranslate2"])
def test_a_teacher_is_imported(kind, tmp_path):
    folder = folders()["opennmt-tf" if kind == "checkpoint" else "float32"]
    import_teacher(IMPORT | {kind: str(folder)}, tmp_path / "vocabulary", tmp_path / "int8")
    assert ctranslate2.contains_model(str(tmp_path / "int8"))
    side = tokenizers(None, folder / "sentencepiece.model", ["en", "de"])
    expected = next(Teacher(folders()["float32"], side).translate(SOURCES, 1, 1))[0].text
    assert next(Teacher(tmp_path / "int8", side).translate(SOURCES, 1, 1))[0].text == expected


def test_a_teacher_of_another_toolkit_is_converted(tmp_path):
    """Through CTranslate2's own command, here that of OpenNMT-tf."""
    folder = folders()["opennmt-tf"]
    vocabulary = str(folder / "vocabulary.txt")
    options = {"model_path": str(folder), "src_vocab": vocabulary, "tgt_vocab": vocabulary}
    asked = {
        "from": "opennmt-tf",
        "environment": None,
        "options": options | {"model_type": str(folder / "model_description.py"), "force": True},
    }
    import_teacher(IMPORT | {"converted": asked}, tmp_path / "vocabulary", tmp_path / "int8")
    assert ctranslate2.contains_model(str(tmp_path / "int8"))


@pytest.mark.parametrize(
    "entry, message",
    [
        ({"checkpoint": "."}, "no model_description.py here"),
        ({"ctranslate2": "."}, "no CTranslate2 model here"),
        ({"converted": {"from": "marian", "environment": None,
                        "options": {"model_path": "x.npz", "vocab_paths": ["a", "b"]}}},
         r"ct2-marian-converter .*--model_path x.npz --vocab_paths a b: .*x.npz"),
        ({"converted": {"from": "fairseq", "environment": None, "options": {"model_path": "x", "data_dir": "y"}}},
         r"does not import on Python 3.11, make it an environment with `python3.10 -m venv .*fairseq==0.12.2.*`"),
        ({"converted": {"from": "fairseq", "environment": "none", "options": {}}},
         "none/bin/ct2-fairseq-converter: no converter here; the environment needs the package ctranslate2"),
    ],
)  # fmt: skip
def test_teachers_that_are_not_there(entry, message, tmp_path):
    with pytest.raises(UserError, match=message):
        import_teacher(IMPORT | entry, tmp_path / "vocabulary", tmp_path / "int8")
    assert not (tmp_path / "int8").exists()


def test_the_converter_of_another_environment_is_called(tmp_path):
    program = tmp_path / "environment/bin/ct2-fairseq-converter"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nmkdir -p "$2"; echo "$@" > "$2/asked"\n')
    program.chmod(0o755)
    asked = {"from": "fairseq", "environment": str(tmp_path / "environment"), "options": {"model_path": "m.pt"}}
    import_teacher(IMPORT | {"converted": asked}, None, tmp_path / "float16")
    assert (tmp_path / "float16/asked").read_text().endswith("--quantization float16 --model_path m.pt\n")


def test_a_run_with_its_own_tokenization_brings_its_vocabulary(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(folders()["opennmt-tf"], run, ignore=shutil.ignore_patterns("vocabulary.txt"))
    with pytest.raises(UserError, match="no vocabulary"):
        import_teacher(IMPORT | {"checkpoint": str(run)}, None, tmp_path / "int8")


def test_a_model_without_any_tokenization_is_told():
    with pytest.raises(UserError, match="needs the SentencePiece model of the study"):
        tokenizers(None, None, ["en", "de"])
