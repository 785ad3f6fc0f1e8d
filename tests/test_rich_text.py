"""Markup, paragraphs and unknown words through the native engine."""

import re
import shutil

import native
import numpy as np
import pytest
from models import folders, sentences
from msgspec.structs import replace
from translation import run

from common.errors import UserError
from common.files import write_json
from decode import rich_text
from decode.engines.interface import Attended
from decode.rich_text import RichTranslator
from decode.sentences import splitter
from decode.translator import Tokenizer, Translator
from formats.model_folder import Alignment, describe


@pytest.fixture(scope="module")
def model():
    return native.folders() / "float32"


def attended(folder, lines, **options):
    """The outputs of a folder's engine, and the numbers of pieces of their sources."""
    translator = Translator(folder, checksums=False, **options)
    coder, translate = translator.engine.coded(Tokenizer(folder))
    pieces = [coder.encode(line) for line in lines]
    return translate(pieces), [*map(len, pieces)]


def test_asked_for_attention_the_engine_translates_as_before(model):
    lines = sentences(9)
    outputs, sizes = attended(model, lines, alignment=True)
    assert outputs == attended(model, lines)[0]
    for output, size in zip(outputs, sizes, strict=True):
        assert isinstance(output, Attended) and output.attention.shape == (len(output), size)
        assert np.allclose(output.attention.sum(1), 1, atol=1e-4)


def test_the_head_of_a_folder_is_gone_by(model, tmp_path):
    """Without one it is the mean of all."""
    folder, found = shutil.copytree(model, tmp_path / "model"), {}
    for head in (None, 0, 1):
        alignment = None if head is None else Alignment(0, head)
        write_json(folder / "model.json", replace(describe(folder), alignment=alignment))
        ((output,), _) = attended(folder, sentences(1), alignment=True)
        found[head] = output.attention
    assert np.allclose((found[0] + found[1]) / 2, found[None], atol=1e-5) and not np.allclose(found[0], found[1])


def test_markup_keeps_lines_tags_and_what_is_translated(model):
    lines = sentences(8)
    tagged = [f"<p class='x'>{line.replace(' ', ' <b>', 1)}</b></p>" if " " in line else line for line in lines]
    plain = [*Translator(model).translate(lines)]
    found = [*RichTranslator(model, html=True).translate([*tagged, "", " <br> ", "<i></i>"])]
    assert [re.sub("<[^>]*>", "", line) for line in found[:8]] == plain
    assert all(
        line.count("<b>") == line.count("</b>") == old.count("<b>") for line, old in zip(found, tagged, strict=False)
    )
    assert [line.strip() for line in found[8:]] == ["", "<br>", "<i></i>"]


def test_an_unknown_piece_becomes_the_aligned_source_word(model, monkeypatch):
    translator = RichTranslator(model, replace_unknown=True)
    word, other = ("".join(sorted({*sentences(3, seed=seed)[0].split()})[:1]) for seed in (1, 2))
    source = f"{other} (Xyzzy), {word}"
    known = translator._processors[0].encode(source, out_type=str)
    place = max(n for n, size in enumerate(np.cumsum([len(piece) for piece in known])) if size <= source.index("y") + 2)

    def finish(window, outputs):
        attention = np.zeros((2, len(known)), np.float32)
        attention[:, place] = 1
        monkeypatch.undo()
        return type(translator)._finish(
            translator, window, [Attended([0, 0], ["<unk>", "<unk>"], attention, looped=False)]
        )

    monkeypatch.setattr(translator, "_finish", finish)
    assert [*translator.translate([source])] == ["Xyzzy"]


def test_an_engine_without_attention_is_refused(model):
    with pytest.raises(UserError, match="CTranslate2 tells no attention; give a folder of the native engine"):
        RichTranslator(folders()["float32"], html=True)
    with pytest.raises(UserError, match="--long-lines split: its parts cannot be aligned"):
        RichTranslator(model, html=True, long_lines="split")


def test_paragraphs_are_translated_by_sentence_and_keep_their_lines(model, monkeypatch):
    """With a splitter after every second word, as the model knows no marks."""
    monkeypatch.setattr(rich_text, "splitter", lambda language: lambda text: re.findall(r"\S+\s*\S*\s*", text))
    pairs = [" ".join(line.split()[:2]) for line in sentences(30) if " " in line]
    translated = zip(pairs, Translator(model).translate(pairs), strict=True)
    halves, alone = zip(*[pair for pair in translated if pair[1]][:4], strict=True)
    found = [*RichTranslator(model, sentences=True).translate(["  ".join(halves), "", halves[0]])]
    assert found == ["  ".join(alone), "", alone[0]] and len(halves) > 2
    tagged = [*RichTranslator(model, sentences=True, html=True).translate([f"<p><b>{' '.join(halves)}</b></p>"])]
    assert tagged == [f"<p><b>{' '.join(alone)}</b></p>"]


def test_a_protected_item_stays_in_one_sentence(model, monkeypatch):
    monkeypatch.setattr(rich_text, "splitter", lambda language: lambda text: re.findall(r"[^!?]*[!?]+\s*|[^!?]+", text))
    first, second = (line for line in sentences(9)[:2])
    line = f"{first} https://x.org/A!B?c=D {first}! {second}"
    translator = RichTranslator(model, sentences=True, protect=["url"], protect_missing="append")
    (found,) = translator.translate([line])
    assert found.count("https://x.org/A!B?c=D") == 1 and translator.counts["protected_url"] == 1


def test_markup_and_protection_exclude_each_other(model):
    for option in ("html", "replace_unknown"):
        with pytest.raises(UserError, match="--protect: what stands behind symbols cannot be aligned; leave out --htm"):
            RichTranslator(model, **{option: True}, protect=["url"], protect_missing="append")


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
    assert done.returncode == 0 and b"error" not in done.stderr and b": line" not in done.stderr
    assert (tmp_path / "out").read_text(encoding="utf-8").count("<b>") == 5
