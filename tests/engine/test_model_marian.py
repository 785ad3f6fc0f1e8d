"""nmt-frontier import reads Marian's files, also those of Firefox and Bergamot, and reports faults in one line."""

import gzip
import json
import shutil

import numpy as np
import pytest
import sentencepiece
from marian_weights import options, vocabulary, weights, write_bin, write_npz, write_shortlist
from models import cut, sentences
from translation import plain

from nmt_frontier.errors import UserError
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.marian_binary import MAGIC
from nmt_frontier.importers.marian_parameters import Parameters
from nmt_frontier.importers.model import described, export, find
from nmt_frontier.model import native_map, native_vocabulary, native_weights, safetensors

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
LINES = sentences(20)
FIREFOX = "model.xxyy.intgemm.alphas.bin"


@pytest.fixture(scope="module")
def spm():
    return vocabulary()


def translations(folder, **others):
    return [*plain(folder, **others).translate(LINES)]


def firefox(folder, spm):
    """A folder as Firefox has it, with weights of a seed in 8 bits."""
    folder.mkdir()
    (folder / "vocab.xxyy.spm").write_bytes(spm)
    write_bin(folder / FIREFOX, weights(90, 90), options(90, 90), integers=True)
    write_shortlist(folder / "lex.50.50.xxyy.s2t.bin", 5, [[n, (n + 7) % 90, 0] for n in range(90)])
    return folder


def test_npz_and_bin_give_the_same_model(tmp_path, spm):
    (tmp_path / "vocab.spm").write_bytes(spm)
    for name, write in (("a.npz", write_npz), ("b.bin", write_bin)):
        write(tmp_path / name, weights(90, 90), options(90, 90))
        export(tmp_path / name, tmp_path / name[0], ["float32"], ImportOptions())
    files = [(tmp_path / name / "native-float32" / native_weights.NAME).read_bytes() for name in "ab"]
    assert files[0] == files[1]
    assert len({*translations(tmp_path / "a/native-float32")}) > 10


def test_integers_are_half_a_step_from_the_weights_at_most(tmp_path):
    exact = weights(90, 90)
    write_bin(tmp_path / "m.bin", exact, options(90, 90), integers=True)
    found = Parameters(tmp_path / "m.bin")
    assert found.integers and {*found.weights} == {*exact}
    for name, weight in exact.items():
        step = np.abs(weight).max() / 127 if name[-3:-1] == "_W" or "_W" in name[-2:] or "Wemb" in name else 0
        assert np.abs(found.weights[name] - weight).max() <= 0.51 * step, name


def test_a_folder_of_firefox(tmp_path, spm, capsys):
    export(firefox(tmp_path / "xxyy", spm), tmp_path / "out", ["float32", "int8"], ImportOptions())
    told = capsys.readouterr().out
    assert "Marian v1.9.56" in told and "1:1 d32 ff48 h4 ssru shared" in told and "xx to yy" in told
    assert "90, shared" in told and "int8 keeps the integers of" in told
    count = sum(weight.size for weight in weights(90, 90).values())
    assert f"{count:,}, integers" in told
    about = json.loads((tmp_path / "out/native-int8/model.json").read_text())
    assert (about["source"], about["target"], about["system"], about["role"]) == ("xx", "yy", "out", "imported")
    assert (
        about["vocabulary_map"]
        and "Imported from Marian v1.9.56, " + FIREFOX in (tmp_path / "out/native-int8/README.md").read_text()
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    folder = tmp_path / "out/native-float32"
    for line, mapped in zip(LINES, translations(folder), strict=True):
        allowed = {*range(5)}.union(*({n, (n + 7) % 90, 0} for n in processor.encode(line)))
        text = "".join(processor.id_to_piece(n) for n in sorted(allowed)).replace("▁", " ")
        assert {*mapped} <= {*text}
    assert translations(folder) != translations(folder, vocabulary_map=False)


def test_packed_files_are_those_that_they_pack(tmp_path, spm):
    plain, packed = firefox(tmp_path / "plain", spm), tmp_path / "packed"
    packed.mkdir()
    for path in plain.iterdir():
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    for folder in (plain, packed):
        export(folder, tmp_path / f"of-{folder.name}", ["int8"], ImportOptions())
    names = (native_weights.NAME, native_vocabulary.NAME, native_map.NAME, "sentencepiece.model")
    for name in names:
        assert (tmp_path / "of-plain/native-int8" / name).read_bytes() == (
            tmp_path / "of-packed/native-int8" / name
        ).read_bytes()


def test_small_integers_are_kept(tmp_path, spm):
    """Weights of few steps fit the bound of the engine: their integers and steps stay what they were."""
    generator, found = np.random.default_rng(1), weights(90, 90)
    for name in ("encoder_l1_self_Wo", "encoder_l1_ffn_W2"):
        found[name] = generator.integers(-9, 10, found[name].shape).astype(np.float32) / 64
        found[name][0, 0] = 127 / 64
    (tmp_path / "vocab.spm").write_bytes(spm)
    write_bin(tmp_path / "m.bin", found, options(90, 90), integers=True)
    export(tmp_path / "m.bin", tmp_path / "out", ["int8"], ImportOptions())
    tensors = safetensors.read(tmp_path / "out/native-int8" / native_weights.NAME)
    scale = tensors["encoder.0.feed_forward.outer.scale"]
    assert np.allclose(scale[1:], 1 / 64)  # the first channel has the large weight and others beside it
    rows = tensors["encoder.0.feed_forward.outer.weight"].transpose(0, 2, 1, 3).reshape(32, 48)
    assert (rows[1:] == found["encoder_l1_ffn_W2"].T[1:] * 64).all()


def test_two_vocabularies(tmp_path, spm):
    (tmp_path / "srcvocab.xxyy.spm").write_bytes(spm)
    (tmp_path / "trgvocab.xxyy.spm").write_bytes(vocabulary(seed=2, pieces=80))
    write_npz(tmp_path / "model.npz", weights(90, 80), options(90, 80))
    write_shortlist(tmp_path / "lex.bin", 70, [[n % 80] for n in range(90)])
    export(tmp_path, tmp_path / "out", ["float32"], ImportOptions())
    folder = tmp_path / "out/native-float32"
    assert (folder / "source.sentencepiece.model").read_bytes() == spm
    assert {path.name for path in folder.iterdir()} >= {"target.sentencepiece.model", native_map.NAME}
    assert not (folder / "sentencepiece.model").exists()
    assert len({*translations(folder)}) > 10


def test_a_vocabulary_of_pieces_needs_a_tokenizer(tmp_path, spm):
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    lines = [f"{json.dumps(processor.id_to_piece(n), ensure_ascii=False)}: {n}\n" for n in range(90)]
    (tmp_path / "opus.vocab.yml").write_text("".join(lines))
    write_npz(tmp_path / "opus.npz", weights(90, 90), options(90, 90))
    with pytest.raises(UserError, match="no tokenizer in it; its vocabulary is a list of pieces; give the files"):
        find(tmp_path, ImportOptions())
    export(tmp_path, tmp_path / "spaces", ["float32"], ImportOptions(spaces=True))
    for side in ("source", "target"):
        (tmp_path / f"{side}.spm").write_bytes(spm)
    export(tmp_path, tmp_path / "text", ["float32"], ImportOptions())
    pieces = [" ".join(processor.encode(line, out_type=str)) for line in LINES]
    found = [*plain(tmp_path / "spaces/native-float32").translate(pieces)]
    assert [processor.decode(line.split(" ")) for line in found] == translations(tmp_path / "text/native-float32")
    assert "none: lines are pieces" in described(tmp_path, find(tmp_path, ImportOptions(spaces=True)))


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (FIREFOX, lambda path: cut(path, 0.5), r"not a model\.bin of Marian's, or damaged: cut off in "),
        (FIREFOX, lambda path: cut(path, 100), r"not a model\.bin of Marian's, or damaged: has 100 bytes, too few for"),
        (FIREFOX, lambda path: path.write_bytes(b"\0" * 64), "no model that this can read"),
        ("vocab.xxyy.spm", lambda path: path.write_bytes(b"pieces"), "missing, or not a vocab.spm of Marian"),
        ("vocab.xxyy.spm", lambda path: path.write_bytes(vocabulary(pieces=80)), "not the vocabulary of "),
        ("vocab.xxyy.spm", lambda path: path.unlink(), "0 vocabularies in it; name that of this model with --vocab"),
        ("lex.50.50.xxyy.s2t.bin", lambda path: cut(path, 200), "not a shortlist of Marian's, cut off or damaged"),
        ("lex.50.50.xxyy.s2t.bin", lambda path: write_shortlist(path, 5, [[90]] * 90), "was made for another one"),
        ("lex.50.50.xxyy.s2t.bin", lambda path: path.write_bytes(b"\xff\xfe\n"), "neither a text nor a binary shortl"),
    ],
)  # fmt: skip
def test_faults_in_one_line(tmp_path, spm, file, change, message):
    folder = firefox(tmp_path / "xxyy", spm)
    change(folder / file)
    with pytest.raises(UserError, match=message) as caught:
        export(folder, tmp_path / "out", ["int8"], ImportOptions())
    assert "\n" not in str(caught.value) and not (tmp_path / "out").exists()


def test_other_files_of_marian(tmp_path, spm):
    write_bin(tmp_path / "old.bin", weights(90, 90), options(90, 90), version=0)
    with pytest.raises(UserError, match=r"old\.bin: has version 0 of Marian's binary format, this can read 1"):
        find(tmp_path / "old.bin", ImportOptions())
    packed = firefox(tmp_path / "packed", spm)
    data = (packed / FIREFOX).read_bytes()
    (packed / FIREFOX).write_bytes(data.replace((0x4101).to_bytes(8, "little"), (0x1801).to_bytes(8, "little")))
    with pytest.raises(UserError, match=r"has Marian's type 0x1801; convert it with --gemm-type intgemm8"):
        find(packed, ImportOptions())
    shutil.copy(packed / FIREFOX, packed / "other.bin")
    with pytest.raises(UserError, match=rf"has weights in {FIREFOX}, other\.bin; name one of these files"):
        find(packed, ImportOptions())
    assert MAGIC == 0xF11A48D5013417F5
