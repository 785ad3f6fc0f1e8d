"""Classes of characters are those of Unicode; invisible characters are gone, but for those that change what is read."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_frontier.characters import EMOJI, IDEOGRAPHS, INVISIBLE, classified, moves, visible
from nmt_frontier.sentence import composed, sentence

ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
KEPT = {
    "Persian": "می‌خواهم کتاب‌ها خانه‌ای ۲۰‌ساله",
    "Urdu": "بے‌شک",
    "Kurdish": "ئه‌مه‌ سه‌گه‌",
    "an abbreviation": "١٤٤٥ ه‍",
    "Hindi": "क्‍ष र्‍य",
    "Bengali": "র‍্য ক্‌ষ",
    "Malayalam": "അവന്‍ പറഞ്ഞു",
    "Kannada": "ಬ್ರೌಸರ್‌ನಲ್ಲಿ",
    "Sinhala": "ශ්‍රී ලංකා",
    "Mongolian": "ᠠ᠋ ᠪᠠᠶ᠎ᠠ",
    "ideographs": "葛\U000e0100飾 辻\ufe00",
    "emoji": "▶\ufe0f ❤\ufe0e 👩\u200d🚀 🙂\u200d↔\ufe0f 🏳\ufe0f\u200d🌈 👍🏽 1\ufe0f⃣ #\ufe0f⃣ ©\ufe0f",
    "a flag": f"{ENGLAND} wins",
}
CHANGED = {
    "A d\xadog runs through the s\xadnow.": "A dog runs through the snow.",
    "\ufeffA dog\ufeff \u202aruns\u202c.\u200e\u200b": "A dog runs.",
    "dog\u200d runs\u200c, 1\ufe0f dog\ufe0f": "dog runs, 1 dog",
    "می\u200e\u200c\u200c\u200bخواهم \u200cسگ": "می\u200cخواهم سگ",
    "❤\u200d\ufe0f\u200d dog": "❤\ufe0f dog",
    f"{ENGLAND[:-1]} 🐕{ENGLAND[1:]} A\U000e0041\U000e0042": "🏴 🐕 A",
    "葛\U000e0100\U000e0101": "葛\U000e0100",
    "e\xad\u0301 e\u034f\u0301": "é é",
    "\xad": "", "\u2060": "", "\u200e": "", "\u3164": "", "\U000e0001": "", "\ufff3": "",
}  # fmt: skip
SPECIAL = "a1# éا۱द्😀❤🏴葛ᠠ⃣\u0301\xad\u200b\u200c\u200d\u180b\u180e\ufe0e\ufe0f\ufeff\U000e0100\U000e0067"
TEXT = st.text(st.sampled_from(SPECIAL) | st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("name", KEPT)
def test_what_changes_what_is_read_stays(name):
    assert sentence(KEPT[name]) == KEPT[name]


@pytest.mark.parametrize("text", CHANGED)
def test_what_carries_no_text_is_gone(text):
    assert sentence(text) == CHANGED[text]


def test_each_invisible_character_is_gone_between_letters():
    for character in classified(INVISIBLE):
        assert visible(f"a{character}b") == "ab" and not sentence(f" {character} ")


def test_classes_are_those_of_unicode():
    regex = pytest.importorskip("regex")
    everything = "".join(map(chr, range(0x110000)))
    of = {name: set(regex.findall(rf"\p{{{name}}}", everything)) for name in ("Emoji", "Ideographic", "DI")}
    assert {*classified(EMOJI)} == {one for one in of["Emoji"] if not one.isascii()}
    assert {*classified(INVISIBLE)} == of["DI"] and {*classified(IDEOGRAPHS)} >= of["Ideographic"]
    assert not {*classified(IDEOGRAPHS)} & set(regex.findall(r"[\p{L}--\p{Ideographic}--\p{Lm}]", everything, regex.V1))


@given(TEXT)
def test_a_text_without_them_stays_as_it_is(text):
    clean = composed(text)
    assert composed(clean) == clean and visible(clean) == clean
    places = [*moves(text)]
    assert places[0] == (0, 0) and places[-1] == (len(text), len(visible(text)))
    for (begin, new), (end, new_end) in [*pairwise(places)][::2]:  # what is not invisible
        assert text[begin:end] == visible(text)[new:new_end]
