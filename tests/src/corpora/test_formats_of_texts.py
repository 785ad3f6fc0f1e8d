"""JSON Lines, CSV, XLIFF, PO and Parquet: written by other libraries and read back; cut off, and with bytes flipped."""

import csv
import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from mirrored_texts import fails, fetched, read
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from formats import records
from nmt_frontier.errors import UserError

EXPECTED = [(f"The dog, number {number}, runs “now”.", f'Der "Hund" {number}; er rennt.') for number in range(40)]
CODES = ("en", "de")


def jsonl(pairs, wrap=True):
    objects = (dict(zip(CODES, pair, strict=True)) for pair in pairs)
    return "".join(f"{json.dumps({'translation': each} if wrap else each)}\n" for each in objects).encode()


def table(pairs, delimiter=",", header=CODES):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([header, *pairs])
    return text.getvalue().encode()


def xliff(pairs, version="1.2"):
    new = version == "2.0"
    namespace = f"urn:oasis:names:tc:xliff:document:{version}"
    root = etree.Element(f"{{{namespace}}}xliff", nsmap={None: namespace, "own": "urn:own"}, version=version)
    file = etree.SubElement(root, f"{{{namespace}}}file", {"{urn:own}x": "y"})
    languages = ("srcLang", "trgLang") if new else ("source-language", "target-language")
    for name, code in zip(languages, ("en-GB", "de"), strict=True):
        (root if new else file).set(name, code)
    body = file if new else etree.SubElement(file, f"{{{namespace}}}body")
    for pair in pairs:
        unit = etree.SubElement(body, f"{{{namespace}}}{'unit' if new else 'trans-unit'}", {"{urn:own}state": "x"})
        unit = etree.SubElement(unit, f"{{{namespace}}}segment") if new else unit
        for name, side in zip(("source", "target"), pair, strict=True):
            etree.SubElement(unit, f"{{{namespace}}}{name}").text = side
        unit.tail = "\n"
    return etree.tostring(root, xml_declaration=True, encoding="utf-8")


def xliff2(pairs):
    return xliff(pairs, "2.0")


def po(pairs, language="de"):
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import write_po

    catalog, written = Catalog(locale=language, charset="utf-8"), io.BytesIO()
    for source, target in pairs:
        catalog.add(source, target, locations=[("main.c", 1)])
    write_po(written, catalog, width=40)
    return written.getvalue()


def parquet(pairs, struct=True):
    import pyarrow
    from pyarrow.parquet import write_table

    rows = [dict(zip(CODES, pair, strict=True)) for pair in pairs]
    made, written = pyarrow.Table.from_pylist([{"translation": row} for row in rows] if struct else rows), io.BytesIO()
    write_table(made, written, row_group_size=11, write_page_checksum=True)
    return written.getvalue()


WRITERS = {
    "jsonl": jsonl, "csv": table, "xliff": xliff, "xliff 2.0": xliff2, "po": po, "parquet": parquet,
}  # fmt: skip
TEXTS = [name for name in WRITERS if name != "parquet"]
NEEDS_PYARROW = pytest.mark.optional("pyarrow")
ALL = [*TEXTS, pytest.param("parquet", marks=NEEDS_PYARROW)]


@pytest.mark.parametrize("name", ALL)
def test_what_a_library_writes_is_read(name):
    assert read(name, WRITERS[name](EXPECTED)) == (EXPECTED, [])
    assert read(name, WRITERS[name](EXPECTED), chunk=50) == (EXPECTED, [])
    assert read(name, WRITERS[name](EXPECTED), languages=["en"], columns=[0])[0] == [
        (source,) for source, _ in EXPECTED
    ]


SENTENCE = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1
)


@pytest.mark.parametrize("name", ALL)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8, unique_by=lambda pair: pair[0]))
def test_any_sentence_comes_back(name, pairs):
    expected = [tuple(map(records.sentence, pair)) for pair in pairs]
    found, dropped = read(name, WRITERS[name](pairs))
    assert sorted(found) == sorted(expected) if name == "po" else found == expected
    assert not dropped


DATA = {name: WRITERS[name](EXPECTED) for name in TEXTS}


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_flipped_bytes_and_cut_ends_shift_nothing(name, data):
    """A number inside a sentence says which pair it is of."""
    text = DATA[name]
    place, byte = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(0, 255))
    flipped = text[:place] + bytes([byte]) + text[place + 1 :]
    for damaged in (flipped, text[:place], flipped[: data.draw(st.integers(0, len(text)))]):
        try:
            found, _ = read(name, damaged)
        except UserError as error:
            assert "\n" not in str(error)
            continue
        wrong = [pair for pair in found if pair not in EXPECTED]
        assert len(wrong) <= 2, wrong  # the damaged pair, and the one that was cut off
        unknown_language = name.startswith("xliff") and not found
        assert len(found) >= 37 or len(damaged) < len(text) or unknown_language, found


@NEEDS_PYARROW
def test_damaged_parquet_is_an_error():
    data = parquet(EXPECTED)
    for damaged in (data[:-100], data[: len(data) // 2], b"PAR1" + data[400:], data.replace(b"number 3", b"number 4")):
        with pytest.raises(UserError, match="no whole Parquet"):
            read("parquet", damaged)


def test_columns_by_name_and_by_number():
    pairs = [("one", "eins"), ("two", "zwei")]
    assert read("jsonl", jsonl(pairs, wrap=False))[0] == pairs
    assert read("jsonl", b'{"src": "one", "tgt": "eins", "n": 1}\n', ["src", "tgt"])[0] == pairs[:1]
    assert read("jsonl", b'{"translation": {"en_XX": "one", "de-AT": "eins"}}\n')[0] == pairs[:1]
    for delimiter in ",;\t|":
        assert read("csv", table(pairs, delimiter))[0] == pairs
        assert read("csv", table(pairs, delimiter, ["source text", "Ziel"]), ["source text", "Ziel"])[0] == pairs
    assert read("csv", table([pair[::-1] for pair in pairs], header=["de", "en"]))[0] == pairs
    assert read("csv", b"1,eins,one\r\n2,zwei,two", [2, 1])[0] == pairs
    assert read("csv", b"one,eins\ntwo,zwei\n")[0] == pairs
    assert read("csv", b'"one\nand, ""a"" half",eins\n')[0] == [('one and, "a" half', "eins")]


def test_what_is_no_pair_is_dropped_with_its_reason():
    assert (
        read("jsonl", b'{"en": "one"}\n[1]\n{"en": 1, "de": "x"}\n\n{"en"\n')[1] == ["missing_side"] + ["malformed"] * 3
    )
    assert read("jsonl", b'{"en": "\\ud800", "de": "x"}\n' + b"[" * 100_000)[1] == ["malformed"] * 2
    ragged = b'en,de\none,eins\nonly\n"two" x,zwei\nthree\xff,drei\nfour,vier\n"five,f\n'
    found, dropped = read("csv", ragged)
    assert found == [("one", "eins"), ("four", "vier")]
    assert dropped == ["missing_column", "malformed", "invalid_utf8", "malformed"]
    fuzzy = (
        po(EXPECTED[:2]) + b'\n#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n\n#~ msgid "d"\n#~ msgstr "e"\n'
    )
    assert read("po", fuzzy) == (EXPECTED[:2], ["not_a_translation", "missing_side"])


def test_po_has_plurals_and_a_language():
    text = b'msgid "%d dog\\n"\nmsgid_plural "%d "\n"dogs"\nmsgstr[0] "%d Hund"\nmsgstr[1] "%d Hunde"\n'
    assert read("po", text)[0] == [("%d dog", "%d Hund"), ("%d dogs", "%d Hunde")]
    assert read("po", po(EXPECTED), languages=["de", "en"])[0] == [pair[::-1] for pair in EXPECTED]


def test_xliff_of_several_files_with_inline_codes():
    unit = "<trans-unit><source>a <g>b</g><ph>%d</ph></source><target>{}</target></trans-unit>"
    files = [
        f'<file source-language="{source}" {target}><body>{unit.format(text)}</body></file>'
        for source, target, text in (
            ("en", "", "c"),
            ("en", 'target-language="fr"', "d"),
            ("de", 'target-language="en"', "e"),
        )
    ]
    untranslated = files[0].replace("<target>c</target>", "")
    found, dropped = read("xliff", f'<xliff version="1.2">{"".join(files)}{untranslated}</xliff>'.encode())
    assert found == [("a b", "c"), ("e", "a b")] and dropped == ["missing_side"] * 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            {"file": "x.csv", "columns": {"en": "no", "de": "de"}},
            "x.csv: line 1: no column no (columns); it has en, de",
        ),
        ({"file": "x.csv", "columns": {"en": 0, "de": 5}}, "x.csv: line 1: no column 5 (columns); it has en, de"),
        ({"file": "x.jsonl"}, "x: the text is empty; of 2 lines all were dropped: {'missing_side': 2}"),
    ],
)
def test_wrong_columns(tmp_path, source, message):
    (tmp_path / "x.csv").write_bytes(table([("one", "eins")]))
    (tmp_path / "x.jsonl").write_text('{"a": "one", "b": "eins"}\n' * 2)
    assert message in fails(tmp_path, **source)


def test_formats_by_name(tmp_path):
    for name in ("x.jsonl", "x.csv", "x.xlf", "x.po"):
        (tmp_path / name).write_bytes(DATA[{"xlf": "xliff"}.get(name[2:], name[2:])])
        assert fetched(tmp_path, file=name)[0] == EXPECTED
