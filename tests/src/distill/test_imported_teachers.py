"""Teachers from elsewhere: their tokenization, their conversion, and what is wrong with them."""

import shutil
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import yaml
from models import folders
from teacher_texts import SOURCES, teacher, vocabulary

from distill.settings import Tokenization
from distill.tokenization import MosesBPE, tokenizers
from export import read_opennmt_tf, untrained
from export.import_teacher import TeacherSource, import_native, import_teacher
from formats import marian, opennmt_tf
from formats.conversion import Converter
from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.ctranslate2_model import Variable
from nmt_frontier.importers.found import ImportOptions, transformer
from nmt_frontier.importers.marian_binary import END, UNKNOWN
from nmt_frontier.importers.marian_parameters import CONFIG
from nmt_frontier.importers.model import export, find
from nmt_frontier.search.native import Native
from train.vocabulary import train

native = pytest.mark.skipif(not Native.supported(), reason="the native engine is not installed here")


def given(kind):
    """The entry of a teacher whose model is one of the tests."""
    return TeacherSource.of({kind: str(folders()["opennmt-tf" if kind == "checkpoint" else "float32"])})


def converted(toolkit, options, environment=None):
    """The entry of a teacher of another toolkit."""
    return TeacherSource.of({"converted": {"from": toolkit, "environment": environment, "options": options}})


def test_a_folder_without_a_model_is_an_error(tmp_path):
    with pytest.raises(UserError, match="cannot load this model"):
        teacher(tmp_path)


@pytest.mark.parametrize("codes", ["#version: 0.2\nl o\nlo w</w>\n", "l o 90\nlo w</w> 80\n"])
def test_bpe_over_moses_as_in_fairseq(codes, tmp_path):
    (tmp_path / "codes").write_text(codes)
    tokenizer = MosesBPE(tmp_path / "codes", "en")
    pieces = tokenizer.encode("It's low, very-low.")
    assert "low" in pieces and "v@@" in pieces and ("lo" if "</w>" not in codes else "low") in pieces
    words = " ".join(pieces).replace("@@ ", "")
    assert words == "It &apos;s low , very @-@ low ."
    assert tokenizer.decode(tokenizer.encode("It's low, very-low.")) == "It's low, very-low."


@pytest.mark.parametrize("content", [b"a b c d\n", b"\xff\n"])
def test_files_that_are_no_bpe_codes(content, tmp_path):
    (tmp_path / "codes").write_bytes(content)
    with pytest.raises(UserError, match="codes"):
        MosesBPE(tmp_path / "codes", "en")


def test_two_sentencepiece_models_one_for_each_side(tmp_path):
    models = [vocabulary(tmp_path), folders()["float32"] / "sentencepiece.model"]
    source, target = tokenizers(Tokenization([*map(str, models)]), tmp_path, ["en", "de"])
    assert source.encode("a dog") != target.encode("a dog")
    with pytest.raises(UserError, match="no SentencePiece model"):
        tokenizers(Tokenization(str(tmp_path / "none")), models[0], ["en", "de"])
    with pytest.raises(UserError, match="needs the SentencePiece model of the study"):
        tokenizers(None, None, ["en", "de"])


def test_bytes_of_a_teacher_become_characters(tmp_path):
    """Where they are no UTF-8, the replacement character; never the name of a piece."""
    texts = [f"a dog runs past {count} houses" for count in range(200)]
    (tmp_path / "model").write_bytes(train(texts, "unigram", 300, 1.0, 1, byte_fallback=True))
    source, target = tokenizers(Tokenization(str(tmp_path / "model")), None, ["en", "de"])
    assert target.decode(source.encode("a 🐕 – €")) == "a 🐕 – €"
    assert target.decode(["▁", "a", "<0xF0>", "<0x9F>", "▁", "a", "<0xE2>"]) == "a\ufffd\ufffd a\ufffd"


@pytest.mark.parametrize("kind", ["checkpoint", "ctranslate2"])
@pytest.mark.slow
def test_a_teacher_is_imported(kind, tmp_path):
    import_teacher(given(kind), tmp_path / "vocabulary", tmp_path / "int8")
    assert ctranslate2.contains_model(str(tmp_path / "int8"))
    found, expected = (next(teacher(folder).translate(SOURCES, 1, 1))[0].text for folder in (tmp_path / "int8", None))
    assert found == expected


@native
@pytest.mark.parametrize("kind", ["ctranslate2", pytest.param("checkpoint", marks=pytest.mark.slow)])
def test_a_teacher_is_imported_for_the_native_engine(kind, tmp_path):
    import_native(given(kind), tmp_path / "vocabulary", output := tmp_path / "native-float32")
    found, expected = ([[h.text for h in hypotheses] for hypotheses in teacher(folder).translate(SOURCES, 4, 4)]
                       for folder in (output, None))  # fmt: skip
    assert found == expected


@native
def test_a_run_that_ctranslate2_cannot_read_is_imported_for_the_native_engine(tmp_path):
    values = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "units": 32, "embedding_units": 16}
    untrained.make(values, folders()["opennmt-tf"] / "vocabulary.txt", 1, run := tmp_path / "run")
    import_native(TeacherSource(checkpoint=str(run)), None, tmp_path / "native-float32")
    read_opennmt_tf.read(run).write("float32", tmp_path / "trained-here")
    weights = (tmp_path / name / Native.weights for name in ("native-float32", "trained-here"))
    assert len({path.read_bytes() for path in weights}) == 1
    with pytest.raises(UserError, match=f"{run}: .*; the native engine decodes more kinds of models"):
        import_teacher(TeacherSource(checkpoint=str(run)), None, tmp_path / "int8")


@native
def test_a_run_becomes_a_model_folder(tmp_path, capsys):
    run = shutil.copytree(folders()["opennmt-tf"], tmp_path / "run")
    shutil.copy(folders()["float32"] / "sentencepiece.model", run)
    export(run, tmp_path / "out", ["float32"], ImportOptions())
    read_opennmt_tf.read(run).write("float32", tmp_path / "trained-here")
    weights = (tmp_path / name / Native.weights for name in ("out/native-float32", "trained-here"))
    assert len({path.read_bytes() for path in weights}) == 1
    told = capsys.readouterr().out
    assert "run: OpenNMT-tf" in told and str(transformer(read_opennmt_tf.read(run))) in told
    (run / "sentencepiece.model").unlink()
    with pytest.raises(UserError, match="no tokenizer in it; its vocabulary is a list of pieces; give the files with"):
        find(run, ImportOptions())


def test_a_teacher_that_the_native_engine_cannot_decode_is_refused_with_a_remedy(tmp_path):
    output, gelu = tmp_path / "given/imported/native-int8", tmp_path / "gelu"
    shutil.copytree(folders()["float32"], gelu)
    model = ctranslate2_model.read(gelu)
    model.variables["encoder/activation"] = Variable((), 1, memoryview(np.int8(4).tobytes()))
    ctranslate2_model.write(gelu, model)
    with pytest.raises(UserError) as refused:
        import_native(TeacherSource(ctranslate2=str(gelu)), None, output)
    message = str(refused.value)
    assert message.startswith(f"{output}: ") and "the native engine has no activation 4" in message
    assert message.endswith("; CTranslate2 translates with this teacher, distillation: {engine: ctranslate2}")
    assert not output.exists() and "\n" not in message


@pytest.mark.slow
def test_a_teacher_of_another_toolkit_is_converted(tmp_path):
    """By CTranslate2's own command, here the one for OpenNMT-tf."""
    files = {"model_type": "model_description.py", "src_vocab": "vocabulary.txt", "tgt_vocab": "vocabulary.txt"}
    options = {name: str(folders()["opennmt-tf"] / file) for name, file in ({"model_path": ""} | files).items()}
    import_teacher(converted("opennmt-tf", options | {"force": True}), tmp_path / "vocabulary", tmp_path / "int8")
    assert ctranslate2.contains_model(str(tmp_path / "int8"))


@native
@pytest.mark.parametrize(
    "size, options, message",
    [
        (3, {"vocab_paths": ["vocab.yml", "vocab.yml"]}, "vocab.yml: not the vocabulary of model.npz"),
        (2, {"vocab_paths": ["vocab.yml", "none.yml"]}, "none.yml: missing, or not a vocab.yml of Marian's"),
        (2, {"vocab_paths": ["vocab.yml"]}, "needs model_path and two vocab_paths"),
        (2, {"vocab_paths": ["vocab.yml", "vocab.yml"], "beam": 4}, "needs model_path and two vocab_paths"),
    ],
)
def test_a_model_of_marian_that_is_not_whole(size, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = yaml.safe_dump({"type": "transformer", "dim-vocabs": [size, size]})
    np.savez("model.npz", **{CONFIG: np.frombuffer(f"{written}\0".encode(), np.int8)})
    marian.write_vocabulary([END, UNKNOWN], Path("vocab.yml"))
    with pytest.raises(UserError, match=message):
        import_native(converted("marian", {"model_path": "model.npz"} | options), None, Path("native-int8"))
    assert not Path("native-int8").exists()


@pytest.mark.parametrize(
    "entry, message",
    [
        (TeacherSource(checkpoint="."), "no model_description.py here"),
        (TeacherSource(ctranslate2="."), "no CTranslate2 model here"),
        (converted("marian", {"model_path": "x.npz", "vocab_paths": ["a", "b"]}),
         r"ct2-marian-converter .*--model_path x.npz --vocab_paths a b: .*x.npz"),
        (converted("fairseq", {"model_path": "x", "data_dir": "y"}),
         r"is not installed with this project: make it an environment with `python3.10 -m venv .*fairseq==0.12.2.*`"),
        (converted("fairseq", {}, "none"),
         "none/bin/ct2-fairseq-converter: no converter here; the environment needs the package ctranslate2"),
    ],
)  # fmt: skip
def test_teachers_that_are_not_there(entry, message, tmp_path):
    with pytest.raises(UserError, match=message):
        import_teacher(entry, tmp_path / "vocabulary", tmp_path / "int8")
    assert not (tmp_path / "int8").exists()


def test_an_entry_may_lack_keys_but_is_from_somewhere():
    assert TeacherSource.of({"ctranslate2": "x", "source": "en"}) == TeacherSource(ctranslate2="x")
    assert TeacherSource.of({"converted": {"from": "marian"}}) == converted("marian", {})
    with pytest.raises(UserError, match="--teacher: needs checkpoint, ctranslate2 or converted"):
        TeacherSource.of({})
    with pytest.raises(UserError, match=r"not an entry of `teachers` \(Expected .*, got `int` - at `\$.checkpoint`\)"):
        TeacherSource.of({"checkpoint": 1})


def test_the_converter_of_another_environment_is_called(tmp_path):
    program = tmp_path / "environment/bin/ct2-fairseq-converter"
    program.parent.mkdir(parents=True)
    weights = folders()["float32"] / ctranslate2_model.NAME
    program.write_text(f'#!/bin/sh\nmkdir -p "$2"; cp {weights} "$2"; echo "$@" > "$2/asked"\n')
    program.chmod(0o755)
    entry = converted("fairseq", {"model_path": "m.pt"}, str(tmp_path / "environment"))
    import_teacher(entry, None, tmp_path / "float16")
    assert (tmp_path / "float16/asked").read_text().endswith("--quantization float16 --model_path m.pt\n")


def test_a_run_with_its_own_tokenization_brings_its_vocabulary(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(folders()["opennmt-tf"], run, ignore=shutil.ignore_patterns("vocabulary.txt"))
    with pytest.raises(UserError, match="no vocabulary"):
        import_teacher(TeacherSource(checkpoint=str(run)), None, tmp_path / "int8")


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("bias", [False, True])
def test_a_teacher_with_weights_that_are_not_finite(tmp_path, value, bias):
    """-inf in the bias of the output layer forbids a piece."""
    model = opennmt_tf.load_checkpoint(run := folders()["opennmt-tf"])
    output = model.decoder.output_layer.bias
    variable = output if bias else next(found for found in model.trainable_variables if found is not output)
    changed = variable.numpy()
    changed[..., 3] = value
    variable.assign(changed)
    Converter(model).convert(str(tmp_path / "float32"))
    teacher = TeacherSource.of({"ctranslate2": str(tmp_path / "float32")})
    if bias and value < 0:
        assert read_opennmt_tf.of_model(model, read_opennmt_tf.vocabulary(run), run).output_bias[3] == -1e9
        import_teacher(teacher, None, tmp_path / "imported")
        return
    with pytest.raises(UserError, match=rf"{run.name}: [\d,]+ of the [\d,]+ numbers of {variable.name} are not finite"):
        read_opennmt_tf.of_model(model, read_opennmt_tf.vocabulary(run), run)
    with pytest.raises(UserError, match=r"float32: [\d,]+ of the [\d,]+ numbers of \w+coder/.* are not finite"):
        import_teacher(teacher, None, tmp_path / "imported")
