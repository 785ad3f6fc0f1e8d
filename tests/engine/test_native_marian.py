"""The native engine translates as Marian does, with the same weights, for every architecture that both have."""

import itertools

import numpy as np
import pytest
import yaml
from marian_models import PIECES, SHAPES, SMALL, VOCABULARY, convert, nematus, sentences, trained, translations
from native import engine, outputs

from export import untrained_marian
from export.import_teacher import TeacherSource, import_native
from formats import marian, opennmt_tf
from formats.shape import shape
from nmt_frontier.errors import UserError
from nmt_frontier.importers.marian_parameters import CONFIG, Parameters
from nmt_frontier.importers.read_marian import read
from nmt_frontier.model import native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary

pytestmark = [pytest.mark.slow, pytest.mark.optional("pymarian")]
BATCH = sentences(1000, seed=2)
LONGEST = 30


@pytest.fixture(scope="module", params=SHAPES)
def model_of(request, tmp_path_factory):
    """The name of a shape, and the model.npz of such a model; beside it are its native files, by type."""
    return request.param, trained(SHAPES[request.param], tmp_path_factory.mktemp("marian") / "model")


@pytest.fixture(scope="module")
def model(model_of):
    return model_of[1]


def worker(model, kind="float32"):
    return engine.Worker(engine.Model(model.parent / kind / native_weights.NAME))


def numbers(model, sentences, side="numbers"):
    return [*map(getattr(Vocabulary.read(model.parent / "float32"), side), sentences)]


@pytest.mark.parametrize("beam", [1, 4])
def test_native_and_marian_translate_alike(model, beam):
    """One in a hundred sentences may differ.

    Marian's beam shrinks with each finished hypothesis, the native engine's is filled up from behind; Marian stops at a
    multiple of the length of the source, the native engine at a number of pieces; and rounding decides near ties.
    """
    expected = translations(model, BATCH, beam, factor=3)
    found = outputs(worker(model), numbers(model, BATCH), beam_size=beam, longest=LONGEST, n_best=1)
    native = numbers(model, [best[0][0] for best in found], "pieces")
    equal = (own == pieces for own, (pieces, _) in zip(native, expected, strict=True))
    scores = [(best[0][1], score) for best, (_, score) in itertools.compress(zip(found, expected, strict=True), equal)]
    assert len(scores) >= 0.99 * len(BATCH)
    np.testing.assert_allclose(*zip(*scores, strict=True), rtol=0, atol=1e-4)
    assert len(set(map(tuple, native))) > len(BATCH) / 4 and np.mean([*map(len, native)]) > 3


def test_native_and_marian_give_a_translation_the_same_probability(model):
    """Scores of Marian's translations, so that the search does not matter."""
    expected = translations(model, BATCH, 1, factor=3)
    vocabulary = Vocabulary.read(model.parent / "float32").target_numbers
    targets = [[vocabulary[piece] for piece in pieces] for pieces, _ in expected]
    found = worker(model).score(numbers(model, BATCH), targets)
    ended = [len(target) < 3 * len(source) for source, target in zip(BATCH, targets, strict=True)]
    assert sum(ended) > 0.9 * len(BATCH)
    means = [np.mean(scores) for scores, whole in zip(found, ended, strict=True) if whole]
    np.testing.assert_allclose(means, [score for (_, score), whole in zip(expected, ended, strict=True) if whole],
                               rtol=0, atol=1e-4)  # fmt: skip


@pytest.mark.parametrize("kind", native_weights.TYPES)
def test_a_sentence_is_translated_alike_in_any_batch(model, kind):
    sources = numbers(model, BATCH[:100])
    whole = outputs(worker(model, kind), sources, beam_size=3, longest=LONGEST)
    alone = worker(model, kind)
    assert [outputs(alone, [source], beam_size=3, longest=LONGEST)[0] for source in sources[:30]] == whole[:30]


@pytest.mark.parametrize("kind", ["int16", "int8"])
def test_integers_translate_about_alike(model, kind):
    sources = numbers(model, BATCH[:200])
    exact, rounded = (outputs(worker(model, each), sources, longest=LONGEST) for each in ("float32", kind))
    equal = sum(one[0][0] == other[0][0] for one, other in zip(exact, rounded, strict=True))
    assert equal > (0.95 if kind == "int16" else 0.6) * len(sources)


def test_the_number_of_parameters_is_that_of_the_shape(model_of):
    """Except where Marian's models differ.

    A Transformer of Marian's has no normalisation behind its last layers, and the layer behind a mean, as wide as the
    embeddings in OpenNMT-tf's models, is as wide as the other feed-forward layers.
    """
    name, model = model_of
    values, asked, found = SHAPES[name], shape(SHAPES[name]), Parameters(model).count()
    last = 4 * values["units"] if "heads" in values else 0
    wider = 0
    if values.get("decoder") in ("averaging", "averaging-ungated"):
        wider = values["decoder_layers"] * (values["ffn_units"] - values["units"]) * (2 * values["units"] + 1)
    assert found == asked.parameters(len(PIECES) + 2) - last + wider


def test_a_teacher_of_each_kind_is_imported(model, tmp_path):
    options = {"model_path": str(model), "vocab_paths": [str(model.with_name(marian.VOCABULARY))] * 2}
    teacher = TeacherSource.of({"converted": {"from": "marian", "options": options}})
    import_native(teacher, None, tmp_path / "native-int8")
    weights = [folder / native_weights.NAME for folder in (model.parent / "int8", tmp_path / "native-int8")]
    assert len({path.read_bytes() for path in weights}) == 1


def read_with(transformer, folder, **changes):
    """Read a copy of a model with other options; None removes one."""
    whole = dict(np.load(transformer))
    options = yaml.safe_load(whole[CONFIG].tobytes().rstrip(b"\0")) | changes
    options = {option: value for option, value in options.items() if value is not None or option not in changes}
    np.savez(folder / "model.npz", **whole | {CONFIG: np.frombuffer(yaml.safe_dump(options).encode(), np.int8)})
    read(Parameters(folder / "model.npz"), VOCABULARY, VOCABULARY)


def test_a_file_of_an_older_version_is_read(transformer, tmp_path):
    read_with(transformer, tmp_path, **{f"transformer-decoder-{name}": None for name in ("dim-ffn", "ffn-depth")})


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    return trained(SMALL, tmp_path_factory.mktemp("marian") / "model", updates=1)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("transformer-preprocess", "n", "--transformer-postprocess dan alone"),
        ("transformer-tied-layers", [1, 1], r"does not compute models with --transformer-tied-layers \[1, 1\]"),
        ("transformer-ffn-activation", "gelu", "has no --transformer-ffn-activation gelu"),
        ("dec-depth", 1, "does not know decoder_l2_"),
        ("dec-depth", 3, "has no weights decoder_l3_"),
        ("type", "amun", "has no --type amun"),
    ],
)
def test_what_the_engine_does_not_compute_is_refused(transformer, tmp_path, option, value, message):
    with pytest.raises(UserError, match=rf"model\.npz: .*{message}"):
        read_with(transformer, tmp_path, **{option: value})


def test_a_model_with_the_names_of_nematus(tmp_path):
    """It has learned little, so that near ties fall either way now and then, but its biases have moved."""
    model = nematus(tmp_path / "model")
    expected = translations(model, BATCH[:200], 1, factor=3)
    found = outputs(worker(model), numbers(model, BATCH[:200]), longest=LONGEST)
    equal = ([VOCABULARY[number] for number in best[0][0]] == one[0] for best, one in zip(found, expected, strict=True))
    scores = [(best[0][1], score) for best, (_, score) in itertools.compress(zip(found, expected, strict=True), equal)]
    assert len(scores) >= 0.9 * len(expected) and len({*map(str, expected)}) > 100
    np.testing.assert_allclose(*zip(*scores, strict=True), rtol=0, atol=1e-4)
    assert all(np.abs(weights).max() > 0.01 for name, weights in Parameters(model).weights.items() if "_b" in name)


@pytest.mark.parametrize("values", [SMALL | {"decoder": "ssru"}, SHAPES["conditional"]], ids=str)
def test_an_untrained_model_translates_to_the_longest_output(values, tmp_path):
    """With Marian and natively, whatever its source is."""
    pieces = "".join(f"{piece}\n" for piece in (*opennmt_tf.CONTROL, *PIECES))
    (tmp_path / "vocabulary.txt").write_text(pieces)
    count = untrained_marian.make(shape(values), tmp_path / "vocabulary.txt", tmp_path / "model")
    model = convert(tmp_path / "model" / "model.npz")
    assert count == Parameters(model).count()
    found = outputs(worker(model), numbers(model, BATCH[:50]), longest=12)
    assert {len(best[0][0]) for best in found} == {12}
    (source,) = sentences(1, seed=3)
    ((pieces, _),) = translations(model, [source], 1, factor=3)
    assert len(pieces) >= 3 * len(source)
