"""Tables as programs and people write them: which delimiter, where the header stands, what its columns are called."""

import csv
import io

import pytest
from mirrored_texts import fetched
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora.readers import READERS
from corpora.readers.reader import Input, Selection, Unread
from corpora.readers.tables import delimiter_of
from nmt_frontier.errors import UserError
from study.new.contents import columns

PAIRS = [("A dog runs.", "Ein Hund läuft."), ("The end; or not, who knows?", "Das Ende.")]
BACK = [pair[::-1] for pair in PAIRS]


def table(rows, delimiter, quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting).writerows(rows)
    return text.getvalue()


def read(text, name="csv", columns=(0, 1), languages=("en", "de")):
    kept, dropped = [], []
    reader = READERS[name](Selection([*languages], [*columns]))
    for block in reader.blocks([text.encode()], Input("x", Unread())):
        rows = enumerate(zip(*block.columns, strict=True))
        kept += [row for number, row in rows if number not in block.dropped]
        dropped += block.dropped.values()
    return kept, dropped


@pytest.mark.parametrize("delimiter", ",;\t|^:")
def test_a_first_line_names_the_delimiter(delimiter):
    for line in (f"sep={delimiter}", f"SEP={delimiter * 2}", f'"sep={delimiter}"'):
        assert read(f"\ufeff{line}\r\n{table([('de', 'en'), *BACK], delimiter)}") == (PAIRS, [])
        assert read(f"{line}\r\n{table(PAIRS, delimiter)}") == (PAIRS, [])


@pytest.mark.parametrize("delimiter", ",;\t|")
def test_the_delimiter_is_that_of_the_records_and_not_of_the_first_line(delimiter):
    others = "".join({*",;\t|"} - {delimiter})
    first = (f"a{others * 3}b", f'say "{others}"\n{others}')
    rows = [first, *[(f"one {number}", "eins, zwei; drei") for number in range(9)]]
    for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
        lines = table(rows, delimiter, quoting).replace("\r\n", "\n").split("\n")
        assert delimiter_of(lines, Selection(["en", "de"], [0, 1])) == delimiter
    assert read("Hello, dear, dear friend;Hallo\nBye;Ade\n")[0] == [
        ("Hello, dear, dear friend", "Hallo"),
        ("Bye", "Ade"),
    ]


@pytest.mark.parametrize(
    "header",
    [("de", "en"), ("de-AT", "EN_us"), ("German", "English"), ("Deutsch", "English (United States)"),
     ("Target", "Source"), ("target text", "source_text"), ("German translation", "en"), ("Deutsch", "Englisch"),
     ("Zielsprache", "Ausgangssprache"), ("Cible", "Source")],
)  # fmt: skip
@pytest.mark.parametrize("above", [[], [("", "")], [("My glossary", ""), ("of", "today")]])
def test_a_header_is_no_text_wherever_it_stands_and_says_the_order(header, above):
    assert read(table([*above, header, *BACK, header, *BACK], ";"))[0] == PAIRS * 2
    kept, dropped = read("".join("\t".join(row) + "\n" for row in (*above, header, *BACK)), "tsv")
    assert kept == PAIRS and dropped == ["header"] * (len(above) + 1)


def test_columns_of_codes_are_not_those_of_texts():
    rows = [("id", "source_lang", "target_lang", "target", "source"), *[("1", "en", "de", *pair) for pair in BACK]]
    assert read(table(rows, ",")) == (PAIRS, [])


def test_a_header_is_searched_by_the_names_of_the_configuration():
    rows = [("Export", "", ""), ("n", "Ziel", "Quelle"), *[("1", *pair) for pair in BACK]]
    assert read(table(rows, ","), columns=("Quelle", "Ziel")) == (PAIRS, ["header"])
    with pytest.raises(UserError, match="no column Text"):
        read(table(rows, ","), columns=("Text", "Ziel"))


def test_joined_tables_keep_their_sides():
    assert read(table([("en", "de"), *PAIRS, ("de", "en"), *BACK], ","))[0] == PAIRS * 2


def test_what_is_like_a_header_is_text():
    rows = [("It is English.", "Es ist Englisch."), ("English", "Englisch"), ("no", "nein"), ("source", "Quelle")]
    assert read(table(rows, ","))[0] == rows
    assert read("eins\nde\nno\n", "csv", [0], ["de"])[0] == [("eins",), ("de",), ("no",)]


def test_a_study_has_no_row_of_text_above_the_header(tmp_path):
    (tmp_path / "x.csv").write_text("sep=;\nexported;today\n" + table([("de", "en"), *BACK], ";"))
    pairs, provenance = fetched(tmp_path, file="x.csv")
    assert pairs == PAIRS and provenance.dropped == {"header": 1}
    for name, kind in (("x.csv", "csv"), ("x.tsv", "tsv")):
        if kind == "tsv":
            (tmp_path / name).write_text("de\ten\n" + table(BACK, "\t"))
        assert columns(tmp_path / name, READERS[kind], None, ["en", "de"]) is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", '"He said \\"yes\\", ok","Er sagte \\"ja\\", ok"\n' * 3, "x.csv: line 1: no CSV "),
        ("x.csv", "\n\n", "x.csv: has no row of text"),
        ("x.tsv", "", "x.tsv: has no row of text"),
    ],
)
def test_a_new_study_says_in_one_line_that_no_row_can_be_read(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        columns(tmp_path / name, READERS[name[2:]], None, ["en", "de"])
    assert message in str(error.value) and "\n" not in str(error.value)
