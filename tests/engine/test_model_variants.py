"""Models of CTranslate2, read, written and altered: without attention, the encoder alone."""

import shutil

import ctranslate2
import pytest
from models import cut, folders
from search_set import SOURCES

from experiments import altered_models
from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2_model, read_ctranslate2
from nmt_frontier.translator import LineTokenizer


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_a_model_that_was_read_and_written_is_the_same(name, tmp_path):
    model = ctranslate2_model.read(folders()[name])
    ctranslate2_model.write(tmp_path, model)
    assert (tmp_path / "model.bin").read_bytes() == (folders()[name] / "model.bin").read_bytes()
    assert altered_models.decoder_layers(model) == (1, 16)


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_without_attention_all_sources_have_one_translation(name):
    batch = [LineTokenizer(folders()[name]).encode(source) for source in SOURCES]
    with altered_models.folder(folders()[name], altered_models.without_attention) as folder:
        deaf = ctranslate2.Translator(str(folder), compute_type=name)
        found = deaf.translate_batch(batch, min_decoding_length=5, max_decoding_length=5)
    assert len({tuple(result.hypotheses[0]) for result in found}) == 1
    whole = ctranslate2.Translator(str(folders()[name]), compute_type=name)
    assert len({tuple(result.hypotheses[0]) for result in whole.translate_batch(batch)}) > 3


def test_an_encoder_alone_reads_the_source():
    with altered_models.folder(folders()["int8"], altered_models.encoder) as folder:
        encoder = ctranslate2.Encoder(str(folder), compute_type="int8")
        assert encoder.forward_batch([["▁a", "b"], ["c"]]).last_hidden_state.shape == [2, 2, 16]


@pytest.mark.parametrize("read", [ctranslate2_model.read, ctranslate2_model.arrays, read_ctranslate2.read])
@pytest.mark.parametrize("kept", [0, 2, 3, 40, 100, 0.5, 0.99])
def test_a_model_that_is_cut_off(kept, read, tmp_path):
    path = shutil.copy(folders()["float32"] / "model.bin", tmp_path / "model.bin")
    cut(path, kept)
    with pytest.raises(UserError, match=r"model\.bin: not a model of CTranslate2, cut off or damaged"):
        read(tmp_path)


@pytest.mark.parametrize("look", [altered_models.without_attention, altered_models.decoder_layers])
def test_a_model_without_attention_has_none_to_take_out(look):
    model = altered_models.without_attention(ctranslate2_model.read(folders()["int8"]))
    with pytest.raises(UserError, match="without attention between"):
        look(model)
