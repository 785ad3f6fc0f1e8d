"""The native engine equals OpenNMT-tf, with the same weights, for decoders that CTranslate2 lacks."""

import numpy as np
import pytest
from decoders import CELLS, CONNECTED, SHAPES, SMALL, built, forced, translations, weights
from native import called, engine, outputs, sentences, translated

from export import read_opennmt_tf
from formats.conversion import Converter
from formats.shape import shape
from nmt_frontier.errors import UserError
from nmt_frontier.model import native_weights
from nmt_frontier.search.native import Native

LONGEST = 30
BATCH = [[1 + number % 80 for number in sentence] for sentence in sentences(120)]


@pytest.fixture(scope="module", params=SHAPES)
def made(request, tmp_path_factory):
    """A model of OpenNMT-tf, and the folder of its native files."""
    folder = tmp_path_factory.mktemp("native")
    model, pieces = built(SHAPES[request.param], **weights(SHAPES[request.param]))
    read = read_opennmt_tf.of_model(model, pieces, folder)
    for kind in native_weights.TYPES:
        read.write(kind, folder / kind)
    return model, folder


@pytest.fixture
def folder(made):
    return made[1]


WIDTHS = [
    ({}, True), ({"bidirectional": True}, True), ({"bidirectional": True, "units": 48}, False), ({"units": 40}, False),
    ({"embedding_units": 40}, False),
]  # fmt: skip


@pytest.mark.parametrize(("change", "runs"), WIDTHS)
def test_vectors_of_recurrent_models_are_multiples_of_16(change, runs):
    assert Native.runs(CELLS | change) == runs


def refused(values, message, folder):
    model, pieces = built(values)
    with pytest.raises(UserError, match=message):
        read_opennmt_tf.of_model(model, pieces, folder)


RECURRENT, TRANSFORMER = (shape(values).model_description(0.1) for values in (CELLS | {"decoder_layers": 1}, SMALL))
NO_LSTM = RECURRENT.replace("            cell_class=tf.keras.layers.LSTMCell,\n", "", 1)
OTHER = {  # a description, what is changed in it, and what is refused
    "units": (RECURRENT, "32,\n            bidirectional", "48,\n            bidirectional", "differ in their units"),
    "residual": (RECURRENT, "bidirectional=False", "residual_connections=True", "residual connections"),
    "attention": (RECURRENT, "LuongAttention", "BahdanauAttention", "it has BahdanauAttention"),
    "cells": (RECURRENT, "LSTMCell", "GRUCell", "the same in all layers"),
    "encoder": (NO_LSTM, "RNNEncoder", "LSTMEncoder", "has no SequenceToSequence of OpenNMT-tf's like this one"),
}
for option, message in (
    ("position_encoder_class=None, maximum_relative_position=20", "its positions are not sinusoidal"),
    ("pre_norm=False", "it normalises behind its layers"),
    ("ffn_activation=__import__('tensorflow').nn.gelu", "its activation is not relu"),
):
    OTHER[message] = TRANSFORMER, "num_units", f"{option},\n        num_units", message


@pytest.mark.parametrize(("description", "old", "new", "message"), OTHER.values(), ids=OTHER)
def test_a_model_that_the_engine_does_not_compute_is_refused(description, old, new, message, tmp_path):
    assert old in description
    (tmp_path / "model.py").write_text(description.replace(old, new, 1))
    refused({"model": str(tmp_path / "model.py")}, message, tmp_path)


ODD = {
    "units in multiples of 16, not 40": SMALL | {"units": 40, "decoder": "averaging"},
    "units in multiples of 32, 16 for each direction, not 48": CELLS | {"units": 48, "bidirectional": True},
    "embedding_units in multiples of 16, not 24": SHAPES["conditional"] | {"embedding_units": 24},
    "fully_connected_units in multiples of 16, not 40": CONNECTED | {"fully_connected_units": 40},
}


@pytest.mark.parametrize("needed", ODD)
def test_a_width_that_the_engine_does_not_compute_is_refused_with_what_decodes_it(needed, tmp_path):
    refused(ODD[needed], f": native needs {needed}; OpenNMT-tf decodes it", tmp_path)


@pytest.mark.parametrize("made", ["averaging", "ssru", "gru"], indirect=True)
def test_conversion_to_ctranslate2_names_what_reads_the_checkpoint(made, tmp_path):
    model, _ = made
    message = r"^CTranslate2 has no such model \(.+\); .* export\.native reads .*$"
    with pytest.raises(ValueError, match=message) as error:
        Converter(model).convert(str(tmp_path / "float32"))
    assert "\n" not in str(error.value)


def worker(folder, kind="float32"):
    return engine.Worker(engine.Model(folder / kind / native_weights.NAME))


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.long
def test_translations_are_those_of_opennmt_tf(made, beam):
    """One in a hundred sentences may differ: rounding decides between equally good pieces."""
    model, folder = made
    found = outputs(worker(folder), BATCH, beam_size=beam, longest=LONGEST, n_best=1)
    pairs = [(best[0], peer) for best, peer in zip(found, translations(model, BATCH, beam, LONGEST), strict=True)]
    same = [(native, peer) for native, peer in pairs if native[0] == peer[0]]
    assert len(same) >= 0.99 * len(BATCH)
    np.testing.assert_allclose(*([score for _, score in side] for side in zip(*same, strict=True)), rtol=0, atol=1e-3)
    assert len({str(pieces) for (pieces, _), _ in same}) > len(BATCH) / 10  # not all the same
    assert np.mean([len(pieces) for (pieces, _), _ in same]) > 3


@pytest.mark.parametrize("kind", native_weights.TYPES)
def test_a_sentence_is_translated_alike_in_any_batch(folder, kind):
    whole = outputs(worker(folder, kind), BATCH, beam_size=3, longest=LONGEST)
    alone = worker(folder, kind)
    assert [outputs(alone, [sentence], beam_size=3, longest=LONGEST)[0] for sentence in BATCH[:40]] == whole[:40]
    model = engine.Model(folder / kind / native_weights.NAME)
    assert outputs(engine.Worker(model, threads=2), BATCH, beam_size=3, longest=LONGEST) == whole


@pytest.mark.parametrize("kind", native_weights.TYPES)
def test_scores_of_targets_are_those_of_the_search(folder, kind):
    """Scoring takes all positions of a target at once, where the decoder can."""
    found = outputs(worker(folder, kind), BATCH, longest=LONGEST, length_penalty=0)
    targets = [best[0][0] for best in found]
    scored = worker(folder, kind).score(BATCH, targets)
    lengths = [len(target) + (len(target) < LONGEST) for target in targets]  # with the end, if it was reached
    sums = [sum(pieces[:count]) for pieces, count in zip(scored, lengths, strict=True)]
    np.testing.assert_allclose(sums, [best[0][1] for best in found], rtol=0, atol=1e-3)


def test_integers_score_translations_about_alike(folder):
    targets = [best[0][0] for best in outputs(worker(folder), BATCH, longest=LONGEST)]
    exact, *rounded = (np.concatenate(worker(folder, kind).score(BATCH, targets)) for kind in native_weights.TYPES)
    for scores, least in zip(rounded, (0.999, 0.85, 0.2), strict=True):
        assert np.corrcoef(exact, scores)[0, 1] > least


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_starts_with_its_prefix(folder, beam):
    prefixes = [[5 + number % 70] * (number % 4) for number in range(len(BATCH))]
    found = outputs(worker(folder), BATCH, prefixes, beam_size=beam, longest=LONGEST)
    assert all(best[0][0][: len(prefix)] == prefix for best, prefix in zip(found, prefixes, strict=True))


def test_switches_change_no_translation(folder):
    usual = outputs(worker(folder), BATCH[:40], beam_size=3, longest=LONGEST)
    assert outputs(worker(folder), BATCH[:40], beam_size=3, longest=LONGEST, without={"shared_cache"}) == usual
    greedy = outputs(worker(folder), BATCH[:40], longest=LONGEST)
    assert outputs(worker(folder), BATCH[:40], longest=LONGEST, without={"remove_finished"}) == greedy


IDENTITIES = ("piece_products", "source_products", "equal_states")
connected = pytest.mark.parametrize("made", ["fully connected"], indirect=True)


@connected
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("kind", native_weights.TYPES)
@pytest.mark.parametrize("identity", IDENTITIES)
def test_identities_change_no_translation(folder, identity, kind, beam):
    """To the last bit, except for products of the source: the order of their sums differs."""
    options = {"beam_size": beam, "longest": LONGEST}
    usual, plain = (outputs(worker(folder, kind), BATCH, **options, without=off) for off in ((), {identity}))
    if identity != "source_products":
        assert plain == usual
    elif kind == "float32":
        best = [[sentence[0] for sentence in found] for found in (plain, usual)]
        assert [pieces for pieces, _ in best[0]] == [pieces for pieces, _ in best[1]]
        np.testing.assert_allclose(*([score for _, score in found] for found in best), rtol=0, atol=1e-4)


@connected
def test_without_identities_more_rows_are_multiplied(folder):
    rows = {}
    for name in (None, "source_products", "equal_states"):
        counting = worker(folder, "int16")
        counting.calibrate()
        outputs(counting, BATCH, beam_size=4, longest=LONGEST, without={name} if name else ())
        rows[name] = {product: scales.rows for product, scales in counting.input_scales().items()}
    usual, sources, states = rows.values()
    of_states = {"decoder.0.states", "attention.queries"}
    assert {name for name in usual if states[name] > usual[name]} == of_states
    assert states["decoder.0.states"] == states["decoder.0.inputs"] == usual["decoder.0.inputs"]
    assert sources["attention.keys"] > 3 * usual["attention.keys"]
    assert sources["decoder.contexts"] == sources["attention.queries"]  # of steps instead of the source
    assert usual["decoder.contexts"] == usual["attention.keys"]


ENTERED = [name for name, values in SHAPES.items() if values.keys() & {"cell", "decoder_transitions"}]


@pytest.mark.parametrize("made", ENTERED, indirect=True)
def test_products_of_pieces_change_no_bit(folder):
    """Neither when they are stored nor when they are looked up."""
    for kind in native_weights.TYPES:
        plain = outputs(worker(folder, kind), BATCH[:60], beam_size=3, longest=LONGEST, without={"piece_products"})
        looking_up = worker(folder, kind)
        assert [outputs(looking_up, BATCH[:60], beam_size=3, longest=LONGEST) for _ in range(2)] == [plain, plain]


CURVED = [name for name in SHAPES if name not in ("self-attention", "averaging, plain", "averaging, ungated")]


@pytest.mark.parametrize("made", CURVED, indirect=True)
def test_polynomials_translate_like_the_c_library(folder):
    options = {"beam_size": 4, "longest": LONGEST}
    found = [outputs(worker(folder), BATCH[:60], **options, without=off) for off in ((), {"polynomials"})]
    usual, plain = ([best[0] for best in each] for each in found)
    assert plain != usual  # in some last bits
    same = [(score, peer) for (pieces, score), (other, peer) in zip(usual, plain, strict=True) if pieces == other]
    assert len(same) >= 0.95 * len(usual)
    np.testing.assert_allclose(*zip(*same, strict=True), rtol=0, atol=1e-3)


@pytest.mark.parametrize("values", [CONNECTED, SHAPES["lstm, both directions"]])
@pytest.mark.long
def test_the_table_of_products_has_an_end(values, tmp_path):
    """Of 8,100 pieces the first 8,000 are kept."""
    model, pieces = built(values, words=8100, **weights(values))
    read_opennmt_tf.of_model(model, pieces, tmp_path).write("float32", tmp_path / "float32")
    batch = [[7990 + (7 * number + place) % 100 for place in range(1 + number % 9)] for number in range(40)]
    expected = [pieces for pieces, _ in translations(model, batch, 1, LONGEST)]
    full = worker(tmp_path)
    outputs(full, [[*range(start, start + 80)] for start in range(1, 8000, 80)], longest=1)
    found = outputs(full, batch, longest=LONGEST)
    assert found == outputs(worker(tmp_path), batch, longest=LONGEST, without={"piece_products"})
    assert [sentence[0][0] for sentence in found] == expected


@pytest.mark.long
def test_attention_over_the_source_is_that_of_opennmt_tf(made):
    """OpenNMT-tf returns a Transformer's last layer, first head."""
    model, folder = made
    layer = len(model.decoder.layers) - 1 if hasattr(model.decoder, "layers") else 0
    options = engine.Options(longest=LONGEST, attention_layer=layer, attention_head=0)
    found = worker(folder).translate(BATCH[:30], options)
    for source, (best,) in zip(BATCH, found, strict=False):
        _, attention = forced(model, [source], [best.pieces])
        np.testing.assert_allclose(best.attention, attention[0, : len(best.attention)], rtol=0, atol=1e-4)


@pytest.mark.skipif(len(engine.available_sets()) < 3, reason="this CPU has no two sets with fused multiply-add")
@pytest.mark.long
def test_instruction_sets_translate_the_same(folder):
    """With scores to the last bit."""
    _, *fused = engine.available_sets()
    found = [called(translated, folder, BATCH[:60], NMT_ISA=name) for name in fused]
    assert found.count(found[0]) == len(fused)
