"""Numbers from the tokenizer are those of its pieces, and become the same text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import sentencepiece_model

from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.text import tokenizers
from nmt_frontier.text.numbered import Numbered
from nmt_frontier.translator import LineTokenizer

LINES = st.text("abcdefgh .▁<s>中", max_size=30) | st.sampled_from([">>cs<< abc", "中国 ab", "<unk> </s>", ""])
EXTRA = ["<blank>", ">>cs<<", "中", "of the model"]  # pieces that SentencePiece lacks


@pytest.fixture(scope="module", params=[[tokenizers.SHARED], tokenizers.SIDES], ids=["shared", "sides"])
def both(request, tmp_path_factory):
    """A tokenizer of pieces, the vocabulary of a model that lacks some of them, and the tokenizer of numbers."""
    folder = tmp_path_factory.mktemp("tokenizer")
    for name in request.param:
        (folder / name).write_bytes(sentencepiece_model())
    tokenizer = LineTokenizer(folder)
    processor = tokenizer.processors[0]
    pieces = [processor.id_to_piece(number) for number in range(100)] + EXTRA
    random.Random(1).shuffle(pieces)
    vocabulary = Vocabulary(pieces, pieces[::-1], "<unk>", ["<s>"], ["</s>"])
    return tokenizer, vocabulary, Numbered(tokenizer, tokenizer.processors, vocabulary)


@given(line=LINES)
def test_a_line_has_the_numbers_of_its_pieces(both, line):
    tokenizer, vocabulary, numbered = both
    numbers = numbered.encode(line)
    assert vocabulary.framed(numbers) == vocabulary.numbers(tokenizer.encode(line))


@given(numbers=st.lists(st.integers(0, 103), max_size=12))
def test_numbers_become_the_text_of_their_pieces(both, numbers):
    tokenizer, vocabulary, numbered = both
    assert numbered.decode(numbers) == tokenizer.decode(vocabulary.pieces(numbers))
    assert [*map(numbered.text, numbers)] == [vocabulary.source[number] for number in numbers]


def test_a_tokenizer_without_sentencepiece_has_numbers(both):
    _, vocabulary, _ = both

    class Spaces:
        encode = staticmethod(str.split)
        decode = staticmethod(" ".join)

    numbered = Numbered(Spaces, None, vocabulary)
    numbers = numbered.encode("of <unk> nothing >>cs<<")
    assert [vocabulary.source[number] for number in numbers] == ["<unk>", "<unk>", "<unk>", ">>cs<<"]
    assert numbered.decode([0, 1]) == " ".join(vocabulary.target[:2])
