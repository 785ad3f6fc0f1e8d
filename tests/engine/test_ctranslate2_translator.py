"""``nmt_frontier.ctranslate2.Translator`` beside CTranslate2's own: equal arguments give equal results."""

import shutil

import ctranslate2
import numpy as np
import pytest
from models import folders, sentences

from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export
from nmt_frontier.text.tokenizers import pieces

engine = pytest.importorskip("nmt_frontier.ctranslate2", reason="the native engine is not installed here")
request = pytest.importorskip("nmt_frontier.ctranslate2.request")
PROCESSOR = pieces(folders()["float32"] / "sentencepiece.model")
SOURCES = [*PROCESSOR.encode(sentences(60), out_type=str), [], ["▁", "no piece", "▁"]]
PREFIXES = [[None, [], SOURCES[0][:1], SOURCES[1][:3]][number % 4] for number in range(len(SOURCES))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """CTranslate2's folder, of a model that reads a sentence with its end and often says the unknown piece."""
    folder = tmp_path_factory.mktemp("made") / "model"
    shutil.copytree(folders()["float32"], folder)
    config = read_json(folder / "config.json")
    vocabulary = read_json(folder / "shared_vocabulary.json")
    write_json(folder / "config.json", {**config, "add_source_eos": True, "unk_token": vocabulary[20]})
    return folder


@pytest.fixture(scope="module")
def both(folder):
    return ctranslate2.Translator(str(folder), intra_threads=1), engine.Translator(str(folder), intra_threads=1)


def check_equal(expected, found):
    assert [one.hypotheses for one in found] == [one.hypotheses for one in expected]
    for name in ("scores", "attention"):
        for one, other in zip(expected, found, strict=True):
            assert len(getattr(one, name)) == len(getattr(other, name))
            for numbers, others in zip(getattr(one, name), getattr(other, name), strict=True):
                np.testing.assert_allclose(others, numbers, rtol=0, atol=1e-4)


OPTIONS = {
    "defaults": {},
    "attention": {"beam_size": 1, "return_scores": True, "return_attention": True},
    "unknown pieces": {"beam_size": 1, "replace_unknowns": True},
    "n-best": {
        "max_decoding_length": 30,
        "beam_size": 4,
        "num_hypotheses": 4,
        "length_penalty": 0.2,
        "return_scores": True,
    },
    "no length penalty": {"beam_size": 3, "num_hypotheses": 2, "length_penalty": 0},
    "n-grams": {"no_repeat_ngram_size": 2},
    "lengths": {"min_decoding_length": 6, "max_decoding_length": 9, "max_input_length": 7},
    "batches": {"max_batch_size": 50, "batch_type": "tokens", "sampling_temperature": 0.5, "end_token": None},
    "prefixes": {"target_prefix": PREFIXES, "max_decoding_length": 12, "min_decoding_length": 5},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_results_are_those_of_ctranslate2(both, options):
    theirs, ours = both
    found = ours.translate_batch(SOURCES, **options)
    check_equal(theirs.translate_batch(SOURCES, **options), found)
    assert len({str(one.hypotheses) for one in found}) > 30
    waiting = ours.translate_batch(SOURCES, **options, asynchronous=True)
    assert [one.result().hypotheses for one in waiting] == [one.hypotheses for one in found]
    assert all(one.done() for one in waiting)


def test_scores_of_targets_and_streams_are_those_of_ctranslate2(both):
    targets = [one.hypotheses[0] for one in both[0].translate_batch(SOURCES[::-1])]
    for options in ({}, {"offset": 1, "max_input_length": 5}):
        expected, found = (translator.score_batch(SOURCES, targets, **options) for translator in both)
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(other.log_probs, one.log_probs, rtol=0, atol=1e-4)
    for options in ({"max_batch_size": 2}, {"max_batch_size": 30, "batch_type": "tokens"}, {"max_batch_size": 1}):
        check_equal(*([*translator.translate_iterable(iter(SOURCES), **options)] for translator in both))
    found = [*both[1].score_iterable(iter(SOURCES), iter(targets), max_batch_size=8)]
    assert [one.tokens for one in found] == [one.tokens for one in both[1].score_batch(SOURCES, targets)]


def test_files_are_those_of_ctranslate2(both, tmp_path):
    (tmp_path / "source").write_text("".join(f"{' '.join(sentence)}\n" for sentence in SOURCES))
    outputs = []
    for number, translator in enumerate(both):
        path = tmp_path / str(number)
        stats = translator.translate_file(str(tmp_path / "source"), str(path), num_hypotheses=2, with_scores=True)
        lines = [line.split(" ||| ") for line in path.read_text().split("\n")[:-1]]
        outputs.append((stats.num_examples, stats.num_tokens, [line[1] for line in lines]))
        assert stats.total_time_in_ms > 0 and len(lines) == 2 * len(SOURCES)
    assert outputs[0] == outputs[1]


def test_it_opens_the_engines_folders_and_converts_others(folder, both, tmp_path):
    export(folder, tmp_path / "out", ["float32", "int8"], ImportOptions())
    native = engine.Translator(tmp_path / "out/native-float32", inter_threads=2)
    expected = both[1].translate_batch(SOURCES, return_attention=True)
    check_equal(expected, native.translate_batch(SOURCES, max_batch_size=8, return_attention=True))
    eight = engine.Translator(tmp_path / "out/native-int8").translate_batch(SOURCES)
    converted = engine.Translator(str(folder), compute_type="int8")
    assert [one.hypotheses for one in converted.translate_batch(SOURCES)] == [one.hypotheses for one in eight]
    assert (converted.compute_type, both[1].compute_type) == ("int8", "float32")
    converted.unload_model()
    with pytest.raises(RuntimeError, match="unloaded"):
        converted.translate_batch(SOURCES)
    converted.load_model()
    assert converted.model_is_loaded and converted.translate_batch(SOURCES[:1])[0].hypotheses == eight[0].hypotheses


@pytest.mark.parametrize("name", sorted(request.UNSUPPORTED))
def test_what_the_engine_lacks_is_named(both, folder, name):
    call = (lambda **given: engine.Translator(str(folder), **given)) if name in request.OF_OPENING else (
        lambda **given: both[1].translate_batch(SOURCES, **given)
    )  # fmt: skip
    call(**{name: request.UNSUPPORTED[name]})
    with pytest.raises(NotImplementedError, match=f"{name}="):
        call(**{name: 3})


def test_samples_have_the_seed_that_is_set(both):
    """Cold ones are greedy search; CTranslate2's own draws are others."""
    asked = {
        "beam_size": 1,
        "num_hypotheses": 3,
        "sampling_topk": 0,
        "sampling_temperature": 2.0,
        "return_scores": True,
    }
    theirs, found = (translator.translate_batch(SOURCES, **asked) for translator in both)
    assert [len(one.hypotheses) for one in found] == [len(one.hypotheses) for one in theirs]
    assert len({str(one.hypotheses) for one in found}) > 30
    try:
        engine.set_random_seed(2**32 - 1)
        others = both[1].translate_batch(SOURCES, **asked)
    finally:
        engine.set_random_seed(0)
    again = both[1].translate_batch(SOURCES, **asked, max_batch_size=3)
    assert [one.hypotheses for one in again] == [one.hypotheses for one in found] != [one.hypotheses for one in others]
    short = {"beam_size": 1, "max_decoding_length": 10}
    cold = both[1].translate_batch(SOURCES, sampling_topk=5, sampling_temperature=0.001, **short)
    greedy = both[1].translate_batch(SOURCES, **short)
    same = sum(one.hypotheses == other.hypotheses for one, other in zip(cold, greedy, strict=True))
    assert same >= len(SOURCES) - 1  # two pieces of one may differ by less than a hundredth
    with pytest.raises(NotImplementedError, match="sampling_topk=5 with a beam"):
        both[1].translate_batch(SOURCES, sampling_topk=5)


def test_mistakes_are_one_line(both, folder, tmp_path):
    with pytest.raises(TypeError, match="no argument 'beam'"):
        both[1].translate_batch(SOURCES, beam=2)
    for options in ({"beam_size": 0}, {"num_hypotheses": 3}, {"batch_type": "words"}, {"min_decoding_length": 300}):
        with pytest.raises(ValueError):
            both[1].translate_batch(SOURCES, **options)
    with pytest.raises(RuntimeError, match="number of sentences"):
        both[1].translate_batch(SOURCES, [["a"]])
    for options in ({"device": "cuda"}, {"compute_type": "float16"}):
        with pytest.raises(ValueError):
            engine.Translator(str(folder), **options)
    with pytest.raises(RuntimeError, match=r"model\.bin"):
        engine.Translator(str(tmp_path))
    (tmp_path / "model.bin").write_bytes(b"\6\0\0\0no model")
    with pytest.raises(RuntimeError, match="not a model of CTranslate2"):
        engine.Translator(str(tmp_path))
