"""Lines in capitals: found, translated without them, and restored."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import folders, sentences
from text_stages import through
from translation import run

from findings.altered_text import title
from measure import perturb
from nmt_frontier.text.capitals import Capitals
from nmt_frontier.translator import Translator

SUITE = [row for language in ("en", "de", "fr", "cs", "ja") for row in perturb.suite(language)]
ITEMS = [row[3] for row in SUITE if row[2] in ("url", "email", "placeholder", "emoji")]


def recased(lines, source="en", target="de", change=str):
    """The lines translated by ``change``, all that it was given, and the counts."""
    counts = Counter()
    return *through([Capitals(source, target, counts)], change, lines), counts


def without(line, source="en"):
    return Capitals(source, "de", Counter()).without(line)


UPPER = {
    "A DOG RUNS. DON'T GO! I'M HERE": "A dog runs. Don't go! I'm here",
    'WHERE? "IN THE SNOW." (YES) 2 MEN.': 'Where? "In the snow." (Yes) 2 men.',
    "THE U.S. ARMY AND J. SMITH": "The U.S. army and J. Smith",
    "PLAN A. GO HOME. SO DO I. Z. B. GEHT'S": "Plan A. Go home. So do I. Z. B. geht's",
    "J. K. ROWLING WROTE IT.": "J. K. Rowling wrote it.",
    "DAS IST DIE STRAßE": "Das ist die straße",
    "DANGER": "danger",
    "STOP!": "stop!",
    "3 OPTIONS.": "3 options.",
    "SEE https://example.org/aB OR anna@example.org": "See https://example.org/aB or anna@example.org",
    "ASK <b class='a big dog here'>ANNA</b> {name} ⟦12⟧ 🎉": "Ask <b class='a big dog here'>anna</b> {name} ⟦12⟧ 🎉",
    "⟦1⟧ THE DOG RUNS": "⟦1⟧ The dog runs",
    ">>deu_Latn<< THE DOG RUNS": ">>deu_Latn<< The dog runs",
    "СОБАКА БЕЖИТ ПО СНЕГУ": "Собака бежит по снегу",
    "Ο ΣΚΥΛΟΣ ΤΡΕΧΕΙ": "Ο σκυλος τρεχει",
    "THE DOG \uffff {name}": "The dog \uffff {name}",
}
TITLE = {
    "A Dog Runs Through The Snow.": "A dog runs through the snow.",
    "I'm At The NATO Summit With McDonald": "I'm at the NATO summit with McDonald",
    "Don't Stop. They Can't See Us!": "Don't stop. They can't see us!",
    "Two Men In T-Shirts, Hats And Jeans": "Two men in t-shirts, hats and jeans",
    'A Man Sees "The Dog" In {name} <b>Here</b>': 'A man sees "the dog" in {name} <b>here</b>',
}
ORDINARY = [
    "NATO", "USA", "OK!", "A4", "HTML5", "B2B", "CD-ROM", "MAX_VALUE", "BMW X5", "I", "A", "42", "7 % – 8 €", "", " ",
    "The NATO and the USA", "iPhone", "McDonald", "I love my iPhone", "He met Ludwig XIV.", "Ludwig XIV.", "XIV",
    "Der Hund Bello und die Katze Minka schlafen.", "Das Auto der Familie Müller", "Anna Maria Smith",
    "Winston Churchill, Ava Gardner, Frank Sinatra.", "Walls Have Eyes: How Researchers Are Studying You on Facebook",
    "NHKワールド TV を見る", "KBS 뉴스 MBC 뉴스", "犬が走る。", "CNN NBC قناة", "a dog runs", "{NAME} <B> ⟦1⟧ x",
    "https://EXAMPLE.ORG/A/B/C", "<b>NATO</b>", "Go home.",
]  # fmt: skip


@pytest.mark.parametrize(("line", "text"), [*UPPER.items(), *TITLE.items()])
def test_a_line_in_capitals_is_translated_without_them(line, text):
    assert without(line, "de" if "DAS" in line else "en") == (text, "upper" if line in UPPER else "title")


@pytest.mark.parametrize("line", ORDINARY)
def test_other_lines_are_left_alone(line):
    assert without(line) == (line, "")


def test_what_is_no_sentence_of_the_suite_is_left_alone():
    assert not [row[0] for row in SUITE if without(row[0])[1]]


def test_capitals_of_languages():
    turkish = Capitals("tr", "az", Counter())
    assert turkish.without("IŞIK İSTANBUL'DA DİYOR") == ("Işık istanbul'da diyor", "upper")
    assert turkish.restored("iki kız", "upper") == "İKİ KIZ" and turkish.restored("iki ırmak", "title") == "İki Irmak"
    assert without("İSTANBUL IS BIG", "en")[0] == "Istanbul is big"
    assert without("I PES I KOČKA", "cs")[0] == "I pes i kočka" and without("AM I IN", "eng_Latn")[0] == "Am I in"
    german = Capitals(None, "de", Counter())
    assert german.restored("eine große {name} z.B. www.example.org/a ὀδός", "upper") == (
        "EINE GROẞE {name} Z.B. www.example.org/a ὈΔΌΣ"
    )
    assert german.restored("犬が走る。", "upper") == "犬が走る。"
    assert german.restored("der „rote“ <b>hund</b> ist's", "title") == "Der „Rote“ <b>Hund</b> Ist's"


def test_a_first_letter_is_a_capital_as_words_have_it():
    croatian, georgian = Capitals("en", "hr", Counter()), Capitals("ka", "ka", Counter())
    assert croatian.restored("ǆep ﬁne (ßa", "title") == "ǅep Fine (ẞa"
    assert croatian.without("Tri ǅepa ﬁ Su Velika")[1] == "" and without("Tri ǅepa Su Velika", "hr")[1] == "title"
    assert georgian.restored("ორი კაცი ზის", "title") == "ორი კაცი ზის"
    assert georgian.without("ᲝᲠᲘ ᲙᲐᲪᲘ ᲖᲘᲡ") == ("ორი კაცი ზის", "upper")
    assert recased(["Ⓐ AND Ⅳ DOGS"])[0] == ["Ⓐ AND Ⅳ DOGS"]


SLOW = [
    "THE " + 9000 * "A." + "B " + 9000 * "A. ",
    "AAA" + 9000 * "!" + "A",
    "THE DOG " + 9000 * "_. " + "5",
    "THE DOG " + 9000 * "{a}. " + "5",
]


@pytest.mark.parametrize("line", SLOW)
def test_the_time_grows_with_the_length_only(line):
    """Seconds if it grew with its square; 0.03 otherwise, and more in a process with much to collect."""
    start = time.thread_time()
    assert recased([line])[0] == [line] and time.thread_time() - start < 1


def test_windows_keep_lines_and_count():
    lines = ["A DOG", "A dog runs.", "A Dog Runs Here Now", "NATO", "THE END https://example.org/a"]
    found, given, counts = recased(lines, change=lambda text: text.replace("dog", "hund"))
    assert given == ["A dog", "A dog runs.", "A dog runs here now", "NATO", "The end https://example.org/a"]
    assert found == ["A HUND", "A hund runs.", "A Hund Runs Here Now", "NATO", "THE END https://example.org/a"]
    assert counts == {"lines_recased": 3}


PLAIN = st.text(st.characters(exclude_categories=("C",), exclude_characters="\u2028\u2029\x85"), max_size=40)


@given(st.lists(PLAIN, max_size=6))
def test_without_capitals_nothing_changes_and_lines_stay_lines(lines):
    lower = [line.lower() for line in lines]
    lower = [line for line in lower if not any(map(str.isupper, line))]  # of letters without a small form
    assert recased(lower) == (lower, lower, Counter())
    assert len(recased([line.upper() for line in lines])[0]) == len(lines)


WORDS = st.lists(st.sampled_from(["dog", "läuft", "l'été", "собака", "and", "a", "5", *ITEMS]), max_size=12)


@given(WORDS, st.sampled_from([str.upper, title]))
def test_items_survive_and_a_copy_is_the_line_again(words, change):
    """Whatever is found, a model that copies gives back the same capitals."""
    line = " ".join(word if word in ITEMS else change(word) for word in words)
    (found,), (given_,), _ = recased([line])
    assert found == line
    assert all(item in given_ for item in ITEMS if item in words)
    assert sum(len(word) > 1 and word.isalpha() for word in words) < 5 or given_ != line


def test_a_folder_translates_capitals_as_if_they_were_none():
    """Random weights; the options and the counts of nmt-frontier translate."""
    folder, lines = folders()["int8"], [line.lower() for line in sentences(20)]
    lines = [line for line in lines if len(line.split()) > 4]
    translator = Translator(folder, recase=True)
    found = [*translator.translate([line.upper() for line in lines] + lines)]
    plain = Translator(folder)
    expected = [*plain.translate([without(line.upper())[0] for line in lines] + lines)]
    assert found == [line.replace("ß", "ẞ").upper() for line in expected[: len(lines)]] + expected[len(lines) :]
    assert translator.counts["lines_recased"] == len(lines) and "lines_recased" not in plain.counts
    assert translator.settings == plain.settings | {"recase": True}
    both = Translator(folder, recase=True, protect=["url"], protect_missing="append")
    (line,) = both.translate([f"{lines[0].upper()} https://example.org/aB"])
    assert line.endswith("https://example.org/aB") and both.counts["lines_recased"] == 1


@pytest.mark.slow
def test_the_command_says_how_many_lines():
    done = run("--model", folders()["int8"], "--recase", text=b"A DOG RUNS\nA dog runs.\n")
    assert done.returncode == 0 and b"1 lines in capitals were translated without them" in done.stderr
    assert done.stdout.count(b"\n") == 2
