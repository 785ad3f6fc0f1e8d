"""Repairs of texts before cleaning: each mends what it is for, counts it, and leaves the rest as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.repairs import REPAIRS, Repairs
from corpora.settings import Cleaning
from formats import records
from formats.batches import indexed

SIDE = st.text(st.characters(exclude_categories=["Cs"])).map(records.sentence)


def repaired(lines, *names, languages=("en", "de")):
    """The records after some repairs, and their counts."""
    repairs = Repairs(Cleaning(**{f"repair_{name}": True for name in names}), list(languages))
    batch = repairs.made(indexed(b"".join(map(records.line, lines))))
    return [batch.record(row) for row in range(len(batch))], repairs.repaired


@pytest.mark.parametrize(
    ("name", "text", "right"),
    [
        ("entities", "&quot;Hi&quot; &amp;#39;x&amp;#39; &amp;amp;lt;", "\"Hi\" 'x' <"),
        ("entities", "R&amp;D&#x2014;yes&nbsp;&#9;no", "R&D—yes\u00a0 no"),
        ("entities", "AT&T; &copy 5 &foo; & ; &#;", None),
        ("mojibake", "fÃ¼r dâ€™accord", "für d’accord"),
        ("mojibake", "voilÃ le, \x93so\x94", "voilà le, “so”"),
        ("mojibake", "ItÃ¢â‚¬â„¢s", "It’s"),
        ("mojibake", "ÐŸÑ€Ð¸Ð²ÐµÑ‚", "Привет"),
        ("mojibake", "Käse für Ångström, naïve café, AVÉ—MARIA, 你好", None),
        ("quotes", "“He said: ‘don’t’”, „gut“", '"He said: \'don\'t\'", "gut"'),
        ("quotes", "«\u00a0Oui\u00a0», »Ja« ›l´ami‹, ``b''", '"Oui", "Ja" \'l\'ami\', "b"'),
        ("quotes", "— 10–20, well-known—yes — no", "- 10-20, well-known - yes - no"),
        ("quotes", "\"a\" 'b' `c` - 5' 3′ ー 「d」", None),
        ("width", "Ｈｅｌｌｏ，world！（ＯＫ）　１２：３０、￥５。", "Hello, world!(OK) 12:30,¥5."),
        ("width", "word（note）more", "word (note) more"),
        ("width", "Hello, world! 你好", None),
    ],
)
def test_a_repair(name, text, right):
    lines = [(text, "ja"), ("ja", text), ("no", "nein")]
    found, counts = repaired(lines, name)
    assert found == [(right or text, "ja"), ("ja", right or text), lines[2]]
    assert counts == {name: 2 if right else 0}


def test_wide_punctuation_stays_where_it_is_at_home():
    lines = [("Hi，there", "你好，世界！")]
    for language in ("zh", "ja"):
        assert repaired(lines, "width", languages=("en", language)) == ([("Hi, there", "你好，世界！")], {"width": 1})
    assert repaired([("Hi", "안녕，하세요。")], "width", languages=("en", "ko"))[0] == [("Hi", "안녕, 하세요.")]


def test_repairs_follow_one_another():
    found, counts = repaired([("&acirc;&euro;&oelig;Hi&acirc;&euro;\u009d，you",)], *REPAIRS, languages=["en"])
    assert found == [('"Hi", you',)] and counts == dict.fromkeys(REPAIRS, 1)


@given(st.lists(st.tuples(SIDE, SIDE), min_size=1))
def test_no_text_is_lost_or_broken(lines):
    assert repaired(lines) == (lines, {})
    found, counts = repaired(lines, *REPAIRS)
    assert len(found) == len(lines) and all(side == records.sentence(side) for record in found for side in record)
    assert sum(old != new for old, new in zip(lines, found, strict=True)) <= sum(counts.values())
