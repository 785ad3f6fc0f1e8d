"""Protected text through a translation: hidden, put back exactly once, and what becomes of what a model loses."""

import re
import subprocess
import time
from collections import Counter
from random import Random

import pytest
import warm
from hypothesis import assume, given
from hypothesis import strategies as st
from models import folders, sentences
from reports import run
from text_stages import through

from findings.survival import survive
from formats import records
from measure import perturb
from nmt_frontier.command.translate import protected
from nmt_frontier.errors import UserError
from nmt_frontier.search.native import Native
from nmt_frontier.sentence import one_line, sentence
from nmt_frontier.text.items import KINDS, SYMBOL, SYMBOLS, Finder
from nmt_frontier.text.protection import Protection, symbols_of
from nmt_frontier.text.tokenizers import pieces
from nmt_frontier.translator import Translator
from report import robustness as page
from train import augmentation
from train.vocabulary import train

TEXT = "Ask <b>Anna</b> (anna@example.org) or see https://example.org/a?b=1, room 12."
HIDDEN = "Ask ⟦1⟧ Anna ⟦2⟧ (⟦3⟧) or see ⟦4⟧, room ⟦5⟧."
SOURCES = [TEXT, *(row[0] for row in perturb.suite("en")[:40])]


def translated(change, lines, kinds=KINDS, missing=None, symbols=16):
    """The lines translated by ``change``, all that it was given, and the counts."""
    counts = Counter()
    return *through([Protection(kinds, missing, symbols, counts)], change, lines), counts


def test_a_model_that_copies_symbols_loses_nothing():
    found, given, counts = translated(lambda text: text.replace("Ask", "Frag"), [TEXT, "No item.", "7 7", "42", ""])
    assert found == [TEXT.replace("Ask", "Frag"), "No item.", "7 7", "42", ""]
    assert given == [HIDDEN, "No item."]  # nothing to translate in the others
    assert counts == {"protected_tag": 2, "protected_email": 1, "protected_url": 1, "protected_number": 4}
    assert protected(counts) == "protected: url 1; email 1; number 4; tag 2"


def test_zeros_behind_a_percent_sign_take_time_by_their_number_only():
    """Seconds if it grew with its square."""
    start = time.thread_time()
    assert not Finder(["placeholder"]).found("%" + 20_000 * "0" + "!") and time.thread_time() - start < 0.4
    found = Finder(["placeholder"]).found("%05d %00.3f %-+010x %٠5d")
    assert [match[0] for match in found] == ["%05d", "%00.3f", "%-+010x", "%٠5d"]


def test_order_is_the_model_s_and_tags_touch_what_they_touched():
    for output, expected in (
        ("⟦5⟧ : ⟦4⟧ ⟦1⟧ x ⟦2⟧ ⟦3⟧", "12 : https://example.org/a?b=1 <b>x</b> anna@example.org"),
        ("⟦3⟧⟦5⟧x⟦4⟧ ⟦2⟧⟦1⟧", "anna@example.org 12 x https://example.org/a?b=1</b><b>"),
    ):
        assert translated(lambda text, output=output: output, [TEXT])[0] == [expected]


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        ("A dog {name}.", "Hund⟦1⟧ssä.", "Hund {name}ssä."),  # the ending of a case
        ("It is -3 now 🎉!", "Es⟦1⟧ist⟦2⟧!", "Es -3 ist 🎉!"),
        ("See https://x.org/a now", "Пёс⟦1⟧пёс", "Пёс https://x.org/a пёс"),
        ("See https://x.org/a now", "犬⟦1⟧を見る", "犬https://x.org/aを見る"),  # a script without spaces
        ("5 apples", "사과⟦1⟧개", "사과5개"),  # a particle
        ("A dog, {a} ({b})", "«⟦1⟧»,⟦2⟧.", "«{a}»,{b}."),
        ("{a} and {b}", "⟦1⟧⟦2⟧", "{a} {b}"),
        ("A file-{n}, {n}-fold", "Datei⟦1⟧ ⟦2⟧fach", "Datei{n} {n}fach"),  # as the model has it
        ("犬{n}", "Hund⟦1⟧ Пёс", "Hund{n} Пёс"),
        ("A dog", "Пёс⟦9⟧пёс", "Пёс⟦9⟧пёс"),  # without items all is the model's
        ("5 dogs", "⟦1⟧Пёс⟦9⟧пёс", "5 Пёс пёс"),
        ("<b>Dog</b> 5", "⟦1⟧⟦3⟧⟦2⟧Hund", "<b>5</b>Hund"),
        ("Dog <br/> 5", "Hund⟦1⟧⟦2⟧", "Hund<br/> 5"),
    ],
)
def test_an_item_that_stood_apart_does_so_again(line, output, expected):
    assert translated(lambda _: output, [line])[0] == [expected]


@pytest.mark.parametrize("items", ["%s%d%s", "{a}{b}${c}", "5°🎉{a}", "{a}<br/>%s", "{a}🎉.a@x.org"])
def test_items_that_follow_each_other_do_so_again(items):
    lines = [f"A dog {items}."]
    (line,), (hidden,), _ = translated(lambda text: text.replace("A dog", "Hund").replace("⟧⟦", "⟧ ⟦"), lines)
    assert hidden.replace(" ", "") == "Adog⟦1⟧⟦2⟧⟦3⟧." and line == f"Hund {items}."
    (line,), *_ = translated(lambda _: "⟦2⟧ x ⟦3⟧ ⟦1⟧", ["Dog {a}{b}{c}."])
    assert line == "{b} x {c} {a}"


def test_invented_and_repeated_symbols_are_dropped():
    (line,), _, counts = translated(lambda text: f"{text} ⟦3⟧ und ⟦9⟧ x ⟦3⟧ y⟦99⟧z ⟦9⟧, a", [TEXT])
    assert line == f"{TEXT} und x y z, a" and counts["repeated_email"] == 1 and not counts["lost_email"]
    assert "email 1 (1 repeated)" in protected(counts)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (None, "A dog."),
        ("append", "A dog. <b> </b> anna@example.org https://example.org/a?b=1 12"),
        ("keep", "ASK <b>ANNA</b> (anna@example.org) OR SEE https://example.org/a?b=1, ROOM 12."),
    ],
)
def test_what_a_model_loses_is_counted_and_treated_as_asked(missing, expected):
    found, given, counts = translated(lambda text: "A dog." if "⟦" in text else text.upper(), [TEXT], missing=missing)
    assert found == [expected]
    assert sum(counts[f"lost_{kind}"] for kind in KINDS) == 5 and counts["lost_tag"] == 2
    assert given == [HIDDEN, *["Ask", "Anna", "or see", "room"] * (missing == "keep")]


@pytest.mark.parametrize("symbols", [0, 16])
@pytest.mark.parametrize("missing", [None, "append", "keep"])
def test_a_translation_is_one_line(missing, symbols):
    lines = [f"A dog.{space}5 <a b='{space}'> {space} <b c='d'>x" for space in "\t\v\f\r\x1c\x1e\x85\u2028\u2029"]
    copied, *_ = translated(sentence, lines, KINDS, missing, symbols)
    lost, *_ = translated(lambda _: "Hund", lines, KINDS, missing, symbols)
    assert [*map(sentence, copied)] == copied and [*map(sentence, lost)] == lost


def test_more_items_than_symbols():
    """The others are in the source as they are, and are looked for in the translation."""
    text = "Numbers: " + ", ".join(map(str, range(100, 120)))
    (line,), (hidden,), counts = translated(lambda text: text.removesuffix(", 118, 119"), [text], missing="append")
    assert hidden == "Numbers: " + ", ".join([*SYMBOLS, "116", "117", "118", "119"])
    assert line == f"{text.removesuffix(', 118, 119')} 118 119" and counts["lost_number"] == 2
    (line,), given, _ = translated(lambda text: text.removesuffix(", 118, 119"), [text], missing="keep")
    assert line == text and given[1:] == ["Numbers:"]


def test_only_the_kinds_that_are_named():
    assert translated(str, [TEXT], ["email"])[1] == [TEXT.replace("anna@example.org", "⟦1⟧")]
    (line,), (hidden,), counts = translated(str, ["A ⟦3⟧ symbol."], ["url"])  # of the text itself
    assert (line, hidden, counts["protected_symbol"]) == ("A ⟦3⟧ symbol.", "A ⟦1⟧ symbol.", 1)


@given(
    st.lists(st.sampled_from(perturb.suite("en")), max_size=5),
    st.randoms(use_true_random=False),
    st.sampled_from(["append", "keep"]),
    st.sampled_from([0, 2, 16]),
)
def test_whatever_a_model_does_everything_is_there_once(rows, drawn, missing, symbols):
    def change(text):
        words = re.sub(f"({SYMBOL})", r" \1 ", text).split() if "⟦" in text else ["wort"] * drawn.randint(0, 3)
        known = [word for word in words if "⟦" in word or word == "wort"]
        return " ".join(drawn.choice((word, "", "x", f"{word} {word}")) for word in known)

    found, *_ = translated(change, [row[0] for row in rows], missing=missing, symbols=symbols)
    assert len(found) == len(rows)
    for (_, _, kind, kept), line in zip(rows, found, strict=True):
        assert kind not in KINDS or survive(kept.split(), line)
        assert not re.search(SYMBOL, line)


ITEM = st.one_of(
    st.builds(
        lambda kind, seed: getattr(augmentation, kind)(Random(seed)),
        st.sampled_from(sorted({*KINDS} - {"tag"})),
        st.integers(0, 999),
    ),
    st.sampled_from(["<b>", "</b>", "<a href='x y'>", "<br/>", "⟦3⟧", "⟦100⟧", "5", "5️⃣", "%s", "www.x.org"]),
)
BETWEEN = st.one_of(
    st.sampled_from([" ", " ", "dog", "läuft", "犬が", "(", "⟦"]), st.text("aZé犬1.,-⟧<>/@:_%", max_size=3)
)


@given(
    st.lists(st.one_of(ITEM, BETWEEN), max_size=25).map("".join),
    st.sampled_from([None, "append", "keep"]),
    st.sampled_from([0, 2, 16]),
)
def test_what_a_model_copies_is_the_line_again(line, missing, symbols):
    """Whatever touches what, and also where there are more items than symbols."""
    assume((symbols or missing) and (symbols != 2 or not re.search(SYMBOL, line)))
    (found,), _, counts = translated(str.strip, [line], missing=missing, symbols=symbols)
    assert found == one_line(line)
    assert not [name for name in counts if not name.startswith("protected")]


def test_an_address_in_a_longer_word_is_no_item():
    """What comes back would be divided from the word."""
    for text in ("läufta@x.org it", "a@x.org__A__ it", "a@x.orgé it"):
        assert translated(str, [text])[1] == [text]


def test_an_item_that_a_line_has_twice_is_appended_twice():
    (line,), _, counts = translated(lambda _: "Ja.", ["Rooms 5 and 5."], missing="append", symbols=0)
    assert line == "Ja. 5 5" and counts["lost_number"] == 2


def test_symbols_are_those_of_a_vocabulary(tmp_path):
    text = sentences(300)
    for number, symbols in enumerate(([], SYMBOLS[:3], SYMBOLS)):
        path = tmp_path / str(number)
        path.write_bytes(train(text, "unigram", 200, 1.0, 1, symbols=symbols))
        processor = pieces(path)
        assert symbols_of((processor, processor)) == len(symbols)
        assert not symbols or processor.encode("A ⟦1⟧ dog ⟦3⟧.", out_type=str).count("⟦1⟧") == 1
    assert symbols_of(None) == 0


@pytest.mark.parametrize("missing", ["append", "keep"])
def test_a_folder_without_symbols(missing):
    """Random weights, which lose everything; batches and windows change nothing."""
    lines = [*sentences(20), TEXT, "", *SOURCES[1:15]] * 2
    options = {"protect": KINDS, "protect_missing": missing}
    with pytest.raises(UserError, match=r"no symbol ⟦1⟧.*both_sides: \{protected: 0\.05\}.*--protect-missing"):
        Translator(folders()["int8"], protect=KINDS)
    translator = Translator(folders()["int8"], **options)
    found = [*translator.translate(lines)]
    assert len(found) == len(lines) and found[: len(found) // 2] == found[len(found) // 2 :]
    assert all(item in found[20] for item in ("<b>", "</b>", "anna@example.org", "https://example.org/a?b=1", "12"))
    assert found[:20] == [*Translator(folders()["int8"]).translate(lines[:20])] and found[21] == ""
    assert found == [*Translator(folders()["int8"], **options, batch_tokens=20, workers=2).translate(lines)]
    assert translator.settings["protect_missing"] == missing and translator.counts["protected_url"] >= 22


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"protect": "url,"}, "--protect : is none of url"),
        ({"protect": ["url, email"]}, "--protect url, email: is none of url"),
        ({"protect_missing": "keep"}, "--protect-missing needs --protect"),
    ],
)
def test_kinds_are_names_or_a_text_with_commas(options, problem):
    chosen = Translator(folders()["int8"], protect="url, email", protect_missing="append").settings
    assert chosen["protect"] == ["url", "email"]
    with pytest.raises(UserError, match=problem):
        Translator(folders()["int8"], **options)


def test_half_of_a_surrogate_pair_is_replaced():
    translator = Translator(folders()["int8"], protect="url", protect_missing="keep")
    broken, whole = [
        ["\ud83d https://x.org/\ud83d", "\ufeff\ud83d\ude00 a dog"],
        ["\ufffd https://x.org/\ufffd", "😀 a dog"],
    ]
    assert [*translator.translate(broken)] == [*translator.translate(whole)]


def test_symbols_through_an_engine_and_in_the_measurement(tmp_path):
    """Random weights over a vocabulary with symbols: the map lets nothing but the symbol through."""
    if not Native.supported():
        pytest.skip("the native engine is not installed")
    import native

    folder = native.with_symbols(words=0)
    line = f"{'x ' * 30}https://example.org/a?b=1"
    assert [*Translator(folder, protect=["url"]).translate([line])] in ([""], [line.split()[-1]])
    records.write(tmp_path / "t.tsv.zst", [(text, text) for text in sentences(4)])
    languages = ("--languages", "nl", "de")  # without a suite
    assert not run(
        "measure.perturb", "--test-set", tmp_path / "t.tsv.zst", *languages, "--output", tmp_path / "in"
    ).returncode
    options = ["--models", folder, "--inputs", tmp_path / "in", "--test-set", "t", *languages]
    done = run("measure.robustness", *options, "--protected", "s", "--output", tmp_path / "robustness.json")
    assert done.returncode == 0, done.stderr
    plain, protected = page.read(tmp_path / "robustness.json")["rows"]
    assert protected["protected"] and page.label(protected) == f"{page.label(plain)} protected"
    assert protected["lists"].keys() == plain["lists"].keys()


def test_the_command(tmp_path):
    (tmp_path / "in").write_text(f"{TEXT}\n42\n")
    command = ["-m", "nmt_frontier", "translate", "--model", str(folders()["int8"]), "--input", str(tmp_path / "in")]

    def done(*options):
        return subprocess.run([warm.python(), *command, *options], capture_output=True, text=True)

    result = done("--protect", "url, number", "--protect-missing", "append", "--output", str(tmp_path / "out"))
    assert "protected: url 1 (1 lost); number 2 (1 lost)" in result.stderr and result.returncode == 0, result.stderr
    line, copied = (tmp_path / "out").read_text().splitlines()
    assert "https://example.org/a?b=1" in line and "12" in line and copied == "42"
    assert "--protect urls: is none of url, email" in done("--protect", "urls").stderr
    assert "--protect-missing needs --protect" in done("--protect-missing", "keep").stderr
