"""A tokenizer whose pieces are numbers of a native model's vocabulary, so that no piece becomes text on its way."""

from typing import Any

from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.sentence import sentence
from nmt_frontier.text.tokenizers import MARKS, Processors, Tokenizer

ABSENT = -1  # a piece that SentencePiece lacks


class Numbered:
    """Splits a line into the numbers of its pieces, without prefix and suffix, and joins numbers to a line.

    The numbers of SentencePiece are looked up in tables. Pieces are text in between where they say more: unknown ones,
    marks of languages at the start, pieces of the model that SentencePiece lacks, and other tokenizers.
    """

    def __init__(self, tokenizer: Tokenizer, processors: Processors | None, vocabulary: Vocabulary):
        self._tokenizer, self._vocabulary = tokenizer, vocabulary
        self._encode: Any = None
        if processors:
            source, target = processors
            self._encode, self._decode, self._unknown = source.encode, target.decode, source.unk_id()
            self._numbers = vocabulary.unframed([source.id_to_piece(id) for id in range(source.get_piece_size())])
            ids = map(target.piece_to_id, vocabulary.target)
            pairs = zip(ids, vocabulary.target, strict=True)
            self._ids = [id if target.id_to_piece(id) == piece else ABSENT for id, piece in pairs]

    def encode(self, line: str) -> list[int]:
        if self._encode and not line.startswith(MARKS) and self._unknown not in (ids := self._encode(line)):
            numbers = self._numbers
            return [numbers[id] for id in ids]
        return self._vocabulary.unframed(self._tokenizer.encode(line))

    def decode(self, numbers: list[int]) -> str:
        if self._encode:
            of = self._ids
            if ABSENT not in (ids := [of[number] for number in numbers]):
                return sentence(self._decode(ids))
        return self._tokenizer.decode(self._vocabulary.pieces(numbers))

    def text(self, number: int) -> str:
        return self._vocabulary.source[number]
