"""The limits of decoding with any engine."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_frontier.model.model_folder import Description

# Pieces, as in the WNGT 2020 submission, also for teachers and dev sets: by default models are trained on shorter
# sentences (`training.max_length`).
MAXIMUM_OUTPUT = 150
MAXIMUM_INPUT = 1000  # pieces; attention's memory grows with the square
MAXIMUM_CHARACTERS = 16 * MAXIMUM_INPUT  # of a chunk that is tokenized at once: a piece of SentencePiece has at most 16
ONE_CORE = 512  # tokens of a batch on one core (Klein et al., WNGT 2020, section 4.2)
BATCH_TOKENS = 2048  # of teachers and dev sets: CTranslate2 reads a window of 16 batches and sorts it by length


def longest_output(description: "Description") -> int:
    """Pieces at which every engine cuts off a translation by this model."""
    longest = description.max_decoding_length
    return MAXIMUM_OUTPUT if longest is None else longest
