"""Files as the programs write them that publish, align and translate texts; each has the source of its form.

What is read gives its pairs. What is not read is refused in one line, never learned as text.
"""

import json
from types import SimpleNamespace

import pytest
from mirrored_texts import PAIRS, fails, fetched, tarred, zipped
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from nmt_frontier.errors import UserError
from study.new import files
from study.new.__main__ import segmented
from study.new.contents import identifier

PAIRS = [*PAIRS[:30], ('He said, "Go!"', 'Er sagte: "Geh!"')]
LINES = {code: "".join(f"{pair[side]}\n" for pair in PAIRS) for side, code in enumerate(("en", "de"))}


def rows(template, pairs=PAIRS):
    """A row for each pair: {0} and {1} are its sides, {n} its number."""
    return "".join(template.format(*pair, n=number) for number, pair in enumerate(pairs))


def quoted(text):
    return '"{}"'.format(text.replace('"', '""'))


def wmt(pairs=PAIRS):
    """wmt-conference/wmt-format-tools: schema/wmt-schema.rnc; from 2022 on documents are in collections."""

    def side(tag, texts, more=""):
        segments = "".join(f'<seg id="{number}">{text}{more}</seg>\n' for number, text in enumerate(texts, 1))
        return f"<{tag}>\n<p>\n{segments}</p>\n</{tag.split()[0]}>\n"

    documents = []
    for start in range(0, len(pairs), 10):
        source, target = zip(*pairs[start : start + 10], strict=True)
        sides = [
            side('src lang="en"', source),
            side('ref lang="de" translator="refA"', target),
            side('ref lang="de" translator="refB"', target, " B"),
            side('hyp system="ONLINE-A" language="de"', target, " hyp"),
        ]
        documents.append(f'<doc origlang="en" id="d{start}" domain="news">\n{"".join(sides)}</doc>\n')
    suite = '<doc origlang="en" id="suite" testsuite="x"><src lang="en"><p><seg id="1">Alone.</seg></p></src></doc>\n'
    inside = f'<collection id="general">\n{"".join(documents)}{suite}</collection>\n'
    return f"<?xml version='1.0' encoding='utf-8'?>\n<dataset id=\"wmttest2023.en-de\">\n{inside}</dataset>\n"


def qt(pairs=PAIRS):
    """doc.qt.io: TS file format; lupdate marks what is unfinished, and obsolete and vanished what has no source."""
    message = "<message>\n<source>{}</source>\n<translation{}>{}</translation>\n</message>\n"
    kinds = ["", ' type="unfinished"', ' type="vanished"', ' type="obsolete"']
    made = "".join(message.format(source, kinds[row % 4], target) for row, (source, target) in enumerate(pairs))
    forms = "<numerusform>%n Hund</numerusform><numerusform>%n Hunde</numerusform>"
    made += f'<message numerus="yes"><source>%n dogs</source><translation>{forms}</translation></message>'
    root = '<TS version="2.1" language="de_DE">'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{root}\n<context>\n{made}</context>\n</TS>\n'


FINISHED = [pair for row, pair in enumerate(PAIRS) if row % 4 in (0, 2)] + [("%n dogs", "%n Hunde")]
NESTED = [{"translation": {"en": source, "de": target}} for source, target in PAIRS]
TALK = "<url>http://a.com/1</url>\n<keywords>talks</keywords>\n<speaker>A. B.</speaker>\n<talkid>1</talkid>\n"
SCORED = "lp,src,mt,ref,score\n" + "".join(
    f"en-de,{quoted(source)},{quoted(target + ' MT')},{quoted(target)},0.5\n" for source, target in PAIRS
)
WEBLATE = '"location","source","target","id","fuzzy"\n' + "".join(
    f'"a.c:{row}",{quoted(source)},{quoted(target)},"{row}","{row % 2 == 1}"\n'
    for row, (source, target) in enumerate(PAIRS)
)

READ = {
    "WMT 2021 and later": ("x.xml", wmt(), {"format": "wmt"}, PAIRS, {"missing_side": 1}),
    "Qt Linguist": ("x.ts", qt(), {}, FINISHED, {"not_a_translation": 15}),
    # huggingface/datasets: Dataset.to_json(lines=False), json.dump
    "array in a line": ("x.json", json.dumps(NESTED), {}, PAIRS, {}),
    "array in many": ("x.json", json.dumps(NESTED, indent=2), {}, PAIRS, {}),
    "JSON Lines in .json": ("x.json", "".join(f"{json.dumps(each)}\n" for each in NESTED), {}, PAIRS, {}),
    # google/wmt24pp: the target is original_target after a post-edition
    "named by sides": (
        "x.jsonl",
        "".join(f"{json.dumps(dict(source=s, original_target='x', target=t))}\n" for s, t in PAIRS),
        {}, PAIRS, {},
    ),
    # huggingface/datasets: TranslationVariableLanguages
    "lists of languages": (
        "x.jsonl",
        "".join(f"{json.dumps({'translation': dict(language=['en', 'de'], translation=pair)})}\n" for pair in PAIRS),
        {}, PAIRS, {},
    ),
    # clab/fast_align, neulab/awesome-align
    "bars of aligners": ("x.txt", rows("{0} ||| {1}\n"), {"format": "tsv"}, PAIRS, {}),
    # facebookresearch/covost: covost_v2.en_de.tsv; RicardoRei's tables of WMT's scores
    "CoVoST": ("x.tsv", "path\tsentence\ttranslation\n" + rows("en_{n}.mp3\t{0}\t{1}\n"), {}, PAIRS, {"header": 1}),
    "tables of scores": ("x.csv", SCORED, {}, PAIRS, {}),
    # translate-toolkit's csvl10n, which Weblate exports
    "fuzzy rows": ("x.csv", WEBLATE, {}, PAIRS[::2], {"not_a_translation": 15}),
    # Helsinki-NLP/Tatoeba-Challenge: test.txt; every row has both codes, which are no header
    "Tatoeba Challenge": (
        "x.txt", rows("eng\tdeu\t{0}\t{1}\n"), {"format": "tsv", "columns": {"en": 2, "de": 3}}, PAIRS, {},
    ),
    "pandas, with tabs": (
        "x.tsv", "".join(f"{quoted(source)}\t{quoted(target)}\n" for source, target in PAIRS),
        {"format": "csv"}, PAIRS, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ)
def test_what_is_read(tmp_path, kind):
    name, text, source, expected, dropped = READ[kind]
    (tmp_path / name).write_text(text)
    pairs, about = fetched(tmp_path, file=name, **source)
    assert pairs == expected and about.dropped == dropped


@pytest.mark.optional("pyarrow")
@pytest.mark.parametrize("name", ["stream", "file"])
def test_what_datasets_saves_to_disk(tmp_path, name):
    import pyarrow
    from pyarrow.parquet import write_table

    table = pyarrow.Table.from_pylist(NESTED)
    with getattr(pyarrow.ipc, f"new_{name}")(str(tmp_path / "x.arrow"), table.schema) as written:
        written.write_table(table, max_chunksize=7)
    assert fetched(tmp_path, file="x.arrow")[0] == PAIRS
    write_table(
        pyarrow.Table.from_pylist([{"sentence_deu_Latn": b, "sentence_eng_Latn": a} for a, b in PAIRS]),
        tmp_path / "x.parquet",  # facebook/flores
    )
    assert fetched(tmp_path, file="x.parquet")[0] == PAIRS


def test_a_test_set_gives_what_sacrebleu_reads(tmp_path):
    from sacrebleu.dataset.wmt_xml import WMTXMLDataset

    (tmp_path / "x.xml").write_text(wmt())
    fields = WMTXMLDataset._unwrap_wmt21_or_later(str(tmp_path / "x.xml"))
    assert fetched(tmp_path, file="x.xml", format="wmt")[0] == [*zip(fields["src"], fields["ref:refA"], strict=True)]
    sources = [source for (source,) in fetched(tmp_path, role="monolingual", file="x.xml", format="wmt")[0]]
    assert sources == [*fields["src"], "Alone."]


def test_text_of_talks(tmp_path):
    """IWSLT's train.tags.en-de.en: lines about a talk, and tags around its title."""
    for code in ("en", "de"):
        about = f"{TALK}<title>Talk {code}</title>\n<reviewer href='x'>C. D.</reviewer>\n"
        (tmp_path / f"x.{code}").write_text(f"<doc docid='1'>\n{about}{LINES[code]}</doc>\n")
    pairs, about = fetched(tmp_path, file="x.{lang}")
    assert pairs == [("Talk en", "Talk de"), *PAIRS] and about.dropped == {"not_a_translation": 7}


def test_members_of_archives_of_other_programs(tmp_path):
    zipped(tmp_path / "x.zip", {f"data\\x.{code}": text for code, text in LINES.items()})
    tarred(tmp_path / "x.tar.gz", {f"./data/x.{code}": text.encode() for code, text in LINES.items()})
    for name, member in (("x.zip", "data/x.{lang}"), ("x.tar.gz", "./data/x.{lang}"), ("x.tar.gz", "data/*.{lang}")):
        assert fetched(tmp_path, file=name, member=member)[0] == PAIRS


def test_an_array_that_is_damaged(tmp_path):
    text = json.dumps(NESTED, indent=1)
    (tmp_path / "x.json").write_text(text.replace('"A dog runs over field 3."', "3"))
    pairs, about = fetched(tmp_path, file="x.json", invalid="drop")
    assert pairs == PAIRS[:3] + PAIRS[4:] and about.dropped == {"malformed": 1}
    assert about.samples["malformed"][0][0].endswith("x.json: line 20: no JSON object with text")
    for end in (len(text) - 1, len(text) // 2):
        (tmp_path / "x.json").write_text(text[:end])
        assert fails(tmp_path, file="x.json").endswith("it was cut off")


MESSAGES = "has the texts of a program by their keys; make PO of both languages, with the Translate Toolkit"
XML = '<?xml version="1.0" encoding="utf-8"?>\n'
REFUSED = {  # texts of one language, read as lines
    "OPUS (XCES)": (
        f'{XML}<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">\n<cesAlign version="1.0">\n'
        '<linkGrp targType="s" fromDoc="en/a.xml.gz" toDoc="de/a.xml.gz">\n<link xtargets="s1;s1" id="SL1"/>\n',
        "has links of OPUS between sentences",
    ),
    "term base": (f'{XML}<martif type="TBX" xml:lang="en"><text/></martif>\n', "is a term base; export it as TMX"),
    # translate-toolkit: storage/wordfast.py
    "Wordfast": ("%20200101~000000\t%User ID,A\t%TU=00000001\t%EN-US\t%Wordfast TM v.5\t%DE-DE\n", "of Wordfast"),
    "Trados 2007": (
        '<TWBExportFile version="7.0" generator="TW4Win" build="8.2.0.835">\n<RTF Preamble>\n',
        "of Trados",
    ),
    "Android": (f'{XML}<!-- a --><resources>\n<string name="a">Open</string>\n</resources>\n', MESSAGES),
    "Apple": ('/* No comment */\n"a" = "Open \\"it\\"";\n', MESSAGES),
    "Apple's catalogue": ('{\n  "sourceLanguage" : "en",\n  "strings" : {}\n}\n', MESSAGES),
    "i18next": ('{\n  "a": "Open",\n  "b": "Close"\n}\n', MESSAGES),
    "Rails": ('en:\n  menu:\n    a: "Open"\n', MESSAGES),
    "Fluent": ("# menu\n\na = Open\nb = Close\n    .title = it\nc = Save\nd = Exit\ne = Help\n", MESSAGES),
    ".resx": (f'{XML}<root>\n<data name="a"><value>Open</value></data>\n</root>\n', "XML of no format that is read"),
    "TMX": (
        f'{XML}<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n',
        "begins as tmx does; say so (format: tmx)",
    ),
    "IWSLT's test sets": (f'{XML}<mteval>\n<srcset setid="a" srclang="english">\n', "say so (format: sgm)"),
    "JSON Lines": ('{"en": "a", "de": "b"}\n', "begins as jsonl does"),
    "PO": ('# Translation\nmsgid ""\nmsgstr ""\n', "begins as po does"),
    "7-Zip": ("7z\xbc\xaf\x27\x1c\0\4", "is an archive of 7-Zip or RAR; unpack it"),
    "RAR": ("Rar!\x1a\7\1\0", "is an archive of 7-Zip or RAR; unpack it"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_lines(tmp_path, kind):
    text, message = REFUSED[kind]
    (tmp_path / "x.txt").write_text(text, encoding="latin-1")
    assert message in fails(tmp_path, role="monolingual", file="x.txt")
    if message.startswith(("has", "begins")):  # it may be meant
        assert fetched(tmp_path, role="monolingual", file="x.txt", format="lines")[0]


LINES_OF_TEXT = [
    "<b>Save</b> the file.", '"Go," he said.', "Tom: hello", "x = 5", "[1] See above.", "{name} came.", "# a comment",
    "<user> is unknown", "msgid is a keyword", '"a" is "b".', "de: the code", "<br> is a tag", "/* no comment */",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES_OF_TEXT)
def test_what_only_looks_like_another_format_stays(tmp_path, line):
    lines = [line, *LINES["en"].splitlines()]
    (tmp_path / "x.txt").write_text("".join(f"{line}\n" for line in lines))
    pairs, about = fetched(tmp_path, role="monolingual", file="x.txt")
    assert [source for (source,) in pairs] == lines and not about.dropped


TABLES = {  # columns of which nobody said that they are text
    "Tatoeba's sentences": ("x.tsv", rows("{n}\teng\t{0}\n"), "column 0 is no text (1, 2, ...)"),
    "Tatoeba's pairs": ("x.tsv", "\ufeff" + rows("{n}\t{0}\t{n}\t{1}\n"), "say which of the 4 columns are"),
    "WikiMatrix": ("x.tsv", rows("1.{n}\t{0}\t{1}\ten\tde\n"), "column 0 is no text (1.1, 1.2, ...)"),
    "ParaCrawl": ("x.tsv", rows("http://a.com/\thttp://a.de/\t{0}\t{1}\n"), "column 0 is no text (http://a.com/, ...)"),
    "languages": ("x.csv", rows("en-de,news,{n}\n"), "column 0 is no text (en-de, ...)"),
    "pandas, with tabs": ("x.tsv", "en\tde\n" + rows("{0}\t{1}\n") + '"a ""b"""\tc\n', "say so (format: csv)"),
    "QUOTE_ALL": ("x.tsv", rows('"{0}"\t"{1}"\n', PAIRS[:-1]), "its cells have quotes as in CSV"),
    "Parquet's names": ("x.csv", "translation\n" + rows("{n}\n"), "no column 1 (columns); it has translation"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_columns_that_are_no_text(tmp_path, kind):
    name, text, message = TABLES[kind]
    (tmp_path / name).write_text(text)
    assert message in fails(tmp_path, file=name)


def test_xml_of_another_format(tmp_path):
    (tmp_path / "x.xml").write_text(wmt())
    assert fails(tmp_path, file="x.xml", format="tmx").endswith(
        "x.xml: has no <tmx>; it has another format, or it was cut off"
    )


def proposed(*paths):
    corpora, notes = files.corpora(paths, ["en", "de"])
    return [(corpus.role, corpus.source | {"file": corpus.format}) for corpus in corpora], notes


@pytest.mark.parametrize(
    ("name", "text", "format", "keys"),
    [
        ("wmttest2023.xml", wmt(), "wmt", {"format": "wmt"}),
        ("app_de.ts", qt(), "ts", {}),
        ("train.json", json.dumps(NESTED), "jsonl", {}),
        ("train.tsv", READ["pandas, with tabs"][1], "csv", {"format": "csv"}),
        ("a.txt", rows("{0} ||| {1}\n"), "tsv", {"format": "tsv"}),
        ("a.tsv", rows("1.{n}\t{0}\t{1}\ten\tde\n"), "tsv", {"columns": {"en": 1, "de": 2}}),
    ],
)
def test_a_new_study_finds_formats_by_their_beginnings(tmp_path, monkeypatch, name, text, format, keys):
    monkeypatch.setattr(identifier(), "labels", lambda texts: ["de" if "Hund" in text else "en" for text in texts])
    (tmp_path / name).write_text(text)
    (tmp_path / "package.json").write_text('{\n  "name": "a"\n}\n')
    (tmp_path / "x.scores").write_text("0.9\n")
    found, notes = proposed(tmp_path)
    assert found == [("train", {"file": format, **keys})]
    assert notes == [f"{tmp_path}: left out by their names: package.json, x.scores"]


def test_a_new_study_pairs_sgm_in_xml(tmp_path):
    for code, tag, text in (("en", "srcset", LINES["en"]), ("de", "refset", LINES["de"])):
        segments = "".join(f'<seg id="1"> {line} </seg>\n' for line in text.splitlines())
        (tmp_path / f"train.{code}.xml").write_text(f"{XML}<mteval>\n<{tag}>\n{segments}</{tag}>\n</mteval>\n")
    assert proposed(tmp_path)[0] == [("train", {"file": "sgm", "format": "sgm"})]
    with pytest.raises(UserError, match=r"a folder without texts; .*: left out by their names: a\.md"):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "a.md").write_text("a")
        proposed(tmp_path / "a")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("a lo@@ ng story", "x: 100 % of its lines have pieces of BPE"),  # rsennrich/subword-nmt
        ("\u2581a \u2581story", "x: 100 % of its lines have pieces of SentencePiece"),
        ("it &apos;s a well @-@ known story .", "x: 100 % of its lines have tokens of Moses"),  # tokenizer.perl -a
        ("It's a well-known story @ home & away.", None),
    ],
)
def test_a_new_study_says_which_text_is_cut(line, what):
    look = SimpleNamespace(sample=[(line, "eine Geschichte")] * 50, corpus=SimpleNamespace(name="x"))
    assert [text.split(";")[0].split(" (")[0] for text in segmented([look])] == ([what] if what else [])
