"""What lies in place of a model is one line that says what it is and what to do, in every reader of models."""

import io
import pickle
import shutil
import zipfile

import numpy as np
import pytest
from huggingface_models import write
from marian_weights import options, vocabulary, weights, write_bin, write_npz
from models import folders

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import find
from nmt_frontier.model import model_folder, safetensors
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Search
from nmt_frontier.translator import LineTokenizer

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 76000000\n" % 7
PAGE = b"<!DOCTYPE html>\n<html lang=en>\n<head><title>404</title></head><body>Not here</body></html>\n"


def torch(name="archive/data.pkl"):
    """The bytes of a checkpoint as torch writes it: a zip archive without compression."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, pickle.dumps({"weight": 1}))
        archive.writestr("archive/data/0", bytes(99))
    return file.getvalue()


LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."  # of torch before 1.6
POINTS, SERVED = (
    "is a pointer of Git LFS, not the file; run `git lfs pull` in",
    "is a page or an answer of a web server",
)
TORCH, PICKLE = "is a checkpoint of torch", "is a pickle of Python, which can run code"
STAND_INS = {
    "LFS": (POINTER, POINTS),
    "annex": (b"/annex/objects/MD5E-s76-- 0\n", "is a pointer of git-annex"),
    "page": (PAGE, SERVED),
    "page with a mark": (b"\xef\xbb\xbf\r\n<!-- x -->" + PAGE.lower(), SERVED),
    "XHTML": (b'<?xml version="1.0"?>\n' + PAGE, SERVED),
    "short page": (b"<html><body>Not found</body></html>", SERVED),
    "head": (b"<HTML>\n<HEAD>\n<TITLE>302 Moved</TITLE></HEAD>\n", SERVED),
    "store": (b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code></Error>', SERVED),
    "answer": (b"Entry not found", SERVED),
    "answer of GitHub": (b"404: Not Found", SERVED),
    "torch": (torch(), TORCH),
    "torch of a name": (torch("my_model/data.pkl"), TORCH),
    "torch before 1.6": (LEGACY, TORCH),
    **{f"pickle {n}": (pickle.dumps({"a": [*range(999)]}, n), PICKLE) for n in (0, 2, 3, 4, 5)},
    "pickle of a list": (pickle.dumps([("a", "b")] * 99, 3), PICKLE),
    "pickle of an array": (pickle.dumps(np.ones(999)), PICKLE),
}
stand_ins = pytest.mark.parametrize(("data", "message"), STAND_INS.values(), ids=STAND_INS)


def files(tmp_path):
    """Model folders with the file in each that may be another: of CTranslate2, Marian, Hugging Face."""
    (marian := tmp_path / "marian").mkdir()
    (marian / "vocab.spm").write_bytes(vocabulary())
    write_bin(marian / "model.bin", weights(90, 90), options(90, 90))
    shutil.copytree(marian, npz := tmp_path / "npz", ignore=shutil.ignore_patterns("model.bin"))
    write_npz(npz / "model.npz", weights(90, 90), options(90, 90))
    shutil.copytree(folders()["float32"], tmp_path / "ctranslate2")
    write(tmp_path / "huggingface", "marian")
    for folder, names in {
        "ctranslate2": ("model.bin", "sentencepiece.model", "config.json", "shared_vocabulary.json"),
        "marian": ("model.bin", "vocab.spm"),
        "npz": ("model.npz",),
        "huggingface": ("model.safetensors", "source.spm", "vocab.json", "config.json"),
    }.items():
        for name in names:
            yield tmp_path / folder / name


@stand_ins
def test_models_of_other_toolkits(tmp_path, data, message):
    for path in files(tmp_path):
        find(path.parent, ImportOptions())
        whole = path.read_bytes()
        path.write_bytes(data)
        with pytest.raises(UserError) as raised:
            find(path.parent, ImportOptions())
        assert str(raised.value).startswith(f"{path}: {message}") and "\n" not in str(raised.value)
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["model.bin", "model.npz", "model.bin.gz", "model.pt", "translate.argosmodel"])
@stand_ins
def test_a_file_that_is_named(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    for source in (tmp_path / name, tmp_path):
        with pytest.raises(UserError, match=f"{name}: {message}"):
            find(source, ImportOptions())


@stand_ins
@pytest.mark.parametrize("file", ["int8/model.bin", "int8/sentencepiece.model", "opennmt-tf/checkpoint"])
def test_model_folders(tmp_path, file, data, message):
    """With checksums, and without."""
    kind, name = file.split("/")
    shutil.copytree(folders()[kind], folder := tmp_path / kind)
    about = model_folder.describe(folder)
    about.sha256 = model_folder.checksums(folder)
    (folder / name).write_bytes(data)
    with pytest.raises(UserError, match=f"{name}: {message}"):
        model_folder.check(folder, about)
    with pytest.raises(UserError, match=f"{name}: {message}"):
        LineTokenizer(folder) if "sentencepiece" in name else loading.load(folder, Search(), checksums=False)


@stand_ins
def test_safetensors(tmp_path, data, message):
    (tmp_path / "weights.safetensors").write_bytes(data)
    with pytest.raises(UserError, match=f"weights.safetensors: {message}"):
        safetensors.read(tmp_path / "weights.safetensors")


@pytest.mark.parametrize(
    "text",
    [
        b"version https://example.org/spec/v1",
        b"<html>A line of rich text</html>\nand another one",
        b'<html><head/><body><p>Of Qt</p></body></html>\n<html><head><meta name="qrichtext"/></head></html>',
        b'<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.0//EN">\n<html><head><meta name="qrichtext" content="1" /></head>',
        b"<!DOCTYPE html>\t<!DOCTYPE html>\nA line\tEine Zeile",
        b'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">',
        b"Not found\nThe file",
        "€5 in cp1252".encode("cp1252"),
        b"(the first line)\ncopy",
        b" " * 4096,
        b"<!-- x -->" * 409,
        b"",
    ],
)
def test_texts_that_only_look_like_one(text):
    first_bytes.check("x", text)
