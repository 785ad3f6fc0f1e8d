"""What is timed of search is what it says: equal results of all ways, parts that add up, pages made of records."""

import argparse
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from models import folders, sentences

from decode import (
    cache_timing,
    components,
    components_tf,
    grid_report,
    ngram_timing,
    ngrams,
    overlap,
    runs,
    search_grid,
    search_report,
    shared_attention,
    summary,
    surgery,
    turns,
)
from decode.pipeline import WINDOW_BATCHES, Pipeline, batches, one
from decode.tokenizer import Tokenizer
from decode.watch import Usage
from formats import records
from formats.errors import UserError

CORE = min(os.sched_getaffinity(0))
SOURCES = sentences(12, seed=3)
PARTS = st.lists(st.lists(st.sampled_from("abc"), max_size=12), max_size=60)


@pytest.fixture(scope="module")
def test_set(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "first.tsv.zst"
    records.write(path, zip(SOURCES, SOURCES, strict=True))
    return path


def run(module, *arguments):
    call = [sys.executable, "-m", f"decode.{module}", *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def timing(module, test_set, output, *more):
    """Run a measurement on one core; its JSON."""
    run(module, "--test-set", test_set, "--runs", 2, "--core", CORE, "--output", output, *more)
    return json.loads(output.read_text())


def page(question, tmp_path, *found):
    """Make the page of a question; its table."""
    written = tmp_path / f"{question}.md", tmp_path / f"{question}.svg", tmp_path / f"{question}.png"
    sys.argv = ["search_report", question, "--measurements", *map(str, found), "--markdown", str(written[0])]
    sys.argv += ["--pictures", *map(str, written[1:])]
    search_report.main()
    assert all(path.stat().st_size > 1000 for path in written[1:])
    return written[0].read_text()


def footnote(question, found):
    return " ".join(search_report.QUESTIONS[question].draw(found).get_supxlabel().split())


# Batches in sentences


@given(PARTS, st.integers(1, 9))
def test_batches_of_sentences_are_full_whatever_their_length(window, most):
    cut = [*batches(window, most, weigh=one)]
    assert sorted(place for batch in cut for place in batch) == [n for n, sentence in enumerate(window) if sentence]
    assert all(len(batch) == most for batch in cut[:-1]) and all(0 < len(batch) <= most for batch in cut)
    lengths = [len(window[place]) for batch in cut for place in batch]
    assert lengths == sorted(lengths, reverse=True)


@given(PARTS, st.integers(1, 5))
def test_a_pipeline_in_sentences_translates_each_line(corpus, most):
    sizes = []

    def backwards(batch):
        sizes.append(len(batch))
        return [sentence[::-1] for sentence in batch]

    words = argparse.Namespace(encode=str.split, decode=" ".join)
    pipeline = Pipeline(words, backwards, batch_sentences=most)
    found = [*pipeline.windows(" ".join(sentence) for sentence in corpus)]
    assert [line for window in found for line in window] == [" ".join(sentence[::-1]) for sentence in corpus]
    assert all(len(window) == WINDOW_BATCHES * most for window in found[:-1])
    assert max(sizes, default=0) <= most


def test_the_grid_has_a_name_and_a_signature_for_every_place(test_set):
    found = search_grid.grid(folders()["int8"], [1, 3], [1, 16], CORE)
    assert len({configuration.name for configuration in found}) == 4
    assert all(configuration.vocabulary_map for configuration in found)
    command = found[-1].command([("first", test_set)])
    assert command[command.index("--batch-sentences") + 1] == "16"
    record = {"engine": "e", "engine_version": "1", "compute_type": "int8", "length_penalty": 1.0, "isa": "avx2"}
    record |= {"forced_isa": None, "runs": 3, **found[-1].settings}
    assert "|batch:16s|" in summary.signature(record)
    assert "|batch:512t|" in summary.signature(record | {"batch_sentences": None})
    assert "batch" not in runs.Configuration(folders()["int8"]).name


def test_grid(test_set, tmp_path):
    options = ["--test-sets", f"first={test_set}", "--beam-sizes", 1, 2, "--batch-sentences", 1, 4, "--core", CORE]
    options += ["--runs", 1, "--target-language", "de", "--translations", tmp_path / "grid"]
    models = ["--model", folders()["int8"], "--exact", folders()["float32"]]
    run("search_grid", *models, *options, "--output", tmp_path / "grid.json")
    found = json.loads((tmp_path / "grid.json").read_text())
    places = [*itertools.product((1, 2), (1, 4)), (1, None), (4, None)]  # the last two in float32
    assert [(r["beam_size"], r["batch_sentences"]) for r in found] == places
    for record in found:
        said = (tmp_path / record["output"]).read_text(encoding="utf-8").splitlines()
        bleu = sacrebleu.corpus_bleu(said, [SOURCES])
        assert record["bleu"] == pytest.approx(bleu.score) and record["bleu_signature"] and record["cpu_seconds"] > 0
    assert len({record["bleu"] for record in found}) > 1  # the beam of 2 says other things
    text = page("grid", tmp_path, tmp_path / "grid.json")
    shown = ("## BLEU", "## Source words", "beam 2", f"{found[0]['cpu_seconds']:.2f}")
    assert all(part in text for part in shown)
    found[-2]["bleu"] = best = found[-1]["bleu"] + 1
    text = grid_report.markdown(found)
    assert f"without a map, tiny float32 greedy ({best:.2f})" in text
    lost = text.split("## Loss of BLEU")[1].split("##")[0]
    assert f" {best - found[0]['bleu']:z.2f} |" in lost and "beam 4" not in lost
    assert footnote("grid", found).startswith("tiny (1:1 d16 ff32 h2); first, 12 sentences; a single run, ")


# Turns


def test_ways_are_timed_in_turn():
    done = []
    ways = {name: lambda name=name: done.append(name) for name in "ab"}
    found = turns.timed(ways, argparse.Namespace(runs=3, noise=1.0), [CORE], "nothing")
    assert "".join(done) == "ab" + "ababab"
    assert {name: len(usages) for name, usages in found.items()} == {"a": 3, "b": 3}


def test_ratios_are_those_of_pairs():
    fast, slow = ([Usage(seconds=value) for value in values] for values in ((1.0, 2.0, 4.0), (2.0, 3.0, 16.0)))
    assert turns.ratio("times", slow, fast, "seconds") == {"times": 2.0, "times_min": 1.5, "times_max": 4.0}


# Surgery


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_a_model_that_was_read_and_written_is_the_same(name, tmp_path):
    path = folders()[name] / "model.bin"
    surgery.write(tmp_path / "model.bin", surgery.read(path))
    assert (tmp_path / "model.bin").read_bytes() == path.read_bytes()
    assert surgery.decoder_layers(surgery.read(path)) == (1, 16)


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_without_attention_all_sources_have_one_translation(name):
    batch = [Tokenizer(folders()[name]).encode(source) for source in SOURCES]
    with surgery.folder(folders()[name], surgery.without_attention) as folder:
        deaf = ctranslate2.Translator(str(folder), compute_type=name)
        found = deaf.translate_batch(batch, min_decoding_length=5, max_decoding_length=5)
    assert len({tuple(result.hypotheses[0]) for result in found}) == 1
    whole = ctranslate2.Translator(str(folders()[name]), compute_type=name)
    assert len({tuple(result.hypotheses[0]) for result in whole.translate_batch(batch)}) > 3


def test_an_encoder_alone_reads_the_source():
    with surgery.folder(folders()["int8"], surgery.encoder) as folder:
        encoder = ctranslate2.Encoder(str(folder), compute_type="int8")
        assert encoder.forward_batch([["▁a", "b"], ["c"]]).last_hidden_state.shape == [2, 2, 16]


@pytest.mark.parametrize(("cut", "message"), [(100, "cut off or damaged"), (3, "cut off or damaged")])
def test_a_damaged_model(cut, message, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes((folders()["int8"] / "model.bin").read_bytes()[:cut])
    with pytest.raises(UserError, match=message):
        surgery.read(path)


def test_a_model_without_attention_has_none_to_take_out():
    model = surgery.without_attention(surgery.read(folders()["int8"] / "model.bin"))
    with pytest.raises(UserError, match="without attention between"):
        surgery.without_attention(model)
    with pytest.raises(UserError, match="without attention between"):
        surgery.decoder_layers(model)


# Components


def test_components_add_up():
    taken = {"whole": 10.0, "encoder": 2.0, "deaf": 8.5, "few": 6.0, "bare": 4.5, "rows": 7.0, "rows' encoder": 5.0}
    found = components.components(taken)
    assert found == {
        "encoder": 2.0, "attention": 1.5, "generator": 4.0, "search": 0.5, "decoder": 2.0, "other": 0.0,
    }  # fmt: skip
    greedy = components.components({name: taken[name] for name in ("whole", "encoder", "deaf", "few")})
    assert greedy["search"] == 0 and sum(greedy.values()) == 10.0


LOOP = "transformer/while/body/_1/transformer/while"
LAYER = f"{LOOP}/self_attention_decoder/self_attention_decoder_layer"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("transformer/self_attention_encoder/self_attention_encoder_layer_3/multi_head_attention_3/x:Mul", "encoder"),
        ("transformer/word_embedder/embedding_lookup:ResourceGather", "encoder"),
        (f"{LAYER}/transformer_layer_wrapper_8/multi_head_attention_4/MatMul:BatchMatMulV2", "decoder"),
        (f"{LAYER}/transformer_layer_wrapper_9/multi_head_attention_5/dense_30/MatMul:MatMul", "attention"),
        (f"{LAYER}_1/transformer_layer_wrapper_11/multi_head_attention_6/MatMul:MatMul", "decoder"),
        (f"{LAYER}_1/transformer_layer_wrapper_12/multi_head_attention_7/MatMul:MatMul", "attention"),
        (f"{LAYER}/transformer_layer_wrapper_10/feed_forward_network_4/dense_33/BiasAdd:MatMul", "decoder"),
        (f"{LOOP}/self_attention_decoder/dense_34/MatMul:MatMul", "generator"),
        (f"{LOOP}/LogSoftmax:LogSoftmax", "generator"),
        (f"{LOOP}/TopKV2:TopKV2", "search"),
        (f"{LOOP}/word_embedder_1/embedding_lookup:ResourceGather", "decoder"),
        ("transformer/strided_slice:StridedSlice", "other"),
    ],
)  # fmt: skip
def test_operations_belong_to_components(name, expected):
    attention = {"self_attention_decoder_layer": 5, "self_attention_decoder_layer_1": 7}
    assert components_tf.component(name, attention) == expected


def test_the_last_attention_of_a_layer_looks_at_the_encoder():
    layers = [f"{LAYER}/a/multi_head_attention/", f"{LAYER}/b/multi_head_attention_1/"]
    layers += [f"{LAYER}_1/c/multi_head_attention_12/", f"{LAYER}_1/c/multi_head_attention_9/"]
    names = [f"{layer}x" for layer in layers] + ["transformer/self_attention_encoder/x/multi_head_attention_99/y"]
    expected = {"self_attention_decoder_layer": 1, "self_attention_decoder_layer_1": 12}
    assert components_tf.between(names) == expected


def test_components_of_both_engines(test_set, tmp_path):
    models = [folders()["float32"], folders()["int8"]]
    found = timing("components", test_set, tmp_path / "a.json", "--models", *models, "--beam-sizes", 1, 2)
    ways = [(row["compute_type"], row["beam_size"], row["vocabulary_map"]) for row in found["rows"]]
    plain = itertools.product(("float32", "int8"), (1, 2), (False,))
    assert ways == [*plain, ("int8", 1, True), ("int8", 2, True)]
    options = ["--model", folders()["opennmt-tf"], "--beam-sizes", 2]
    base = timing("components_tf", test_set, tmp_path / "b.json", *options)
    shares = {name: value["share"] for name, value in base["rows"][0]["shares"].items()}
    assert all(shares[name] > 0 for name in components.COMPONENTS)
    for found_rows in (found["rows"], base["rows"]):
        for row in found_rows:
            assert set(row["shares"]) == set(components.COMPONENTS) and row["cpu_seconds"] > 0
    text = page("components", tmp_path, tmp_path / "b.json", tmp_path / "a.json")
    assert "OpenNMT-tf, float32, beam 2" in text and "CTranslate2, int8, beam 2, map" in text
    assert text.count(" profiler |") == 1 and text.count(" differences |") == len(ways)
    below = footnote("components", search_report.together([base, found]))
    assert "12 sentences of first" in text and "first, 12 sentences; medians of 2 runs" in below
    assert "Parts below zero are not drawn; the others fill the bar." in below


# Pipeline


def test_the_bare_engine_decodes_the_batches_of_the_pipeline():
    lines, seen = [*SOURCES, "", *SOURCES], []
    tokenizer = Tokenizer(folders()["int8"])

    def translate(batch):
        seen.append(batch)
        return batch

    list(Pipeline(tokenizer, translate, 16, overlap=False).windows(lines))
    assert overlap.cut(tokenizer, lines, 16, 1) == seen


def test_translations_that_differ_are_not_compared():
    engine = argparse.Namespace(translate=lambda batch: batch)
    tokenizer = argparse.Namespace(encode=str.split, decode=" ".join)
    ways = [Pipeline(tokenizer, engine.translate, 16, overlap=on) for on in (False, True)]
    pipelines = dict(zip((overlap.SYNCHRONOUS, overlap.ASYNCHRONOUS), ways, strict=True))
    with pytest.raises(UserError, match="cannot be compared"):
        overlap.agree(engine, [[["a", "b"]]], pipelines, ["a b c"])


def test_pipelines(test_set, tmp_path):
    found = timing("overlap", test_set, tmp_path / "p.json", "--model", folders()["int8"], "--lines", 30)
    expected = overlap.settings(sorted(os.sched_getaffinity(0)))
    assert [(len(row["cores"]), row["workers"]) for row in found["rows"][::3]] == [(len(c), w) for c, w in expected]
    assert [row["way"] for row in found["rows"][:3]] == ["engine", "synchronous", "asynchronous"]
    assert all(row["times_engine"] == 1 for row in found["rows"] if row["way"] == "engine")
    assert "1 worker, 1 core" in page("pipeline", tmp_path, tmp_path / "p.json")
    assert footnote("pipeline", found).startswith("tiny (1:1 d16 ff32 h2); first, 30 lines; medians of 2 runs, ")


# N-grams


def by_definition(pieces, n):
    """The pieces that would end an n-gram for the second time."""
    last = pieces[len(pieces) - n + 1 :] if n > 1 else []
    ends = range(n - 1, len(pieces))
    return {pieces[end] for end in ends if pieces[end - n + 1 : end] == last}


@given(st.integers(0, 9).flatmap(lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1)),
       st.integers(2, 4))  # fmt: skip
def test_all_algorithms_ban_what_the_definition_bans(sequences, n):
    expected = [by_definition(pieces, n) for pieces in sequences]
    array = np.array(sequences, np.int32).reshape(len(sequences), -1)
    for algorithm in ngrams.ALGORITHMS.values():
        scores = np.zeros((len(sequences), 4), np.float32)
        algorithm(array, scores, n)
        assert [set(np.isneginf(row).nonzero()[0]) for row in scores] == expected


def test_what_is_timed_bans_something():
    assert all(ngram_timing.check(beam, length) > 0 for beam, length in [(1, 128), (4, 256)])


def test_ngrams(test_set, tmp_path):
    options = ["--model", folders()["int8"], "--beam-sizes", 1, 2, "--lengths", 8, 16]
    found = timing("ngram_timing", test_set, tmp_path / "n.json", *options)
    assert len(found["algorithms"]) == 2 * 2 * 3 and len(found["engine"]) == 2 * 2
    assert all(row["times_scan"] == 1 for row in found["algorithms"] if row["way"] == "scan")
    text = page("ngrams", tmp_path, tmp_path / "n.json")
    assert "extra ms a step" in text and "not comparable" in text
    assert "drawn at random, of 40 so that trigrams come again, from a vocabulary of 8,000" in text
    assert "batches of 32 sentences; medians of 2 runs" in footnote("ngrams", found)
    assert "Extra milliseconds of zero or less are not drawn." in footnote("ngrams", found)


# Cache


@pytest.mark.parametrize("beam_size", [1, 3])
def test_shared_and_copied_caches_give_the_same_contexts(beam_size):
    step = cache_timing.Step(beam_size, length=7, units=16)
    contexts = step.run("shared")
    assert contexts.shape == step.queries.shape
    for way in ("copied", "reordered", "reordered"):  # again, with the caches that were moved
        assert step.run(way) == pytest.approx(contexts, abs=1e-5)
    assert step.cache_bytes("copied") == beam_size * step.cache_bytes("shared")


def test_attention_is_a_weighted_mean_of_values():
    queries, keys = np.zeros((1, 1, 2, 4), np.float32), np.ones((1, 1, 3, 4), np.float32)
    values = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    assert shared_attention.shared(queries, keys, values)[0, 0, 1].tolist() == pytest.approx([4, 5, 6, 7])


def test_cache(test_set, tmp_path):
    options = ["--model", folders()["int8"], "--beam-sizes", 1, 4, "--pieces", 20, "--lengths", 8]
    found = timing("cache_timing", test_set, tmp_path / "c.json", *options)
    assert [row["copies_bytes"] for row in found["engine"]] == [0, 3 * 2 * 64 * 20 * 16 * 4]
    assert len(found["reckoning"]) == 2 * 3
    text = page("cache", tmp_path, tmp_path / "c.json")
    assert "copies alone" in text and "estimates for 1,024 pieces in and 50 out" in text
    assert "64 sources of 20 pieces; medians of 2 runs" in footnote("cache", found)


# Bad input


def test_what_cannot_be_measured_says_so(test_set, tmp_path):
    with pytest.raises(UserError, match="is for opennmt-tf"):
        turns.of_ctranslate2(folders()["opennmt-tf"])
    records.write(empty := tmp_path / "empty.tsv.zst", [("", "")])
    with pytest.raises(UserError, match="no sentence with a piece"):
        turns.pieces(folders()["int8"], argparse.Namespace(test_set=Path(empty), sentences=None))
    sys.argv = ["components", "--models", str(folders()["int8"]), "--beam-sizes", "99", "--test-set", str(test_set)]
    sys.argv += ["--output", str(tmp_path / "x.json")]
    with pytest.raises(UserError, match="at most 32"):
        components.main()
