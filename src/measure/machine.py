"""What this machine can do: instruction sets, peaks of products, and how fast a core reads its caches.

    python -m measure.machine [--model MODEL] [--output x.json]

A peak is the speed of the native engine's product with weights and inputs in the first-level cache; a rate is that of
reading alone, from half a cache, or from more than the largest one. Both are of one core, the best of several tries.
With --model also the settings that measure.tune found here for a model folder.
"""

import argparse
import os
from pathlib import Path
from typing import TypedDict

import numpy as np

from formats import experiments
from nmt_frontier import machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.model import native_weights
from nmt_frontier.peaks import fastest, peak
from nmt_frontier.search import loading, native, tuned
from nmt_frontier.search.engine import Search
from nmt_frontier.search.native import Native
from nmt_frontier.translator import best_batch

CALL_BYTES = 1 << 28  # to read in a call at least, so that the call itself takes no time
BLOCK = 512  # bytes of which a multiple is read
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
WORST_CACHE = 1 << 26  # bytes, where the system names no cache


class Choices(TypedDict):
    """With what a model folder decodes here. tuned: chosen by measure.tune. tiles: by the shape of a product."""

    model: str
    beam_size: int
    tuned: bool
    isa: str | None
    batch_tokens: int
    source_words_per_second: int | None
    tiles: dict[str, str]


class Ability(experiments.TimedMachine):
    """What a core can do. peaks: operations per second by type. levels: the caches and the memory, nearest first."""

    cores: int
    sets: list[str]
    used: str
    peaks: dict[str, float]
    levels: list["Level"]


class Level(TypedDict):
    """A cache, or the memory. bytes: its size, None for the memory. rate: bytes per second that a core reads."""

    name: str
    bytes: int | None
    rate: float


def levels() -> list[Level]:
    """The caches of a core and the memory, nearest first."""
    sizes = cache_sizes()
    found = [Level(name=f"L{level}", bytes=size, rate=reading(size // 2)) for level, size in sizes.items()]
    beyond = 4 * max(sizes.values(), default=WORST_CACHE)
    return [*found, Level(name="memory", bytes=None, rate=reading(beyond))]


def cache_sizes() -> dict[int, int]:
    """The bytes of each level of cache for data, as the system reports them."""
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        if kind in ("Data", "Unified"):
            found[int(level)] = int(size.rstrip("KM")) << {"K": 10, "M": 20}.get(size[-1], 0)
    return dict(sorted(found.items()))


def reading(size: int) -> float:
    """Bytes per second that a core reads of so many bytes, again and again; the best of several tries."""
    from nmt_frontier import kernels

    data = kernels.aligned(np.zeros(max(size // BLOCK, 1) * BLOCK, np.uint8))
    read = int(data.nbytes)
    repeat = max(CALL_BYTES // read, 1)
    return read * repeat / fastest(lambda: kernels.read(data, repeat))


def rate(found: list[Level], size: float) -> float:
    """The rate of the nearest of these levels that holds so many bytes."""
    return next(level["rate"] for level in found if level["bytes"] is None or size <= level["bytes"])


def able(core: int) -> Ability:
    """What a core of this machine can do; this process is kept on it. Raises UserError without the native engine."""
    engine = native.library()
    if (used := engine.isa()) is None:
        raise UserError(f"{native.ISA}={os.environ[native.ISA]}: this CPU has {', '.join(engine.available_sets())}")
    cores = [*machine.cores()]
    machine.pin([core])
    try:
        return {
            **experiments.here(),
            "cores": len(cores),
            "sets": engine.available_sets(),
            "used": used,
            "peaks": {kind: peak(kind) for kind in native_weights.TYPES},
            "levels": levels(),
        }
    finally:
        machine.pin(cores)


def choices(folder: Path, beam_size: int) -> Choices:
    """The batch and the tiles with which a model folder decodes here, and whether measure.tune chose them."""
    found = tuned.settings(folder, beam_size)
    description = loading.describe(folder)
    engine = loading.of_description(description)
    tiles = tuned.tiles(folder, description.quantization, beam_size, native.library().TILES) if engine is Native else {}
    return {
        "model": str(folder),
        "beam_size": beam_size,
        "tuned": bool(found),
        "isa": found.get("isa") or loading.isa(folder, engine, beam_size),
        "batch_tokens": best_batch(folder, engine, Search(beam_size, workers=len(machine.cores()))),
        "source_words_per_second": found.get("source_words_per_second"),
        "tiles": {f"{inputs}x{outputs}": tile for (inputs, outputs), tile in tiles.items()},
    }


def shown(found: Ability, model: Choices | None) -> str:
    """The result as text."""
    kinds = ", ".join(f"{kind} {speed / 1e9:,.0f}" for kind, speed in found["peaks"].items())
    lines = [
        f"{found['cpu']}, {found['cores']} cores",
        f"instruction sets: {', '.join(found['sets'])}; used: {found['used']}",
        f"peak of a core, 10^9 operations a second: {kinds}",
        "read by a core, GB a second:",
    ]
    for level in found["levels"]:
        size = f" ({level['bytes'] / 1024:,.0f} KiB)" if level["bytes"] else ""
        lines.append(f"  {level['name']}{size}: {level['rate'] / 1e9:.1f}")
    if model:
        lines.append(f"{model['model']}, beam {model['beam_size']}: batches of {model['batch_tokens']} tokens")
        if model["tuned"]:
            lines.append(f"  tuned here: {model['source_words_per_second']:,} source words a second")
        else:
            lines.append(f"  not tuned here: python -m measure.tune --model {model['model']} --text TEXT")
        lines += [f"  product {shape}: tile {tile}" for shape, tile in model["tiles"].items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, help="model folder whose settings to show")
    parser.add_argument("--beam-size", type=positive, default=1, help="of the settings; 1 is greedy search")
    parser.add_argument("--core", type=int, default=machine.cores()[0], help="to measure (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="JSON to write")
    args = parser.parse_args()

    found, model = able(args.core), choices(args.model, args.beam_size) if args.model else None
    if args.output:
        write_json(args.output, {**found, **({"model": model} if model else {})})
    print(shown(found, model))


if __name__ == "__main__":
    command(main)
