"""What a training multiplies in where its settings leave that open.

bfloat16 pays where the CPU has AMX and the layers are wide: a 6:2 Transformer of 512 units trains 1.92 times as fast on
one core of an Intel Xeon (Emerald Rapids), while 128 units gain nothing on a Zen 4 with AVX512-BF16
(benchmarks/training.py). Widths between were not measured with AMX, so they train in float32.
"""

from formats.shape import Shape, TransformerShape
from nmt_frontier import cpu

FLOAT32, BFLOAT16 = TYPES = ("float32", "bfloat16")
WIDE = 512  # units from which bfloat16 pays with AMX
GAIN = 1.92  # speed of such a training over float32


def pays(built: Shape, device: str) -> bool:
    """Whether a model of this shape trains faster in bfloat16 on this machine."""
    wide = isinstance(built, TransformerShape) and built.units >= WIDE
    return wide and device == "cpu" and cpu.multiplies_bfloat16()


def chosen(asked: str | None, built: Shape, device: str) -> str:
    """The type that the settings ask for, or the faster one on this machine."""
    return asked or (BFLOAT16 if pays(built, device) else FLOAT32)
