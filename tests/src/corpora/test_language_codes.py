"""Codes of languages, whatever a file, a program or a person writes: which side they mean, and which variant of it."""

import json
import sys

import langcodes
import numpy as np
import pytest
from mirrored_texts import fails, opened, read, rows

from corpora import fetch, rules
from corpora.language import Identifier
from corpora.language_codes import Sides, means
from corpora.readers import READERS
from corpora.settings import LANGUAGES
from corpora.text_features import Measured, characters
from formats.batches import indexed
from nmt_frontier.files import read_json
from nmt_frontier.languages import _THREE, shortest

CODES = {
    "nb": "no nb nb-NO NB nor nob no_NO.UTF-8 bokmål",
    "nn": "nn nno nn_NO no-nyn Nynorsk",
    "zh": "zh zho chi cmn cmn_Hans zho_Hant zt zht cht zhs chs zh-CHT zh-Hant-HK cn zh_CN.GB18030",
    "yue": "yue zh-yue",
    "pt": "pt por pb pob pt_br PT-BR ptb",
    "ro": "ro ron rum mo mol ro-MD",
    "sr": "sr sr@latin sr_RS@latin srp_Cyrl sh",
    "he": "he iw heb", "id": "id in ind", "yi": "yi ji ydd", "ar": "arb ara ar-EG", "lv": "lvs lav", "fa": "pes prs",
    "sq": "als sqi alb", "ja": "jp jpn jpn_Jpan", "cs": "cz ces cze", "tl": "fil tgl", "es": "es-419 spa",
}  # fmt: skip


@pytest.mark.parametrize("language", CODES)
def test_a_language_has_many_codes(language):
    assert {shortest(code) for code in CODES[language].split()} == {language}


def test_codes_of_three_letters_are_those_of_cldr():
    """The runtime has a table of its own, as it does not need langcodes."""
    codes = [word[:3] for word in _THREE.split()]
    ours, cldr = ([way(code) for code in codes] for way in (shortest, cldr_language))
    others = {code for code, *both in zip(codes, ours, cldr, strict=True) if both[0] != both[1]}
    # Tagalog is tl here, as in texts, and no is nb; the rest has another code, or none, in CLDR.
    assert len(codes) > 200 and others == {"fil", "tgl", "nor", "bih", "jap", "pbt", "quy"}


def cldr_language(code):
    return langcodes.standardize_tag(code, macro=True).partition("-")[0]


def test_the_languages_of_a_study_are_what_they_were():
    assert [code for code in LANGUAGES if shortest(code) != code] == ["no"]


@pytest.mark.parametrize(
    ("wanted", "those", "others"),
    [
        ("zh-TW", "zh-TW zh_tw zh-Hant zt", "zh zh-CN zh-HK cmn zh-Hans"),
        ("zh-Hant", "zh-TW zh-HK zh-MO zho_Hant cht", "zh zh-SG zh-CN"),
        ("zh-CN", "zh cmn zh-Hans cn", "zh-TW zh-Hant zh-SG"),
        ("pt-PT", "pt-PT ptg", "pt pb pt-BR"),
        ("sr-Latn", "sr@latin sr-Latn-ME sh", "sr sr-RS"),
        ("no", "nb no-NO nor", "nn da"),
    ],
)
def test_a_variant_is_meant_by_its_codes(wanted, those, others):
    assert [code for code in those.split() if not means(code, wanted)] == []
    assert [code for code in others.split() if means(code, wanted)] == []


def memory(*units):
    variants = ("".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in unit) for unit in units)
    return f"<tmx><body>{''.join(f'<tu>{unit}</tu>' for unit in variants)}</body></tmx>"


BOKMAL = ("nb-NO", "no", "NB", "no-NO", "nob")


@pytest.mark.parametrize("own", ["no", "nb"])
@pytest.mark.parametrize("order", [1, -1])
def test_no_is_nb_and_not_nn_in_every_format(own, order):
    """Whichever of the two the study and the file call it."""
    pair, nynorsk, sides = ("en", own)[::order], ("en", "nn")[::order], [("a", "b")[::order]]
    units = memory(*[(("en", "a"), (code, "b")) for code in BOKMAL], (("en", "a"), ("nn", "n"))).encode()
    assert read("tmx", units, languages=pair) == (sides * len(BOKMAL), ["missing_side"])
    assert read("tmx", units, languages=nynorsk) == ([("a", "n")[::order]], ["missing_side"] * len(BOKMAL))
    for code in BOKMAL:
        xliff = (
            f'<xliff version="1.2"><file source-language="en" target-language="{code}"><body><trans-unit id="1">'
            "<source>a</source><target>b</target></trans-unit></body></file></xliff>"
        )
        fields = f'{{"translation": {{"{code}": "b", "en": "a"}}}}\n'
        for name, text in (("xliff", xliff), ("jsonl", fields)):
            assert read(name, text.encode(), languages=pair)[0] == sides
            assert read(name, text.encode(), languages=nynorsk) == ([], ["missing_side"])
        for name, delimiter in (("csv", ","), ("tsv", "\t")):
            assert read(name, f"{code}{delimiter}en\nb{delimiter}a\n".encode(), languages=pair)[0] == sides
        po = f'msgid ""\nmsgstr "Language: {code}\\n"\n\nmsgid "a"\nmsgstr "b"\n'.encode()
        assert read("po", po, languages=pair)[0] == ([("a", "b")] if order == 1 else [("b", "a")])


def test_langid_may_call_norwegian_no_or_nb():
    """It gives both labels to Bokmål."""
    texts = [
        "Jeg vet ikke hvor han bor.",
        "En hund løper over jordet.",
        "Eg veit ikkje kvar han bur.",
        "This dog is old.",
    ]
    assert Identifier().labels(texts) == ["nb", "no", "nn", "en"]
    measured = Measured(indexed("".join(f"{text}\n" for text in texts).encode()), characters(["no"]))
    for code, candidates in (("no", None), ("nb", None), ("nb", ["en", "nn", "no"])):
        rule = rules.language(["source"], [code], candidates)
        assert rule(measured, np.arange(4)).tolist() == [False, False, True, True]
    assert rules.language(["source"], ["nn"], None)(measured, np.arange(4)).tolist() == [True, True, False, True]


def test_most_lines_without_a_side_are_told_with_the_codes(tmp_path):
    units = [(("en", "a"), ("nn", "b"))] * 3 + [(("en", "a"), ("no", "b"))] * 2
    (tmp_path / "x.tmx").write_text(memory(*units))
    blocks, provenance = opened(tmp_path, pair=("en", "nb"), file="x.tmx")
    assert rows(blocks) == [("a", "b")] * 2 and provenance.dropped == {"missing_side": 3}
    assert provenance.remarks == [
        "x: 3 of 5 lines lack one of the languages (missing_side); its languages are en, nn, no"
    ]
    (tmp_path / "x.tmx").write_text(memory(*units[1:]))
    blocks, provenance = opened(tmp_path, pair=("en", "nb"), file="x.tmx")
    assert rows(blocks) and provenance.remarks == []
    assert "its languages are en, nn, no" in fails(tmp_path, file="x.tmx")


def test_remarks_are_in_the_log_and_beside_the_records(tmp_path, monkeypatch, capsys):
    (tmp_path / "x.tmx").write_text(memory(*[(("en", "a"), ("nn", "b"))] * 2, (("en", "a"), ("no", "b"))))
    spec = json.dumps({"role": "train", "file": str(tmp_path / "x.tmx")})
    words = ["--name", "x", "--languages", "en", "nb", "--spec", spec, "--output", str(tmp_path / "x.tsv.zst")]
    monkeypatch.setattr(sys, "argv", ["fetch", *words])
    fetch.main()
    (remark,) = read_json(tmp_path / "x.json")["remarks"]
    assert "2 of 3 lines lack one of the languages" in remark and remark in capsys.readouterr().err.splitlines()


CHINESE = memory(
    (("en", "one"), ("zh-CN", "简一"), ("zh-TW", "繁一")),
    (("EN", "two"), ("zh-TW", "繁二")),
    (("en", "3"), ("zh", "简三")),
)


@pytest.mark.parametrize(
    ("variants", "chosen"),
    [(None, ["简一", "繁二", "简三"]), ({"zh": "zh-CN"}, ["简一", "简三"]), ({"zh": "zh-Hant"}, ["繁一", "繁二"])],
)
def test_a_key_chooses_among_variants_that_are_told(tmp_path, variants, chosen):
    (tmp_path / "x.tmx").write_text(CHINESE)
    blocks, provenance = opened(tmp_path, pair=("en", "zh"), file="x.tmx", variants=variants)
    assert [target for _, target in rows(blocks)] == chosen
    assert [remark[:21] for remark in provenance.remarks] == ["x: zh-CN and zh-TW ar"] * (variants is None)


@pytest.mark.parametrize(
    "names", [("zh-TW", "en", "zh_cn"), ("Traditional Chinese", "English", "Chinese (Simplified)")]
)
def test_variants_are_told_of_tables_and_of_objects(tmp_path, names):
    (tmp_path / "x.csv").write_text(f"{','.join(names)}\n繁,a,简\n")
    blocks, provenance = opened(tmp_path, pair=("en", "zh"), file="x.csv")
    assert rows(blocks) == [("a", "繁")] and "are read as one language" in provenance.remarks[0]
    blocks, provenance = opened(tmp_path, pair=("en", "zh"), file="x.csv", columns={"en": 1, "zh": 2})
    assert rows(blocks) == [("a", "简")] and not provenance.remarks
    (tmp_path / "x.jsonl").write_text('{"en": "a", "zh_TW": "繁", "zh_CN": "简"}\n')
    assert "zh_TW and zh_CN" in opened_remarks(tmp_path, file="x.jsonl")
    assert opened_remarks(tmp_path, file="x.jsonl", columns={"en": "en", "zh": "zh_CN"}) == ""


def opened_remarks(folder, **source):
    blocks, provenance = opened(folder, pair=("en", "zh"), **source)
    rows(blocks)
    return " ".join(provenance.remarks)


def test_one_variant_by_several_codes_is_not_told():
    sides = Sides(["en", "zh"])
    assert [sides[code] for code in ("en", "eng", "en-US", "zh", "zh-CN", "cmn", "fr")] == [0, 0, 0, 1, 1, 1, None]
    assert [*sides.variants()] == []
    assert sides["en-GB"] == 0 and [*sides.variants()] == [["en", "en-GB"]]


def test_formats_that_know_variants_are_those_with_units():
    assert [reader.format for reader in READERS.values() if "variants" in reader.options] == ["tmx", "xliff"]
