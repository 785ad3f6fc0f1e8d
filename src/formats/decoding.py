"""What every part of the project that decodes agrees on."""

import os
from typing import Any

from formats.cpu import USE_MKL, has_onemkl, intel

# Pieces, as in the WNGT 2020 submission. Teachers and dev sets stop here, as models learn from no longer sentences
# unless `training.max_length` says otherwise.
MAXIMUM_OUTPUT = 150
# Types of two bytes, alone or beside int8. A CPU that lacks them computes in float32, which loses nothing.
HALF_TYPES = ("float16", "bfloat16", "int8_float16", "int8_bfloat16")


def longest_output(description: dict[str, Any]) -> int:
    """Pieces after which every engine stops a runaway translation by this model; ``description`` is its model.json."""
    return description.get("max_decoding_length", MAXIMUM_OUTPUT)


def prepare(quantization: str, device: str = "cpu") -> None:
    """Before CTranslate2 is imported to decode a model with these weights.

    Only oneMKL multiplies in int16, and CTranslate2 takes it by itself on Intel's CPUs alone. A process that decodes in
    int16 takes it on any other, where it is slow, but computes what it is asked for; in other types it would be several
    times slower than CTranslate2's own choice. The choice is made once, when CTranslate2 is imported.
    """
    if quantization == "int16" and device == "cpu" and has_onemkl():
        os.environ.setdefault(USE_MKL, "1")


def native(quantization: str) -> bool:
    """Whether CTranslate2 multiplies in this type on this CPU without being told to.

    int16 is native on Intel's CPUs. On others ``prepare`` makes it possible, and it is slow; the types of two bytes
    are computed in float32 where they are lacking.
    """
    import ctranslate2  # as below

    return intel() if quantization == "int16" else quantization in ctranslate2.get_supported_compute_types("cpu")


def compute_type(quantization: str, device: str = "cpu") -> str:
    """What to ask CTranslate2 for, of a model with these weights: their type, or ``default`` where it is lacking."""
    import ctranslate2  # not above: a process loads no engine but the one it decodes with, and that on the clock

    lacking = quantization not in ctranslate2.get_supported_compute_types(device)
    return "default" if lacking and quantization in HALF_TYPES else quantization
