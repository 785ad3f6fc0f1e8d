"""A new study from files: which belong together, what is wrong with them, and sizes that keep to the time."""

import gzip
import json
import math
import os
import re
from collections import Counter
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from snakefile import ROOT, dry_run
from snakefile import planned as planned_jobs
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora import archives, grammar
from corpora.availability import available
from corpora.sources import source_of
from nmt_frontier.errors import UserError
from study import config, rates
from study.configuration import typed
from study.estimate import estimate, wall_seconds
from study.new import contents, files, sizes
from study.new import look as look_module
from study.new.__main__ import arguments, new
from study.new.draft import Draft, as_yaml
from study.new.encodings import guess
from study.new.look import look, percent
from study.new.text import _head, cleaning, text
from study.plan import StudyPlan
from study.rates import Rates
from study.workload import Work

RATES = Rates(product=1 / 40e9, logit=5e-10, decoded=1e-5, tensorflow=5.0, python=0.3)
ENGLISH, FRENCH = map(list, zip(*grammar.generate("fr", "train", 3000, 1), strict=True))
GERMAN = [german for _, german in grammar.generate("de", "train", 3000, 1)]
PAIR = ["en", "fr"]


def written(folder, texts):
    """Files of lines, or of bytes, by name."""
    for name, lines in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def tmx(pairs, codes=("en-US", "fr")):
    units = "".join(
        "".join(["<tu>", *(f'<tuv xml:lang="{code}"><seg>{side}</seg></tuv>' for code, side in sides), "</tu>"])
        for sides in (zip(codes, pair, strict=True) for pair in pairs)
    )
    return f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{units}</body></tmx>'.encode()


def proposed(folder, texts, *options):
    """The configuration that is written for these files."""
    written(folder / "data", texts)
    path = new(arguments(["--source", "en", "--target", "fr", "--cores", "2", *options, "data"]), RATES)
    return config.load(path)


def both(english, french, stem="x"):
    """The two sides of a text as files of the same name."""
    return {f"{stem}.en": english, f"{stem}.fr": french}


def roles(folder, texts):
    corpora, notes = files.corpora([written(folder, texts)], PAIR)
    paths = {corpus.name: [str(path.relative_to(folder)) for path in corpus.paths] for corpus in corpora}
    return {corpus.name: (corpus.role, *paths[corpus.name]) for corpus in corpora}, notes


HEAD = {"en": ENGLISH[:40], "fr": FRENCH[:40]}
A = both(*HEAD.values(), "a")
FOUND = ("train", "a.en", "a.fr")


@pytest.mark.parametrize(
    ("english", "french", "name", "role"),
    [
        ("train.en", "train.fr", "train", "train"),
        ("talk.en.gz", "talk.fr", "talk", "train"),
        ("europarl-v7.fr-en.en", "europarl-v7.fr-en.fr", "europarl-v7.fr-en", "train"),
        ("corpus_english.txt", "corpus_french.txt", "corpus", "train"),
        ("en/talk.txt", "fr/talk.txt", "talk", "train"),
        ("talk-src.txt", "talk-tgt.txt", "talk", "train"),
        ("talk.en-US.txt", "talk.fr-FR.txt", "talk", "train"),
        ("deu.eng", "deu.fra", "deu", "train"),
        ("first.txt", "second.txt", "first", "train"),  # by their text
        ("mine.v2.en", "yours.fr", "mine.v2", "train"),  # the only ones
    ],
)
def test_files_belong_together_whatever_their_convention(tmp_path, english, french, name, role):
    found, notes = roles(tmp_path, {english: HEAD["en"], french: HEAD["fr"]})
    assert list(found.values()) == [(role, english, french)] and not notes
    assert [*found] == [name]


ROLES = {
    "dev": ("val", "newsdev2016"),
    "test": ("IWSLT.tst2013", "newstest2014-fren-{side}", "test_2016_flickr", "devtest"),
    "train": ("testament", "dev/train"),
}


@pytest.mark.parametrize(("stem", "role"), [(stem, role) for role, stems in ROLES.items() for stem in stems])
def test_roles_are_those_of_names(tmp_path, stem, role):
    sides = {f"{stem.format(side=side)}.{code}": HEAD[code] for code, side in (("en", "src"), ("fr", "ref"))}
    found, _ = roles(tmp_path, A | sides)
    assert sorted(of_role for of_role, *_ in found.values()) == sorted(["train", role])


def test_folders_are_part_of_a_name_where_files_have_the_same(tmp_path):
    texts = {f"{stem}.{code}": HEAD[code] for code in PAIR for stem in ("a/x", "b/x", "b/y")}
    assert [*roles(tmp_path, texts)[0]] == ["a-x", "b-x", "y"]


def test_both_sides_in_one_file(tmp_path):
    pairs = list(zip(*HEAD.values(), strict=True))
    rows = [f"{number}\t{french}\t{english}" for number, (english, french) in enumerate(pairs)]
    written(tmp_path, {"memory.tmx": tmx(pairs), "table.txt": rows, "plain.tsv": ["\t".join(pair) for pair in pairs]})
    sources = {corpus.name: corpus.source for corpus in files.corpora([tmp_path], PAIR)[0]}
    assert sources["table"] == {"file": "table.txt", "format": "tsv", "columns": {"en": 2, "fr": 1}}
    assert sources["plain"] == {"file": "plain.tsv"}
    assert sources["memory"] == {"file": "memory.tmx"}


def test_every_format_in_one_folder(tmp_path, capsys):
    """With a memory in UTF-16 that has a broken unit, and a table with names of its own."""
    pairs = [list(zip(ENGLISH[at : at + 300], FRENCH[at : at + 300], strict=True)) for at in range(0, 1800, 300)]
    units = "".join(
        f"<trans-unit><source>{source}</source><target>{target}</target></trans-unit>\n" for source, target in pairs[3]
    )
    memory = tmx(pairs[0]).decode().replace('"1.0"', '"1.0" encoding="utf-16"').replace("<seg>", "<seg>&#x1F;", 1)
    texts = {
        "memory.tmx": memory.encode("utf-16"),
        "hub.jsonl.gz": [json.dumps({"translation": {"en": source, "fr": target}}) for source, target in pairs[1]],
        "table.csv": [
            "number,Texte,Text",
            *(f'{row},"{pair[1]}","{pair[0]}"' for row, pair in enumerate(pairs[2])),
        ],
        "doc.xlf": [f'<xliff version="1.2"><file source-language="en" target-language="fr">{units}</file></xliff>'],
        "gui.po": [f'msgid "{source}"\nmsgstr "{target}"\n' for source, target in pairs[4]],
        "objects.jsonl": [json.dumps({"id": 1, "a": target, "b": source}) for source, target in pairs[5]],
    }
    study = proposed(tmp_path, texts)
    shown = capsys.readouterr().out
    found = {name: (corpus["lines"], corpus["columns"]) for name, corpus in study["corpora"].items()}
    names = {"table": {"en": "Text", "fr": "Texte"}, "objects": {"en": "b", "fr": "a"}}
    for name in ("memory", "hub", "table", "doc", "gui", "objects"):
        assert found[name] == (300, names.get(name)), name
    for line in (
        "data/memory.tmx: read as tmx: en and fr",
        "data/table.csv: read as csv, columns en: Text, fr: Texte: en and fr",
        "memory: dropped data/memory.tmx: line 1: not well-formed (reference to invalid character number)",
    ):
        assert line in shown.splitlines()
    assert re.search("^memory .*0.3 % malformed", shown, re.MULTILINE)


def test_an_encoding_is_guessed_shown_and_confirmed(tmp_path, capsys):
    texts = {
        f"x.{code}": "".join(f"{line} é\n" for line in lines).encode("cp1252")
        for code, lines in both(ENGLISH, FRENCH, "").items()
    }
    texts = {name.replace("..", "."): data for name, data in texts.items()}
    with pytest.raises(
        UserError,
        match=r"data/x.en: is not UTF-8; it looks like \w+, with '.*' in it; if that is right, say --encoding",
    ):
        proposed(tmp_path, texts)
    study = proposed(tmp_path, texts | both(ENGLISH[:99], FRENCH[:99], "y"), "--encoding", "cp1252")
    assert {name: corpus["encoding"] for name, corpus in study["corpora"].items()} | {"x": "cp1252", "y": None} == {
        "x": "cp1252", "y": None, "dev": None, "test": None
    }  # fmt: skip
    assert "data/x.fr: read as lines, cp1252: fr" in capsys.readouterr().out.splitlines()
    with pytest.raises(UserError, match="is cp1252, and the other side is UTF-8; convert one of the two"):
        proposed(tmp_path, {"x.fr": FRENCH}, "--encoding", "cp1252", "--force")


def test_po_says_its_encoding_itself(tmp_path):
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\nmsgid "a"\nmsgstr "é"\n'
    (tmp_path / "x.po").write_text(text, "latin1")
    assert contents.encoding(tmp_path / "x.po", None) is None


CODES = [  # the study's languages; the files of its pairs, and those that are left out by their names
    (("en", "no"), "x.en x.nb", "x.nn x.nn_NO"),
    (("en", "nb"), "en/x.txt no/x.txt", "nn_NO/x.txt"),
    (("nb", "en"), "x.no-NO.gz x.en-GB.gz", "x.da"),
    (("en", "no"), "x_english.txt x_bokmål.txt", "x_nynorsk.txt"),
    (("en", "zh"), "x.en-zh_tw.en x.en-zh_tw.zh_tw", "x.en-zh_tw.ja"),
    (("en", "zh"), "x.en x.zt", "x.ja"),
    (("pt", "en"), "x.pt_br x.en_us", "x.br"),
    (("en", "pt"), "x.eng x.pb", "x.fr_ca"),
    (("en", "ro"), "x.en x.mo", "x.mk"),
    (("en", "he"), "x.en x.iw", "x.ar"),
    (("en", "sr"), "x.en x.sr@latin", "x.hr"),
    (("en", "cs"), "x.en x.cz", "x.sk"),
]


@pytest.mark.parametrize(("pair", "kept", "others"), CODES, ids=[kept for _, kept, _ in CODES])
def test_codes_in_names_are_those_of_any_program(tmp_path, pair, kept, others):
    written(tmp_path, dict.fromkeys([*kept.split(), *others.split()], ["Text."] * 9))
    found, notes = files.corpora([tmp_path], [*pair])
    assert [path.relative_to(tmp_path).as_posix() for path in found[0].paths] == kept.split() and len(found) == 1
    assert [note.split(": ")[0] for note in notes] == sorted(str(tmp_path / name) for name in others.split())


def test_old_codes_of_other_languages_are_words(tmp_path):
    found, notes = roles(tmp_path, {"data.in": HEAD["en"], "data.mo": HEAD["fr"]})
    assert [*found.values()] == [("train", "data.in", "data.mo")] and not notes


def test_other_languages_and_single_sides_are_noted(tmp_path):
    found, notes = roles(tmp_path, A | {"a.de": GERMAN[:40], "more.en": ENGLISH[40:80], "README.md": ["x"]})
    assert found == {"a": FOUND, "more": ("monolingual", "more.en")}
    expected = ("README.md", "its name says de", "monolingual")
    assert all(text in note for text, note in zip(expected, notes, strict=True))


def test_variants_in_names_are_noted(tmp_path):
    names = ("a.en", "a.zh-CN", "b.english.txt", "b.zh_Hans.txt", "c.src", "c.tgt", "d.eng", "d.zh-TW")
    _, notes = files.corpora([written(tmp_path, dict.fromkeys(names, ["Text."] * 9))], ["en", "zh"])
    assert notes == ["zh-CN and zh-TW in names of files are read as one language"]


def test_sets_of_another_pair_are_left_out(tmp_path):
    found, notes = roles(tmp_path, A | {"test9.en": ENGLISH[:9], "test9.de": GERMAN[:9]})
    assert found == {"a": FOUND}
    assert "test9.en: a test set without a fr side, it is left out" in notes[-1]


LEFT_BEHIND = ["Thumbs.db", "desktop.ini", "a.en.bak", "~$talk.docx", ".~lock.a.odt#", "a.en~", "a.fr.tmp"]


def test_what_programs_leave_beside_texts_is_no_text(tmp_path):
    found, notes = roles(tmp_path, A | {name: ["x"] for name in LEFT_BEHIND})
    assert found == {"a": FOUND} and len(notes) == 1 and "Thumbs.db" in notes[0]
    named = [path for path in sorted(tmp_path.iterdir()) if path.name[0] != "."]  # as data/*
    found, notes = files.corpora(named, PAIR)
    assert [corpus.name for corpus in found] == ["a"] and len(notes) == len(LEFT_BEHIND) - 1


@pytest.mark.parametrize(
    ("name", "advice"),
    [("talk.docx", "save it as one, a sentence a line"), ("app_fr.properties", "with prop2po of the Translate Toolkit"),
     ("memory.xlsx", "save it as CSV"), ("film.ass.gz", "convert it to .srt")],
)  # fmt: skip
def test_what_must_be_converted_is_told_with_the_way(tmp_path, name, advice):
    found, notes = roles(tmp_path, A | {name: ["greeting=Hello"]})
    assert found == {"a": FOUND} and len(notes) == 1 and advice in notes[0] and name in notes[0]
    with pytest.raises(UserError, match=f"{name}: .*{advice}"):
        files.corpora([tmp_path / name], PAIR)
    (problem,) = source_of("x", config.corpus({"role": "train", "file": name}), PAIR).problems()
    assert problem.startswith(f"file: {name}: ") and advice in problem


def test_a_name_that_is_not_utf8_cannot_be_in_a_configuration(tmp_path, capsys):
    written(tmp_path, A)
    other = os.fsencode(tmp_path) + b"/f\xfcr.en"
    os.rename(tmp_path / "a.en", other)
    with pytest.raises(UserError, match=r"f\\xfcr.en: its name is not UTF-8"):
        files.corpora([tmp_path], PAIR)
    written(tmp_path, A)
    for data in (tmp_path,), [*tmp_path.iterdir()]:
        found, notes = files.corpora(data, PAIR)
        assert [corpus.name for corpus in found] == ["a"]
        assert len(notes) == 1 and "its name is not UTF-8" in notes[0] and notes[0].encode()


def test_letters_of_names_may_be_composed_or_not(tmp_path):
    """As those of a Mac."""
    assert [*roles(tmp_path, {"fu\u0308r.en": HEAD["en"], "f\u00fcr.fr": HEAD["fr"]} | A)[0]] == ["a", "fur"]


def test_subtitles_belong_together(tmp_path):
    english, french = (
        [f"00:00:{number:02},000 --> 00:00:{number:02},900\n{line}\n" for number, line in enumerate(lines)]
        for lines in HEAD.values()
    )
    texts = {"film.eng.srt": english, "film.fr.srt": french, "talk.vtt": english, "exposé.vtt": french}  # by their text
    found = [*roles(tmp_path, texts)[0].values()]
    assert sorted(found) == [("train", "film.eng.srt", "film.fr.srt"), ("train", "talk.vtt", "exposé.vtt")]


TEXTS = {
    "de": ("Über den Wolken muß die Freiheit sein.\nEr möchte später zurückkommen.\n", "cp1252 cp850 mac_roman"),
    "fr": ("Les élèves étaient déjà à l'école.\nOù êtes-vous allés cet été ?\n", "cp1252 mac_roman"),
    "cs": ("Žluťoučký kůň úpěl ďábelské ódy.\nKde je nejbližší nádraží?\n", "cp1250 iso8859_2 cp852"),
    "pl": ("Zażółć gęślą jaźń.\nGdzie jest najbliższa stacja?\n", "cp1250 iso8859_2"),
    "lt": ("Vaikai bėga per žalią lauką.\nJis sakė, kad ateis vėliau.\n", "cp1257"),
    "tr": ("Çocuklar yeşil tarlada koşuyor.\nDaha sonra geleceğini söyledi.\n", "cp1254 iso8859_9"),
    "ru": ("Дети бегут по зелёному полю.\nГде ближайшая станция?\n", "cp1251 koi8_r cp866"),
    "el": ("Τα παιδιά τρέχουν στο πράσινο χωράφι.\n", "cp1253"), "he": ("הילדים רצים בשדה הירוק.\n", "cp1255"),
    "ja": ("子供たちは緑の野原を走っています。\n", "cp932 euc_jp"), "zh": ("孩子们在绿色的田野上奔跑。\n", "gb18030"),
}  # fmt: skip
ENCODED = [(code, text, name) for code, (text, names) in TEXTS.items() for name in names.split()]


@pytest.mark.parametrize(("code", "text", "name"), ENCODED, ids=[f"{code}-{name}" for code, _, name in ENCODED])
def test_the_guess_of_an_encoding_is_one_of_the_languages(code, text, name):
    for data in (text, "A line in ASCII.\n" * 50 + text):
        for pair in (["en", code], [code, "en"]):
            assert data.encode(name).decode(guess(data.encode(name), pair)) == data


def test_names_keep_their_letters(tmp_path):
    found, _ = roles(tmp_path, both(*HEAD.values(), "Übersetzung é"))
    assert found == {"Ubersetzung-e": ("train", "Übersetzung é.en", "Übersetzung é.fr")}


def test_a_note_and_not_a_text(tmp_path):
    texts = both(*HEAD.values(), "license_texts")
    found, notes = roles(tmp_path, texts | {"LICENSE-MIT.txt": ["x"], "a.xml.gz": ["<x/>"]})
    assert found == {"license_texts": ("train", "license_texts.en", "license_texts.fr")}
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("x")
    assert files.corpora([tmp_path], PAIR)[1] == notes
    assert notes[0].endswith("left out by their names: LICENSE-MIT.txt, a.xml.gz")


@pytest.mark.parametrize("hours", ["nan", "inf", "0", "-1", "two"])
def test_hours_are_a_number(hours, capsys):
    with pytest.raises(SystemExit):
        arguments(["--source", "en", "--target", "fr", "--hours", hours, "data"])
    problem = "invalid hours value" if hours == "two" else f"{hours} is no number"
    assert f"argument --hours: {problem}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({}, "data: a folder without texts"),
        ({"x.en": ENGLISH, "x.fr": FRENCH[:-1]}, "have different numbers of lines: 3,000 of en, 2,999 of fr"),
        ({"x.en": ENGLISH, "x.fr": b"bon\nmal \xe9\n"}, "data/x.fr: is not UTF-8; it looks like"),
        ({"x.en": ENGLISH, "x.fr": GERMAN}, "the target side looks like de"),
        ({"x.en": FRENCH, "x.fr": ENGLISH}, "are the sides swapped?"),
        ({"x.fr": FRENCH}, "no training pairs in en and fr among the files; data/x.fr is the fr side only"),
        ({"x.en": ENGLISH}, "no training pairs in en and fr among the files; data/x.en is the en side only"),
        ({"x.en": ENGLISH, "x.en.gz": ENGLISH, "x.fr": FRENCH}, "data/x.en.gz: both are the en side of one text"),
        ({"x.en": ENGLISH[:200], "x.fr": FRENCH[:200]}, "training pairs can be one; add more text"),
        ({"x.en": b"", "x.fr": b""}, "data/x.en: is empty"),
        ({"x.csv": ["a,b"]}, "data/x.csv: the target side looks like en"),
        ({"x.csv": ["a;1"]}, "data/x.csv: has 1 columns of text; one for each language is needed"),
        ({"x.jsonl": ["[]"]}, "data/x.jsonl: has no JSON object in its first lines"),
        ({"x.en": ENGLISH, "y.en": ENGLISH, "z.fr": FRENCH}, "if data/x.en or data/y.en goes with it, name the two"),
        ({"x.tmx": tmx([("a", "b")], ("en", "de"))}, "data/x.tmx: has no fr in its first units; it has de, en"),
        ({"x.en": ENGLISH, "x.fr": FRENCH, "dev.en": ENGLISH[:9]}, "data/dev.en: the en side only"),
        ({"x.en": ENGLISH, "x.fr": FRENCH, "dev.en": ["a", ""], "dev.fr": ["b", "c"]}, "1 lines have an empty side"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path, texts, message):
    (tmp_path / "data").mkdir()
    with pytest.raises(UserError) as error:
        proposed(tmp_path, texts)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "configs").exists()


def test_languages_are_checked_first(tmp_path):
    for target, message in (("xx", "unknown language 'xx'"), ("en", "--source and --target are both en")):
        with pytest.raises(UserError, match=message):
            new(arguments(["--source", "en", "--target", target, "nowhere"]), RATES)
    with pytest.raises(UserError, match="nowhere: no such file or folder"):
        new(arguments(["--source", "en", "--target", "fr", "nowhere"]), RATES)


def test_nothing_is_replaced_unless_forced(tmp_path):
    texts, path = both(ENGLISH, FRENCH), tmp_path / "configs/en-fr.yaml"
    proposed(tmp_path, texts)
    before = path.read_text()
    with pytest.raises(UserError, match=r"configs/en-fr.yaml: is there already"):
        proposed(tmp_path, texts, "--hours", "1")
    assert path.read_text() == before
    proposed(tmp_path, texts, "--hours", "0.3", "--force")
    assert path.read_text() != before


def seen(folder, english, french):
    written(folder, {"x.en": english, "x.fr": french})
    return look(files.corpora([folder], PAIR)[0][0], PAIR, cleaning(PAIR), "error", 1)


def test_repeats_are_counted_over_all_lines(tmp_path):
    upper = [[line.upper() for line in side[:7]] for side in (ENGLISH, FRENCH)]
    looked = seen(tmp_path, [*ENGLISH, *ENGLISH[:50], *upper[0]], [*FRENCH, *FRENCH[:50], *upper[1]])
    assert (looked.lines, looked.repeats, looked.near_repeats) == (3057, 50, 7)
    lines = [*ENGLISH, *ENGLISH[:50], *ENGLISH[:7]]
    assert looked.words[0] == sum(len(line.split()) for line in lines) / len(lines)
    assert looked.share(0, "en") > 0.85 and looked.share(1, "fr") > 0.85


def test_a_sample_is_drawn_from_everywhere_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(look_module, "SAMPLE", 200)
    monkeypatch.setattr(archives, "CHUNK_BYTES", 4096)
    looked = seen(tmp_path, [*ENGLISH[:-1], "long " * 300], [*FRENCH[:-1], "long " * 300])
    places = [ENGLISH.index(source) for source, _ in looked.sample]
    assert len(places) == len(set(places)) == 200
    assert abs(sum(places) / 200 - 1500) < 4 * 3000 / math.sqrt(12 * 200)  # four standard deviations
    assert (looked.occurrences == 1).all()


def test_the_proposal_is_a_study_that_finds_its_corpora(tmp_path, capsys):
    study = proposed(tmp_path, {"x.en": ENGLISH, "x.fr": FRENCH, "more.en": ENGLISH[:100]}, "--study", "mine")
    assert available(typed(study), tmp_path) == ([], [])
    found = {name: (corpus["role"], corpus["lines"]) for name, corpus in study["corpora"].items()}
    assert found | {"x": ("train", 3000), "more": ("monolingual", 100)} == found
    shown = capsys.readouterr().out
    assert "Estimate for the study mine: " in shown and "configs/mine.yaml is written" in shown


def test_the_machine_is_measured_where_it_was_not(tmp_path, monkeypatch, capsys):
    written(tmp_path / "data", both(ENGLISH, FRENCH))
    monkeypatch.setattr(rates, "own", lambda: None)
    monkeypatch.setattr(rates, "measure", lambda: replace(RATES, origin="a measurement"))
    new(arguments(["--source", "en", "--target", "fr", "data"]))
    assert "  from a measurement" in capsys.readouterr().out.splitlines()


def test_letters_of_other_scripts_are_reported(tmp_path, capsys):
    mixed = [f"{line} {'мир и дружба' if row % 3 == 0 else ''}" for row, line in enumerate(FRENCH)]
    proposed(tmp_path, {"train.en": ENGLISH, "train.fr": mixed})
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "in no script" in line]
    assert re.fullmatch(r"train: \d+ % of the letters of its target side are in no script of fr", line)


def test_norwegian_is_a_language_inas_yaml(draft):
    """Without quotes, `no` is false."""
    head = yaml.safe_load(_head(replace(draft(600, 1.0), pair=["en", "no"])))
    assert (head["source"], head["target"]) == ("en", "no")


@pytest.mark.slow
def test_snakemake_plans_what_is_proposed(tmp_path):
    """In the folder where the proposal was made, from whose files its paths start."""
    proposed(tmp_path, {"x.en": ENGLISH, "x.fr": FRENCH, "more.en": ENGLISH[:100]})
    run = dry_run("--configfile", "configs/en-fr.yaml", cwd=tmp_path)
    jobs = planned_jobs(run)
    assert "Estimate for the study en-fr: " in run.stderr
    expected = {"fetch": 4, "train_teacher": 1, "train_student": 3, "page": 1}  # x, more, dev, test; deep twice, tiny
    assert {name: jobs[name] for name in expected} == expected


def test_held_out_lines_cost_the_training_nothing_but_themselves(tmp_path):
    english = [*ENGLISH, *ENGLISH[:500]]  # these are there twice
    proposed(tmp_path, {"x.en": english, "x.fr": [*FRENCH, *FRENCH[:500]]})
    folder = tmp_path / "configs/en-fr.held-out"
    sets = {role: [(folder / f"{role}.{code}").read_text().splitlines() for code in PAIR] for role in ("dev", "test")}
    pairs = {role: list(zip(*sides, strict=True)) for role, sides in sets.items()}
    assert set(pairs["dev"]) | set(pairs["test"]) <= set(zip(ENGLISH, FRENCH, strict=True))
    assert not set(pairs["dev"]) & set(pairs["test"]) and len(pairs["dev"]) == len(pairs["test"]) > 50
    counts = Counter(english)
    assert {counts[source] for source, _ in pairs["dev"] + pairs["test"]} == {1}


def test_held_out_sets_share_nothing_even_if_corpora_are_the_same(tmp_path):
    proposed(tmp_path, {"x.en": ENGLISH, "x.fr": FRENCH, "y.en": [*ENGLISH, "More."], "y.fr": [*FRENCH, "Plus."]})
    lines = [(tmp_path / f"configs/en-fr.held-out/{role}.en").read_text().splitlines() for role in ("dev", "test")]
    assert len(set(lines[0] + lines[1])) == len(lines[0]) + len(lines[1]) > 100


def test_own_sets_are_used_and_the_first_of_several_tests_is_for_development(tmp_path):
    rows = {"x": slice(2000), "test1": slice(2100, 2200), "test2": slice(2200, 2300)}
    texts = [both(ENGLISH[part], FRENCH[part], stem) for stem, part in rows.items()]
    study = proposed(tmp_path, {name: lines for text in texts for name, lines in text.items()})
    found = {name: corpus["role"] for name, corpus in study["corpora"].items()}
    assert found == {"x": "train", "test1": "dev", "test2": "test"}
    assert not (tmp_path / "configs/en-fr.held-out").exists()


def test_lines_that_were_dropped_and_small_sets_are_reported(tmp_path, capsys):
    broken = b"".join(b"\xff\n" if number % 10 else f"{line}\n".encode() for number, line in enumerate(FRENCH[:500]))
    with pytest.raises(UserError, match=r"training pairs can be one; 450 lines were dropped \(.*\); add more text"):
        proposed(tmp_path, {"x.en": ENGLISH[:500], "x.fr": broken}, "--invalid", "drop")
    proposed(tmp_path, both(ENGLISH, FRENCH) | both(ENGLISH[:9], FRENCH[:9], "dev"))
    assert "dev: a set of 9 lines is too small to judge quality by" in capsys.readouterr().out


@pytest.fixture
def draft(tmp_path):
    """Of a text that looks as large as a test wants."""
    written(tmp_path, {"x.en": ENGLISH[:500], "x.fr": FRENCH[:500]})
    looked = [look(corpus, PAIR, cleaning(PAIR), "error", 1) for corpus in files.corpora([tmp_path], PAIR)[0]]
    sets = [replace(looked[0], corpus=replace(looked[0].corpus, name=role, role=role)) for role in ("dev", "test")]
    for number, of_role in enumerate(sets):
        of_role.corpus = replace(of_role.corpus, source={"file": f"{number}.{{lang}}"})

    def sized(lines, hours, cores=2):
        return Draft("x", PAIR, [replace(looked[0], lines=lines), *sets], [], tmp_path, cores, hours, "error")

    return sized


def planned(draft, folder):
    def configured(plan):
        (folder / "x.yaml").write_text(text(draft, plan))
        return config.read(folder / "x.yaml")

    lines = {"x": draft.looks[0].lines}
    plan = sizes.plan(lines, {}, {}, draft.characters, draft.hours, draft.cores, configured, RATES)
    return plan, configured(plan).document


SITUATIONS = [(29_000, 1, 2), (200_000, 2, 2), (5_000_000, 8, 8), (10**8, 24, 64)]


@pytest.mark.parametrize(("lines", "hours", "cores"), SITUATIONS)
def test_the_estimate_keeps_to_the_time(draft, tmp_path, lines, hours, cores):
    plan, study = planned(draft(lines, hours, cores), tmp_path)
    seconds = wall_seconds(Work(typed(study), RATES), cores)
    assert seconds <= hours * 3600
    assert plan.full or seconds >= 0.8 * hours * 3600
    assert plan.pairs == (study["corpora"]["x"]["sample"] or lines)


NAMED = [size for size in sizes.costliest_first() if size.like.startswith("configs/")]


@pytest.mark.parametrize("size", NAMED, ids=lambda size: size.like)
def test_a_size_is_that_of_the_study_it_names(draft, tmp_path, size):
    (tmp_path / "x.yaml").write_text(text(draft(10**6, 1), sizes.Plan(size, 4000, 10**6)))
    named, written = config.load(ROOT / re.search(r"configs/\w+\.yaml", size.like)[0]), config.load(tmp_path / "x.yaml")
    teachers = [study["teachers"]["teacher"] for study in (written, named)]
    students = [study["students"]["deep"] for study in (written, named)]
    for proposed, expected in (teachers, students):
        assert proposed["shape"] == expected["shape"]
        for key in ("steps", "batch_tokens", "learning_rate"):
            assert proposed["training"][key] == expected["training"][key]
    for name, own in written["students"].items():
        expected = named["students"].get(name)
        assert bool(expected) == ("tiny is untried" not in size.like or name == "deep")
        for key in ("shape", "start_from", "start_layers") if expected else ():
            assert own[key] == expected[key]


def test_multi30k_gets_the_sizes_of_multi30k(draft, tmp_path):
    plan, study = planned(draft(29_000, 10), tmp_path)
    assert plan.size.like.startswith("configs/multi30k.yaml") and plan.scale >= 1
    assert study["teachers"]["teacher"]["training"]["dropout"] == 0.2


def test_more_time_and_more_text_make_larger_models(draft, tmp_path):
    (short, _), (long, _), (small, _) = (
        planned(draft(lines, hours), tmp_path) for lines, hours in ((10**6, 0.6), (10**6, 50), (2_000, 50))
    )
    known = sizes.costliest_first()
    assert known.index(long.size) < known.index(short.size) and long.pieces > short.pieces > small.pieces
    assert small.full and small.passes(small.teacher_steps, small.pairs) <= 1.1 * sizes.PASSES


@pytest.mark.parametrize(("cores", "comment"), [(1, "there is one core"), (2, "side by side on 2 cores")])
def test_one_core_is_not_called_several(draft, tmp_path, cores, comment):
    planned(draft(29_000, 9, cores), tmp_path)
    written = (tmp_path / "x.yaml").read_text()
    assert comment in written and f"for 9 hours on {cores} core{'s' * (cores > 1)}.\n" in written


def test_what_is_little_is_not_called_nothing():
    assert [percent(share, 1) for share in (0, 0.0004, 0.0006, 0.012)] == ["0.0 %", "< 0.1 %", "0.1 %", "1.2 %"]


def test_too_little_time_is_an_error_with_the_time_needed(draft, tmp_path):
    with pytest.raises(UserError, match=r"give --hours (\d+\.\d+)") as error:
        planned(draft(29_000, 0.01), tmp_path)
    needed = float(str(error.value).partition("give --hours ")[2].partition(",")[0])
    planned(draft(29_000, needed), tmp_path)


@given(st.floats(1, 1e9))
def test_rounded_numbers_are_near(number):
    assert sizes.rounded(number) == pytest.approx(number, rel=0.051, abs=0.5)
    assert len(str(sizes.rounded(number)).rstrip("0")) <= 3 and math.isfinite(sizes.rounded(number))


PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=20)


@given(
    st.one_of(PRINTABLE, st.dictionaries(st.sampled_from([*PAIR, "no"]), PRINTABLE, min_size=1), st.lists(PRINTABLE))
)
def test_any_name_of_a_file_survivesas_yaml(value):
    assert yaml.safe_load(f"key: {as_yaml(value)} # comment") == {"key": value}


# Scores


def test_columns_and_files_of_numbers_are_told_as_scores(tmp_path, capsys):
    rows = [
        f"{english}\t{french}\t{number}\t{number / 7:.3f}"
        for number, (english, french) in enumerate(zip(ENGLISH, FRENCH, strict=True))
    ]
    objects = [
        json.dumps(
            {
                "translation": {"en": english, "fr": french},
                "laser": 1 + number / 9000,
                "year": 1990,
                "alignment": -5.5,
                "la ser": 0.5,
                "la-ser": 0.25,
            }
        )
        for number, (english, french) in enumerate(zip(ENGLISH, FRENCH, strict=True))
    ]
    units = tmx(zip(ENGLISH, FRENCH, strict=True)).replace(
        b"<tu>", b'<tu><prop type="score bicleaner">0.75</prop><prop type="id">7</prop>'
    )
    text = both(ENGLISH, FRENCH, "talk") | {"talk.scores": [f"{number / 8}" for number in range(len(ENGLISH))]}
    study = proposed(tmp_path, {"table.tsv": rows, "data.jsonl": objects, "memory.tmx": units, **text})
    told = {line for line in capsys.readouterr().out.splitlines() if "if these are scores" in line}
    assert {line.partition(";")[0] for line in told} == {
        "table: column 3 has numbers from 0 to 71.29",
        "data: column laser has numbers from 1 to 1.055",
        "data: column alignment has numbers from -5.5 to -5.5",
        "data: column la ser has numbers from 0.5 to 0.5",
        "data: column la-ser has numbers from 0.25 to 0.25",
        "memory: property score bicleaner has numbers from 0.75 to 0.75",
        "talk: file data/talk.scores has numbers from 0 to 62.38",
    }
    assert all(study["corpora"][name].get("score") is None for name in ("table", "data", "memory", "talk"))
    examples = re.findall(r"    #(score: .*?) #", (tmp_path / "configs/en-fr.yaml").read_text())
    assert [yaml.safe_load(example)["score"] for example in examples] == [
        {
            "laser": {"column": "laser"},
            "alignment-2": {"column": "alignment"},
            "la-ser": {"column": "la ser"},
            "la-ser-2": {"column": "la-ser"},
        },
        {"score-bicleaner": {"property": "score bicleaner"}},
        {"column-3": {"column": 3}},
        {"scores": {"file": "data/talk.scores"}},
    ]


def test_text_of_the_target_language_alone_is_for_back_translation(tmp_path, capsys):
    texts = both(ENGLISH[:2000], FRENCH[:2000]) | {"news.fr": FRENCH[2000:2400], "mono/talk.fr": FRENCH[2400:2500]}
    study = proposed(tmp_path, texts | {"mono/talk.en": ENGLISH[2500:2600]})  # which is no translation
    shown = capsys.readouterr().out
    assert "data/news.fr: has no en side: monolingual text, for back-translation, so that the teacher" in shown
    assert (
        re.search(r"news +monolingual_target +400 .* % fr", shown) and "2,000 pairs and 500 back-translations" in shown
    )
    assert {corpus["role"] for name, corpus in study["corpora"].items() if "talk" in name} == {
        "monolingual", "monolingual_target",
    }  # fmt: skip
    plan = StudyPlan(config.read(tmp_path / "configs/en-fr.yaml"))
    assert {*plan.mixtures.weights("augmented")} == {"x", *plan.corpora.target_only} != {"x"}
    assert study["teachers"]["teacher"]["mixture"] == "augmented" and not study["students"]["deep"].get("mixture")
    assert study["back_translation"]["teacher"]["shape"] == study["teachers"]["teacher"]["shape"]
    assert "back-translation" in estimate(plan.config, 2, RATES) and available(plan.config, tmp_path) == ([], [])
    assert Work(plan.config, RATES).epoch("augmented") == 2500


def test_much_text_of_the_target_language_is_sampled(draft, tmp_path):
    few, much = draft(600, 4.0), replace(draft(10**9, 4.0).looks[0])
    corpus = replace(much.corpus, name="news", role="monolingual_target")
    drafted = replace(few, looks=[*few.looks, replace(much, corpus=corpus, languages=much.languages[1:], words=[9.0])])

    def configured(plan):
        (tmp_path / "y.yaml").write_text(text(drafted, plan))
        return config.read(tmp_path / "y.yaml")

    plan = sizes.plan({"x": 600}, {}, {"news": 10**9}, False, 4.0, 2, configured, RATES)
    assert plan.samples == {"news": 600} and plan.taught == 1200
    assert wall_seconds(Work(configured(plan), RATES), 2) <= 4 * 3600


def test_text_without_scores_gets_no_example(tmp_path, capsys):
    rows = [
        f"{english}\t{french}\t{number}" for number, (english, french) in enumerate(zip(ENGLISH, FRENCH, strict=True))
    ]
    proposed(tmp_path, {"table.tsv": rows, "other.scores": ["0.5"] * 30})
    assert "scores" not in capsys.readouterr().out.replace("other.scores", "")
    assert "#score" not in (tmp_path / "configs/en-fr.yaml").read_text()
