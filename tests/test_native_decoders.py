"""The native engine says what OpenNMT-tf says, with the same weights, for decoders that CTranslate2 does not have."""

import json

import numpy as np
import pytest
from decoders import CELLS, CONNECTED, SHAPES, SMALL, built, forced, translations, weights
from native import engine, outputs, run, sentences

from common.errors import UserError
from decode.engines.native import Native
from export import read_opennmt_tf
from formats import native_model
from formats.conversion import Converter
from formats.shape import shape

LONGEST = 30
BATCH = [[1 + number % 80 for number in sentence] for sentence in sentences(120)]


@pytest.fixture(scope="module", params=SHAPES)
def made(request, tmp_path_factory):
    """A model of OpenNMT-tf, and the folder of its native files."""
    folder = tmp_path_factory.mktemp("native")
    model, pieces = built(SHAPES[request.param], **weights(SHAPES[request.param]))
    read = read_opennmt_tf.of_model(model, pieces, folder)
    for kind in native_model.TYPES:
        read.write(kind, folder / kind)
    return model, folder


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        ({}, True),
        ({"bidirectional": True}, True),
        ({"bidirectional": True, "units": 48}, False),
        ({"units": 40}, False),
        ({"embedding_units": 40}, False),
    ],
)
def test_vectors_of_recurrent_models_are_multiples_of_16(change, runs):
    assert Native.runs(CELLS | change) == runs


DESCRIPTION = shape(CELLS | {"decoder_layers": 1}).model_description(0.1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("32,\n            bidirectional", "48,\n            bidirectional", "differ in their units"),
        ("bidirectional=False", "residual_connections=True", "residual connections"),
        ("LuongAttention", "BahdanauAttention", "it has BahdanauAttention"),
        ("LSTMCell", "GRUCell", "the same in all layers"),
        ("RNNEncoder", "LSTMEncoder", "has no SequenceToSequence of OpenNMT-tf's like this one"),
    ],
)
def test_a_recurrent_model_that_the_engine_does_not_compute_is_refused(old, new, message, tmp_path):
    description = DESCRIPTION.replace(old, new, 1)
    if "LSTMEncoder" in description:
        description = description.replace("            cell_class=tf.keras.layers.LSTMCell,\n", "", 1)
    (tmp_path / "model.py").write_text(description)
    model, pieces = built({"model": str(tmp_path / "model.py")})
    with pytest.raises(UserError, match=message):
        read_opennmt_tf.of_model(model, pieces, tmp_path)


ODD = {
    "units in multiples of 16, not 40": SMALL | {"units": 40, "decoder": "averaging"},
    "units in multiples of 32, 16 for each direction, not 48": CELLS | {"units": 48, "bidirectional": True},
    "embedding_units in multiples of 16, not 24": SHAPES["conditional"] | {"embedding_units": 24},
    "fully_connected_units in multiples of 16, not 40": CONNECTED | {"fully_connected_units": 40},
}


@pytest.mark.parametrize("needed", ODD)
def test_a_width_that_the_engine_does_not_compute_is_refused_with_what_decodes_it(needed, tmp_path):
    model, pieces = built(ODD[needed])
    with pytest.raises(UserError, match=f": native needs {needed}; OpenNMT-tf decodes it"):
        read_opennmt_tf.of_model(model, pieces, tmp_path)


TRANSFORMER = shape(SMALL).model_description(0.1)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("position_encoder_class=None, maximum_relative_position=20", "its positions are not sinusoidal"),
        ("pre_norm=False", "it normalises behind its layers"),
        ("ffn_activation=__import__('tensorflow').nn.gelu", "its activation is not relu"),
    ],
)
def test_a_transformer_that_the_engine_does_not_compute_is_refused(option, message, tmp_path):
    (tmp_path / "model.py").write_text(TRANSFORMER.replace("num_units", f"{option},\n        num_units", 1))
    model, pieces = built({"model": str(tmp_path / "model.py")})
    with pytest.raises(UserError, match=message):
        read_opennmt_tf.of_model(model, pieces, tmp_path)


@pytest.mark.parametrize("made", ["averaging", "ssru", "gru"], indirect=True)
def test_conversion_to_ctranslate2_names_what_reads_the_checkpoint(made, tmp_path):
    model, _ = made
    with pytest.raises(
        ValueError, match=r"^CTranslate2 has no such model \(.+\); .* export\.native reads .*$"
    ) as refused:
        Converter(model).convert(str(tmp_path / "float32"))
    assert "\n" not in str(refused.value)


def worker(folder, kind="float32"):
    return engine.Worker(engine.Model(folder / kind / native_model.NAME))


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.slow
def test_native_and_opennmt_tf_say_the_same(made, beam):
    """One in a hundred sentences may differ: rounding decides between pieces that are as good."""
    model, folder = made
    expected = translations(model, BATCH, beam, LONGEST)
    found = outputs(worker(folder), BATCH, beam_size=beam, longest=LONGEST, n_best=1)
    same = [ours[0] for ours, (pieces, _) in zip(found, expected, strict=True) if ours[0][0] == pieces]
    assert len(same) >= 0.99 * len(BATCH)
    scores = [score for ours, (pieces, score) in zip(found, expected, strict=True) if ours[0][0] == pieces]
    np.testing.assert_allclose([score for _, score in same], scores, rtol=0, atol=1e-3)
    assert len({str(pieces) for pieces, _ in same}) > len(BATCH) / 10  # not all the same
    assert np.mean([len(pieces) for pieces, _ in same]) > 3


@pytest.mark.parametrize("kind", native_model.TYPES)
def test_a_sentence_is_translated_alike_in_any_batch(made, kind):
    _, folder = made
    whole = outputs(worker(folder, kind), BATCH, beam_size=3, longest=LONGEST)
    alone = worker(folder, kind)
    assert [outputs(alone, [sentence], beam_size=3, longest=LONGEST)[0] for sentence in BATCH[:40]] == whole[:40]
    model = engine.Model(folder / kind / native_model.NAME)
    assert outputs(engine.Worker(model, threads=2), BATCH, beam_size=3, longest=LONGEST) == whole


@pytest.mark.parametrize("kind", native_model.TYPES)
def test_scores_of_targets_are_those_of_the_search(made, kind):
    """Scoring takes all positions of a target at once, where the decoder can."""
    _, folder = made
    found = outputs(worker(folder, kind), BATCH, longest=LONGEST, length_penalty=0)
    targets = [best[0][0] for best in found]
    scored = worker(folder, kind).score(BATCH, targets)
    said = [len(target) + (len(target) < LONGEST) for target in targets]  # with the end, if it was said
    sums = [sum(pieces[:count]) for pieces, count in zip(scored, said, strict=True)]
    np.testing.assert_allclose(sums, [best[0][1] for best in found], rtol=0, atol=1e-3)


def test_integers_score_translations_about_alike(made):
    _, folder = made
    targets = [best[0][0] for best in outputs(worker(folder), BATCH, longest=LONGEST)]
    exact, *rounded = (np.concatenate(worker(folder, kind).score(BATCH, targets)) for kind in native_model.TYPES)
    for scores, least in zip(rounded, (0.999, 0.85), strict=True):
        assert np.corrcoef(exact, scores)[0, 1] > least


@pytest.mark.parametrize("beam", [1, 3])
def test_a_prefix_is_said_first(made, beam):
    _, folder = made
    prefixes = [[5 + number % 70] * (number % 4) for number in range(len(BATCH))]
    found = outputs(worker(folder), BATCH, prefixes, beam_size=beam, longest=LONGEST)
    assert all(best[0][0][: len(prefix)] == prefix for best, prefix in zip(found, prefixes, strict=True))


def test_switches_change_no_translation(made):
    _, folder = made
    usual = outputs(worker(folder), BATCH[:40], beam_size=3, longest=LONGEST)
    assert outputs(worker(folder), BATCH[:40], beam_size=3, longest=LONGEST, copied_cache=True) == usual
    greedy = outputs(worker(folder), BATCH[:40], longest=LONGEST)
    assert outputs(worker(folder), BATCH[:40], longest=LONGEST, keep_finished=True) == greedy


IDENTITIES = ("computed_pieces", "repeated_sources", "repeated_states")
connected = pytest.mark.parametrize("made", ["fully connected"], indirect=True)


@connected
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("kind", native_model.TYPES)
@pytest.mark.parametrize("identity", IDENTITIES)
def test_identities_change_no_translation(made, identity, kind, beam):
    """To the last bit, but for products of the source, whose sums have another order and other roundings."""
    _, folder = made
    options = {"beam_size": beam, "longest": LONGEST}
    usual, plain = (outputs(worker(folder, kind), BATCH, **options, **told) for told in ({}, {identity: True}))
    if identity != "repeated_sources":
        assert plain == usual
    elif kind == "float32":
        best = [[sentence[0] for sentence in found] for found in (plain, usual)]
        assert [pieces for pieces, _ in best[0]] == [pieces for pieces, _ in best[1]]
        np.testing.assert_allclose(*([score for _, score in found] for found in best), rtol=0, atol=1e-4)


@connected
def test_without_identities_more_rows_are_multiplied(made):
    _, folder = made
    rows = {}
    for name in (None, "repeated_sources", "repeated_states"):
        counting = worker(folder, "int16")
        counting.calibrate()
        outputs(counting, BATCH, beam_size=4, longest=LONGEST, **({name: True} if name else {}))
        rows[name] = {product: scales.rows for product, scales in counting.input_scales().items()}
    usual, sources, states = rows.values()
    of_states = {"decoder.0.states", "attention.queries"}
    assert {name for name in usual if states[name] > usual[name]} == of_states
    assert states["decoder.0.states"] == states["decoder.0.inputs"] == usual["decoder.0.inputs"]
    assert sources["attention.keys"] > 3 * usual["attention.keys"]
    assert sources["decoder.contexts"] == sources["attention.queries"]  # of steps, in place of the source
    assert usual["decoder.contexts"] == usual["attention.keys"]


ENTERED = [name for name, values in SHAPES.items() if values.keys() & {"cell", "decoder_transitions"}]


@pytest.mark.parametrize("made", ENTERED, indirect=True)
def test_products_of_pieces_change_no_bit(made):
    """Neither when they are kept nor when they are looked up again."""
    _, folder = made
    for kind in native_model.TYPES:
        plain = outputs(worker(folder, kind), BATCH[:60], beam_size=3, longest=LONGEST, computed_pieces=True)
        looking_up = worker(folder, kind)
        assert [outputs(looking_up, BATCH[:60], beam_size=3, longest=LONGEST) for _ in range(2)] == [plain, plain]


CURVED = [name for name in SHAPES if name not in ("self-attention", "averaging, plain", "averaging, ungated")]


@pytest.mark.parametrize("made", CURVED, indirect=True)
def test_polynomials_say_what_the_c_library_says(made):
    _, folder = made
    options = {"beam_size": 4, "longest": LONGEST}
    usual, plain = (
        [best[0] for best in outputs(worker(folder), BATCH[:60], **options, library_functions=told)]
        for told in (False, True)
    )
    assert plain != usual  # in some last bits
    same = [(ours, theirs) for (said, ours), (other, theirs) in zip(usual, plain, strict=True) if said == other]
    assert len(same) >= 0.95 * len(usual)
    np.testing.assert_allclose(*zip(*same, strict=True), rtol=0, atol=1e-3)


@pytest.mark.parametrize("values", [CONNECTED, SHAPES["lstm, both directions"]])
@pytest.mark.slow
def test_the_table_of_products_has_an_end(values, tmp_path):
    """Of 8,100 pieces 8,000 are kept, those that were met first."""
    model, pieces = built(values, words=8100, **weights(values))
    read_opennmt_tf.of_model(model, pieces, tmp_path).write("float32", tmp_path / "float32")
    batch = [[7990 + (7 * number + place) % 100 for place in range(1 + number % 9)] for number in range(40)]
    expected = [said for said, _ in translations(model, batch, 1, LONGEST)]
    full = worker(tmp_path)
    outputs(full, [[*range(start, start + 80)] for start in range(1, 8000, 80)], longest=1)
    found = outputs(full, batch, longest=LONGEST)
    assert found == outputs(worker(tmp_path), batch, longest=LONGEST, computed_pieces=True)
    assert [sentence[0][0] for sentence in found] == expected


def test_attention_over_the_source_is_that_of_opennmt_tf(made):
    """OpenNMT-tf gives that of a Transformer's last layer, the first of its heads."""
    model, folder = made
    layer = len(model.decoder.layers) - 1 if hasattr(model.decoder, "layers") else 0
    options = engine.Options(longest=LONGEST, attention_layer=layer, attention_head=0)
    found = worker(folder).translate(BATCH[:30], options)
    for source, (best,) in zip(BATCH, found, strict=False):
        _, attention = forced(model, [source], [best.pieces])
        np.testing.assert_allclose(best.attention, attention[0, : len(best.attention)], rtol=0, atol=1e-4)


TRANSLATED = """
import json, sys
from native import engine, outputs
batch = json.loads(sys.argv[2])
for kind in ("float32", "int16", "int8"):
    worker = engine.Worker(engine.Model(f"{sys.argv[1]}/{kind}/weights.safetensors"))
    print(outputs(worker, batch, beam_size=3, longest=20))
"""


@pytest.mark.skipif(len(engine.available_sets()) < 3, reason="this CPU has no two sets with fused multiply-add")
@pytest.mark.slow
def test_instruction_sets_say_the_same(made):
    """With scores to the last bit."""
    _, folder = made
    _, *fused = engine.available_sets()
    found = [run(TRANSLATED, folder, json.dumps(BATCH[:60]), NMT_ISA=name) for name in fused]
    assert found.count(found[0]) == len(fused)
