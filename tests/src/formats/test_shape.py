"""Shapes: their numbers of parameters, compared with the papers and with the models that OpenNMT-tf builds."""

import pytest

from formats.shape import DECODERS, CustomShape, decoder_kind, of_text, registry, self_attention, shape

# Table 3 of the WNGT 2020 paper
PAPER = {"wngt2020-base": 93_324_544, "wngt2020-4-3-2xffn": 18_221_568}
PAPER |= {"wngt2020-6-3": 16_123_904, "wngt2020-4-3": 14_544_384}
# Sizes of the same wiring in a fraction of the memory
SMALL = {"units": 64, "ffn_units": 96, "embedding_units": 48, "fully_connected_units": 32}
# Values of shapes that are refused
ONE = {"encoder_layers": 1, "decoder_layers": 1}
GRU = ONE | {"cell": "gru", "units": 8, "embedding_units": 8}
EIGHT = ONE | {"units": 8, "ffn_units": 8, "heads": 1}


@pytest.mark.parametrize("name", registry())
def test_a_text_has_the_kind_and_the_numbers_of_its_shape(name):
    made = shape(registry()[name])
    kind, values = of_text(str(made))
    assert kind(**values) == made
    assert getattr(made, "decoder", None) in (None, decoder_kind(str(made)))


def test_other_texts():
    assert of_text("a.model") == (CustomShape, {"model": "a.model"})
    _, values = of_text("8:8 d512 ff1024 h6 shared")  # of another toolkit: heads that do not divide the units
    assert (values["heads"], values["share_embeddings"]) == (6, True)
    kinds = {
        "biLSTM 2:1 d256 e128": "LSTM",
        "GRU 2:1 d128 e64 shared": "GRU",
        "6:6 d512 ff2048 h8 ssru shared": "ssru",
        "conditional GRU 1:2 d1024 e512": "conditional GRU",
        "GRU d512 e256 FC 3x512": "GRU below fully connected layers",
        "TransformerBase": "TransformerBase",
    }
    assert {text: decoder_kind(text) for text in kinds} == kinds


def built(values, entries, folder):
    """The number of parameters of the model that OpenNMT-tf builds; it adds <unk> to the vocabulary."""
    import opennmt

    (folder / "model_description.py").write_text(shape(values).model_description(0.1))
    words = ["<blank>", "<s>", "</s>", *map(str, range(entries - 4))]
    (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in words))
    model = opennmt.load_model(str(folder))
    vocabulary = str(folder / "vocabulary.txt")
    model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary})
    model.create_variables()
    return sum(int(variable.shape.num_elements()) for variable in model.trainable_variables)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.slow
def test_parameters_are_those_of_the_paper(name, tmp_path):
    assert built(registry()[name], 32_000, tmp_path) == PAPER[name] == shape(registry()[name]).parameters(32_000)


@pytest.mark.parametrize("name", registry())
@pytest.mark.slow
def test_opennmt_builds_every_shape(name, tmp_path):
    values = registry()[name]
    values = values | {key: size for key, size in SMALL.items() if key in values}
    assert built(values, 500, tmp_path) == shape(values).parameters(500)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.slow
def test_opennmt_builds_every_decoder(decoder, tmp_path):
    values = {"encoder_layers": 1, "decoder_layers": 2, "units": 32, "ffn_units": 48, "heads": 4, "decoder": decoder}
    assert built(values, 500, tmp_path) == shape(values).parameters(500)
    assert self_attention(values) == (decoder == "self-attention")


def test_a_model_of_the_catalogue_and_one_of_a_file(tmp_path):
    count = built({"model": "TransformerTiny"}, 500, tmp_path)
    text = "import opennmt\n\nmodel = opennmt.models.get_model_from_catalog('TransformerTiny', True)\n"
    (tmp_path / "mine.py").write_text(text)
    assert built({"model": str(tmp_path / "mine.py")}, 500, tmp_path) == count > 64_000
    assert shape({"model": "TransformerTiny", "share_embeddings": False}).parameters(500) is None


@pytest.mark.parametrize(
    "values, message",
    [
        (EIGHT | {"units": 10, "heads": 4}, "units 10 is not a multiple of heads 4; take heads 2, or units 16"),
        (EIGHT | {"units": 100, "heads": 6}, "heads 5, or units 144"),
        (EIGHT | {"units": 14, "heads": 4}, "heads 2, or units 16"),
        (EIGHT | {"units": 7}, "units 7 is odd"),
        (EIGHT | {"decoder": "rnn"}, "decoder rnn is unknown; there are self-attention, averaging"),
        (ONE | {"units": 10}, "ffn_units, heads missing"),
        (GRU | {"heads": 2}, "heads: not of a recurrent model"),
        (GRU | {"cell": "elman"}, "cell elman is unknown; there are lstm, gru"),
        ({"model": "TransformerTiny", "units": 8}, "units: not of a model of the catalogue"),
        (GRU | {"units": 7, "bidirectional": True}, "cannot be halved"),
        ({"encoder_transitions": 1, "decoder_transitions": 1, "units": 8, "embedding_units": 8}, "at least 2"),
        ({"decoder_transitions": 2, "units": 8, "embedding_units": 8}, "encoder_transitions missing; a conditional"),
        (
            {"fully_connected_layers": 1, "fully_connected_units": 8}
            | {"units": 8, "embedding_units": 16, "share_embeddings": True},
            "equal to fully_connected_units",
        ),
    ],
)
def test_invalid_shapes_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        shape(values)
