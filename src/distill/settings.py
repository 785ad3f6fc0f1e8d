"""What decides on the translations of teachers, beside the files that they read, as a rule writes it."""

from typing import Literal

from common.document import Section

Device = Literal["cpu", "cuda"]


class Tokenization(Section):
    """How a teacher splits text that has pieces of its own: one of the two, a file or one for each side."""

    sentencepiece: str | list[str] | None = None
    bpe: str | None = None


class Settings(Section):
    """Of ``translate``, and of ``rescore``, which has no beam.

    languages: codes of the study's source and target language. tokenizations: of each teacher, None for the study's
    SentencePiece model. n_best: hypotheses to keep of a sentence.
    """

    languages: list[str]
    tokenizations: list[Tokenization | None]
    n_best: int = 1
    device: Device = "cpu"
    beam_size: int = 4
