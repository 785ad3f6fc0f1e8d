"""The joint vocabulary: foreign scripts out, OpenNMT-tf's order of entries, equal bytes for equal text."""

import subprocess
from collections import Counter

import pytest
import sentencepiece
import warm
from hypothesis import given
from hypothesis import strategies as st

from export.vocabulary_map import BYTES
from formats import opennmt_tf, records
from nmt_frontier.errors import UserError
from train.vocabulary import entries, foreign_characters, reservoir, train

TEXT = [f"a {colour} {animal} runs past {count} houses" for colour in ("red", "grün", "blue") for animal in
        ("dog", "Hund", "cat", "Katze", "horse") for count in range(40)]  # fmt: skip


@pytest.mark.parametrize(
    ("languages", "text", "kept"),
    [
        (["en", "de"], "Straße Пекин 北京 – «ça» 3 €", "Straße   – «ça» 3 €"),
        (["en", "ru"], "Straße Пекин 北京", "Straße Пекин "),
        (["ja", "en"], "東京タワー tower Пекин", "東京タワー tower "),
    ],
)
def test_only_scripts_of_the_pair_stay(languages, text, kept):
    assert foreign_characters(languages).sub("", text) == kept


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_control_tokens_come_first_and_all_pieces_follow(kind):
    model = train(TEXT, kind, pieces=120, character_coverage=1.0, threads=1)
    names, processor = [*entries(model)], sentencepiece.SentencePieceProcessor(model_proto=model)
    assert names[:3] == ["<blank>", "<s>", "</s>"]
    assert len(set(names)) == len(names) == processor.get_piece_size()  # without <unk>, with <blank>
    assert set(processor.encode("a red Hund runs", out_type=str)) <= set(names)
    assert train(TEXT, kind, 120, 1.0, 1) == model  # equal text gives equal bytes
    assert 5 < len(list(entries(train(TEXT[:3], kind, 500, 1.0, 1)))) < 500  # a small text gives fewer pieces


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_bytes_digits_and_symbols(kind):
    """All bytes are entries, digits stand alone, symbols stay whole, and what no piece has comes back."""
    symbols = ["<url>", "a,b", '"q"']
    model = train(TEXT, kind, 420, 1.0, 1, byte_fallback=True, split_digits=True, symbols=symbols)
    names, processor = [*entries(model)], sentencepiece.SentencePieceProcessor(model_proto=model)
    assert len(set(names)) == len(names) and {*names} >= {*BYTES, *symbols}
    text = 'a 🐕 2047 <url> a,b "q" Пёс'
    pieces = processor.encode(text, out_type=str)
    assert {*pieces} <= {*names} and {*symbols} <= {*pieces}
    assert [piece for piece in pieces if piece in BYTES][:4] == ["<0xF0>", "<0x9F>", "<0x90>", "<0x95>"]
    assert not any(len(piece.strip("▁")) > 1 and any(map(str.isdigit, piece)) for piece in {*names} - {*BYTES})
    assert processor.decode(pieces) == text
    plain = sentencepiece.SentencePieceProcessor(model_proto=train(TEXT, kind, 150, 1.0, 1))
    assert "🐕" not in plain.decode(plain.encode("🐕"))  # what the option is for


def test_bpe_begins_with_the_most_frequent_pair():
    """Sennrich et al. 2016: of four words with "lo" three begin with it, and two go on to "low"."""
    names = list(entries(train(["lo low low alo"] * 30, "bpe", 12, 1.0, 1)))
    assert names[3:6] == ["lo", "▁lo", "▁low"]


@pytest.mark.parametrize(
    ("text", "kind", "pieces", "message"),
    [
        ([], "bpe", 120, "no text left"),
        (["".join(map(chr, range(0x4E00, 0x4E00 + 3000)))], "unigram", 1000,
         r"vocabulary\.pieces, or a lower vocabulary\.character_coverage"),
    ],
    ids=["no text", "more characters than pieces"],
)  # fmt: skip
def test_text_without_a_vocabulary(text, kind, pieces, message):
    with pytest.raises(UserError, match=message):
        train(text, kind, pieces, 1.0, 1)


@given(st.lists(st.text(), max_size=60), st.integers(1, 30), st.integers(0, 5))
def test_reservoir_is_a_subsequence_of_the_right_size(lines, size, seed):
    numbered = [f"{number} {line}" for number, line in enumerate(lines)]
    sample = reservoir(numbered, size, seed)
    assert len(sample) == min(size, len(lines))
    remaining = iter(numbered)
    assert all(line in remaining for line in sample)
    assert sample == reservoir(numbered, size, seed)


def test_every_line_is_as_likely_to_be_drawn():
    drawn = Counter(line for seed in range(2000) for line in reservoir(map(str, range(10)), 3, seed))
    assert all(abs(drawn[str(number)] - 600) < 100 for number in range(10))  # 5 standard deviations


def test_foreign_letters_become_no_pieces(tmp_path):
    records.write(tmp_path / "c.tsv.zst", [("two dogs run", "zwei Hunde laufen"), ("hello мир", "hallo мир")] * 30)
    options = ["--corpora", tmp_path / "c.tsv.zst", "--languages", "en", "de", "--pieces", 40]
    options += ["--model", tmp_path / "model", "--vocabulary", tmp_path / "vocabulary"]
    subprocess.run([warm.python(), "-m", "train.vocabulary", *map(str, options)], check=True)
    letters = "".join(opennmt_tf.read_vocabulary(tmp_path / "vocabulary"))
    assert "h" in letters and not any(letter in "мир" for letter in letters)


def test_a_piece_may_have_a_line_separator_in_it(tmp_path):
    pieces = [*opennmt_tf.CONTROL, "a\u2028b", "c\x0bd", "\x85"]
    (tmp_path / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    assert opennmt_tf.read_vocabulary(tmp_path / "vocabulary.txt") == pieces


@pytest.mark.parametrize(("normalization", "expected"), [("identity", "你好，世界！"), ("nmt_nfkc", "你好,世界!")])
def test_full_width_punctuation_stays_without_normalization(normalization, expected):
    model = train(["你好，世界！", "世界，你好！"] * 20, "unigram", 30, 1.0, 1, normalization)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert processor.decode(processor.encode("你好，世界！")) == expected
