"""A broken unit of XML or SGM is dropped and shown with its line; all others are read, and no side is shifted."""

import re
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mirrored_texts import fails, fetched, raised
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)

from corpora.readers.marked_up import Tmx
from corpora.readers.reader import Input, Selection, Unread
from corpora.readers.test_sets import Sgm
from nmt_frontier.errors import UserError

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<tmx version="1.4"><header/><body>\n'
TAIL = "</body></tmx>\n"
EXPECTED = [(f"dog {number}", f"Hund {number}") for number in range(60)]


def unit(number):
    return (
        f'<tu><tuv xml:lang="en"><seg>dog {number}</seg></tuv><tuv xml:lang="de"><seg>Hund {number}</seg></tuv></tu>\n'
    )


UNITS = [unit(number) for number in range(60)]


def memory(*units, head=HEAD, tail=TAIL):
    return head + "".join(units) + tail


def read(text, chunk=1 << 18, reader=Tmx, languages=("en", "de")):
    """The records of a text, those dropped by reason, and what is noted of them."""
    data, unread = text if isinstance(text, bytes) else text.encode(), Unread()
    chunks = (data[start : start + chunk] for start in range(0, len(data), chunk))
    found, dropped = [], Counter()
    for block in reader(Selection([*languages], [0, 1])).blocks(chunks, Input("x", unread)):
        dropped.update(block.dropped.values())
        found += [row for number, row in enumerate(zip(*block.columns, strict=True)) if number not in block.dropped]
    return found, dict(dropped), unread


BROKEN = {
    "an invalid reference": ("dog", "dog &#x1F;", "reference to invalid character number"),
    "a bare ampersand": ("dog", "dog & cat", "not well-formed (invalid token)"),
    "an unknown entity": ("dog", "dog&nbsp;", "undefined entity"),
    "a control character": ("dog", "dog \x01", "invalid token"),
    "wrong nesting": ("dog 20", "<b>dog</seg></b>", "mismatched tag"),
    "no end of a segment": ("</seg></tuv></tu>", "</tuv></tu>", "mismatched tag"),
    "no end": ("</tu>", "", "a start or an end of <tu> is missing"),
    "no start": ("<tu>", "", "a start or an end of <tu> is missing"),
    "half a start": ("<tu>", "<tu", "a start or an end of <tu> is missing"),
    "a character below the others": ("dog", "<", "not well-formed"),
}


@pytest.mark.parametrize("chunk", [1 << 18, 37])
@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("place", [0, 20, 59])
def test_one_broken_unit(kind, chunk, place):
    old, new, problem = BROKEN[kind]
    units = [*UNITS[:place], UNITS[place].replace(old.replace("20", str(place)), new, 1), *UNITS[place + 1 :]]
    found, dropped, unread = read(memory(*units), chunk)
    assert found == EXPECTED[:place] + EXPECTED[place + 1 :] and dropped == {"malformed": 1}
    ((where, text),) = unread.samples["malformed"]
    assert where.startswith(f"x: line {place + 3}: not well-formed (") and problem in where
    assert str(place) in text


def test_a_unit_that_is_not_utf8():
    data = memory(*UNITS).encode().replace(b"dog 7<", b"dog \xfc<")
    found, dropped, unread = read(data)
    assert found == EXPECTED[:7] + EXPECTED[8:] and dropped == {"invalid_utf8": 1}
    assert unread.problems == ["x: line 10: not UTF-8 (0xfc)"]


def test_a_corpus_goes_on_and_is_refused_above_the_share(tmp_path):
    (tmp_path / "x.tmx").write_text(memory(*UNITS).replace("dog 7<", "dog &<"))
    pairs, about = fetched(tmp_path, file="x.tmx")
    assert pairs == EXPECTED[:7] + EXPECTED[8:] and about.dropped == {"malformed": 1}
    (tmp_path / "x.tmx").write_text(memory(*UNITS).replace("dog 1", "dog &"))
    message = fails(tmp_path, file="x.tmx")
    assert "x: 11 of 60 lines cannot be read, more than 0.05 of them (invalid_share)" in message
    assert [*map(int, re.findall(r"line (\d+): not", message))] == [4, 13, 14]


def test_what_is_around_units_does_not_matter():
    comment = f"<!-- {UNITS[1]} -->\n"
    prefixed = UNITS[3].replace("<tu>", '<tu x:id="3" y:z="">')
    head = HEAD.replace("<header/>", f'<header><prop>"</prop></header>{comment}').replace("<tmx", '<tmx xmlns:x="u"')
    found, dropped, _ = read(
        memory(UNITS[0], comment, "<tu/>", UNITS[2], prefixed, "<![CDATA[ & ]]>", UNITS[4], head=head)
    )
    assert found == [EXPECTED[number] for number in (0, 2, 3, 4)] and not dropped
    found, dropped, _ = read(memory(*UNITS) + memory(*UNITS))  # one file after the other
    assert found == EXPECTED * 2 and not dropped


def test_prefixes_of_namespaces_are_bound_wherever_they_are_declared():
    units = [unit.replace("<tuv", f'<own:note p{row}:x=""/><tuv', 1) for row, unit in enumerate(UNITS)]
    units[7] = units[7].replace("dog", "dog &")
    found, dropped, _ = read(memory(*units), 500)
    assert found == EXPECTED[:7] + EXPECTED[8:] and dropped == {"malformed": 1}


def test_entities_have_no_effect():
    bomb = '<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>\n<tmx'
    for name in "abc":
        text = memory(*UNITS, head=HEAD.replace("<tmx", bomb)).replace("dog 7<", f"dog &{name};<")
        found, dropped, unread = read(text)
        assert found == EXPECTED[:7] + EXPECTED[8:] and dropped == {"malformed": 1}
        assert "undefined entity" in unread.problems[0]


def test_deep_and_long_units_are_bounded():
    deep = UNITS[0].replace("dog 0", "<hi>" * 100_000 + "dog" + "</hi>" * 100_000)
    long = UNITS[1].replace("dog 1", "dog " * 3_000_000)
    text = memory(deep, long, *UNITS[2:])
    tracemalloc.start()
    found, dropped, unread = read(text)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    assert found[1:] == EXPECTED[2:] and dropped == {"overlong": 1}
    assert unread.problems == ["x: line 4: longer than 4,000,000 bytes"]


def segments(*texts):
    return "<srcset>\n<doc>\n" + "".join(f'<seg id="1">{text}</seg>\n' for text in texts) + "</doc>\n</srcset>\n"


@pytest.mark.parametrize("old", ["<seg id=", "</seg>"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_segment_without_a_tag_keeps_its_row(old, place):
    rows = segments("one", "two", "three").splitlines(keepends=True)
    rows[2 + place] = rows[2 + place].replace(old, "<x ")
    found, dropped, unread = read("".join(rows), reader=Sgm, languages=["en"])
    assert found == [(text,) for row, text in enumerate(("one", "two", "three")) if row != place]
    assert dropped == {"malformed": 1} and f"line {place + 3}:" in unread.problems[0]


WHOLE = memory(*UNITS[:30]).encode()


@settings(max_examples=300)
@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=1), st.integers(20, 3000))
def test_any_other_byte_loses_one_unit_at_most(place, byte, chunk):
    """Two, if it makes one unit of them."""
    data = WHOLE[:place] + byte + WHOLE[place + 1 :]
    try:
        found, _, _ = read(data, chunk)
    except UserError as error:
        assert "\n" not in str(error)
        return
    changed = [pair for pair in found if pair not in EXPECTED]
    assert len(changed) <= 1 and len(found) >= 28
    assert all(source.endswith(target.split()[-1]) or len(changed) == 1 for source, target in found)


@given(st.integers(0, len(WHOLE) - 8))
def test_what_was_cut_off_is_an_error(end):
    assert raised(read, WHOLE[:end]).endswith(" it was cut off")
