"""Batches in sentences, interleaved runs, n-grams and caches: all ways have equal results."""

from types import SimpleNamespace

import numpy as np
import pytest
from descriptions import described
from hypothesis import given
from hypothesis import strategies as st
from measured import measured, replaced
from models import folders
from search_set import CORE, SOURCES, search_set  # noqa: F401 (the fixture test_set)

from measure import in_process, kept_runs, protocol, timing_loop
from measure.timing_loop import Repeats, Usage
from nmt_frontier.errors import UserError
from nmt_frontier.search.batching import batches, by_sentence
from nmt_frontier.search.pipeline import WINDOW_BATCHES, Pipeline
from nmt_frontier.translator import LineTokenizer
from papers.fastseq2021 import encoder_cache, ngram_timing, pipeline_cost
from papers.wnmt2018 import beam_batch, components, components_tf

WORDS = SimpleNamespace(encode=str.split, decode=" ".join, text=str)
PARTS = st.lists(st.lists(st.sampled_from("abc"), max_size=12), max_size=60)


@given(PARTS, st.integers(1, 9))
def test_batches_of_sentences_are_full_for_any_length(window, most):
    cut = [*batches(window, most, weigh=by_sentence)]
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

    pipeline = Pipeline(WORDS, backwards, batch_sentences=most)
    found = [*pipeline.windows(" ".join(sentence) for sentence in corpus)]
    assert [line for window in found for line in window] == [" ".join(sentence[::-1]) for sentence in corpus]
    assert all(len(window) == WINDOW_BATCHES * most for window in found[:-1])
    assert max(sizes, default=0) <= most


def test_the_grid_has_a_name_and_a_signature_for_every_place(test_set):
    (model,) = described(folders()["int8"])
    found = beam_batch.grid(model, [1, 3], [1, 16], CORE)
    assert len({configuration.name for configuration in found}) == 4
    assert all(configuration.vocabulary_map for configuration in found)
    assert found[-1].batch_sentences == 16
    record = measured(length_penalty=1.0, **found[-1].recorded)
    assert "|batch:16s|" in kept_runs.signature(record)
    assert "|batch:512t|" in kept_runs.signature(replaced(record, batch_sentences=None))
    assert "batch" not in protocol.Configuration(model).name


def test_calls_are_warmed_up_and_timed_in_turn():
    done = []
    calls = {name: lambda name=name: done.append(name) for name in "ab"}
    found = in_process.timed(calls, Repeats(runs=3, noise=1.0), [CORE], "nothing")
    assert "".join(done) == "ab" + "ababab"
    assert {name: len(usages) for name, usages in found.items()} == {"a": 3, "b": 3}


def shares(**tries):
    """Ways whose tries are disturbed by these shares, in order; and a list of the calls."""
    calls = []

    def way(name):
        def run(number):
            calls.append((name, number))
            return Usage(seconds=len(calls), others=tries[name].pop(0))

        return run

    return {name: way(name) for name in tries}, calls


def test_a_disturbed_run_is_repeated_and_the_quietest_try_counts():
    ways, calls = shares(a=[0.5, 0.05, 0.0], b=[0.2, 0.3, 0.4, 0.15, None])
    found = timing_loop.timed(ways, Repeats(runs=2, noise=0.1), "nothing")
    assert calls == [("a", 1)] * 2 + [("b", 1)] * (1 + timing_loop.RETRIES) + [("a", 2), ("b", 2)]
    assert [usage.others for usage in found["a"]] == [0.05, 0.0]
    assert [usage.others for usage in found["b"]] == [0.15, None]  # unknown counts as quiet


def test_ways_may_be_timed_more_or_less_often():
    ways, calls = shares(a=[0.0], b=[0.0] * 3)
    numbers = [(name, number) for name, number, _ in timing_loop.in_turn(ways, {"a": 1, "b": 3}, 0.1, "nothing")]
    assert numbers == calls == [("a", 1), ("b", 1), ("b", 2), ("b", 3)]
    assert list(timing_loop.in_turn({}, {}, 0.1, "nothing")) == []


def test_ratios_are_those_of_pairs():
    fast, slow = ([Usage(seconds=value) for value in values] for values in ((1.0, 2.0, 4.0), (2.0, 3.0, 16.0)))
    assert in_process.ratio("times", slow, fast, "seconds") == {"times": 2.0, "times_min": 1.5, "times_max": 4.0}


def test_components_add_up():
    taken = {"whole": 10.0, "encoder": 2.0, "deaf": 8.5, "few": 6.0, "bare": 4.5, "rows": 7.0, "rows' encoder": 5.0}
    found = components.components(taken)
    assert found == dict(encoder=2.0, attention=1.5, generator=4.0, search=0.5, decoder=2.0, other=0.0)
    greedy = components.components({name: taken[name] for name in ("whole", "encoder", "deaf", "few")})
    assert greedy["search"] == 0 and sum(greedy.values()) == 10.0


LOOP = "transformer/while/body/_1/transformer/while"

LAYER = f"{LOOP}/self_attention_decoder/self_attention_decoder_layer"


ENCODER = "transformer/self_attention_encoder/self_attention_encoder_layer_3"
WRAPPER, RNN = "transformer_layer_wrapper", f"{LOOP}/attentional_rnn_decoder/attention_wrapper"
OPERATIONS = {
    "encoder": (
        f"{ENCODER}/multi_head_attention_3/x:Mul", "transformer/word_embedder/embedding_lookup:ResourceGather",
        "x/rnn_encoder/rnn/while/body/_1/stacked_rnn_cells/MatMul:MatMul", "x/dense_bridge/dense_22/MatMul:MatMul",
    ),
    "decoder": (
        f"{LAYER}/{WRAPPER}_8/multi_head_attention_4/MatMul:BatchMatMulV2",
        f"{LAYER}_1/{WRAPPER}_11/multi_head_attention_6/MatMul:MatMul",
        f"{LAYER}/{WRAPPER}_10/feed_forward_network_4/dense_33/BiasAdd:MatMul",
        f"{LOOP}/conditional_decoder/dense_7/MatMul:MatMul", f"{RNN}/stacked_rnn_cells/gru_cell/MatMul:MatMul",
        f"{LOOP}/word_embedder_1/embedding_lookup:ResourceGather",
    ),
    "attention": (
        f"{LAYER}/{WRAPPER}_9/multi_head_attention_5/dense_30/MatMul:MatMul",
        f"{LAYER}_1/{WRAPPER}_12/multi_head_attention_7/MatMul:MatMul",
        f"{LOOP}/conditional_decoder/additive_attention/dense_5/MatMul:MatMul",
        "x/additive_attention/dense_4/BiasAdd:BiasAdd", f"{RNN}/LuongAttention/MatMul:MatMul",
    ),
    "generator": (
        f"{LOOP}/self_attention_decoder/dense_34/MatMul:MatMul", f"{LOOP}/LogSoftmax:LogSoftmax",
        f"{LOOP}/history_decoder/dense_34/MatMul:MatMul", f"{LOOP}/conditional_decoder/dense_9/MatMul:MatMul",
    ),
    "search": (f"{LOOP}/TopKV2:TopKV2",),
    "other": ("transformer/strided_slice:StridedSlice",),
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), [(name, kind) for kind, names in OPERATIONS.items() for name in names])
def test_operations_belong_to_components(name, expected):
    numbers = {"self_attention_decoder_layer": 5, "self_attention_decoder_layer_1": 7}
    numbers |= {"self_attention_decoder": 34, "history_decoder": 34, "conditional_decoder": 9}
    assert components_tf.component(name, numbers) == expected


OPERATORS = {
    "MatMul": "linear", "_MklNativeFusedMatMul": "linear", "_MklBatchMatMulV2": "attention",
    "BatchMatMulV2": "attention", "LogSoftmax": "softmax", "Tanh": "activations", "TopKV2": "other",
}  # fmt: skip


@pytest.mark.parametrize(("type", "expected"), OPERATORS.items())
def test_operations_belong_to_operators(type, expected):
    assert components_tf.operator(f"{LOOP}/MatMul/name:{type}") == expected


def test_the_last_attention_of_a_layer_looks_at_the_encoder():
    layers = [f"{LAYER}/a/multi_head_attention/", f"{LAYER}/b/multi_head_attention_1/"]
    layers += [f"{LAYER}_1/c/multi_head_attention_12/", f"{LAYER}_1/c/multi_head_attention_9/"]
    names = [f"{layer}x" for layer in layers] + ["transformer/self_attention_encoder/x/multi_head_attention_99/y"]
    expected = {"self_attention_decoder_layer": 1, "self_attention_decoder_layer_1": 12}
    assert components_tf.last(names) == expected


def test_the_last_layer_of_a_decoder_is_its_output_layer():
    names = [f"{LOOP}/conditional_decoder/dense{number}/MatMul:MatMul" for number in ("", "_3", "_12", "_7")]
    assert components_tf.last(names) == {"conditional_decoder": 12}


def test_the_bare_engine_decodes_the_batches_of_the_pipeline():
    lines, seen = [*SOURCES, "", *SOURCES], []
    tokenizer = LineTokenizer(folders()["int8"])

    def translate(batch):
        seen.append(batch)
        return batch

    pipeline = Pipeline(tokenizer, translate, 16, overlap=False)
    list(pipeline.windows(lines))
    assert [*pipeline.cut(lines)] == seen


def test_translations_that_differ_are_not_compared():
    engine = SimpleNamespace(translate=lambda batch: batch)
    ways = [Pipeline(WORDS, engine.translate, 16, overlap=on) for on in (False, True)]
    pipelines = dict(zip((pipeline_cost.SYNCHRONOUS, pipeline_cost.ASYNCHRONOUS), ways, strict=True))
    with pytest.raises(UserError, match="cannot be compared"):
        pipeline_cost.agree(engine, [[["a", "b"]]], pipelines, ["a b c"])


def by_definition(pieces, n):
    """The pieces that would repeat an n-gram."""
    last = pieces[len(pieces) - n + 1 :] if n > 1 else []
    ends = range(n - 1, len(pieces))
    return {pieces[end] for end in ends if pieces[end - n + 1 : end] == last}


@given(st.integers(0, 9).flatmap(lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1)),
       st.integers(2, 4))  # fmt: skip
def test_all_algorithms_ban_what_the_definition_bans(sequences, n):
    expected = [by_definition(pieces, n) for pieces in sequences]
    array = np.array(sequences, np.int32).reshape(len(sequences), -1)
    for algorithm in ngram_timing.ALGORITHMS.values():
        scores = np.zeros((len(sequences), 4), np.float32)
        algorithm(array, scores, n)
        assert [set(np.isneginf(row).nonzero()[0]) for row in scores] == expected


def test_timed_sequences_repeat_ngrams():
    assert all(ngram_timing.check(beam, length) > 0 for beam, length in [(1, 128), (4, 256)])


@pytest.mark.parametrize("beam_size", [1, 3])
def test_shared_and_copied_caches_give_the_same_contexts(beam_size):
    step = encoder_cache.Step(beam_size, length=7, units=16)
    contexts = step.run("shared")
    assert contexts.shape == step.queries.shape
    for way in ("copied", "reordered", "reordered"):  # again, with moved caches
        assert step.run(way) == pytest.approx(contexts, abs=1e-5)
    assert step.cache_bytes("copied") == beam_size * step.cache_bytes("shared")


def test_attention_is_a_weighted_mean_of_values():
    queries, keys = np.zeros((1, 1, 2, 4), np.float32), np.ones((1, 1, 3, 4), np.float32)
    values = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    assert encoder_cache.shared(queries, keys, values)[0, 0, 1].tolist() == pytest.approx([4, 5, 6, 7])
