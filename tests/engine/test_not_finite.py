"""Weights that are NaN or infinite are refused by the name of the tensor, in models of every toolkit and type."""

import numpy as np
import pytest
from huggingface_models import write
from marian_weights import options, vocabulary, weights, write_bin, write_npz
from models import folders, sentences
from translation import plain

from export.convert import requantise
from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.ctranslate2_weights import OUTPUT_BIAS
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export, find
from nmt_frontier.model import safetensors

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
NOT_FINITE = (np.nan, np.inf, -np.inf)
INNER = "decoder/layer_0/ffn/linear_0/weight"


def put(folder, name, value, places=0, kind=None):
    """Put a value into a tensor of a CTranslate2 model, which it stores in bfloat16 if that is its kind."""
    model = ctranslate2_model.read(folder)
    variable = model.variables[name]
    array = variable.array().copy().reshape(-1)
    array[places] = value
    if kind == "bfloat16":
        array = (array.view(np.uint32) >> 16).astype(np.uint16)
        variable = variable._replace(type=ctranslate2_model.BFLOAT16)
    model.variables[name] = variable._replace(data=memoryview(array.tobytes()))
    ctranslate2_model.write(folder, model)


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int16", "int8", "int8_float16"])
def test_ctranslate2(tmp_path, kind, value):
    requantise(folders()["float32"], tmp_path / "model", kind.replace("bfloat16", "float32"))
    name = f"{INNER}_scale" if "int" in kind else INNER
    put(tmp_path / "model", name, value, kind=kind)
    with pytest.raises(UserError, match=rf"/model: 1 of the [\d,]+ numbers of {name} are not finite .*; get the model"):
        find(tmp_path / "model", ImportOptions())


def test_a_scale_of_zero(tmp_path):
    requantise(folders()["float32"], tmp_path / "model", "int8")
    put(tmp_path / "model", f"{INNER}_scale", 0)
    with pytest.raises(UserError, match=f"numbers of {INNER} are not finite"):
        find(tmp_path / "model", ImportOptions())


@pytest.mark.parametrize("kind", ["float32", "int8"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_an_output_bias_may_forbid_pieces(tmp_path, kind, beam_size):
    """As a bias of -1e9 does, for pieces that translations had before."""
    lines, outputs, before = sentences(20), [], []
    for value in (0, -np.inf, -1e9):
        requantise(folders()["float32"], model := tmp_path / f"model{value}", "float32")
        if value:
            put(model, OUTPUT_BIAS, value, slice(10, 60))
        export(model, tmp_path / f"out{value}", [kind], ImportOptions())
        translator = plain(tmp_path / f"out{value}/native-{kind}", beam_size=beam_size, vocabulary_map=False)
        outputs.append([*translator.translate(lines)])
    before, *forbidden = outputs
    assert forbidden[0] == forbidden[1] != before and len({*forbidden[0]}) > 5
    for value in (np.nan, np.inf):
        put(model, OUTPUT_BIAS, value)
        with pytest.raises(UserError, match=f"numbers of {OUTPUT_BIAS} are not finite"):
            find(model, ImportOptions())


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("name", ["model.decoder.layers.0.fc1.weight", "model.shared.weight", "final_logits_bias"])
def test_hugging_face(tmp_path, name, value):
    write(tmp_path / "model", "marian")
    path = tmp_path / "model/model.safetensors"
    tensors = {name: array.copy() for name, array in safetensors.read(path).items()}
    tensors[name].reshape(-1)[[3, 5]] = value
    safetensors.write(path, tensors, {})
    if (name, value) == ("final_logits_bias", -np.inf):
        assert find(tmp_path / "model", ImportOptions()).model.output_bias[5] == -1e9
        return
    with pytest.raises(UserError, match=f"model: 2 of the .* numbers of {name} are not finite"):
        find(tmp_path / "model", ImportOptions())


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("name", ["decoder_l1_ffn_W1", "decoder_ff_logit_out_b"])
@pytest.mark.parametrize("file", ["model.npz", "model.bin"])
def test_marian(tmp_path, file, name, value):
    found = weights(90, 90)
    found[name].reshape(-1)[[3, 5]] = value
    (tmp_path / "vocab.spm").write_bytes(vocabulary())
    (write_npz if file == "model.npz" else write_bin)(tmp_path / file, found, options(90, 90))
    if (name, value) == ("decoder_ff_logit_out_b", -np.inf):
        assert find(tmp_path, ImportOptions()).model.output_bias[5] == -1e9
        return
    with pytest.raises(UserError, match=rf"{file}: 2 of the [\d,]+ numbers of {name} are not finite"):
        find(tmp_path, ImportOptions())


@pytest.mark.parametrize("value", [*NOT_FINITE, 0])
def test_a_factor_of_marians_integers(tmp_path, value):
    found = weights(90, 90)
    write_bin(tmp_path / "model.bin", found, options(90, 90), integers=True)
    factor = np.float32(127 / np.abs(found["decoder_l1_ffn_W1"]).max()).tobytes()
    data = (tmp_path / "model.bin").read_bytes()
    assert data.count(factor) == 1
    (tmp_path / "model.bin").write_bytes(data.replace(factor, np.float32(value).tobytes()))
    with pytest.raises(UserError, match="damaged: the integers of decoder_l1_ffn_W1 have the factor"):
        find(tmp_path / "model.bin", ImportOptions())
