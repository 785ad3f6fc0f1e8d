"""Markup, paragraphs and unknown words through the native engine."""

import functools
import io
import re
import shutil
import time
from collections import Counter
from html import escape
from random import Random

import native
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import folders, sentences
from msgspec.structs import replace
from test_markup import Nesting, element
from text_stages import through
from translation import run

from nmt_frontier.command import translate
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.model.model_folder import AlignmentHead, describe
from nmt_frontier.text import sentences as stage
from nmt_frontier.text.attention import Attended, Attention
from nmt_frontier.text.capitals import Capitals
from nmt_frontier.text.items import KINDS, SYMBOLS, Finder
from nmt_frontier.text.markup import Line, Markup
from nmt_frontier.text.sentences import splitter
from nmt_frontier.translator import LineTokenizer, Translator
from train import augmentation


@pytest.fixture(scope="module")
def model():
    return native.folders() / "float32"


def attended(folder, lines, **options):
    """The outputs of a folder's engine, and the numbers of pieces of their sources."""
    translator = Translator(folder, checksums=False, **options)
    coder, translate = translator.engine.coded(LineTokenizer(folder))
    pieces = [coder.encode(line) for line in lines]
    return translate(pieces), [*map(len, pieces)]


def test_asked_for_attention_the_engine_translates_as_before(model):
    lines = sentences(9)
    outputs, sizes = attended(model, lines, html=True)
    assert outputs == attended(model, lines)[0]
    for output, size in zip(outputs, sizes, strict=True):
        assert isinstance(output, Attended) and output.attention.shape == (len(output), size)
        assert np.allclose(output.attention.sum(1), 1, atol=1e-4)


def test_the_head_of_a_folder_is_gone_by(model, tmp_path):
    """Without one it is the mean of all."""
    folder, found = shutil.copytree(model, tmp_path / "model"), {}
    for head in (None, 0, 1):
        alignment = None if head is None else AlignmentHead(0, head)
        write_json(folder / "model.json", replace(describe(folder), alignment=alignment))
        ((output,), _) = attended(folder, sentences(1), html=True)
        found[head] = output.attention
    assert np.allclose((found[0] + found[1]) / 2, found[None], atol=1e-5) and not np.allclose(found[0], found[1])


def test_markup_keeps_lines_tags_and_what_is_translated(model):
    lines = sentences(8)
    tagged = [f"<p class='x'>{line.replace(' ', ' <b>', 1)}</b></p>" if " " in line else line for line in lines]
    plain = [*Translator(model).translate(lines)]
    found = [*Translator(model, html=True).translate([*tagged, "", " <br> ", "<i></i>"])]
    assert [re.sub("<[^>]*>", "", line) for line in found[:8]] == plain
    assert all(
        line.count("<b>") == line.count("</b>") == old.count("<b>") for line, old in zip(found, tagged, strict=False)
    )
    assert [line.strip() for line in found[8:]] == ["", "<br>", "<i></i>"]


def test_an_unknown_piece_becomes_the_aligned_source_word(model):
    word, other = ("".join(sorted({*sentences(3, seed=seed)[0].split()})[:1]) for seed in (1, 2))
    source, processors = f"{other} (Xyzzy), {word}", LineTokenizer(model).processors
    known = processors[0].encode(source, out_type=str)
    place = max(n for n, size in enumerate(np.cumsum([len(piece) for piece in known])) if size <= source.index("y") + 2)
    attention = np.zeros((2, len(known)), np.float32)
    attention[:, place] = 1
    output = Attended([0, 0], ["<unk>", "<unk>"], attention, looped=False)
    assert Attention(processors, True).translation(source, "", output).text == "Xyzzy"


def test_an_engine_without_attention_is_refused(model):
    with pytest.raises(UserError, match="CTranslate2 tells no attention; give a folder of the native engine"):
        Translator(folders()["float32"], html=True)
    with pytest.raises(UserError, match="--long-lines split: its parts cannot be aligned"):
        Translator(model, html=True, long_lines="split")


def test_paragraphs_are_translated_stage_and_keep_their_lines(model, monkeypatch):
    """With a splitter after every second word, as the model knows no marks."""
    monkeypatch.setattr(stage, "splitter", lambda language: lambda text: re.findall(r"\S+\s*\S*\s*", text))
    pairs = [" ".join(line.split()[:2]) for line in sentences(30) if " " in line]
    translated = zip(pairs, Translator(model).translate(pairs), strict=True)
    halves, alone = zip(*[pair for pair in translated if pair[1]][:4], strict=True)
    found = [*Translator(model, sentences=True).translate(["  ".join(halves), "", halves[0]])]
    assert found == ["  ".join(alone), "", alone[0]] and len(halves) > 2
    tagged = [*Translator(model, sentences=True, html=True).translate([f"<p><b>{' '.join(halves)}</b></p>"])]
    assert tagged == [f"<p><b>{' '.join(alone)}</b></p>"]


@pytest.mark.parametrize("codes", [("de_DE", "zho_Hans"), ("deu", "zt"), ("ger", "jpn_Jpan"), ("de", "th_TH")])
def test_languages_have_their_rules_by_any_code(model, tmp_path, monkeypatch, codes):
    """Sentences of a language without spaces follow each other without any, and the source has its own splitter."""
    asked = []
    monkeypatch.setattr(stage, "splitter", lambda language: asked.append(language) or (lambda text: text.split()))
    folder = shutil.copytree(model, tmp_path / "model")
    write_json(folder / "model.json", replace(describe(folder), source=codes[0], target=codes[1]))
    word = sentences(1)[0].split()[0]
    (alone,), (twice,) = (
        Translator(folder).translate([word]),
        Translator(folder, sentences=True).translate([f"{word} {word}"]),
    )
    assert twice.replace(" ", "") == (alone * 2).replace(" ", "") and f"{alone}{alone}" == twice and asked == ["de"]


class Stopping(io.BytesIO):
    """Lines of which ``left`` can be read before a signal comes."""

    left = 0

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().__next__()


def test_counts_of_a_translation_that_was_killed_are_those_of_one_in_one_go(monkeypatch, tmp_path):
    """Wherever it stops: no window ends inside of a line, whose sentences would be counted again."""
    monkeypatch.setattr(stage, "splitter", lambda language: lambda text: re.findall(r"\S+\s*\S*\s*", text))
    lines = [f"{'AB CD 5 ' * (place % 4)}{{a}} ab\n".encode() for place in range(30)]

    def counts(most, resume):
        options = {"sentences": True, "protect": KINDS, "protect_missing": "append", "recase": True}
        translator = Translator(native.with_symbols(words=20), **options, batch_tokens=2, workers=1)
        translator.pipeline._translate = lambda sentences: [pieces[:2] for pieces in sentences]
        source = Stopping(b"".join(lines))
        source.left = most
        with translate.resumable_output(tmp_path / "out", {}, resume, source) as output:
            return translate.translate(translator, source, output)

    whole = counts(len(lines) + 1, False)
    assert whole["lost_number"] and whole["lines_recased"]
    for stop in range(4, len(lines), 3):
        with pytest.raises(KeyboardInterrupt):
            counts(stop, False)
        assert counts(len(lines) + 1, True) == whole


def test_a_protected_item_stays_in_one_sentence(model, monkeypatch):
    monkeypatch.setattr(stage, "splitter", lambda language: lambda text: re.findall(r"[^!?]*[!?]+\s*|[^!?]+", text))
    first, second = (line for line in sentences(9)[:2])
    line = f"{first} https://x.org/A!B?c=D {first}! {second}"
    translator = Translator(model, sentences=True, protect=["url"], protect_missing="append")
    (found,) = translator.translate([line])
    assert found.count("https://x.org/A!B?c=D") == 1 and translator.counts["protected_url"] == 1


@functools.cache
def with_symbols(**options):
    return Translator(native.with_symbols(words=20), html=True, checksums=False, copying=False, **options)


def translated(translator, model, *lines):
    """Lines translated by a function of a sentence's pieces, which returns places of them and the attention."""
    coder = translator.pipeline._tokenizer

    def batch(sentences):
        found = []
        for pieces in sentences:
            places, attention = model([coder.text(piece) for piece in pieces])
            output = [pieces[place] for place in places]
            found.append(Attended(output, [*map(coder.text, output)], np.float32(attention), looped=False))
        return found

    translator.pipeline._translate = batch
    return [*translator.translate(lines)]


def copying(pieces):
    return range(len(pieces)), np.eye(len(pieces))


def losing(pieces):
    places = [place for place, piece in enumerate(pieces) if "⟦" not in piece and piece != "▁"]
    return places, np.eye(len(pieces))[places]


LINK = "<a href='x'>https://example.org/a?b=1&amp;c</a>"
KEPT = (
    f"ab <b>cd</b> {LINK} <i>ab 18.10</i> ab",
    f"<b>{LINK} cd</b> ab 5 a@x.org",
    "&lt;b&gt; ab &lt;/b&gt; <i>{name}</i> ab<br>cd <b>🎉</b>",
    "<b>42</b> <i>7</i>",  # copied
    "ab <b>cd</b>",
    "ab https://x.org/e\u0301 <b>cd</b>",  # no form C
)


def test_protected_items_come_back_with_their_tags():
    translator = with_symbols(protect=KINDS)
    assert translated(translator, copying, *KEPT) == [*KEPT]
    assert translator.counts == translator.counts | {"protected_url": 3, "protected_tag": 2, "protected_email": 1}
    first, *_ = translated(with_symbols(protect=KINDS, protect_missing="append"), losing, *KEPT)
    assert first == f"ab <b>cd</b> <i>ab</i> ab {LINK} 18.10"


def test_invisible_characters_are_gone_and_tags_keep_their_places():
    """In text, also as entities; what is markup stays."""
    lines = [
        "\ufeff a&shy;b <b>c\u200bd</b>&#8203; <i title='\xad'>\u2060ab\u200e</i> ab",
        "<p>\u200b</p> ab <b>\xad</b><u>cd\ufeff</u>",
        "<b>ab\u200d</b> cd\u200c",
        "<script>'\xad'</script>\xad",
    ]
    assert translated(with_symbols(), copying, *lines) == [
        "ab <b>cd</b> <i title='\xad'>ab</i> ab",
        "<p></p> ab <b></b><u>cd</u>",
        "<b>ab</b> cd",
        "<script>'\xad'</script>",
    ]


UNTRANSLATED = (
    "<span translate='no'>Acme <i>Dog</i></span> ab cd",
    "ab <b>cd <code class=x>a\tb &lt; \xad</code></b> ab <code>a\tb</code> cd",
    "<p class='a notranslate'>A dog.<p>ab cd",
    "<div translate=NO><p>x</p><!-- a --><br></div><u>ab</u>",
    "<svg><path d='x'/><text>ab</text></svg>ab",
    "ab <math><mi>x</mi></math> cd <kbd>C</kbd> ab <samp>x</samp> <var>y</var>",
    "<textarea>ab</textarea>ab <code translate='yes'>cd</code>",
    "ab <span translate='no'>x <span>y</span> z</span> cd ⟦3⟧",
    "ab <code>never ended",
    "\U000f0000 ab \U000f0005 <code>x</code> cd",  # private characters of the text
    "<code>alone</code>",
)


@pytest.mark.parametrize("model", [copying, losing])
@pytest.mark.parametrize("options", [{}, {"protect": KINDS}, {"protect": "url", "protect_missing": "append"}])
@pytest.mark.parametrize("symbols", [16, 2, 0])
def test_what_is_not_to_be_translated_stays_as_it_is(monkeypatch, model, options, symbols):
    """Whether the model knows symbols, keeps them or not, and whatever else is protected."""
    translator = with_symbols(**options)
    monkeypatch.setattr(translator._stages._stages[1], "_symbols", SYMBOLS[:symbols])
    assert translated(translator, model, *UNTRANSLATED) == [*UNTRANSLATED]


def test_a_model_without_symbols_translates_around_what_stays(model):
    line, *others = sentences(3, seed=5)
    (expected, *rest) = Translator(model).translate([line, *others])
    (found, *more) = Translator(model, html=True).translate([f"<code>a.b()</code> {line}", *others])
    assert found == f"<code>a.b()</code> {expected}" and more == rest


def test_an_item_is_aligned_with_itself_whatever_the_attention_is():
    translator = with_symbols(protect=KINDS)
    line = f"ab cd {LINK} <b>18.10</b> ab"
    assert translated(translator, lambda pieces: (range(len(pieces)), np.ones([len(pieces)] * 2)), line) == [line]


def test_what_a_tag_divides_is_whole():
    line = "ab <b>https://example</b>.org/cd ab cd"
    assert translated(with_symbols(protect="url"), copying, line) == ["ab <b>https://example.org/cd</b> ab cd"]
    (copied,) = translated(with_symbols(protect=("placeholder",)), copying, "{na<b>me</b>} {a}<i> </i>5")
    assert copied == "<b>{name}</b> {a} <i></i>5"


def test_time_and_memory_grow_with_the_items_of_a_line():
    """Several times as long, and hundreds of megabytes, if they grew with their square."""
    translator = with_symbols(protect=("placeholder",), protect_missing="append")
    start = time.process_time()
    (found,) = translated(translator, losing, "ab <b>cd</b> " + 3000 * "{a} ")
    assert found.count("{a}") == 3000 and time.process_time() - start < 2


def test_an_unknown_piece_that_is_aligned_with_an_item_becomes_it():
    translator = Translator(native.with_symbols(words=20), replace_unknown=True, protect=["url"])
    translator._attention.unknown = "▁ab"

    def model(pieces):
        return [pieces.index("▁ab")], [[float("⟦" in piece) for piece in pieces]]

    assert translated(translator, model, "ab https://x.org/a cd") == ["https://x.org/a"]
    assert not translator.counts["lost_url"]


def test_lines_in_pieces_are_aligned():
    """A model that loses symbols: each item comes back at its place, and its tags with it."""
    translator = with_symbols(protect=KINDS, protect_missing="keep")
    assert translated(translator, losing, *KEPT) == [*KEPT]


def test_capitals_are_aligned():
    """Also behind a ligature, which is two letters in capitals."""
    stages = [Markup(True), Capitals("en", "de", Counter())]
    lines = ["A <b>DOG</b> RUNS", "A <i>Dog Runs</i> Here Now", "THE X <b>DOG</b> RUNS"]
    found, given = through(stages, lambda text: text.replace("x", "ﬁ"), lines)
    assert found == [*lines[:2], "THE FI <b>DOG</b> RUNS"]
    assert given == ["A dog runs", "A dog runs here now", "The x dog runs"]


WORD = st.one_of(
    st.sampled_from(["ab", "cde", "f", "犬が", "&amp;", "(", ".", "&lt;i&gt;", "<img src='5'>", "5", "⟦3⟧", "é"]),
    st.builds(
        lambda kind, seed: escape(getattr(augmentation, kind)(Random(seed)), quote=False),
        st.sampled_from(sorted({*KINDS} - {"tag"})),
        st.integers(0, 999),
    ),
)
MARKUP = st.lists(st.recursive(WORD, element, max_leaves=9), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(MARKUP, min_size=1, max_size=8),
    st.integers(0, 9999),
    st.sampled_from([("en", 16), ("ja", 16), ("en", 2), ("en", 0)]),
)
def test_whatever_a_model_does_tags_nest_and_every_item_is_there(lines, seed, kind):
    """Pieces and attention at random: no item is lost, or divided by a tag."""

    def model(pieces):
        drawn = np.random.default_rng(seed + len(pieces))
        places = drawn.integers(len(pieces), size=drawn.integers(len(pieces) + 3))
        return [*map(int, places)], drawn.random((len(places), len(pieces)))

    translator = with_symbols(protect=KINDS, protect_missing="append")
    markup, protection = translator._stages._stages
    markup._spaced, protection._symbols = kind[0] == "en", SYMBOLS[: kind[1]]
    finder = Finder(KINDS)
    for line, found in zip(lines, translated(translator, model, *lines), strict=True):
        assert sorted(Nesting(found).tags) == sorted(Nesting(line).tags)
        assert len(Line(found).texts) == len(Line(line).texts)
        wanted = Counter(match[0] for text in Line(line).texts for match in finder.found(text.text))
        for item, count in wanted.items():
            assert found.count(escape(item, quote=False)) >= count, (line, found)
        assert "⟦" in line or "⟦" not in found


SPLIT = {
    "en": ["Dr. Smith sees it! ", '"Is it so?" he asked. ', "It costs 3.50 dollars."],
    "de": ["Ein Hund läuft. ", "Das ist z. B. am 3. Mai so. ", "Prof. Müller kommt."],
    "fr": ["Il a dit : « Bonjour. » ", "Puis il est parti."],
    "cs": ["To je např. pes. ", "Dne 3. května přišel. ", "Ahoj."],
    "ja": ["犬が走る。", "猫が寝る！"],
}


@pytest.mark.parametrize("language", SPLIT)
def test_sentences_end_where_rules_say(language):
    pytest.importorskip("sentencex")
    assert splitter(language)("".join(SPLIT[language])) == SPLIT[language]


@pytest.mark.slow
def test_the_command_goes_on_with_markup(model, tmp_path):
    (tmp_path / "in").write_text("".join(f"<b>{line}</b>\n" for line in sentences(5)), encoding="utf-8")
    done = run("--model", model, "--html", "--keep-loops", "--input", tmp_path / "in", "--output", tmp_path / "out")
    assert done.returncode == 0 and b"error" not in done.stderr
    assert (tmp_path / "out").read_text(encoding="utf-8").count("<b>") == 5
