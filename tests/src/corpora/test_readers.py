"""Lines, TSV, TMX, SGM and SQLite: line ends, encodings, long lines, columns, and their errors."""

import gzip
import hashlib
import json
import resource
import subprocess
import sys
import tracemalloc

import pytest
from databases import BIBLE, bible
from hypothesis import assume, given
from hypothesis import strategies as st
from mirrored_texts import COMPRESS, ENGLISH, GERMAN, PAIRS, encoded, fails, fetched, opened, saved, zipped
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora.archives import Part
from corpora.readers import Lines, by_name
from corpora.readers.invisible import visible_lines
from corpora.readers.reader import MAX_LINE_BYTES, Input, Selection, Unread
from corpora.sources.stored_text import HashedFiles
from formats import records
from nmt_frontier.characters import visible
from nmt_frontier.text.encodings import MARKS, as_utf8
from study import config

LINES = Lines(Selection(["en"], [], format_said=True))  # some examples begin as another format does
LONGEST = "x" * MAX_LINE_BYTES

# Lines


@pytest.mark.parametrize(
    ("english", "expected"),
    [
        ("a\r\nb\rc\n\u2028d\x85\te\x0b\n\r\nf", ["a", "b c", "d  e", "", "f"]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", ["one", "two"]),
        ("a\n\xad\u200e \u2060\nb\n", ["a", "", "b"]),
        ("a\0b\n" + ENGLISH, ["a\0b", *ENGLISH.splitlines()]),
        (f"a\n{LONGEST}\nb\n", ["a", LONGEST, "b"]),
    ],
    ids=[
        "breaks and tabs become spaces",
        "byte order mark",
        "nothing else is empty",
        "NUL is left to the cleaning",
        "longest line",
    ],
)
def test_lines(tmp_path, english, expected):
    """Only \\n ends a line."""
    german = list(map(str, range(len(expected))))
    pairs, _ = fetched(tmp_path, **saved(tmp_path, english, "\n".join(german)))
    assert pairs == list(zip(expected, german, strict=True))


def test_invisible_characters_are_gone_from_both_sides(tmp_path):
    english = ENGLISH.replace("1", "1\u200e").replace("dog runs", "d\xadog\ufeff runs", 1000)
    assert fetched(tmp_path, **saved(tmp_path, english, GERMAN.replace("u", "\ufeffu\u2060")))[0] == PAIRS


INVISIBLE = "\xad\u034f\u061c\u1160\u200b\u200c\u2060\u3164\ufe0f\ufeff\ufff0\U0001d173\U000e0041"


@given(st.text(f"aé’“…я犬。，한ا\n{INVISIBLE}"))
def test_lines_with_invisible_characters_are_found_in_bytes(text):
    lines = visible_lines(text.encode(), text).split("\n")
    assert [*map(records.sentence, lines)] == [*map(records.sentence, text.split("\n"))]
    assert not any(visible(line) != line for line in lines)


def test_no_line_end_at_the_end_of_a_part(tmp_path):
    zipped(tmp_path / "x.zip", {"a": b"one\ntwo", "b": b"three\n"})
    files = HashedFiles([Part(tmp_path / "x.zip", "a"), Part(tmp_path / "x.zip", "b")])
    blocks = list(files.blocks(LINES, Unread()))
    assert [line for block in blocks for line in block.columns[0]] == ["one", "two", "three"]
    assert files.sha256() == hashlib.sha256(b"one\ntwothree\n").hexdigest()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-16-le", "utf-16-be", "cp1252", "koi8-u"])
def test_encodings(tmp_path, encoding):
    """A byte order mark says it; else the study does."""
    german = ENGLISH.replace("dog", "їжак") if encoding == "koi8-u" else GERMAN
    source = saved(tmp_path, german.encode(encoding), german.encode(encoding))
    pairs, _ = fetched(
        tmp_path, **source, **({} if "-sig" in encoding or encoding[-2:] in ("16", "32") else {"encoding": encoding})
    )
    assert pairs == [(line, line) for line in german.splitlines()]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_that_does_not_say_so(tmp_path, encoding):
    message = fails(tmp_path, **saved(tmp_path, ENGLISH.encode(encoding)))
    assert message.endswith(f"x.en: looks like UTF-16 without a byte order mark; say so (encoding: {encoding})")


@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        ("klingon", "unknown encoding klingon"), ("base64", "base64 is no encoding of text"),
        ("idna", "cannot be read as idna"), ("undefined", "cannot be read as undefined"),
    ],
)  # fmt: skip
def test_no_encoding(tmp_path, encoding, problem):
    assert f"x.en: {problem}" in fails(tmp_path, **saved(tmp_path), encoding=encoding)


def test_what_an_encoding_lacks_is_dropped_and_counted(tmp_path):
    lines = ENGLISH.encode("cp1252").splitlines(keepends=True)
    lines[7] = b"\x81\n"  # which cp1252 does not have
    pairs, about = fetched(tmp_path, **saved(tmp_path, b"".join(lines), GERMAN.encode("cp1252")), encoding="cp1252")
    assert pairs == [pair for row, pair in enumerate(PAIRS) if row != 7]
    assert about.samples["invalid_utf8"][0][0].endswith("x.en: line 8, byte 1: not cp1252")


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    st.sampled_from(["utf-16-le", "utf-32-be", "utf-7"]),
    st.integers(1, 9),
)
def test_transcoding_however_chunks_are_cut(rows, encoding, size):
    data = "\n".join(rows).encode(encoding)
    assume(not any(data.startswith(mark) for mark, _ in MARKS))
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert b"".join(as_utf8(chunks, "x", encoding)) == "\n".join(rows).encode()


BAD = GERMAN.encode().splitlines(keepends=True)
BAD[1234] = b"Ein H\xfcndchen\n"
NOT_UTF8 = "x.de: line 1,235, byte 6: not UTF-8 (0xfc)"


def bad_english(*numbers):
    english = ENGLISH.encode().splitlines(keepends=True)
    return b"".join(b"\xff\n" if row in numbers else line for row, line in enumerate(english))


def test_a_few_lines_that_are_not_utf8_are_dropped_and_shown(tmp_path):
    pairs, about = fetched(tmp_path, **saved(tmp_path, bad_english(7), b"".join(BAD)))
    assert pairs == [pair for row, pair in enumerate(PAIRS) if row not in (7, 1234)]
    assert about.dropped == {"invalid_utf8": 2}
    english, german = about.samples["invalid_utf8"]
    assert english[0].endswith("x.en: line 8, byte 1: not UTF-8 (0xff)")
    assert german[0].endswith(NOT_UTF8) and german[1] == "Ein H�ndchen"


def test_many_are_an_error_with_the_first_three(tmp_path):
    source = saved(tmp_path, bad_english(*range(100, 251)))
    message = fails(tmp_path, **source)
    assert message.startswith("x: 151 of 3,000 lines cannot be read, more than 0.05 of them (invalid_share): ")
    assert message.count("not UTF-8 (0xff)") == 3 and "x.en: line 101, byte 1: not UTF-8" in message
    assert message.endswith(
        "; ...; mend the file, name its encoding if it is not UTF-8 (encoding), or drop such lines (invalid: drop)"
    )
    for allowed in ({"invalid": "drop"}, {"invalid_share": 0.06}):
        assert fetched(tmp_path, **source, **allowed)[1].dropped == {"invalid_utf8": 151}
    assert NOT_UTF8 in fails(tmp_path, **saved(tmp_path, german=b"".join(BAD)), invalid_share=0)


def test_a_test_set_is_whole_or_says_otherwise(tmp_path):
    source = saved(tmp_path, german=b"".join(BAD)) | {"role": "test"}
    assert NOT_UTF8 in fails(tmp_path, **source)
    assert fetched(tmp_path, **source, invalid="drop")[1].dropped == {"invalid_utf8": 1}


OVERLONG = 50_000_000


@pytest.mark.parametrize("invalid", ["error", "drop"])
@pytest.mark.parametrize("at", [0, 1500, 3000])
@pytest.mark.slow
def test_a_line_of_50_mb(tmp_path, at, invalid):
    rows = ENGLISH.encode().splitlines(keepends=True)
    rows.insert(at, b"x" * OVERLONG + b"\n")
    source = saved(tmp_path, b"".join(rows), GERMAN + "Eins mehr.\n", pack=COMPRESS["gz"])
    del rows
    tracemalloc.start()
    if invalid == "error":
        assert f"x.en: line {at + 1:,}: longer than 1,000,000 bytes; mend" in fails(tmp_path, **source, invalid_share=0)
    else:
        pairs, about = fetched(tmp_path, **source, invalid="drop")
        assert about.dropped == {"overlong": 1}
        german = [*GERMAN.splitlines(), "Eins mehr."]
        del german[at]
        assert pairs == list(zip(ENGLISH.splitlines(), german, strict=True))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_a_line_one_byte_too_long(tmp_path):
    assert "x.en: line 2: longer than" in fails(tmp_path, **saved(tmp_path, f"a\nx{LONGEST}\nb\n", "c\nd\ne\n"))


@given(st.lists(st.binary(max_size=12)), st.integers(1, 9))
def test_however_chunks_are_cut(rows, size):
    rows = [row.replace(b"\n", b"") for row in rows]
    data = b"".join(row + b"\n" for row in rows)
    assume(data[:2] not in (b"\xff\xfe", b"\xfe\xff") and data[:3] != b"\xef\xbb\xbf" and data.count(0) < 5)
    assume(data.count(b"\r") <= data.count(b"\n"))  # else carriage returns end lines
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    blocks = list(LINES.blocks(chunks, Input("x", Unread())))
    found = [line for block in blocks for line in block.columns[0]]
    assert len(found) == len(rows)
    valid = [row.decode("utf-8", "ignore").encode() == row for row in rows]
    expected = [records.sentence(row.decode()) if good else "" for row, good in zip(rows, valid, strict=True)]
    assert found == expected
    assert sum(len(block.dropped) for block in blocks) == valid.count(False)


def test_a_disk_that_fills_up_leaves_nothing(tmp_path):
    source = saved(tmp_path)
    limited = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from corpora.fetch import command, main; command(main)"
    )
    spec = json.dumps(config.corpus({"role": "train", "file": f"{tmp_path}/{source['file']}"}).document)
    arguments = ["--name", "x", "--languages", "en", "de", "--spec", spec, "--output", "out/x.tsv.zst"]
    done = subprocess.run([sys.executable, "-c", limited, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "error: out/x.tsv.zst: File too large")
    assert list((tmp_path / "out").iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


# Files with all languages, and SGM

TSV = "0.9\tone\teins\n0.8\t two \tzw\u2028ei\trest\r\n"
RAGGED = "one\teins\ntwo\n\nthree\tdrei\n"
TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="EN-GB"><seg>Fish &amp; <bpt i="1">&lt;b></bpt><hi>chips</hi><ept i="1">&lt;/b></ept></seg></tuv>
<tuv xml:lang="de"><seg>Fisch
mit Pommes</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>only English</seg></tuv></tu>
<tu><tuv xml:lang="deu"><seg>zwei</seg></tuv><tuv xml:lang="eng"><seg>two</seg></tuv></tu>
</body></tmx>"""
TAGALOG = TMX.replace('"de"', '"tl"').replace('"deu"', '"fil"')
FISH = [("Fish & chips", "Fisch mit Pommes"), ("two", "zwei")]
SGM = '<srcset setid="x" srclang="any">\n<doc docid="1">\n<p>\n{}</p>\n</doc>\n</srcset>\n'
ENGLISH_SGM = SGM.format('<seg id="1">Fish &amp; chips &#8211; &quot;x&quot;</seg>\n<SEG id="2">\n two\nlines</SEG>\n')
GERMAN_SGM = SGM.format('<seg id="1"> Fisch &lt;</seg>\n<seg id="2">zwei &copy; &#xdfff;</seg>\n')
SEGMENTS = [('Fish & chips – "x"', "Fisch <"), ("two lines", "zwei &copy; &#xdfff;")]
MONOLINGUAL = {"role": "monolingual"}
SECOND = {"columns": {"en": 1, "de": 2}}
VERSES = {"names": {"en": "4", "de": "e"}, "query": BIBLE}
MISSING, NO_SIDE = {"missing_column": 2}, {"missing_side": 1}


def stored(folder, name, text):
    """A file, or one in both languages."""
    if isinstance(text, tuple):
        return saved(folder, *text, name=name)
    text = bible(folder / name) if text is BIBLE else encoded(text)
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return {"file": name}


@pytest.mark.parametrize(
    ("name", "text", "source", "expected", "dropped"),
    [
        ("x.tsv", TSV, SECOND, [("one", "eins"), ("two", "zw ei")], {}),
        ("x.tsv", TSV, SECOND | MONOLINGUAL, [("one",), ("two",)], {}),
        ("x.tsv", TSV, {"columns": {"en": 2, "de": 1}}, [("eins", "one"), ("zw ei", "two")], {}),
        ("x.tsv", TSV, {}, [("0.9", "one"), ("0.8", "two")], {}),
        ("x.en.tsv", TSV, SECOND | MONOLINGUAL | {"file": "x.{lang}.tsv"}, [("one",), ("two",)], {}),
        ("x.en.tsv", "1\tone\n", {"columns": {"en": 1}} | MONOLINGUAL | {"file": "x.{lang}.tsv"}, [("one",)], {}),
        ("x.tsv", RAGGED, {"invalid": "drop"}, [("one", "eins"), ("three", "drei")], MISSING),
        ("x.tmx.gz", TMX, {}, FISH, NO_SIDE),
        ("x.tmx.gz", TMX.replace("utf-8", "utf-16").encode("utf-16"), {}, FISH, NO_SIDE),
        ("x.tmx.gz", TMX.replace("utf-8", "utf-16").encode("utf-16-be"), {}, FISH, NO_SIDE),
        ("x.tmx.gz", TMX.replace("utf-8", "utf-32").encode("utf-32"), {}, FISH, NO_SIDE),
        ("x.tmx.gz", TMX.replace("utf-8", "utf-16"), {}, FISH, NO_SIDE),  # it is in UTF-8 all the same
        ("x.tmx.gz", TMX.replace("utf-8", "gb2312").encode("gb2312"), {}, FISH, NO_SIDE),
        (
            "x.tmx.gz",
            TMX.replace("Fish", "Füsh").replace("utf-8", "latin1").encode("latin1"),
            {},
            [("Füsh & chips", FISH[0][1]), FISH[1]],
            NO_SIDE,
        ),
        ("x.tmx.gz", TMX, {"lines": 3}, FISH, NO_SIDE),
        ("x.tmx.gz", TMX, MONOLINGUAL, [("Fish & chips",), ("only English",), ("two",)], {}),
        ("x.tmx", TAGALOG, {"pair": ("en", "tl")}, FISH, NO_SIDE),
        ("x.{lang}.sgm", (ENGLISH_SGM, GERMAN_SGM), {}, SEGMENTS, {}),
        ("x.db", BIBLE, VERSES, [("In the beginning", "Im Anfang")], NO_SIDE),
        ("x.db", BIBLE, VERSES | MONOLINGUAL, [("In the beginning",), ("two",)], {}),
        ("x.db", BIBLE, VERSES | {"query": "select x'48', 'b'"}, [("H", "b")], {}),
    ],
)
def test_structured_files(tmp_path, name, text, source, expected, dropped):
    pairs, about = fetched(tmp_path, **stored(tmp_path, name, text) | source)
    assert (pairs, about.dropped) == (expected, dropped)


@pytest.mark.parametrize(
    ("name", "text", "source", "message"),
    [
        ("x.tsv", RAGGED, {}, "x.tsv: line 2: has 1 columns, but column 1, counted from 0, is needed"),
        ("x.tmx", TMX[:-50], {}, "x.tmx: line 8: ends inside a <tu>; it was cut off"),
        ("x.tmx", TMX[:-4], {}, "x.tmx: line 9: ends before </tmx>; it was cut off"),
        ("x.tmx", TMX.replace("utf-8", "klingon"), {}, "unknown encoding klingon"),
        ("x.{lang}.sgm", (ENGLISH_SGM, GERMAN_SGM[:-35]), {}, "x.de.sgm: line 5: ends inside a <seg>; it was cut off"),
        (
            "x.{lang}.sgm",
            (ENGLISH_SGM, GERMAN_SGM[:-35].upper()),
            {},
            "x.de.sgm: line 5: ends inside a <seg>; it was cut off",
        ),
        ("x.db", BIBLE, VERSES | {"query": "select * from x"}, "x.db: no such table: x; mend the query or the file"),
        ("x.db", BIBLE, VERSES | {"query": "select name from bible"}, "record 1 has 1 columns, not 2"),
        ("x.db", "no database" * 100, VERSES, "x.db: file is not a database"),
    ],
)
def test_broken_structured_files(tmp_path, name, text, source, message):
    assert message in fails(tmp_path, **stored(tmp_path, name, text) | source)


@pytest.mark.slow
def test_a_large_tmx_is_not_held(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="de"><seg>eins</seg></tuv></tu>\n'
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{unit * 100_000}</body></tmx>")
    blocks, _ = opened(tmp_path, file="x.tmx")
    tracemalloc.start()
    assert sum(block.count(b"\n") for block in blocks) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 14 << 20  # of 9 MB
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.en.gz", "lines"), ("x.tsv.xz", "tsv"), ("https://h/a.tmx.gz?download=1", "tmx"),
        ("newstest-src.{lang}.sgm", "sgm"), ("b/bible.db", "sqlite"), ("news.2019.en.shuffled.deduped.gz", "lines"),
    ],
)  # fmt: skip
def test_format_by_name(name, expected):
    assert by_name(name).format == expected


# What is read of a text


def test_a_checksum_of_one_file(tmp_path):
    (tmp_path / "x.tsv").write_text("one\teins\n")
    found = hashlib.sha256(b"one\teins\n").hexdigest()
    assert fetched(tmp_path, file="x.tsv", sha256=found)[1].checksums == {"text": found}
    assert f"sha256 of the text is {found}, expected 0000" in fails(tmp_path, file="x.tsv", sha256="0" * 64)
    (tmp_path / "x.tsv").write_text("no columns\n")  # the wrong file is the better explanation
    assert "expected 0000" in fails(tmp_path, file="x.tsv", sha256="0" * 64)


def test_what_follows_the_last_line_that_is_kept_is_not_counted(tmp_path):
    pairs, about = fetched(tmp_path, **saved(tmp_path, bad_english(2, 7)), invalid="drop", max_lines=5)
    assert pairs == [pair for row, pair in enumerate(PAIRS[:6]) if row != 2] and about.dropped == {"invalid_utf8": 1}


def test_max_lines_does_not_spare_the_checksum(tmp_path):
    pairs, about = fetched(tmp_path, **saved(tmp_path), max_lines=5)
    assert pairs == PAIRS[:5]
    assert about.checksums["de"] == hashlib.sha256(GERMAN.encode()).hexdigest()


def test_two_files_of_one_name_are_not_both_the_one_in_the_mirror(tmp_path):
    (tmp_path / "talk.txt").write_text("hello\n")
    assert "x: no " in fails(tmp_path, file=str(tmp_path / "data/{lang}/talk.txt"))


@pytest.mark.parametrize("name", ["x.{lang}", "x.tsv", "x.{lang}.sgm"])
def test_carriage_returns_alone_end_lines(tmp_path, name):
    """Those of old Macs, and of Excel's "CSV (Macintosh)"."""
    pairs = PAIRS[:300]
    table = "".join("\t".join(pair) + "\n" for pair in pairs)
    english, german = ("".join(f"{side}\n" for side in sides) for sides in zip(*pairs, strict=True))
    texts = {"x.{lang}.sgm": (ENGLISH_SGM, GERMAN_SGM), "x.tsv": (table, table)}.get(name, (english, german))
    source = saved(tmp_path, *(text.replace("\n", "\r") for text in texts), name)
    assert fetched(tmp_path, **source)[0] == (SEGMENTS if "sgm" in name else pairs)
