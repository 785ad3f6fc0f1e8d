"""A model folder that is damaged or incomplete is one message."""

import json
import shutil

import pytest
from descriptions import redescribe
from models import cut, folders, sentences

from nmt_frontier.errors import UserError
from nmt_frontier.files import sha256
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
from nmt_frontier.translator import LineTokenizer


@pytest.fixture
def broken(tmp_path):
    """A function that copies a model folder, to be damaged."""
    return lambda name: shutil.copytree(folders()[name], tmp_path / name)


def test_a_folder_without_description(tmp_path):
    with pytest.raises(UserError, match=r"not a model folder, it has no model\.json"):
        loading.describe(tmp_path)
    with pytest.raises(UserError, match="not a model folder"):
        loading.describe(tmp_path / "absent")


WRONG = r"model\.json: has a wrong field; export the model again \(Expected `bool`, got `int` - at `\$\.vocabulary_map`"
UNKNOWN = json.dumps({"engine": "marian-1", "quantization": "int8", "vocabulary_map": False})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("{}", "lacks engine, quantization, vocabulary_map"),
        (json.dumps({"engine": "native", "quantization": "int8", "vocabulary_map": 1}), WRONG),
        (UNKNOWN, "unknown engine 'marian-1'; this version knows ctranslate2, marian, native, opennmt-tf"),
    ],
)
def test_a_bad_description(tmp_path, content, message):
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(UserError, match=message):
        loading.load(tmp_path, Search())


def listed(folder, *names):
    """Add the checksums of these files, by default of all, as an export does; folders before 0.6 had few."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("model.json", "README.md")]
    checksums = {path.relative_to(folder).as_posix(): sha256(path) for path in files if not names or path.name in names}
    redescribe(folder, sha256=checksums)
    return folder


FILES = ("model.bin", "sentencepiece.model", "vmap.txt", "shared_vocabulary.json")


def flip(path, place):
    """Flip one bit of a file. place: where, as a share of its length."""
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("place", [0.5, 0.99])
@pytest.mark.parametrize("file", [*(f"int8/{name}" for name in FILES), "opennmt-tf/ckpt-1.data-00000-of-00001"])
def test_one_bit_that_flipped_is_found(broken, file, place):
    kind, name = file.split("/")
    folder = listed(broken(kind))
    loading.load(folder, Search())
    flip(folder / name, place)
    with pytest.raises(UserError, match=rf"{name}: damaged, or not the one this model was exported with; copy or exp"):
        loading.load(folder, Search())


def test_a_damaged_model_is_loaded_without_checksums_on_request_and_from_older_folders(broken):
    folder = listed(broken("int8"))
    flip(folder / "model.bin", 0.5)
    batch = [*map(LineTokenizer(folder).encode, sentences(20, seed=2))]
    assert len(loading.load(folder, Search(), checksums=False).translate(batch)) == len(batch)
    listed(folder, "vmap.txt")
    loading.load(folder, Search())
    redescribe(folder, sha256={})
    loading.load(folder, Search())


KEPT = (0, 3, 100, 0.5, 0.99)


@pytest.mark.parametrize(
    ("file", "kept", "message"),
    [
        *(("int8/model.bin", kept, "CTranslate2 cannot load this model, a file is damaged") for kept in KEPT),
        ("int8/model.bin", None, "cannot load this model"),
        ("int8/vmap.txt", None, r"vmap\.txt is missing; decode with --no-vocabulary-map"),
        ("opennmt-tf/model_description.py", 26, "OpenNMT-tf cannot load this model: a file is damaged"),
        ("opennmt-tf/vocabulary.txt", None, "OpenNMT-tf cannot load this model: a file is damaged"),
        ("opennmt-tf/ckpt-1.data-00000-of-00001", 100, "a file is damaged"),
        ("opennmt-tf/checkpoint", None, "no checkpoint in this folder"),
    ],
)
def test_a_file_that_is_cut_off_or_missing(broken, file, kept, message):
    engine, name = file.split("/")
    path = broken(engine) / name
    path.unlink() if kept is None else cut(path, kept)
    with pytest.raises(UserError, match=message):
        loading.load(path.parent, Search(vocabulary_map=name == "vmap.txt"))


def test_a_bad_sentencepiece_model(tmp_path):
    with pytest.raises(UserError, match=r"sentencepiece\.model is missing"):
        LineTokenizer(tmp_path)
    (tmp_path / "sentencepiece.model").write_bytes(b"pieces")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        LineTokenizer(tmp_path)
