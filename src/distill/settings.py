"""What decides on the translations of teachers, beside the files that they read, as a rule writes it."""

from typing import Literal

from msgspec import UNSET, UnsetType

from common.document import Section

Device = Literal["cpu", "cuda"]


class Tokenization(Section):
    """How a teacher splits text that has pieces of its own: one of the two, a file or one for each side."""

    sentencepiece: str | list[str] | None = None
    bpe: str | None = None


class Prefix(Section):
    """What a multilingual teacher is told about languages: pieces, with spaces between them.

    source: before every source. target: what every translation begins with; they are no text.
    """

    source: str | None = None
    target: str | None = None

    @property
    def pieces(self) -> tuple[list[str], list[str]]:
        return (self.source or "").split(), (self.target or "").split()


class Settings(Section):
    """Of ``translate``, and of ``rescore``, which has no beam.

    languages: codes of the study's source and target language. tokenizations: of each teacher, None for the study's
    SentencePiece model. n_best: hypotheses to keep of a sentence. prefixes: of each teacher, if any has one.
    """

    languages: list[str]
    tokenizations: list[Tokenization | None]
    n_best: int = 1
    device: Device = "cpu"
    beam_size: int = 4
    prefixes: list[Prefix | None] | UnsetType = UNSET

    def prefix(self, number: int) -> Prefix:
        """Of a teacher, by its place."""
        return (self.prefixes[number] if self.prefixes else None) or Prefix()
