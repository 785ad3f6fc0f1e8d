"""Models that were cut open: read, written, without attention, the encoder alone."""

import ctranslate2
import pytest
from models import folders
from search_set import SOURCES

from common.errors import UserError
from decode.translator import Tokenizer
from experiments import altered_models
from formats import ctranslate2_model


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_a_model_that_was_read_and_written_is_the_same(name, tmp_path):
    model = ctranslate2_model.read(folders()[name])
    ctranslate2_model.write(tmp_path, model)
    assert (tmp_path / "model.bin").read_bytes() == (folders()[name] / "model.bin").read_bytes()
    assert altered_models.decoder_layers(model) == (1, 16)


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_without_attention_all_sources_have_one_translation(name):
    batch = [Tokenizer(folders()[name]).encode(source) for source in SOURCES]
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


@pytest.mark.parametrize(("cut", "message"), [(100, "cut off or damaged"), (3, "cut off or damaged")])
def test_a_damaged_model(cut, message, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes((folders()["int8"] / "model.bin").read_bytes()[:cut])
    with pytest.raises(UserError, match=message):
        ctranslate2_model.read(tmp_path)


def test_a_model_without_attention_has_none_to_take_out():
    model = altered_models.without_attention(ctranslate2_model.read(folders()["int8"]))
    with pytest.raises(UserError, match="without attention between"):
        altered_models.without_attention(model)
    with pytest.raises(UserError, match="without attention between"):
        altered_models.decoder_layers(model)
