"""TMX, WMT's SGM and SQLite: sentences in files that are not one sentence a line."""

import gzip
import tracemalloc

import pytest
from databases import BIBLE, bible
from mirrored_texts import fails, fetched, opened, saved
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora.readers import by_name

TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="EN-GB"><seg>Fish &amp; <bpt i="1">&lt;b></bpt><hi>chips</hi><ept i="1">&lt;/b></ept></seg></tuv>
<tuv xml:lang="de"><seg>Fisch
mit Pommes</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>only English</seg></tuv></tu>
<tu><tuv xml:lang="deu"><seg>zwei</seg></tuv><tuv xml:lang="eng"><seg>two</seg></tuv></tu>
</body></tmx>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tmx(tmp_path, encoding):
    (tmp_path / "x.tmx.gz").write_bytes(gzip.compress(TMX.replace("utf-8", encoding).encode(encoding)))
    pairs, about = fetched(tmp_path, file="x.tmx.gz")
    assert pairs == [("Fish & chips", "Fisch mit Pommes"), ("two", "zwei")]
    assert about.dropped == {"missing_side": 1}
    assert fetched(tmp_path, file="x.tmx.gz", lines=3)[0] == pairs
    assert len(fetched(tmp_path, file="x.tmx.gz", role="monolingual")[0]) == 3


def test_a_broken_tmx(tmp_path):
    (tmp_path / "x.tmx").write_text(TMX[:-50])
    assert "x.tmx: line 8: not XML" in fails(tmp_path, file="x.tmx")
    for encoding in ("gb2312", "klingon"):
        (tmp_path / "x.tmx").write_text(TMX.replace("utf-8", encoding))
        assert "convert the file to UTF-8" in fails(tmp_path, file="x.tmx")


def test_tagalog_has_its_own_code(tmp_path):
    (tmp_path / "x.tmx").write_text(TMX.replace('"de"', '"tl"').replace('"deu"', '"fil"'))
    assert len(fetched(tmp_path, file="x.tmx", pair=("en", "tl"))[0]) == 2


@pytest.mark.slow
def test_a_large_tmx_is_not_held(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="de"><seg>eins</seg></tuv></tu>\n'
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{unit * 30_000}</body></tmx>")
    blocks, _ = opened(tmp_path, file="x.tmx")
    tracemalloc.start()
    assert sum(block.count(b"\n") for block in blocks) == 30_000
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_sgm(tmp_path):
    sgm = '<srcset setid="x" srclang="any">\n<doc docid="1">\n<p>\n{}</p>\n</doc>\n</srcset>\n'
    english = '<seg id="1">Fish &amp; chips &#8211; &quot;x&quot;</seg>\n<SEG id="2">\n two\nlines</SEG>\n'
    german = '<seg id="1"> Fisch &lt;</seg>\n<seg id="2">zwei &copy; &#xdfff;</seg>\n'
    source = saved(tmp_path, sgm.format(english), sgm.format(german), name="x.{lang}.sgm")
    expected = [('Fish & chips – "x"', "Fisch <"), ("two lines", "zwei &copy; &#xdfff;")]
    assert fetched(tmp_path, **source)[0] == expected
    cut = sgm.format(german)[:-35]
    for german in (cut, cut.upper()):
        source = saved(tmp_path, sgm.format(english), german, name="x.{lang}.sgm")
        assert "x.de.sgm: ends inside a <seg>; it was cut off" in fails(tmp_path, **source)


def test_sqlite(tmp_path):
    bible(tmp_path / "x.db")
    source = {"file": "x.db", "names": {"en": "4", "de": "e"}}
    pairs, about = fetched(tmp_path, **source, query=BIBLE)
    assert pairs == [("In the beginning", "Im Anfang")]
    assert about.dropped == {"missing_side": 1}
    assert fetched(tmp_path, **source, role="monolingual", query=BIBLE)[0] == [("In the beginning",), ("two",)]
    assert fetched(tmp_path, **source, query="select x'48', 'b'")[0] == [("H", "b")]
    assert "x.db: no such table: x; mend the query or the file" in fails(tmp_path, **source, query="select * from x")
    assert "record 1 has 1 columns, not 2" in fails(tmp_path, **source, query="select name from bible")
    (tmp_path / "x.db").write_bytes(b"no database" * 100)
    assert "x.db: file is not a database" in fails(tmp_path, **source, query=BIBLE)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.en.gz", "lines"), ("x.tsv.xz", "tsv"), ("https://h/a.tmx.gz?download=1", "tmx"),
        ("newstest-src.{lang}.sgm", "sgm"), ("b/bible.db", "sqlite"), ("news.2019.en.shuffled.deduped.gz", "lines"),
    ],
)  # fmt: skip
def test_format_by_name(name, expected):
    assert by_name(name).format == expected
