"""Compression and archives of corpora, whole and damaged."""

import gzip
import os
import pickle
from pathlib import Path

import pytest
from mirrored_texts import COMPRESS, ENGLISH, GERMAN, PAIRS, fails, fetched, saved, tarred, zipped
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora.archives import Part, chunks, is_archive
from formats import records
from nmt_frontier.errors import UserError
from study.new import contents

FILES = {"a/README": b"read me", "a/t.de-en.en": ENGLISH.encode(), "./a/t.de-en.de": gzip.compress(GERMAN.encode())}
DAMAGED = "x.de: truncated or damaged file"

packs = pytest.mark.parametrize("pack", [tarred, zipped])
kinds = pytest.mark.parametrize("kind", COMPRESS)


# Compression


@kinds
@pytest.mark.parametrize("first", [0, 1000], ids=["one frame", "two frames"])
def test_compression_is_known_by_its_bytes(tmp_path, kind, first):
    def pack(data):
        return (COMPRESS[kind](data[:first]) if first else b"") + COMPRESS[kind](data[first:])

    assert fetched(tmp_path, **saved(tmp_path, pack=pack))[0] == PAIRS


def test_our_own_files_have_a_skippable_frame(tmp_path):
    records.write(tmp_path / "x.tsv.zst", PAIRS)
    assert fetched(tmp_path, file="x.tsv.zst")[0] == PAIRS


@kinds
@pytest.mark.parametrize("kept", [6, 0.3, 0.5, 0.9, -1])
def test_a_truncated_file_is_never_whole(tmp_path, kind, kept):
    source = saved(tmp_path, pack=COMPRESS[kind])
    data = (tmp_path / "x.de").read_bytes()
    (tmp_path / "x.de").write_bytes(data[: int(len(data) * kept) if isinstance(kept, float) else kept])
    assert f"{tmp_path}/{DAMAGED}" in fails(tmp_path, **source)


@kinds
def test_a_damaged_file_is_found(tmp_path, kind):
    source = saved(tmp_path, pack=COMPRESS[kind])
    data = bytearray((tmp_path / "x.de").read_bytes())
    data[len(data) // 2] ^= 0x55
    (tmp_path / "x.de").write_bytes(data)
    assert DAMAGED in fails(tmp_path, **source)


# Archives


@pytest.mark.parametrize("pack", [tarred, lambda *to: tarred(*to, "w"), lambda *to: tarred(*to, "w:xz"), zipped])
def test_members_of_archives(tmp_path, pack):
    pack(tmp_path / "x.dat", {name.removeprefix("./") if pack is zipped else name: FILES[name] for name in FILES})
    assert fetched(tmp_path, file="x.dat", member="a/t.de-en.{lang}")[0] == PAIRS


@packs
def test_a_missing_member_shows_what_is_there(tmp_path, pack):
    pack(tmp_path / "x.dat", {f"a/{number}": b"" for number in range(30)})
    message = fails(tmp_path, file="x.dat", member="b.{lang}")
    assert "x.dat: has no member b.en; it has a/0, a/1, a/10" in message and message.endswith("and 10 more")
    message = "x.dat: is an archive; say which file of it is meant (member): it has a/0"
    assert message in fails(tmp_path, file="x.dat", format="tsv")


@packs
def test_a_truncated_archive(tmp_path, pack):
    pack(tmp_path / "x.dat", FILES)
    data = (tmp_path / "x.dat").read_bytes()
    (tmp_path / "x.dat").write_bytes(data[: len(data) // 2])
    assert "x.dat: truncated or damaged file" in fails(tmp_path, file="x.dat", member="a/t.de-en.{lang}")


def test_a_tar_of_another_name_needs_no_member_in_the_mirror(tmp_path):
    """The mirror has the text itself although the source is an archive."""
    saved(tmp_path, name="plain.{lang}")
    url = ["http://127.0.0.1:9/x.tgz"]
    pairs, about = fetched(tmp_path, url=url, member="a/t.{lang}", mirror="plain.{lang}")
    assert pairs == PAIRS
    assert about.origins == ["http://127.0.0.1:9/x.tgz: a/t.en", "http://127.0.0.1:9/x.tgz: a/t.de"]


def test_chunks_close_their_file(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert b"".join(chunks(Part(tmp_path / "x"))) == b"abc"
    assert str(tmp_path / "x") not in {os.readlink(file) for file in Path("/proc/self/fd").iterdir() if file.exists()}


def test_a_damaged_bz2_is_no_archive(tmp_path):
    (tmp_path / "x.tar.bz2").write_bytes(b"BZh91AY&SY" + b"damage" * 100)
    assert not is_archive(tmp_path / "x.tar.bz2")


# What lies in place of a text

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 76000000\n" % 7
PAGE = b"<!doctype html><html><head><title>404 Not Found</title></head><body></body></html>"
PICKLE = pickle.dumps({"en": ["a"] * 99})


NAMES = {"x.tsv": {}, "x.csv": {"columns": {"en": 0, "de": 1}}, "x.jsonl": {}, "x.tmx": {}, "x.xlf": {}, "x.po": {}}


def torch(path):
    zipped(path, {"archive/data.pkl": PICKLE})
    return path.read_bytes()


@pytest.mark.parametrize("name", [*NAMES, "x.parquet", "x.{lang}"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda _: POINTER, "is a pointer of Git LFS, not the file; run `git lfs pull`"),
        (lambda _: PAGE, "is a page or an answer of a web server, not the file; delete it"),
        (lambda _: gzip.compress(PAGE), "is a page or an answer of a web server"),
        (torch, "is a checkpoint of torch"),
        (lambda _: PICKLE, "is a pickle of Python"),
    ],
    ids=["pointer", "page", "packed page", "torch", "pickle"],
)
def test_what_lies_in_place_of_a_text_is_one_line(tmp_path, name, data, message):
    for path in (paths := [tmp_path / name.replace("{lang}", language) for language in ("en", "de")]):
        path.write_bytes(data(path))
    assert f"{paths[0]}: {message}" in fails(tmp_path, file=name, **NAMES.get(name, {}))
    with pytest.raises(UserError, match=f"^{paths[0]}: {message}"):
        contents.encoding(paths[0], None)


def test_what_lies_in_place_of_a_file_of_an_archive(tmp_path):
    zipped(tmp_path / "x.zip", {"x.tsv": POINTER})
    with pytest.raises(UserError, match=r"x\.zip: x\.tsv: is a pointer of Git LFS"):
        [*chunks(Part(tmp_path / "x.zip", "x.tsv"))]
