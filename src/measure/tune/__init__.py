"""Find the fastest settings of a model folder on this machine, and keep them beside the model.

    python -m measure.tune --model MODEL --text TEXT

First the instruction set is chosen, for engines that can be forced to one, then the tokens of a batch. The settings
take turns (measure.timing_loop), each run a process of its own (measure.run) on all cores that this process may use;
the highest median of words per second wins. The folder keeps the settings of every machine it was tuned on, and
nmt-frontier translate uses those of its machine (nmt_frontier.search.tuned).

For a native model its matrix products are timed, too, with every tile, as Marian's auto-tuner (Junczys-Dowmunt et al.
2018) times matrix libraries for each shape. They are timed in all types, to show whether another type would be faster.
On a CPU with AMX they are also timed with few rows, to find from how many on its tiles pay.
"""

import functools
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from formats import records
from measure import timing_loop
from measure.configuration import Configuration, ModelFolder
from measure.kept_runs import made, others
from measure.task import Run
from measure.timing_loop import Repeats
from nmt_frontier import machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.model import model_folder, native_packing, native_weights, safetensors
from nmt_frontier.progress import progress
from nmt_frontier.search import tuned
from nmt_frontier.search.native import Native
from nmt_frontier.search.pipeline import MANY_CORES
from nmt_frontier.search.tuned import Times, TunedSettings

ROWS = 60  # as the encoder multiplies at a time
CANDIDATES = 512  # largest number of outputs: the vocabulary map leaves some hundred of the output layer
FEW_ROWS = (2, 4, 6, 8, 12, 16, 24, 32)  # of products that may be too small for the tiles of AMX
NEVER = 1 << 20  # more rows than any product has
SECONDS = 0.01  # of a call
ROUNDS = 5  # the fastest call counts

BATCHES = (64, 128, 256, 512, 1024, 2048)
REPEATS = Repeats(runs=3, noise=0.1)
SENTENCES = 2000


def products(folder: Path) -> Times:
    """The speeds of all products of the model in a folder."""
    return {
        f"{inputs}x{outputs}": {kind: tiles(inputs, outputs, kind) for kind in native_weights.TYPES}
        for inputs, outputs in shapes(folder)
    }


def tiled_rows(folder: Path) -> dict[str, int]:
    """The fewest rows from which on the tiles of AMX are faster than vectors, for every product in int8.

    Empty if the CPU has no AMX.
    """
    from nmt_frontier.bindings import isa

    if isa() != "amx":
        return {}
    return {f"{inputs}x{outputs}": fewest(inputs, outputs) for inputs, outputs in shapes(folder)}


def fewest(inputs: int, outputs: int) -> int:
    best = NEVER
    for rows in reversed(FEW_ROWS):
        times = tiles(inputs, outputs, "int8", rows)
        if times["amx"] < max(speed for tile, speed in times.items() if tile != "amx"):
            break
        best = rows
    return best


def shapes(folder: Path) -> Iterable[tuple[int, int]]:
    """Inputs and outputs of the products to time."""
    found = sorted({*of_model(folder)})
    return progress(found, "tuning products", total=len(found), unit="shape")


def of_model(folder: Path) -> Iterator[tuple[int, int]]:
    """Inputs and outputs of its products; the output layer has as many outputs as there are target pieces."""
    path = folder / native_weights.NAME
    tensors, shape = safetensors.read(path), safetensors.metadata(path)
    for name, tensor in tensors.items():
        if name.endswith(".weight"):  # [outputs / 16][inputs / group][16][group]
            halved = name.replace(".weight", ".steps") in tensors
            yield tensor.shape[1] * tensor.shape[3] * (1 + halved), tensor.shape[0] * tensor.shape[2]
    yield tensors[f"{shape['rows.output']}.rows"].shape[1], int(shape["target_pieces"])


def tiles(inputs: int, outputs: int, kind: str, count: int = ROWS) -> dict[str, float]:
    """The speeds of a product of this many rows in a type, by tile."""
    from nmt_frontier import kernels  # inside: the engine may not be built
    from nmt_frontier.bindings import TILES, isa

    random = np.random.default_rng(1)
    outputs = native_packing.padded(min(outputs, CANDIDATES))
    matrix = random.normal(size=(outputs, inputs)).astype(np.float32)
    kind = native_weights.of_product(kind, inputs)
    weights = native_weights.linear("w", matrix, np.zeros(outputs), kind)
    tensors = {name.partition(".")[2]: tensor for name, tensor in weights.items()}
    rows, scale = kernels.quantise(random.normal(size=(count, inputs)).astype(np.float32), kind)

    def call(tile: str, repeat: int) -> None:
        kernels.product(tensors, kind, rows, scale, True, repeat, tile)

    once = min(seconds(lambda: call("usual", 10)) for _ in range(ROUNDS)) / 10
    repeat = max(1, round(SECONDS / once))
    named = [tile for tile in TILES if tile != "usual" and (tile != "amx" or isa() == "amx")]
    spent = [{tile: seconds(functools.partial(call, tile, repeat)) for tile in named} for _ in range(ROUNDS)]
    operations = 2e-9 * count * inputs * outputs * repeat
    return {tile: float(f"{operations / min(times[tile] for times in spent):.4g}") for tile in named}


def seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def tune(folder: Path, lines: Iterable[str], beam_size: int = 1) -> TunedSettings:
    """Find the settings with these lines and write them into the folder. Raises UserError for too little text."""
    model, remembered, cores = ModelFolder.read(folder), tuned.read(folder), machine.cores()
    every = Configuration(model, beam_size=beam_size, vocabulary_map=True, workers=len(cores), cores=cores)
    widest = model.engine.widest()
    isas: list[TunedSettings] = [{"isa": isa} for isa in ([widest, "AVX2"] if widest else [None])]
    sizes: list[TunedSettings] = [{"batch_tokens": tokens} for tokens in BATCHES]
    best: TunedSettings = {"isa": widest, "batch_tokens": ONE_CORE if len(cores) == 1 else MANY_CORES}
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text.tsv.zst"
        chosen = itertools.islice(filter(None, map(records.sentence, lines)), SENTENCES)
        used, _ = records.write(text, ((line,) for line in chosen))
        if used < SENTENCES // 10:
            raise UserError(f"{used} lines are too few to tune with; give {SENTENCES:,} of the kind to translate")
        for choices in (isas, sizes):
            candidates: list[TunedSettings] = [{**best, **choice} for choice in choices]
            speeds = words_per_second(every, text, candidates)
            best, speed = max(zip(candidates, speeds, strict=True), key=lambda pair: pair[1])
    settings: TunedSettings = {**best, "source_words_per_second": round(speed)}
    if model.engine is Native:
        settings["products"] = products(folder)
        if rows := tiled_rows(folder):
            settings["tiled_rows"] = rows
    write_json(folder / model_folder.TUNED, {**remembered, tuned.here(beam_size): settings})
    return settings


def words_per_second(every: Configuration, text: Path, candidates: list[TunedSettings]) -> list[float]:
    """Source words per second with each of the settings, the median of the runs."""
    chosen = [replace(every, isa=settings["isa"], batch_tokens=settings["batch_tokens"]) for settings in candidates]
    ways = {number: functools.partial(decode, way, text) for number, way in enumerate(chosen)}
    results = timing_loop.timed(ways, REPEATS, "tuning", others)
    if (disturbance := max(others(run) for runs in results.values() for run in runs)) > REPEATS.noise:
        print(f"warning: others used {disturbance:.0%} of the cores; tune again when they do not", file=sys.stderr)
    rows = ([run.test_sets["text"] for run in runs] for runs in results.values())
    return [statistics.median(row.source_words / row.text_seconds for row in of_way) for of_way in rows]


def decode(way: Configuration, text: Path, _number: int) -> Run:
    """Decode the text in a process of its own."""
    return made(way.task([("text", text)], text.with_name("run.json")), way.environment)
