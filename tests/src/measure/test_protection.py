"""Protected text: what the patterns find in a source."""

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure import perturb
from nmt_frontier.text.items import KINDS, PATTERNS, SYMBOLS, Finder
from train import augmentation

FOUND = {  # what is marked is what must be found
    "See «https://example.org/a?b=1»." : "url",
    "See («www.example.com/A_(b)»), «http://x.org/2024/05/a-1.pdf»!": "url",
    "詳しくは«https://example.org/v2/a»を見て。": "url",
    "In «example.com/faq», and/or e.g. in the U.S./Canada.": "url",
    "GO TO «HTTPS://EXAMPLE.ORG/A», «Http://x.org» OR «ftp://X.ORG», AND/OR X": "url",
    "«Www.example.org» is not WWW. or www, HTTPS:": "url",
    "SEE «WWW.EXAMPLE.ORG»": "url",
    "Write to «a.b+c_2@mail.example.org»; or to «1@x.org».": "email",
    "It costs «€18.10», «5» or «1,250.50», «-3», «99.5%» at «14:35» on «2024-05-17».": "number",
    "«42»人 and H2O, A4, v2.4.1, COVID-19, the 1990s, l'«11»": "number",
    "We won «🎉»! «❤️» «👍🏽» «👩‍🚀» «🇫🇷🇩🇪5️⃣» ™ ² → x5️⃣": "emoji",
    "«▶️» «⬅️» or «➡️», wait «🙂‍↔️» «🐶» «©️» «⏏️» «☎» «❤︎», © 2024, A ↔ B, ★ ♪ ✓ 〰": "emoji",
    "<b>A</b>": None,
    "«<b>»A«</b>» a < b > c «<br/>»«<a href=\"https://x.org/a?b=1\" id='x y'>»x«</a>» <3": "tag",
    "Hello «{name}», «{0}» «{{title}}» «{{ item.name }}» «${user}» «__DATE__» «[[city]]» {a b} __ x__": "placeholder",
    "«%s» «%(count)d» «%1$s» «%.2f» «%@» 100% sure, 5%s, %subject, 50% discount": "placeholder",
    "«%s»«%d»«%s» «%1$s»«%(n)d»«%.2f»«%s» «{a}»«{b}» «${a}»«${b}» 5%%s%%d": "placeholder",
}  # fmt: skip


@pytest.mark.parametrize("marked", FOUND)
def test_items_are_found_whole(marked):
    kind = FOUND[marked]
    text = marked.replace("«", "").replace("»", "")
    expected = [part.split("»")[0] for part in marked.split("«")[1:]]
    assert [match[0] for match in Finder([kind] if kind else []).found(text)] == expected


def test_of_two_kinds_the_longer_one_is_found():
    text = 'https://x.org/2024?q=1@x.org <a href="https://x.org/1"> 12@x.org {0} %1$s 5⃣ ⟦3⟧ 7'
    kinds = ["url", "tag", "email", "placeholder", "placeholder", "emoji", "symbol", "number"]
    assert [match.lastgroup for match in Finder().found(text)] == kinds
    assert {*PATTERNS} == {*KINDS} and len({*SYMBOLS}) == len(SYMBOLS)


@pytest.mark.parametrize("language", ["en", "de", "fr", "cs", "ja"])
def test_all_that_the_suite_must_keep_is_found(language):
    for text, _, kind, kept in perturb.suite(language):
        if kind in KINDS:
            assert {*kept.split()} <= {match[0] for match in Finder([kind]).found(text)}, text


def test_every_emoji_of_unicode_is_found_whole():
    """Each with U+FE0F and joined to another one, and alone if it is shown as an emoji so; no other character is."""
    regex = pytest.importorskip("regex")
    everything, find = "".join(map(chr, range(0x80, 0x110000))), Finder(["emoji"]).found
    for emoji in regex.findall(r"\p{Emoji}", everything):
        for item in (f"{emoji}\ufe0f", f"🙂\u200d{emoji}\ufe0f", f"{emoji}\ufe0f\u200d🙂"):
            assert [match[0] for match in find(f"A {item} b")] == [item]
    assert all(find(emoji) for emoji in regex.findall(r"\p{Emoji_Presentation}", everything))
    assert not find("".join(regex.findall(r"[\P{Emoji}--\p{Cs}]", everything, regex.V1)))
    assert all([match[0] for match in find(emoji)] == [emoji] for emoji in perturb.EMOJI)


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"tag"}))
@given(st.integers())
def test_all_that_training_data_have_is_found(kind, seed):
    item = getattr(augmentation, kind)(Random(seed))
    assert [match[0] for match in Finder([kind]).found(f"A dog {item} runs.")] == [item]
    (match,) = Finder().found(f"{item} A dog.")
    assert (match[0], match.lastgroup) == (item, kind)


@pytest.mark.parametrize(
    "unit", ["a", "a.", "1", "1,", "(", "<a ", "<a b='", "{a", "a@", "__a", "http://", ".a-", "%1", "["]
)
def test_long_lines_take_no_time(unit):
    start = time.thread_time()
    Finder().found(f"1 {unit * 20_000}")
    assert time.thread_time() - start < 1
