"""The limits of decoding with any engine, and the types that CTranslate2 computes in."""

import os
from typing import TYPE_CHECKING

from common.cpu import USE_MKL, has_onemkl, intel

if TYPE_CHECKING:
    from formats.model_folder import Description

# Pieces, as in the WNGT 2020 submission, also for teachers and dev sets: by default models are trained on shorter
# sentences (`training.max_length`).
MAXIMUM_OUTPUT = 150
MAXIMUM_INPUT = 1000  # pieces; attention's memory grows with the square
MAXIMUM_CHARACTERS = 16 * MAXIMUM_INPUT  # of a chunk that is tokenized at once: a piece of SentencePiece has at most 16
ONE_CORE = 512  # tokens of a batch on one core (Klein et al., WNGT 2020, section 4.2)
BATCH_TOKENS = 2048  # of teachers and dev sets: CTranslate2 reads a window of 16 batches and sorts it by length
# Types of two bytes, alone or with int8. A CPU without them computes in float32, without loss.
HALF_TYPES = ("float16", "bfloat16", "int8_float16", "int8_bfloat16")


def longest_output(description: "Description") -> int:
    """Pieces at which every engine cuts off a translation by this model."""
    longest = description.max_decoding_length
    return MAXIMUM_OUTPUT if longest is None else longest


def prepare(quantization: str, device: str = "cpu") -> None:
    """Set CTranslate2's environment for weights of this type, before CTranslate2 is imported and reads it.

    Only oneMKL multiplies in int16, and CTranslate2 uses oneMKL only on Intel's CPUs unless CT2_USE_MKL is set. So it
    is set for int16, which is slow on other CPUs. For other types oneMKL would be several times slower there.
    """
    if quantization == "int16" and device == "cpu" and has_onemkl():
        os.environ.setdefault(USE_MKL, "1")


def fast(quantization: str) -> bool:
    """Whether CTranslate2 multiplies in this type on this CPU by its own choice; int16 is fast on Intel's only."""
    import ctranslate2  # inside: a process loads only its own engine

    return intel() if quantization == "int16" else quantization in ctranslate2.get_supported_compute_types("cpu")


def compute_type(quantization: str, device: str = "cpu") -> str:
    """The type to request of CTranslate2: that of the weights, or ``default`` for an unsupported one of HALF_TYPES."""
    import ctranslate2  # inside: a process loads only its own engine

    lacking = quantization not in ctranslate2.get_supported_compute_types(device)
    return "default" if lacking and quantization in HALF_TYPES else quantization
