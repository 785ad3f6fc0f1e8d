"""Files of records: whole or refused, in shards and batches."""

import unicodedata

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from formats import batches, records
from nmt_frontier.characters import visible
from nmt_frontier.errors import UserError

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
    assert clean.split() == unicodedata.normalize("NFC", visible(text)).split()


def test_sentence_name_and_json():
    assert records.sentence(" a\tb\u2028c\r\n") == "a b c"
    assert records.sentence("e\u0301") == "\u00e9"
    assert records.name("a/b.c.tsv.zst") == "b.c"
    assert str(records.info("a/b.c.tsv.zst")) == "a/b.c.json"


CORPUS = [(f"sentence {number}", f"Satz {number} {number**5}") for number in range(30_000)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.tsv.zst"


def unfinished(_):
    """A frame that was flushed after a whole line, as a killed writer leaves it."""
    compressor = zstandard.ZstdCompressor().compressobj()
    return compressor.compress(b"a\tb\n") + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize("change", [0, 1, 5, 0.3, 0.9, -5, -1, unfinished, flipped, lambda _: b'{"not": "zstd"}'])
def test_a_truncated_or_damaged_file_is_refused(path, change):
    records.write(path, CORPUS)
    data = path.read_bytes()
    if isinstance(change, float):
        change = int(len(data) * change)
    path.write_bytes(data[:change] if isinstance(change, int) else change(data))
    message = "not a whole file of records, cut off or damaged"
    with pytest.raises(UserError, match=rf"x\.tsv\.zst: ({message}{'|record .* does' if change is flipped else ''})"):
        list(records.read(path))


@pytest.mark.parametrize("reader", [records.read, batches.batches])
def test_ragged_records_are_refused(path, reader):
    records.write(path, [("a", "b"), ("c",)])
    with pytest.raises(UserError, match="record 2 does not have as many columns"):
        list(reader(path))


def test_any_zstd_program_reads_the_text(path):
    records.write(path, CORPUS)
    with open(path, "rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as stream:
        assert stream.read() == b"".join(map(records.line, CORPUS))


@given(PAIRS | SENTENCES, st.integers(1, 5))
def test_batches_and_shards_are_the_records_in_order(folder, corpus, shards):
    path = folder / "y.tsv.zst"
    corpus = corpus * 50  # more than one frame
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "FRAME_BYTES", 100)
        records.write(path, corpus)
    parts = [(k, shards) for k in range(1, shards + 1)]
    assert [record for part in parts for record in records.read(path, part)] == corpus
    found = [batch.record(row) for part in parts for batch in batches.batches(path, part) for row in range(len(batch))]
    assert found == corpus


@given(PAIRS, st.lists(st.integers(1, 7)))
def test_blocks_may_be_cut_anywhere(folder, corpus, cuts):
    lines = list(map(records.line, corpus))
    blocks, start = [], 0
    for cut in cuts:
        blocks.append(b"".join(lines[start : start + cut]))
        start += cut
    whole = records.write(folder / "a.tsv.zst", corpus)
    assert records.write_blocks(folder / "b.tsv.zst", [*blocks, b"".join(lines[start:])]) == whole
    assert (folder / "a.tsv.zst").read_bytes() == (folder / "b.tsv.zst").read_bytes()


def test_shards_of_a_real_size_are_even(path):
    records.write(path, CORPUS)
    sizes = [sum(1 for _ in records.read(path, (k, 4))) for k in (1, 2, 3, 4)]
    assert sum(sizes) == len(CORPUS) and max(sizes) < 1.6 * min(sizes)


def test_lines_of_chosen_records(path):
    records.write(path, [("a", "b"), ("c", ""), ("ü", "ö")])
    (batch,) = batches.batches(path)
    assert batch.lines(np.array([2, 1])) == "ü\tö\nc\t\n".encode()


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_a_shard_is_k_of_n(text):
    with pytest.raises(UserError, match="K/N"):
        records.shard(text)


def test_a_failed_write_leaves_nothing(path):
    def failing():
        yield ("a", "b")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        records.write(path, failing())
    assert list(path.parent.iterdir()) == []


def test_a_very_long_line(path):
    corpus = [("a", "b"), ("x" * 5_000_000, "y"), ("c", "")]
    records.write(path, corpus)
    assert list(records.read(path)) == corpus
