"""What decoding must know of a native model's files beforehand, in a module that needs no NumPy."""

import sys
from pathlib import Path

# The engine, which need not be there.
LIBRARY = Path(__file__).parents[1] / ("engine.dll" if sys.platform == "win32" else "engine.so")
WEIGHTS, MAP = "weights.safetensors", "map.safetensors"
TYPES = ("float32", "int16", "int8", "int4")
PANEL = 16  # channels of a product that are packed together; widths are multiples of it

# The widest model that the engine takes (kMostUnits in engine/kernels/kernels.h). A product has up to four times as
# many inputs: feed-forward layers, and recurrent models with additive attention, whose units are a quarter at most.
MOST_UNITS = 8192
