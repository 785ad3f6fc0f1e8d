"""Hypotheses of teachers: translated, rescored, selected."""

import json
import subprocess
from types import SimpleNamespace

import ctranslate2
import pytest
import sentencepiece
import warm
from hypothesis import given
from hypothesis import strategies as st
from models import folders
from sacrebleu import sentence_bleu
from teacher_texts import PAIRS, SOURCES, teacher, vocabulary

from distill import drop, n_best_lists
from distill.n_best_lists import NBestList, ScoredText, merged, ranked
from distill.rescore import rescored
from distill.select import TARGETS, Selector
from distill.tokenization import SentencePiece
from formats import records
from nmt_frontier.errors import UserError
from study.keys import schema
from train.encode import encode


@pytest.fixture
def options():
    """The options that name the tiny model and its tokenization."""
    folder = folders()["float32"]
    return ["--model", folder], ["--sentencepiece", folder / "sentencepiece.model"]


def asked(teachers=1, **settings):
    """The settings of teachers that split text as the study does."""
    return json.dumps({"languages": ["en", "de"], "tokenizations": [None] * teachers, **settings})


def run(module, *options, code=0):
    command = [warm.python(), "-m", module, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def written(path, rows):
    records.write(path, rows)
    return path


def test_pieces_decode_to_the_sentences(tmp_path):
    records.write(tmp_path / "all.tsv.zst", [(*pair, "-1.5") for pair in PAIRS])  # the score is left out
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model := vocabulary(tmp_path)))
    decoded = [tuple(processor.decode(side.split()) for side in pieces)
               for pieces in encode([tmp_path / "all.tsv.zst"], model, 2, 1)]  # fmt: skip
    assert decoded == PAIRS


@given(st.lists(st.builds(ScoredText, st.text("ab ", max_size=3).map(str.strip), st.floats(-9, 0)), max_size=6))
def test_hypotheses_are_distinct_sorted_and_never_empty(hypotheses):
    ranking = ranked(hypotheses)
    distinct = {h.text for h in ranking}
    assert distinct == {h.text for h in hypotheses} - {""} and len(distinct) == len(ranking)
    assert [h.score for h in ranking] == sorted((h.score for h in ranking), reverse=True)
    assert all(h.score == max(other.score for other in hypotheses if other.text == h.text) for h in ranking)


def test_equal_samples_count_together():
    drawn = [ScoredText("a", -2.0, 1), ScoredText("b", -1.0, 1), ScoredText("a", -1.5, 1), ScoredText("", -0.1, 1)]
    assert ranked(drawn) == [ScoredText("b", -1.0, 1), ScoredText("a", -1.5, 2)]


def test_n_best_lists_are_read_as_they_were_written(tmp_path):
    lists = [NBestList("a", [ScoredText('"Tab" ä', -0.5), ScoredText("x", -1.25, 3)]), NBestList("b", [])]
    n_best_lists.write(tmp_path / "x.tsv.zst", lists)
    assert list(n_best_lists.read(tmp_path / "x.tsv.zst")) == lists
    run("distill.n_best_lists", "--input", tmp_path / "x.tsv.zst", "--output", tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == '"Tab" ä\n\n'


@pytest.mark.slow
def test_a_shard_is_translated_in_order_with_scores(options, tmp_path):
    source = written(tmp_path / "x.tsv.zst", [(source,) for source in SOURCES])
    run("distill.translate", asked(beam_size=3, n_best=3), "--input", source, "--shard", "1/1",
        *options[0], *options[1], "--output", tmp_path / "out.tsv.zst")  # fmt: skip
    lists = list(n_best_lists.read(tmp_path / "out.tsv.zst"))
    assert [n_best_list.source for n_best_list in lists] == SOURCES and lists[0] == lists[4]
    counts = json.loads((tmp_path / "out.json").read_text())
    assert counts["lines_out"] == 5
    assert {"compute_type", "effective_compute_type", "library", "int8_saturates"} <= set(counts)
    # Forced decoding gives the scores of the beam but for a constant of each sentence: the beam may not begin with the
    # end of the sentence, which is likely to this untrained model and to no trained one.
    processor, scorer, compared = SentencePiece(folders()["float32"] / "sentencepiece.model"), teacher(), 0
    for source, hypotheses in lists:
        encoded = [(h, processor.encode(h.text)) for h in hypotheses]
        whole = [(h, len(pieces) + 1) for h, pieces in encoded if processor.decode(pieces) == h.text]
        whole = [(h, size) for h, size in whole if size <= 100]  # not cut
        scores = scorer.score((source, h.text) for h, _ in whole)
        gaps = [size * (h.score - score) for (h, size), score in zip(whole, scores, strict=True)]
        assert gaps == pytest.approx(gaps[:1] * len(gaps), abs=0.01)
        compared += len(gaps) > 1
    assert compared >= 2


@pytest.mark.slow
def test_an_ensemble_of_a_teacher_and_itself_is_that_teacher(options, tmp_path):
    source = written(tmp_path / "x.tsv.zst", [(source,) for source in SOURCES])
    models = {"a": folders()["float32"], "b": folders()["int8"]}
    for name, path in models.items():
        run("distill.translate", asked(beam_size=2, n_best=2), "--input", source, "--model", path, *options[1],
            "--output", tmp_path / f"{name}.tsv.zst")  # fmt: skip

    def ensemble(*names):
        lists = [tmp_path / f"{name}.tsv.zst" for name in names]
        run("distill.rescore", asked(len(names), n_best=4), "--inputs", *lists,
            "--models", *(models[name] for name in names), *options[1],
            "--output", tmp_path / "ensemble.tsv.zst")  # fmt: skip
        return list(n_best_lists.read(tmp_path / "ensemble.tsv.zst"))

    def texts(n_best_list):
        return [hypothesis.text for hypothesis in n_best_list.hypotheses]

    lists_of_a, lists_of_b = (list(n_best_lists.read(tmp_path / f"{name}.tsv.zst")) for name in models)
    assert [*map(texts, ensemble("a", "a"))] == [*map(texts, lists_of_a)]
    for rescored_list, of_a, of_b in zip(ensemble("a", "b"), lists_of_a, lists_of_b, strict=True):
        assert {*texts(rescored_list)} == {*texts(of_a), *texts(of_b)}
        assert rescored_list.hypotheses == sorted(rescored_list.hypotheses, key=lambda h: -h.score)


@given(st.lists(st.tuples(st.integers(-9, 0), st.integers(-9, 0)), max_size=8), st.integers(1, 5))
def test_an_ensemble_keeps_the_best_in_all(scores, n_best):
    """As many as the search of an ensemble would give, from however many teachers they come."""
    n_best_list = NBestList("s", [ScoredText(f"t{number}", -1.0) for number in range(len(scores))])
    teachers = [SimpleNamespace(score=lambda pairs, side=side: [row[side] for row in scores]) for side in (0, 1)]
    best, empty = rescored([n_best_list, NBestList("empty", [])], teachers, n_best)
    means = [sum(row) / 2 for row in scores]
    assert [h.score for h in best.hypotheses] == sorted(means, reverse=True)[:n_best]
    assert all(h.score == means[int(h.text[1:])] for h in best.hypotheses) and not empty.hypotheses


def test_no_translation_of_a_source_that_is_not_read_to_its_end():
    lists = list(teacher().translate([SOURCES[0], "a " * 400, SOURCES[0]], beam_size=1, n_best=1))
    assert [*map(len, lists)] == [1, 0, 1] and lists[0] == lists[2]


@pytest.mark.parametrize("method", ["translate_iterable", "score_batch"])
def test_what_ctranslate2_raises_is_one_line(monkeypatch, method):
    def raised(*_, **__):
        raise ValueError("bad\nallocation")
        yield  # a generator, as translate_iterable

    engine = teacher()._engine
    call = raised if method == "translate_iterable" else lambda *_, **__: next(raised())
    monkeypatch.setattr(engine, "_translator", SimpleNamespace(**{method: call}))
    with pytest.raises(UserError, match=r"float32: CTranslate2 failed: bad allocation; .*distillation\.batch_tokens$"):
        [*(engine.score([(["a"], ["b"])]) if method == "score_batch" else engine.n_best([["a"]], 1, 1))]


def test_smaller_batches_give_the_same_translations():
    lists = [[*teacher(batch_tokens=size).translate(SOURCES, 2, 2)] for size in (None, 8)]
    texts = [[[hypothesis.text for hypothesis in hypotheses] for hypotheses in each] for each in lists]
    assert texts[0] == texts[1] and len(texts[0]) == len(SOURCES)


@pytest.mark.skipif(ctranslate2.get_cuda_device_count(), reason="CTranslate2 finds a GPU here")
def test_a_missing_gpu_is_an_error():
    with pytest.raises(UserError, match="CTranslate2 finds no GPU here"):
        teacher(device="cuda")


@pytest.mark.parametrize("record", [("a", "b", "-1.0"), ("a", "b"), ("a", "[1]")])
def test_records_that_are_no_n_best_lists(record, tmp_path):
    with pytest.raises(UserError, match=r"x\.tsv\.zst, record 1: no n-best list"):
        list(n_best_lists.read(written(tmp_path / "x.tsv.zst", [record])))


def test_lists_of_different_sentences_are_no_ensemble(tmp_path):
    paths = [tmp_path / f"{name}.tsv.zst" for name in "ab"]
    for path in paths:
        n_best_lists.write(path, [NBestList("same", []), NBestList(path.name, [])])
    with pytest.raises(UserError, match="record 2 is another sentence"):
        list(merged(paths))


LISTS = [
    NBestList("s1", [ScoredText("ein hund läuft", -0.1), ScoredText("der hund rennt schnell", -0.2)]),
    NBestList("s2", []),
    NBestList("s3", [ScoredText("x", -1.0), ScoredText("y", -2.0)]),
]

ORIGINALS = [("s1", "der hund rennt sehr schnell"), ("s2", "b"), ("s3", "c d")]


@pytest.mark.parametrize(
    ("targets", "chosen", "out"),
    [
        ("best", [("s1", "ein hund läuft", "-0.1000"), ("s3", "x", "-1.0000")], 2),
        (
            "interpolated",
            [("s1", "der hund rennt schnell", "-0.2000"), ("s3", "x", "-1.0000")],
            2,
        ),  # the first of equals
        ("all", [(each.source, text, f"{score:.4f}") for each in LISTS for text, score, _ in each.hypotheses], 4),
    ],
)
def test_hypotheses_are_selected_and_sentences_without_one_counted(targets, chosen, out):
    selection = Selector()
    pairs = [iter(ORIGINALS)] if targets == "interpolated" else []
    assert list(getattr(selection, targets)(iter(LISTS), *pairs)) == chosen
    counts = selection.counts(targets)
    assert (counts["lines_in"], counts["lines_out"], counts["dropped"]) == (3, out, {"empty_translation": 1})
    if targets == "interpolated":
        expected = sentence_bleu("der hund rennt schnell", [ORIGINALS[0][1]]).score
        assert counts["sums"] == {"not_first": 1, "sentence_bleu": pytest.approx(expected)}


def test_an_outlier_is_not_of_minimum_risk():
    """Even if it has the best score of the teachers."""
    outlier = ScoredText("vielen dank", -0.1)
    others = [ScoredText(f"der hund rennt {how} über die wiese", -0.3) for how in ("schnell", "sehr schnell", "rasch")]
    lists, selection = [NBestList("s1", [outlier, *others]), NBestList("s2", [])], Selector()
    assert list(selection.mbr(iter(lists))) == [("s1", others[0].text, "-0.3000")]
    counts = selection.counts("mbr")
    assert (counts["lines_in"], counts["lines_out"], counts["sums"]["not_first"]) == (2, 1, 1)


def test_a_language_without_spaces_is_compared_by_its_own_tokens():
    """By 13a tokens each of these sentences is one word, unlike every other."""
    outlier, near, nearer = "谢谢大家的掌声", "一只狗在草地上奔跑", "一只狗在绿草地上奔跑"
    lists = [NBestList("s", [ScoredText(text, -0.1) for text in (outlier, near, nearer)])]
    assert [*Selector("zh").mbr(iter(lists))] != [*Selector().mbr(iter(lists))] == [("s", outlier, "-0.1000")]
    chosen = [*Selector("zh").interpolated(iter(lists), iter([("s", "一只狗在绿草地上跑")]))]
    assert chosen == [("s", nearer, "-0.1000")]


def test_a_study_names_the_targets_that_can_be_selected():
    enum = schema()["$defs"]["Mixture"]["properties"]["targets"]["enum"]
    assert enum == ["original", *TARGETS]


def test_originals_of_another_corpus_are_refused():
    with pytest.raises(UserError, match="record 1: n-best list of another corpus: 's1', not 's9'"):
        list(Selector().interpolated(iter(LISTS), iter([("s9", "x")])))


def test_the_command_selects_within_a_shard(tmp_path):
    corpus = written(tmp_path / "corpus.tsv.zst", ORIGINALS)
    n_best_lists.write(tmp_path / "c.tsv.zst", LISTS)
    options = [
        "--n-best-lists",
        tmp_path / "c.tsv.zst",
        "--targets",
        "interpolated",
        "--output",
        tmp_path / "o.tsv.zst",
    ]
    done = run("distill.select", *options, code=1)
    assert "needs --corpus" in done.stderr and not (tmp_path / "o.tsv.zst").exists()
    run("distill.select", *options, "--corpus", corpus, "--shard", "1/1")
    assert [record[0] for record in records.read(tmp_path / "o.tsv.zst")] == ["s1", "s3"]


@given(st.lists(st.integers(-5, 0), min_size=1, max_size=30), st.integers(0, 99))
def test_the_worst_are_dropped_and_no_more(tmp_path_factory, scores, per_cent):
    path = tmp_path_factory.mktemp("drop") / "x.tsv.zst"
    pairs = [(f"s{number}", "t", f"{score:.4f}") for number, score in enumerate(scores)]
    records.write(path, pairs)
    kept = list(drop.without_lowest(pairs, path, *drop.threshold(path, per_cent)))
    assert len(kept) == len(scores) - int(len(scores) * per_cent / 100)
    dropped = [float(pair[2]) for pair in pairs if pair not in kept]
    assert not dropped or max(dropped) <= min(float(pair[2]) for pair in kept)
    assert kept == [pair for pair in pairs if pair in kept]


@pytest.mark.parametrize(
    ("rows", "per_cent", "message"),
    [
        ([("a", "b", "-1")], 100, "--per-cent 100: must be 0 or more, and less than 100"),
        (PAIRS, 10, "has no score in its third column"),
    ],
    ids=["everything", "without scores"],
)
def test_what_cannot_be_dropped(rows, per_cent, message, tmp_path):
    source = written(tmp_path / "x.tsv.zst", rows)
    done = run("distill.drop", "--input", source, "--per-cent", str(per_cent), "--output", tmp_path / "o", code=1)
    assert message in done.stderr
