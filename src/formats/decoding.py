"""What every part of the project that decodes agrees on."""

MAXIMUM_OUTPUT = 150  # pieces, as in the WNGT 2020 submission: every engine stops a runaway sentence at the same place
# Types of two bytes, alone or beside int8. A CPU that lacks them computes in float32, which loses nothing.
HALF_TYPES = ("float16", "bfloat16", "int8_float16", "int8_bfloat16")


def compute_type(quantization: str, device: str = "cpu") -> str:
    """What to ask CTranslate2 for, of a model with these weights: their type, or ``default`` where it is lacking."""
    import ctranslate2  # not above: a process loads no engine but the one it decodes with, and that on the clock

    lacking = quantization not in ctranslate2.get_supported_compute_types(device)
    return "default" if lacking and quantization in HALF_TYPES else quantization
