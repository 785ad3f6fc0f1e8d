"""The joint vocabulary: foreign scripts out, OpenNMT-tf's order of entries, equal bytes for equal text."""

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from distill.vocabulary import entries, foreign_characters, reservoir, train
from formats.errors import UserError

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


def test_control_tokens_come_first_and_all_pieces_follow():
    model = train(TEXT, pieces=120, character_coverage=1.0, threads=1)
    names = list(entries(model))
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert names[:3] == ["<blank>", "<s>", "</s>"]
    assert len(set(names)) == len(names) == processor.get_piece_size()  # without <unk>, with <blank>
    assert set(processor.encode("a red Hund runs", out_type=str)) <= set(names)


def test_equal_text_gives_equal_bytes():
    assert train(TEXT, 120, 1.0, 1) == train(TEXT, 120, 1.0, 1)


def test_no_text_is_said_plainly():
    with pytest.raises(UserError, match="no text left"):
        train([], 120, 1.0, 1)


@given(st.lists(st.text(), max_size=60), st.integers(1, 30), st.integers(0, 5))
def test_reservoir_is_a_subsequence_of_the_right_size(lines, size, seed):
    numbered = [f"{number} {line}" for number, line in enumerate(lines)]
    sample = reservoir(numbered, size, seed)
    assert len(sample) == min(size, len(lines))
    remaining = iter(numbered)
    assert all(line in remaining for line in sample)
    assert sample == reservoir(numbered, size, seed)
