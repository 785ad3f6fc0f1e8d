"""What SentencePiece's pieces are in a text: their surfaces, which make it up.

SentencePiece gives them only as a message of protobuf (sentencepiece.proto: ``SentencePieceText.pieces``, field 2, and
in it ``surface``, field 3). To read these two fields needs no package.
"""

from collections.abc import Iterator, Sequence

from sentencepiece import SentencePieceProcessor

PIECES, SURFACE = 2, 3
VARINT, DELIMITED = 0, 2  # wire types; the others have a fixed size
SIZES = {1: 8, 5: 4}


def encoded(processor: SentencePieceProcessor, text: str) -> list[str]:
    """Of the pieces that a text is split into."""
    return _surfaces(processor.encode(text, out_type="serialized_proto"))


def decoded(processor: SentencePieceProcessor, pieces: Sequence[str]) -> list[str]:
    """Of the pieces that are joined to a text."""
    return _surfaces(processor.decode([*pieces], out_type="serialized_proto"))


def _surfaces(message: bytes) -> list[str]:
    pieces = (value for field, value in _fields(message) if field == PIECES)
    return [dict(_fields(piece)).get(SURFACE, b"").decode() for piece in pieces]


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that have text or messages in them, by number."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if (kind := key & 7) == DELIMITED:
            size, place = _varint(message, place)
            yield key >> 3, message[place : place + size]
            place += size
        elif kind == VARINT:
            _, place = _varint(message, place)
        else:
            place += SIZES[kind]


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """The number at a place, seven bits a byte, and the place behind it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
