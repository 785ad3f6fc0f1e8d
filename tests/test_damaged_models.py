"""A model folder that is damaged or incomplete is one message."""

import json
import shutil

import pytest
from descriptions import redescribe
from models import folders, sentences

from common.errors import UserError
from common.files import sha256
from decode import engines
from decode.engines import Search
from decode.translator import Tokenizer


@pytest.fixture(scope="module")
def models():
    return folders()


@pytest.fixture
def broken(models, tmp_path):
    """A copy of a model folder, to be damaged."""

    def copy(name):
        return shutil.copytree(models[name], tmp_path / name)

    return copy


@pytest.fixture(scope="module")
def batch(models):
    tokenizer = Tokenizer(models["float32"])
    return [tokenizer.encode(line) for line in sentences(20, seed=2)]


def test_a_folder_without_description(tmp_path):
    with pytest.raises(UserError, match=r"not a model folder, it has no model\.json"):
        engines.describe(tmp_path)
    with pytest.raises(UserError, match="not a model folder"):
        engines.describe(tmp_path / "absent")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("{}", "lacks engine, quantization, vocabulary_map"),
        (
            json.dumps({"engine": "marian-1", "quantization": "int8", "vocabulary_map": False}),
            "unknown engine 'marian-1'; this version knows ctranslate2, marian, native, opennmt-tf",
        ),
    ],
)
def test_a_bad_description(tmp_path, content, message):
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(UserError, match=message):
        engines.load(tmp_path, Search())


def test_a_missing_map(broken):
    folder = broken("int8")
    (folder / "vmap.txt").unlink()
    with pytest.raises(UserError, match=r"vmap\.txt is missing; decode with --no-vocabulary-map"):
        engines.load(folder, Search(vocabulary_map=True))


def listed(folder, *names):
    """As exported: with the checksums of these files, of all of them if none is named. Folders before 0.6 had few."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("model.json", "README.md")]
    checksums = {path.relative_to(folder).as_posix(): sha256(path) for path in files if not names or path.name in names}
    redescribe(folder, sha256=checksums)
    return folder


def flip(path, place):
    """One bit of a file, ``place`` of the way through it."""
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("place", [0.5, 0.99])
@pytest.mark.parametrize("name", ["model.bin", "sentencepiece.model", "vmap.txt", "shared_vocabulary.json"])
def test_one_bit_that_flipped_is_found(broken, name, place):
    folder = listed(broken("int8"))
    engines.load(folder, Search())
    flip(folder / name, place)
    with pytest.raises(UserError, match=rf"{name}: damaged, or not the one this model was exported with; copy or exp"):
        engines.load(folder, Search())


def test_a_baseline_is_checked_too(broken):
    folder = listed(broken("opennmt-tf"))
    flip(next(folder.glob("ckpt-*.data-*")), 0.5)
    with pytest.raises(UserError, match=r"ckpt-1\.data-\S+: damaged"):
        engines.load(folder, Search())


def test_who_wants_it_loads_a_damaged_model(broken, batch):
    folder = listed(broken("int8"))
    flip(folder / "model.bin", 0.5)
    assert len(engines.load(folder, Search(), checksums=False).translate(batch)) == len(batch)


def test_an_older_folder_has_few_checksums_or_none(broken):
    folder = listed(broken("int8"), "vmap.txt")
    flip(folder / "model.bin", 0.5)
    engines.load(folder, Search())
    redescribe(folder, sha256={})
    engines.load(folder, Search())


@pytest.mark.parametrize("kept", [0, 3, 100, 0.5, 0.99])
def test_damaged_weights(broken, kept):
    path = broken("int8") / "model.bin"
    data = path.read_bytes()
    path.write_bytes(data[: kept if isinstance(kept, int) else int(len(data) * kept)])
    with pytest.raises(UserError, match="CTranslate2 cannot load this model, a file is damaged"):
        engines.load(path.parent, Search())


def test_missing_weights(broken):
    path = broken("int8") / "model.bin"
    path.unlink()
    with pytest.raises(UserError, match="cannot load this model"):
        engines.load(path.parent, Search())


@pytest.mark.parametrize(("file", "content"), [("model_description.py", "def model("), ("vocabulary.txt", None)])
def test_a_damaged_baseline(broken, file, content):
    folder = broken("opennmt-tf")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    with pytest.raises(UserError, match="OpenNMT-tf cannot load this model: a file is damaged"):
        engines.load(folder, Search())


def test_a_baseline_with_a_cut_checkpoint(broken):
    folder = broken("opennmt-tf")
    weights = next(folder.glob("ckpt-*.data-*"))
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(UserError, match="a file is damaged"):
        engines.load(folder, Search())


def test_a_baseline_without_checkpoint(broken):
    folder = broken("opennmt-tf")
    (folder / "checkpoint").unlink()
    with pytest.raises(UserError, match="no checkpoint in this folder"):
        engines.load(folder, Search())


def test_a_bad_sentencepiece_model(tmp_path):
    with pytest.raises(UserError, match=r"sentencepiece\.model is missing"):
        Tokenizer(tmp_path)
    (tmp_path / "sentencepiece.model").write_bytes(b"pieces")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        Tokenizer(tmp_path)
