"""Rules of decoding that hold everywhere: the longest output, and the types that CTranslate2 computes in."""

import os
from typing import TYPE_CHECKING

from common.cpu import USE_MKL, has_onemkl, intel

if TYPE_CHECKING:
    from formats.model_folder import Description

# Pieces, as in the WNGT 2020 submission. Teachers and dev sets are cut off here: models see no longer sentences in
# training unless `training.max_length` says otherwise.
MAXIMUM_OUTPUT = 150
MAXIMUM_INPUT = 1000  # pieces of a sentence; attention grows with the square, so an endless line would take all memory
BATCH_TOKENS = 2048  # of teachers and dev sets: CTranslate2 reads a window of 16 batches and sorts it by length
# Types of two bytes, alone or beside int8. A CPU without them computes in float32 and loses nothing.
HALF_TYPES = ("float16", "bfloat16", "int8_float16", "int8_bfloat16")


def longest_output(description: "Description") -> int:
    """Pieces at which every engine cuts off a translation by this model."""
    return description.get("max_decoding_length", MAXIMUM_OUTPUT)


def prepare(quantization: str, device: str = "cpu") -> None:
    """Set CTranslate2's environment for weights of this type. Call it before CTranslate2 is imported.

    Only oneMKL multiplies in int16, and CTranslate2 uses oneMKL on Intel's CPUs alone unless CT2_USE_MKL is set. A
    process that decodes in int16 sets it, so that other CPUs compute in the type they are asked for, if slowly. For
    other types oneMKL would be several times slower there than CTranslate2's own choice. CTranslate2 decides once, when
    it is imported.
    """
    if quantization == "int16" and device == "cpu" and has_onemkl():
        os.environ.setdefault(USE_MKL, "1")


def fast(quantization: str) -> bool:
    """Whether CTranslate2 multiplies in this type on this CPU by its own choice, that is, at a speed worth measuring.

    int16 is fast on Intel's CPUs; on others ``prepare`` makes it possible, but slow. Types of two bytes are computed
    in float32 where the CPU lacks them.
    """
    import ctranslate2  # inside: a process loads only the engine that it decodes with

    return intel() if quantization == "int16" else quantization in ctranslate2.get_supported_compute_types("cpu")


def compute_type(quantization: str, device: str = "cpu") -> str:
    """What to ask CTranslate2 for: the type of the weights, or ``default`` for one of HALF_TYPES that is lacking."""
    import ctranslate2  # inside: a process loads only the engine that it decodes with

    lacking = quantization not in ctranslate2.get_supported_compute_types(device)
    return "default" if lacking and quantization in HALF_TYPES else quantization
