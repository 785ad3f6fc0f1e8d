import json
import unicodedata

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from formats import records
from formats.errors import UserError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PAIRS = st.lists(st.tuples(TEXT.map(records.sentence), TEXT.map(records.sentence)))
SENTENCES = st.lists(st.tuples(TEXT.map(records.sentence)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("records")


@given(PAIRS | SENTENCES)
def test_what_is_written_is_read(folder, corpus):
    path = folder / "x.tsv.zst"
    count, checksum = records.write(path, corpus)
    assert list(records.read(path)) == corpus
    assert count == len(corpus)
    first = path.read_bytes()
    assert records.write(path, iter(corpus)) == (count, checksum)
    assert path.read_bytes() == first


@given(TEXT)
def test_a_sentence_is_one_field_of_one_line(text):
    clean = records.sentence(text)
    assert records.sentence(clean) == clean
    assert len(clean.splitlines()) <= 1
    assert "\t" not in clean
    assert clean.split() == unicodedata.normalize("NFC", text).split()


def test_breaks_become_spaces():
    assert records.sentence(" a\tb\u2028c\r\n") == "a b c"
    assert records.sentence("e\u0301") == "\u00e9"


def test_name_and_json_of_a_corpus():
    assert records.name("a/b.c.tsv.zst") == "b.c"
    assert str(records.info("a/b.c.tsv.zst")) == "a/b.c.json"


CORPUS = [(f"sentence {number}", f"Satz {number} {number**5}") for number in range(30_000)]


@pytest.mark.parametrize("kept", [0, 1, 5, 0.3, 0.9, -5, -1])
def test_a_truncated_file_is_refused(tmp_path, kept):
    path = tmp_path / "x.tsv.zst"
    records.write(path, CORPUS)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(UserError, match=r"x\.tsv\.zst: not a whole zstd-compressed UTF-8 text \(it is cut off\)"):
        list(records.read(path))


def test_a_file_cut_at_a_line_end_is_refused(tmp_path):
    """The frame was flushed after a whole line and never finished, as a killed writer leaves it."""
    path = tmp_path / "x.tsv.zst"
    compressor = zstandard.ZstdCompressor().compressobj()
    path.write_bytes(compressor.compress(b"a\tb\n") + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    with pytest.raises(UserError, match="cut off"):
        list(records.read(path))


def test_a_last_line_without_end_is_refused(tmp_path):
    path = tmp_path / "x.tsv.zst"
    path.write_bytes(zstandard.compress(b"a\tb\nc\td"))
    with pytest.raises(UserError, match="its last line has no end"):
        list(records.read(path))


def test_frames_are_one_text(tmp_path):
    path = tmp_path / "x.tsv.zst"
    path.write_bytes(zstandard.compress(b"a\tb\nc") + zstandard.compress(b"\td\n"))
    assert list(records.read(path)) == [("a", "b"), ("c", "d")]


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "x.tsv.zst"
    records.write(path, CORPUS)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"x\.tsv\.zst: (not a whole|line \d+ has)"):
        list(records.read(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc\n", "line 2 has 1 columns, the lines before it 2"),
        (b"a\tb\n\xff\tc\n", "not a whole zstd-compressed UTF-8 text"),
    ],
)
def test_bad_content_is_refused(tmp_path, content, message):
    path = tmp_path / "x.tsv.zst"
    path.write_bytes(zstandard.compress(content))
    with pytest.raises(UserError, match=message):
        list(records.read(path))


def test_plain_text_is_refused(tmp_path):
    path = tmp_path / "x.tsv.zst"
    path.write_text(json.dumps({"not": "zstd"}))
    with pytest.raises(UserError, match="not a whole zstd-compressed"):
        list(records.read(path))


def test_a_failed_write_leaves_nothing(tmp_path):
    def failing():
        yield ("a", "b")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        records.write(tmp_path / "x.tsv.zst", failing())
    assert list(tmp_path.iterdir()) == []


def test_a_very_long_line(tmp_path):
    corpus = [("a", "b"), ("x" * 5_000_000, "y"), ("c", "")]
    records.write(tmp_path / "x.tsv.zst", corpus)
    assert list(records.read(tmp_path / "x.tsv.zst")) == corpus
