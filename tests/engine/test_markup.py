"""Inline markup: what is text, and tags that nest in a translation, wherever the alignment puts them."""

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_frontier.text.alignment import Alignment, units
from nmt_frontier.text.markup import VOID, Line
from nmt_frontier.text.tags import placed

WORDS = ("dog", "red", "&lt;b&gt;", "a &amp; b", "18.10", "l'homme", "犬", "don't")
NAMES = ("b", "i", "a href='?x=1&amp;y=2'", "span")


class Nesting(HTMLParser):
    """Raises AssertionError for tags that do not nest; tags: all of them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(self.get_starttag_text())
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(self.get_starttag_text())

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.tags.append(f"</{tag}>")


def element(inside):
    def around(name, parts):
        return f"<{name}>{' '.join(parts)}</{name.split()[0]}>"

    return st.builds(around, st.sampled_from(NAMES), st.lists(inside, max_size=3))


LEAVES = st.sampled_from([*WORDS, "<img src='x.png'>", "<wbr/>", "<!-- note -->"])
TAGS = st.lists(st.sampled_from([f"<{name}>" for name in ("a", "/a", "b", "/b", "br", "img")]), max_size=12).map(
    " ".join
)
MARKUP = st.lists(st.recursive(LEAVES, element, max_leaves=8), min_size=1, max_size=5).map(" ".join)


def pieces(text):
    return [match.span() for match in re.finditer(r"\s*(?:\w+|\S)", text)]


def translated(line, seed, identity=False):
    """Each text of a line as itself, or as so many random words with a random alignment."""
    drawn, written = np.random.default_rng(seed), ""
    for part in line.parts:
        if isinstance(part, str):
            written += part
            continue
        source = pieces(part.text)
        text = part.text if identity else " ".join(drawn.choice(["Hund", "<", "x&y", "ab."], drawn.integers(0, 7)))
        target = pieces(text)
        weights = drawn.random((len(target), len(source)), np.float32)
        weights = np.eye(len(target), dtype=np.float32) if identity else weights * (weights > 0.5)
        written += placed(part, text, Alignment(source, target, weights), units(text))
    return written


@settings(max_examples=300, deadline=None)
@given(MARKUP, st.integers(0, 10_000))
def test_tags_nest_and_none_is_lost_whatever_is_aligned(markup, seed):
    found = translated(Line(markup), seed)
    assert sorted(Nesting(found).tags) == sorted(Nesting(markup).tags)
    assert found.count("<!-- note -->") == markup.count("<!-- note -->")


class Part(Nesting):
    """A part of a document, which may leave elements open, and close what began before it."""

    def close(self):
        super().close()
        self.open = []

    def handle_endtag(self, tag):
        assert not self.open or self.open.pop() == tag


@settings(max_examples=300, deadline=None)
@given(st.text("ab <>&/;!-?\"'=i犬", max_size=40) | TAGS, st.integers(0, 10_000))
@example("<b> dog <a> <br> <a> </b>", 0)  # the outer one of two elements of an earlier text ends first
def test_any_text_is_taken_and_nests_as_far_as_it_closes_what_it_opens(markup, seed):
    Part(translated(Line(markup), seed))


@settings(max_examples=100, deadline=None)
@given(MARKUP)
def test_a_text_that_is_its_own_translation_stays_as_it_is(markup):
    plain = [unescape(re.sub(r"<[^>]*>", "", text)) for text in (markup, translated(Line(markup), 0, identity=True))]
    assert plain[0] == plain[1]


PLACED = {  # a line, its translation, links of its words, and what comes of it
    "another order": ("a <b>red</b> shirt", "Hemd rot", "1-1 2-0", "Hemd <b>rot</b>"),
    "a mark": ("a <b>dog</b>.", "ein Hund.", "0-0 1-1 2-2", "ein <b>Hund</b>."),
    "of two words one is elsewhere": ("<b>gets up</b> now", "steht jetzt auf", "0-0 1-2 2-1", "<b>steht</b> jetzt auf"),
    "all of it": ("<b>a dog</b>", "ein Hund", "0-1", "<b>ein Hund</b>"),
    "one inside of another": ("<b>a <i>dog</i></b> x", "ein Hund y", "0-0 1-1 2-2", "<b>ein <i>Hund</i></b> y"),
    "not aligned": ("<b>the</b> dog", "Hund", "1-0", "<b>Hund</b>"),
    "a void tag": ("a <img> dog", "Hund ein", "0-1 1-0", "<img>Hund ein"),
    "ends later": ("a <b>dog", "ein Hund", "0-0 1-1", "ein <b>Hund"),
    "began earlier": ("dog</b> a", "Hund ein", "0-0 1-1", "Hund</b> ein"),
    "overlapping": ("<b>a <i>dog</b> runs</i>", "x y z", "0-0 1-1 2-2", "<b>x <i>y</i></b> <i>z</i>"),
    "an end tag too many": ("<b>a</i> dog</b>", "ein Hund", "0-0 1-1", "<b>ein Hund</b>"),
    "entities": ("a <b>&lt;</b> &amp;", "< ein &", "0-1 1-0 2-2", "<b>&lt;</b> ein &amp;"),
    "sections": ("a <![CDATA[<b>]]><![[x]]> dog", "Hund ein", "0-1 1-0", "<![CDATA[<b>]]><![[x]]>Hund ein"),
    "a declaration": ("<!DOCTYPE html>a <!> dog <!x", "Hund ein", "0-1 1-0", "<!>Hund <!DOCTYPE html>ein"),
    "XML": ("a <x/> <B>dog</B>", "ein Hund", "0-0 1-1", "ein <x/><B>Hund</B>"),
}


@pytest.mark.parametrize("name", PLACED)
def test_where_tags_go(name):
    markup, text, links, expected = PLACED[name]
    (source,) = Line(markup).texts
    sides = [pieces(side) for side in (source.text, text)]
    weights = np.zeros((len(sides[1]), len(sides[0])), np.float32)
    for link in links.split():
        i, j = map(int, link.split("-"))
        weights[j, i] = 1
    assert placed(source, text, Alignment(*sides, weights), units(text)) == expected


def test_elements_may_nest_deeper_than_python_calls():
    line = "<b>" * 2000 + "dog" + "</b>" * 2000
    assert translated(Line(line), 0, identity=True) == line


def test_separators_divide_a_line_and_stay():
    line = Line("<p class=x>One <b>two<br>three</b></p><script>if (a < b) x()</script> &eacute;")
    assert [part if isinstance(part, str) else [part.text] for part in line.parts] == [
        [""], "<p class=x>", ["One two"], "<br>", ["three"], "</p>", [""], "<script>", [""], "if (a < b) x()", [""],
        "</script>", [" é"],
    ]  # fmt: skip
    assert translated(line, 0, identity=True) == (
        "<p class=x>One <b>two<br>three</b></p><script>if (a < b) x()</script> é"
    )


def test_what_overlaps_an_element_of_an_earlier_text_is_opened_again():
    line = Line("<a><b>one <br>two</a> three</b> four")
    assert translated(line, 0, identity=True) == "<a><b>one <br>two</b></a> <b>three</b> four"


def test_words_of_a_language_without_spaces_are_those_of_pieces():
    assert units("犬が走る。", [(0, 1), (1, 4), (4, 5)]) == [(0, 1), (1, 4), (4, 5)]
    assert units("犬が 18.10!") == [(0, 2), (3, 8), (8, 9)]
