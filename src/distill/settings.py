"""What decides on the translations of teachers, beside the files that they read, as a rule writes it."""

from typing import Annotated, Literal

from msgspec import field

from common.document import Section, limits

Device = Literal["cpu", "cuda"]


class Tokenization(Section):
    """How a teacher that is not trained here splits text. The study's own SentencePiece model if null."""

    sentencepiece: str | Annotated[list[str], limits(minItems=2, maxItems=2)] | None = None
    """SentencePiece model, or one for the source and one for the target."""
    bpe: str | None = None
    """BPE codes (subword-nmt, fastBPE), applied to text that is split as the Moses tokenizer does (sacremoses, dashes
    split)."""


class Prefix(Section):
    """Pieces by which a teacher that is not trained here knows the languages, if it has several."""

    source: str | None = None
    """Pieces before every source, with spaces between them."""
    target: str | None = None
    """Pieces that every translation begins with and that are no text."""

    @property
    def pieces(self) -> tuple[list[str], list[str]]:
        return (self.source or "").split(), (self.target or "").split()


class TranslationSettings(Section):
    """Of ``translate``, and of ``rescore``, which has no beam.

    languages: codes of the study's source and target language. tokenizations: of each teacher, None for the study's
    SentencePiece model. n_best: hypotheses to keep of a sentence. prefixes: of each teacher, if any has one.
    """

    languages: list[str]
    tokenizations: list[Tokenization | None]
    n_best: int = 1
    device: Device = "cpu"
    beam_size: int = 4
    prefixes: list[Prefix | None] = field(default_factory=list)

    def prefix(self, number: int) -> Prefix:
        """Of a teacher, by its place."""
        return (self.prefixes[number] if self.prefixes else None) or Prefix()
