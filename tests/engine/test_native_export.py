"""Any Transformer that CTranslate2 computes is converted to the native engine exactly, or refused by name."""

import copy
import operator
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import models
import numpy as np
import pytest
import warm
from ctranslate2.converters.marian import _make_sinusoidal_position_encodings as marian_positions
from ctranslate2.specs import LayerSpec, TransformerSpec, common_spec, model_spec
from descriptions import of_type, redescribe
from hypothesis import given, settings
from hypothesis import strategies as st
from native import KINDS, WORDS, engine, folders, outputs, sentences, vocabulary
from translation import run

from formats import ctranslate2_loading
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import ctranslate2_model, read_ctranslate2
from nmt_frontier.importers.ctranslate2_model import Variable
from nmt_frontier.making import make
from nmt_frontier.model import native_map, native_vocabulary, native_weights, safetensors
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import loading
from nmt_frontier.search import native as native_engine
from nmt_frontier.search.engine import Search
from nmt_frontier.search.native import Native
from nmt_frontier.translator import LineTokenizer

# Models of all kinds, compared with CTranslate2


def specification(folder, heads=2, units=32, inner=48, pieces=(60, 60), tied=False, end=3, edit=None, **options):
    """Write a CTranslate2 model with random weights.

    end: added to the score of the end, so that sentences have one. edit: a function that changes the specification.
    """
    spec = TransformerSpec.from_config(**{"num_layers": 1, "num_heads": heads, **options})
    generator = np.random.default_rng(1)

    def dense(linear, outputs, inputs):
        linear.weight = generator.normal(0, 0.4, (outputs, inputs)).astype(np.float32)
        linear.bias = generator.normal(0, 0.2, outputs).astype(np.float32)

    def fill(layer):
        for attribute, value in vars(layer).items():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, common_spec.LayerNormSpec):
                    part.gamma = generator.uniform(0.8, 1.2, units).astype(np.float32)
                    if hasattr(part, "beta"):
                        part.beta = generator.normal(0, 0.1, units).astype(np.float32)
                elif isinstance(part, LayerSpec) and not isinstance(part, common_spec.LinearSpec):
                    fill(part)
                elif attribute in ("linear_0", "linear_0_noact"):
                    dense(part, inner, units)
                elif attribute == "linear_1":
                    dense(part, units, inner)
        if linears := vars(layer).get("linear"):
            for linear, parts in zip(linears, [3, 1] if len(linears) == 2 else [1, 2, 1], strict=True):
                dense(linear, parts * units, units)

    fill(spec)
    embeddings = [spec.encoder.embeddings[0], spec.decoder.embeddings]
    for embedding, count in zip(embeddings, pieces, strict=True):
        embedding.weight = generator.normal(0, 0.5, (count, units)).astype(np.float32)
    dense(spec.decoder.projection, pieces[1], units)
    spec.decoder.projection.bias[:3] = -50, -50, end  # sentences hold words only
    if tied:
        embeddings[0].weight = spec.decoder.projection.weight = embeddings[1].weight
    source, target = (["<unk>", "<s>", "</s>", *(f"piece{n}" for n in range(3, count))] for count in pieces)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    if edit:
        edit(spec)
    spec.validate()
    spec.optimize()
    folder.mkdir()
    spec.save(str(folder))
    return folder


def sides(attribute, encoder=None, decoder=None):
    """An edit that sets an attribute, by its dotted name, of one side or both."""

    def edit(spec):
        *path, name = attribute.split(".")
        for side, value in (("encoder", encoder), ("decoder", decoder)):
            if value is not None:
                setattr(operator.attrgetter(".".join([side, *path]))(spec), name, value)

    return edit


def both(attribute, value):
    return sides(attribute, value, value)


POSITIONS = "position_encodings.encodings"
SWISH, GELU, GELU_TANH, SIGMOID = (
    np.int8(getattr(common_spec.Activation, name)) for name in ("SWISH", "GELU", "GELUTanh", "GELUSigmoid")
)
MARIAN_POSITIONS = marian_positions(32).astype(np.float32)
learned_positions = both(POSITIONS, np.random.default_rng(1).normal(0, 0.5, (60, 32)).astype(np.float32))


def like_marian(spec):
    """What CTranslate2's converter of Marian's models sets."""
    both(POSITIONS, MARIAN_POSITIONS)(spec)
    spec.decoder.start_from_zero_embedding = True
    spec.config.decoder_start_token = spec.config.eos_token
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-6


def equal_layers(spec):
    """CTranslate2 stores the second as names of the first."""
    spec.encoder.layer[1] = copy.deepcopy(spec.encoder.layer[0])


def without_bias(spec):
    spec.decoder.projection.bias = model_spec.OPTIONAL
    for layer in (spec.encoder.layer[0], spec.decoder.layer[0]):
        for linear in (*layer.self_attention.linear, layer.ffn.linear_0, layer.ffn.linear_1):
            linear.bias = model_spec.OPTIONAL


def framed(spec):
    spec.config.add_source_bos = spec.config.add_source_eos = True


def like_t5(spec):
    """What CTranslate2's converter of T5 sets."""
    without_bias(spec)
    both("scale_embeddings", False)(spec)
    spec.decoder.scale_outputs = np.float32(0.4)
    for side in (spec.encoder, spec.decoder):
        first, *_ = layers = [layer.self_attention for layer in side.layer]
        first.relative_attention_bias = np.random.default_rng(1).normal(0, 1, (32, 2)).astype(np.float32)
        for layer in layers:
            layer.queries_scale = np.float32(1)
            layer.relative_attention_bias = first.relative_attention_bias
            layer.relative_attention_max_distance = np.int32(128)
    for layer in spec.decoder.layer:
        layer.attention.queries_scale = np.float32(1)


T5 = {"num_layers": 2, "rms_norm": True, "ffn_glu": True, "relative_attention_bias": True, "edit": like_t5}
MODELS = {
    "layers of pre-norm": {"num_layers": (2, 3)},
    "post-norm": {"num_layers": 2, "pre_norm": False, "end": 6},
    "three heads of 16": {"units": 48, "heads": 3},
    "two heads of 24": {"units": 48},
    "one head of 80": {"units": 80, "heads": 1},
    "eight heads of 2": {"units": 16, "heads": 8, "end": 0},
    "feed-forward units not of 16": {"inner": 41},
    "tied embeddings": {"tied": True},
    "two vocabularies": {"pieces": (50, 81)},
    "pieces of 16": {"pieces": (64, 80)},
    "embeddings as they are": {"edit": both("scale_embeddings", False)},
    "embeddings times a number": {"edit": sides("scale_embeddings", np.float32(2.5), np.float32(0.5))},
    "embeddings times one": {"edit": both("scale_embeddings", np.float32(1))},
    "swish": {"edit": both("activation", SWISH)},
    "equal layers": {"num_layers": 2, "edit": equal_layers},
    "few biases": {"edit": without_bias},
    "a framed source": {"edit": framed},
    "like Marian": {"pre_norm": False, "tied": True, "edit": like_marian},
    "learned positions": {"edit": learned_positions},
    "gelu": {"edit": both("activation", GELU)},
    "gelu by tanh": {"edit": both("activation", GELU_TANH)},
    "a norm of embeddings": {"layernorm_embedding": True},
    "positions of a side": {"edit": sides(POSITIONS, MARIAN_POSITIONS, MARIAN_POSITIONS[2:])},
    "norms without a mean": {"rms_norm": True},
    "gated": {"ffn_glu": True, "edit": both("activation", SWISH), "inner": 41},
    "like T5": T5,
    "like T5, with gelu": {**T5, "edit": lambda spec: (like_t5(spec), both("activation", GELU_TANH)(spec))},
}  # fmt: skip


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_a_converted_model_translates_as_before(tmp_path, options):
    source = specification(tmp_path / "ctranslate2", **options)
    read_ctranslate2.read(source).write("float32", tmp_path / "native")
    peer = ctranslate2_loading.translator(source, compute_type="float32", intra_threads=1)
    names = Vocabulary.read(tmp_path / "native")
    native = engine.Worker(engine.Model(tmp_path / "native" / native_weights.NAME))
    batch = [[names.source[number % 47 + 3] for number in sentence] for sentence in sentences(60)]
    for beam in (1, 3):
        lengths = {"max_decoding_length": 30, "min_decoding_length": 0, "max_input_length": 0}
        expected = peer.translate_batch(batch, beam_size=beam, return_scores=True, **lengths)
        found = outputs(native, [*map(names.numbers, batch)], beam_size=beam, longest=30)
        best = [(names.pieces(hypotheses[0][0]), hypotheses[0][1]) for hypotheses in found]
        same = [(score, result.scores[0]) for (pieces, score), result in zip(best, expected, strict=True)
                if pieces == result.hypotheses[0]]  # fmt: skip
        assert len(same) >= len(batch) - 1  # rounding may decide near ties
        np.testing.assert_allclose(*zip(*same, strict=True), rtol=0, atol=1e-4)
        assert len({str(pieces) for pieces, _ in best}) > 8 and max(len(pieces) for pieces, _ in best) > 3


def test_a_model_takes_as_many_pieces_as_it_has_positions(tmp_path):
    source = specification(tmp_path / "ctranslate2", edit=learned_positions)
    read_ctranslate2.read(source).write("int8", tmp_path / "native")
    model = engine.Model(tmp_path / "native" / native_weights.NAME)
    one = engine.Worker(model)
    assert model.positions == 60
    outputs(one, [[5] * 60], longest=60)
    with pytest.raises(engine.EngineError, match="has 61 pieces, the engine takes 60"):
        outputs(one, [[5] * 61])
    with pytest.raises(engine.EngineError, match="at most 60 pieces"):
        outputs(one, [[5]], longest=61)


def test_longer_lines_are_cut_where_the_positions_of_a_model_end(tmp_path):
    options = {"edit": lambda spec: (learned_positions(spec), framed(spec))}
    read_ctranslate2.read(specification(tmp_path / "ctranslate2", **options)).write("int8", tmp_path / "native")
    loaded = Native(tmp_path / "native", of_type("int8", max_decoding_length=50), Search())
    assert loaded.longest_input == 58 and loaded.translate([["piece5"] * 58])
    with pytest.raises(UserError, match="native: a translation may have at most 60 pieces"):
        Native(tmp_path / "native", of_type("int8", max_decoding_length=61), Search())


@pytest.mark.parametrize("kind", KINDS)
def test_tied_embeddings_are_stored_once(tmp_path, kind):
    model = read_ctranslate2.read(specification(tmp_path / "ctranslate2", tied=True))
    tensors, places = model.tensors(kind)
    assert [name for name in tensors if name.endswith(".rows")] == ["output.rows"]
    assert places == {"rows.output": "output", "rows.source": "output", "rows.target": "output"}
    model.write(kind, tmp_path / "native")
    engine.Model(tmp_path / "native" / native_weights.NAME)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_same_up_to_rounding(kind):
    """Checked on embeddings, whose rows are stored in order; the largest weight of a row sets its scale."""
    exact = ctranslate2_model.arrays(folders() / "ctranslate2")["encoder/embeddings_0/weight"]
    tensors = safetensors.read(folders() / kind / native_weights.NAME)
    stored, padding = np.split(tensors["source.rows"], [len(exact)])
    assert not padding.any()
    scale = tensors["source.scale"][: len(exact), None] if kind != "float32" else 1
    limit = {"float32": 0, "int16": 32767, "int8": 127, "int4": 127}[kind]
    off = np.abs(stored * scale - exact)
    assert off.max() == 0 if not limit else (off <= 0.51 * np.abs(exact).max(axis=1, keepdims=True) / limit).all()


# Refused models


REFUSED = {
    "gelu by sigmoid": ({"edit": both("activation", SIGMOID)}, "no activation 4, only relu, swish and two forms of g"),
    "two activations": ({"edit": sides("activation", SWISH)}, "the activations of its two sides differ"),
    "positions of one side": ({"edit": sides(POSITIONS, MARIAN_POSITIONS)}, "only one side has positions"),
    "alibi": ({"edit": sides("alibi", decoder=True)}, "the native engine has no alibi"),
    "units not of 16": ({"units": 24}, "native needs units in multiples of 16, not 24; CTranslate2 decodes it"),
    "one norm": ({"edit": sides("pre_norm", decoder=False)}, "only one side normalises before its layers"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_the_engine_does_not_compute_is_refused(tmp_path, options, message):
    with pytest.raises(UserError, match=f"ctranslate2: .*{message}"):
        read_ctranslate2.read(specification(tmp_path / "ctranslate2", **options))


@pytest.fixture
def source(tmp_path):
    """A copy of a CTranslate2 model, to be changed."""
    return shutil.copytree(folders() / "ctranslate2", tmp_path / "ctranslate2")


def rewritten(folder, change):
    """Change the variables of a model, by name."""
    model = ctranslate2_model.read(folder)
    change(model.variables)
    ctranslate2_model.write(folder, model)
    return folder


def floats(*shape):
    return Variable(shape, 0, memoryview(np.zeros(shape, np.float32).tobytes()))


@pytest.mark.parametrize(
    "name", ["decoder/layer_0/gate/weight", "encoder/layer_0/self_attention/relative_position_keys"]
)
def test_a_variable_that_the_engine_does_not_know(source, name):
    rewritten(source, lambda variables: variables.update({name: floats(9, 8)}))
    with pytest.raises(UserError, match=f"does not know {name}"):
        read_ctranslate2.read(source)


def test_a_variable_that_is_missing(source):
    rewritten(source, lambda variables: variables.pop("decoder/layer_0/ffn/linear_1/weight"))
    with pytest.raises(UserError, match="has no variable decoder/layer_0/ffn/linear_1/weight; the native engine needs"):
        read_ctranslate2.read(source)


def test_a_model_of_another_architecture(source):
    ctranslate2_model.write(source, ctranslate2_model.read(source)._replace(specification="WhisperSpec"))
    with pytest.raises(UserError, match="the native engine has no WhisperSpec"):
        read_ctranslate2.read(source)


# The command


def convert(*arguments):
    call = [warm.python(), "-m", "export.native", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def test_the_command_writes_all_types(tmp_path):
    names = [tmp_path / f"native-{kind}" for kind in KINDS]
    done = convert("--model", folders() / "ctranslate2", "--outputs", *names)
    assert done.returncode == 0, done.stderr
    for path, kind in zip(names, KINDS, strict=True):
        assert {file.name for file in path.iterdir()} == {native_weights.NAME, native_vocabulary.NAME}
        expected = folders() / kind / native_weights.NAME
        assert (path / native_weights.NAME).read_bytes() == expected.read_bytes()  # the same weights, the same file
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in names)


def test_the_command_leaves_nothing_half_done(tmp_path, source):
    wrong = convert("--model", source, "--outputs", tmp_path / "native-int3")
    path = source / ctranslate2_model.NAME
    path.write_bytes(path.read_bytes()[:-10])
    damaged = convert("--model", source, "--outputs", tmp_path / "native-int8")
    for done in (wrong, damaged):
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "its name must end in -float32, -int16, -int8, -int4" in wrong.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["ctranslate2"]


# The map

numbers = st.lists(st.sampled_from(WORDS[:8]), min_size=1, max_size=4)
entries = st.dictionaries(st.one_of(st.just(()), numbers.map(tuple)), st.lists(st.sampled_from(WORDS), max_size=5))


def candidates(path, source):
    """The pieces that the engine allows for a sentence: a large beam of translations of one piece has them all."""
    mapped = engine.Worker(engine.Model(folders() / "float32" / native_weights.NAME, path))
    (found,) = outputs(mapped, [source], beam_size=256, longest=1, candidates="sentence")
    return {vocabulary().target[pieces[0]] if pieces else "</s>" for pieces, _ in found}


@settings(max_examples=60)
@given(entries, st.lists(numbers.map(lambda parts: parts * 2), min_size=1, max_size=3))
def test_a_converted_map_has_the_same_candidates(tmp_path_factory, entries, sources):
    folder, names = tmp_path_factory.mktemp("map"), vocabulary().pieces
    lines = [f"{' '.join(names(ngram))}\t{' '.join(names(pieces))}\n" for ngram, pieces in entries.items()]
    (folder / "vmap.txt").write_text("".join(lines))
    words = vocabulary().source_numbers
    native_map.convert(folder / "vmap.txt", words, words, folder / native_map.NAME)
    expected = VocabularyMap.load(folder / "vmap.txt")
    read = native_map.read(folder / native_map.NAME, vocabulary(), [names(source) for source in sources])
    for source in sources:
        allowed = expected.candidates([names(source)])
        assert read.candidates([names(source)]) == allowed == candidates(folder / native_map.NAME, source)


def test_a_large_map_has_the_same_candidates():
    full = VocabularyMap.load(folders() / "ctranslate2" / "vmap.txt")
    for source in sentences(40):
        expected = full.candidates([vocabulary().pieces(source)])
        assert candidates(folders() / "float32" / native_map.NAME, source) == expected


MAPS = {
    "an n-gram twice": ("{0}\t{1}\n{2}\t{1}\n{0}\t{2}\n", "line 3: the n-gram '{0}' occurs twice"),
    "a foreign n-gram": ("{0}\t{1}\n{0} foreign\t{1}\n", "line 2: 'foreign' is no piece of the model's vocabulary"),
    "a foreign piece": ("{0}\tforeign\n", "line 1: 'foreign' is no piece"),
    "a foreign piece that is always on": ("\tforeign\n", "line 1: 'foreign' is no piece"),
    "no tab": ("{0} {1}\n", "line 1 is not n-gram<TAB>target pieces"),
}


@pytest.mark.parametrize(("text", "message"), MAPS.values(), ids=MAPS)
def test_a_broken_map_is_named_with_its_line(tmp_path, text, message):
    words = vocabulary().source_numbers
    some = vocabulary().source[10:13]
    (tmp_path / "vmap.txt").write_text(text.format(*some))
    with pytest.raises(UserError, match=r"vmap\.txt: " + message.format(*some)):
        native_map.convert(tmp_path / "vmap.txt", words, words, tmp_path / native_map.NAME)


def test_a_map_is_converted_in_little_memory(tmp_path):
    """As text and numbers; Python's objects took 700 bytes an n-gram."""
    count = 20_000
    words = {f"w{number}": number for number in range(200)}
    lines = (f"w{number % 200} w{number // 200 % 200} w{number // 40_000}\tw1 w2 w3\n" for number in range(count))
    (tmp_path / "vmap.txt").write_text("".join(lines))
    tracemalloc.start()
    native_map.convert(tmp_path / "vmap.txt", words, words, tmp_path / native_map.NAME)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 200 * count


# The model folder


@pytest.fixture
def folder(tmp_path):
    """A copy of a native model folder."""
    return shutil.copytree(folders() / "int8", tmp_path / "int8")


def test_a_model_folder_holds_what_its_readme_lists():
    exported = folders() / "int8"
    files = {native_weights.NAME, native_vocabulary.NAME, native_map.NAME, "sentencepiece.model"}
    assert {path.name for path in exported.iterdir()} == {*files, "model.json", "README.md"}
    assert read_json(exported / "model.json")["sha256"].keys() == files
    assert all(f"`{name}`" in (exported / "README.md").read_text() for name in files)


@pytest.mark.parametrize(
    ("weights", "vmap", "message"),
    [
        ("weights/int8", "foreign\tpieces\n", r"vmap\.txt: line 1: '(pieces|foreign)' is no piece"),
        ("ctranslate2", None, r"no weights of native in it, weights\.safetensors is missing"),
    ],
)
def test_a_foreign_map_and_missing_weights_are_refused(tmp_path, weights, vmap, message):
    if vmap:
        (tmp_path / "vmap.txt").write_text(vmap)
    description, tokenizer = loading.describe(folders() / "int8"), folders() / "int8/sentencepiece.model"
    with pytest.raises(UserError, match=message):
        files = folders() / weights, tokenizer, vmap and tmp_path / "vmap.txt"
        make(description, *files, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("mapped", [False, True], ids=["all", "map"])
def test_the_engine_translates_a_folder_as_ctranslate2_does(mapped):
    """CTranslate2 gets one sentence a batch, since its candidates are those of a batch."""
    tokenizer = LineTokenizer(folders() / "float32")
    batch = [tokenizer.encode(line) for line in models.sentences(40, seed=3)]
    native = loading.load(folders() / "float32", Search(4, vocabulary_map=mapped, workers=2, threads=2))
    peer = loading.load(folders() / "ctranslate2", Search(4, vocabulary_map=mapped))
    expected = [peer.translate([sentence])[0] for sentence in batch]
    assert sum(a == b for a, b in zip(native.translate(batch), expected, strict=True)) >= len(batch) - 1
    assert native.effective_compute_type == "float32" and native.isa == engine.isa() and native.version


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_the_command_translates_with_a_folder(kind):
    text = "\n".join(["bcd fa e", "", "hg fede"]).encode()
    once, again = (run("--model", folders() / kind, "--workers", n, "--batch-tokens", 8, text=text) for n in (1, 2))
    assert once.returncode == 0, once.stderr
    assert once.stdout == again.stdout and once.stdout.count(b"\n") == 3 and once.stdout.splitlines()[1] == b""


def test_an_output_is_no_longer_than_the_model_allows(folder):
    redescribe(folder, max_decoding_length=2)
    batch = [vocabulary().pieces(sentence) for sentence in sentences(40)]
    found = loading.load(folder, Search()).translate(batch)
    assert max(map(len, found)) == 2


def test_an_unknown_piece_is_the_unknown_word_and_too_long_a_sentence_an_error_of_one_line():
    one = loading.load(folders() / "float32", Search())
    assert one.translate([["foreign"]]) == one.translate([["<unk>"]])
    with pytest.raises(UserError, match=r"native failed at a batch of 1 sentences, .*: .*has 5000 pieces"):
        one.translate([vocabulary().pieces([5] * 5000)])
    assert len(one.translate([vocabulary().pieces([5])])) == 1  # the worker is free again


@pytest.mark.parametrize("name", [native_weights.NAME, native_vocabulary.NAME, native_map.NAME])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-9])])
def test_a_folder_with_a_damaged_file(folder, name, damage):
    flipped = bytearray((folder / name).read_bytes())
    flipped[-9] ^= 1
    (folder / name).write_bytes(flipped)
    with pytest.raises(UserError, match=name.replace(".", r"\.") + ": damaged, or not the one"):
        loading.load(folder, Search(vocabulary_map=True))
    damage(folder / name)
    with pytest.raises(UserError, match=name.replace(".", r"\.")) as error:
        loading.load(folder, Search(vocabulary_map=True), checksums=False)
    assert "\n" not in str(error.value)


def test_without_the_engine_another_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "nmt_frontier.bindings", None)
    with pytest.raises(UserError, match=r"native engine is not installed .* or decode a model folder of CTranslate2"):
        loading.load(folder, Search())


def test_types_are_supported_where_the_engine_is_installed(monkeypatch):
    assert Native.supported() == [*KINDS]
    monkeypatch.setattr(native_engine, "LIBRARY", Path("nowhere"))
    assert Native.supported() == []


@pytest.mark.parametrize(
    ("shape", "runs"),
    [({"units": 96}, True), ({"units": 100}, False), ({"units": 96, "model": "own"}, False), ({}, False)],
)
def test_shapes_that_the_engine_runs(shape, runs):
    assert Native.runs(shape) == runs
