"""nmt-frontier import reads CTranslate2's folders of any version and type, and Argos' packages."""

import json
import shutil
import struct
import zipfile

import ctranslate2
import numpy as np
import pytest
from models import cut, folders, sentences
from translation import plain

from export.convert import requantise
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export, find
from nmt_frontier.text.tokenizers import pieces
from nmt_frontier.translator import LineTokenizer

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
LINES = sentences(30)
TYPES = ("float32", "int8", "int16", "float16", "bfloat16", "int8_float32", "int8_float16", "int8_bfloat16")


def translations(folder, **others):
    return [*plain(folder, **others).translate(LINES)]


def ctranslate2s(folder, beam_size=1, begin=()):
    """The translations by CTranslate2 itself, computed in float32."""
    model = ctranslate2.Translator(str(folder), compute_type="float32")
    processor = pieces(folder / "sentencepiece.model")
    batch = [processor.encode(line, out_type=str) for line in LINES]
    begins = [[*begin]] * len(batch)
    limits = {"max_decoding_length": 150 + len(begin), "min_decoding_length": 0}  # its beginning counts
    found = model.translate_batch(batch, begins, beam_size=beam_size, **limits)
    return [processor.decode(result.hypotheses[0][len(begin) :]) for result in found]


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_translates_as_in_ctranslate2(tmp_path, kind, capsys):
    requantise(folders()["float32"], model := tmp_path / "model", kind.replace("bfloat16", "float32"))
    if "bfloat16" in kind:
        halved(model)
    export(model, tmp_path / "out", ["float32", "int8"], ImportOptions())
    for beam_size in (1, 4):
        mine = translations(tmp_path / "out/native-float32", beam_size=beam_size, vocabulary_map=False)
        assert mine == ctranslate2s(model, beam_size)
    assert len({*mine}) > 20
    assert ("int8 keeps the integers of" in capsys.readouterr().out) == kind.startswith("int8")


def halved(folder):
    """Store the upper halves of all float32 weights but scales; CTranslate2's converter needs torch for it."""
    model = ctranslate2_model.read(folder)
    for name, variable in model.variables.items():
        if variable.type == 0 and variable.shape and not name.endswith("_scale"):
            upper = (variable.array().view(np.uint32) >> 16).astype(np.uint16)
            model.variables[name] = variable._replace(type=ctranslate2_model.BFLOAT16, data=memoryview(upper.tobytes()))
    ctranslate2_model.write(folder, model)


def older(source, output, version):
    """Write a folder as old versions of CTranslate2 did: another header, no aliases, vocabularies in lines."""
    shutil.copytree(source, output)
    model, config = ctranslate2_model.read(source), read_json(source / "config.json")
    variables = {name: model.variables[stored].array() for name, stored in model.aliases.items()}
    variables |= {name: variable.array() for name, variable in model.variables.items()}
    if version < 6:
        (output / "config.json").unlink()
        variables |= {name: np.frombuffer(config[name].encode(), np.int8) for name in ("unk_token", "bos_token")}
        variables["with_source_eos"] = np.array(config["add_source_eos"], np.int8)
    data = struct.pack("<I", version) + _text(model.specification) + struct.pack("<2I", model.revision, len(variables))
    numbers = {np.dtype(numpy): number for number, numpy in ctranslate2_model.TYPES.items()}
    for name, array in variables.items():
        kind, size = (array.itemsize, array.size) if version < 4 else (numbers[array.dtype], array.nbytes)
        data += _text(name) + struct.pack(f"<B{array.ndim}IBI", array.ndim, *array.shape, kind, size) + array.tobytes()
    (output / "model.bin").write_bytes(data + (struct.pack("<I", 0) if version > 2 else b""))
    lines = read_json(output / "shared_vocabulary.json")
    (output / "shared_vocabulary.json").unlink()
    (output / "shared_vocabulary.txt").write_text("".join(f"{piece}\n" for piece in lines if piece != "<unk>"))
    return output


def _text(text):
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_older_versions(tmp_path, version, kind):
    model = older(folders()[kind], tmp_path / "old", version)
    export(model, tmp_path / "out", ["float32"], ImportOptions())
    assert translations(tmp_path / "out/native-float32", vocabulary_map=False) == ctranslate2s(model)


def test_the_first_version_has_the_names_of_opennmt_tf():
    from nmt_frontier.importers.ctranslate2_weights import _of_opennmt_tf

    names = {
        "transformer/encoder/w_embs:0": "encoder/embeddings/weight",
        "transformer/decoder/dense/kernel:0": "decoder/projection/weight",
        "transformer/encoder/layer_0/multi_head/conv1d_1/kernel:0": "encoder/layer_0/self_attention/linear_1/weight",
        "transformer/decoder/layer_0/masked_multi_head/conv1d/bias:0": "decoder/layer_0/self_attention/linear_0/bias",
        "transformer/decoder/layer_0/multi_head/LayerNorm/beta:0": "decoder/layer_0/attention/layer_norm/beta",
    }
    assert {name: _of_opennmt_tf(name) for name in names} == names


def package(tmp_path, **others):
    """An Argos package of the test model, as its unpacked folder and as an archive."""
    folder = tmp_path / "translate-en_de-1_0"
    shutil.copytree(folders()["int8"], folder / "model")
    shutil.move(folder / "model/sentencepiece.model", folder / "sentencepiece.model")
    write_json(folder / "metadata.json", {"from_code": "en", "to_code": "de", "package_version": "1.0", **others})
    with zipfile.ZipFile(archive := tmp_path / "translate-en_de-1_0.argosmodel", "w") as packed:
        for path in folder.rglob("*"):
            packed.write(path, path.relative_to(tmp_path))
    return folder, archive


def test_translations_of_a_package_may_begin_with_a_prefix(tmp_path):
    piece = pieces(folders()["int8"] / "sentencepiece.model").id_to_piece(50)
    folder, _ = package(tmp_path, target_prefix=piece)
    export(folder, tmp_path / "out", ["float32"], ImportOptions())
    peer = ctranslate2s(folders()["int8"], begin=[piece])
    assert translations(tmp_path / "out/native-float32", vocabulary_map=False) == peer


def test_packages_of_argos(tmp_path):
    for source in package(tmp_path):
        export(source, tmp_path / f"of{source.suffix}", ["float32"], ImportOptions())
        folder = tmp_path / f"of{source.suffix}" / "native-float32"
        assert translations(folder, vocabulary_map=False) == ctranslate2s(folders()["int8"])
        about = json.loads((folder / "model.json").read_text())
        assert (about["source"], about["target"], about["vocabulary_map"]) == ("en", "de", True)
        assert "Imported from Argos package 1.0, CTranslate2" in (folder / "README.md").read_text()


def test_a_package_with_bpe(tmp_path):
    folder, _ = package(tmp_path)
    (folder / "sentencepiece.model").unlink()
    (folder / "bpe.model").write_text("#version: 0.2\nd o\ndo g</w>\nr u\n")
    export(folder, tmp_path / "out", ["float32"], ImportOptions())
    tokenizer = LineTokenizer(tmp_path / "out/native-float32")
    assert tokenizer.encode("dog runs") == ["dog", "ru@@", "n@@", "s"]
    assert tokenizer.decode(["dog", "ru@@", "n@@", "s"]) == "dog runs"


def faulty(folder, change):
    shutil.copytree(folders()["float32"], folder)
    change(folder)
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: cut(folder / "model.bin", 0.5), "not a model of CTranslate2, cut off or damaged"),
        (lambda folder: (folder / "sentencepiece.model").unlink(), "no tokenizer in it; its vocabulary is a list of"),
        (lambda folder: (folder / "shared_vocabulary.json").unlink(), "a file is missing or damaged"),
        (lambda folder: write_json(folder / "shared_vocabulary.json", ["<unk>", "</s>", "<s>"]), "rows for 3 pieces"),
        (lambda folder: (folder / "model.bin").write_bytes(struct.pack("<2I", 7, 0)), "has version 7 of CTranslate2's"),
        (lambda folder: (folder / "model.bin").unlink(), "no model that this can read"),
    ],
)  # fmt: skip
def test_faults_in_one_line(tmp_path, change, message):
    folder = faulty(tmp_path / "model", change)
    with pytest.raises(UserError, match=message) as caught:
        find(folder, ImportOptions())
    assert "\n" not in str(caught.value)


def test_faults_of_packages(tmp_path):
    _, archive = package(tmp_path, target_prefix="__de__")
    with pytest.raises(UserError, match=r"1_0\.argosmodel: translations begin with __de__, which is none of "):
        find(archive, ImportOptions())
    with zipfile.ZipFile(empty := tmp_path / "empty.zip", "w") as packed:
        packed.writestr("a/b", "c")
    with pytest.raises(UserError, match=r"empty\.zip: no package of Argos"):
        find(empty, ImportOptions())
