"""Surfaces of pieces are those that SentencePiece's own message has, which is read with protobuf."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import sentencepiece_model, sentences
from sentencepiece import SentencePieceProcessor

from nmt_frontier.text.surfaces import decoded, encoded

pytest.importorskip("google.protobuf")

TEXT = st.lists(st.sampled_from([*sentences(5), " ", "  ", "é", "e\u0301", "犬", "😀", "x" * 300, "▁"])).map("".join)


@functools.cache
def processor():
    return SentencePieceProcessor(model_proto=sentencepiece_model())


@given(TEXT)
def test_surfaces_are_those_of_the_message(text):
    model = processor()
    assert encoded(model, text) == [piece.surface for piece in model.encode(text, return_type="proto").pieces]
    split = model.encode(text, out_type=str)
    found = decoded(model, split)
    assert found == [piece.surface for piece in model.decode(split, return_type="proto").pieces]
    assert "".join(found) == model.decode(split)
