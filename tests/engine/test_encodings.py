"""Text to translate in any encoding and with any line ends, as corpora have it."""

import codecs
import io
import os

import native
import pytest
from models import sentences
from translation import run

from nmt_frontier.errors import UserError
from nmt_frontier.text.encodings import LONGEST_BEGINNING, line_feeds, utf8_lines

TEXT = "".join(f"Ein Hund läuft {number}.\n" for number in range(300))
MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE,
         "utf-32-le": codecs.BOM_UTF32_LE}  # fmt: skip


def read(data, encoding=None):
    return utf8_lines(io.BufferedReader(io.BytesIO(data)), "x", encoding).read()


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_mark_and_any_line_ends(encoding, end):
    data = MARKS[encoding] + TEXT.replace("\n", end).encode(encoding)
    assert read(data).decode().replace("\r\n", "\n") == TEXT
    assert read(TEXT.encode("cp1252"), "cp1252").decode() == TEXT


def test_other_text_is_the_file_itself():
    for data in (b"", b"a", b"a\n", b"a\r\n", b"a\r", b"one\rline\n", "läuft\n".encode(), b"\xff\n"):
        source = io.BufferedReader(io.BytesIO(data))
        assert utf8_lines(source, "x") is source and source.read() == data


def test_carriage_returns_alone_in_any_chunks():
    data = TEXT.replace("\n", "\r").encode()
    for size in (1, 7, 100_000):
        chunks = (data[at : at + size] for at in range(0, len(data), size))
        assert b"".join(line_feeds(chunks, "x")).decode() == TEXT
    with pytest.raises(UserError, match="x: lines end in carriage returns alone and in line feeds; convert"):
        b"".join(line_feeds([b"a\r" * LONGEST_BEGINNING, b"b\n"], "x"))


@pytest.mark.parametrize("text", [b"a\rb\rc\n", b"a\rb\rc\r\n"])
def test_a_last_line_feed_makes_no_single_line_of_a_text(text):
    with pytest.raises(UserError, match="x: lines end in carriage returns alone and in line feeds; convert"):
        b"".join(line_feeds([text], "x"))
    for kept in (b"a\rb\nc\n", b"h\n" + text, b"a\r\nb\r\n\rc\r\n"):
        assert b"".join(line_feeds([kept], "x")) == kept


def test_utf16_without_a_mark_is_one_line():
    with pytest.raises(UserError, match=r"x: looks like UTF-16 .*; say so \(encoding: utf-16-le"):
        read(TEXT.encode("utf-16-le"))
    assert read(TEXT.encode("utf-16-le"), "utf-16-le").decode() == TEXT


def test_nothing_is_waited_for_after_the_first_line():
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as target:
        target.write(b"one\n")
        assert utf8_lines(source, "x").readline() == b"one\n"


@pytest.mark.slow
def test_the_command_translates_all_of_them_alike(tmp_path):
    model, lines = native.folders() / "float32", [*sentences(20, seed=3), ""]
    expected = run("--model", model, text="\n".join(lines).encode()).stdout
    assert expected.count(b"\n") == 20
    for encoding, end in (("utf-16", "\n"), ("utf-16", "\r\n"), ("utf-8", "\r"), ("utf-8-sig", "\r")):
        (tmp_path / "in").write_bytes(end.join(lines).encode(encoding))
        assert run("--model", model, "--input", tmp_path / "in").stdout == expected
        done = run("--model", model, "--output", tmp_path / "out", text=end.join(lines).encode(encoding))
        assert done.returncode == 0 and (tmp_path / "out").read_bytes() == expected
