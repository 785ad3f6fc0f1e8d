"""One load of a model folder in a process of its own: seconds, and memory before, after and after decoding, as JSON.

Before the clock runs, everything is imported that decoding needs with any engine, NumPy among it.
"""

import importlib
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from common import machine
from common.errors import command
from decode import engines
from decode.engines import Search
from decode.pipeline import MANY_CORES, ONE_CORE
from decode.tokenizer import Tokenizer
from formats.test_sets import sources
from measure.in_process import in_batches
from measure.usage import peak_rss_bytes, watch

FIELDS = {"Rss": "rss", "Pss": "pss", "Anonymous": "own", "Private_Clean": "private", "Private_Dirty": "private"}


def memory() -> dict[str, int]:
    """Bytes in memory of this process: all, its share of all, of no file, and used by no other process."""
    found = dict.fromkeys(FIELDS.values(), 0)
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, size, _ = line.split()
        if field := FIELDS.get(name.rstrip(":")):
            found[field] += int(size) * 1024
    return found


@contextmanager
def clock(times: dict[str, float], name: str) -> Iterator[None]:
    """Note the seconds of the block, and those of the CPU in all threads."""
    start, cpu = time.perf_counter(), time.process_time()
    yield
    times[f"{name}_seconds"], times[f"{name}_cpu_seconds"] = time.perf_counter() - start, time.process_time() - cpu


def main() -> None:
    folder, test_set, workers, core = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    machine.pin([core])
    tokenizer, kind = Tokenizer(folder), engines.of(folder)
    sentences = [sentence for line in sources(test_set) if (sentence := tokenizer.encode(line))]
    batches = in_batches(sentences, ONE_CORE if workers == 1 else MANY_CORES)
    search = Search(vocabulary_map=engines.describe(folder)["vocabulary_map"], workers=workers)
    times: dict[str, float] = {}
    before = memory()
    with watch([core]) as usage:
        with clock(times, "import"):
            importlib.import_module(kind.packages[0])
        with clock(times, "load"):
            engine = engines.load(folder, search, checksums=False)
        loaded = memory()
        with clock(times, "first"):
            engine.translate(batches[-1][-1:])
        with ThreadPoolExecutor(workers) as threads:
            outputs = [*threads.map(engine.translate, batches)]
    assert len(outputs) == len(batches)
    found = {"before": before, "loaded": loaded, "decoded": memory(), "peak": {"rss": peak_rss_bytes()}}
    found["added"] = {"rss": found["peak"]["rss"] - before["rss"]}  # at most, by the engine
    flat = {f"{when}_{name}_bytes": size for when, sizes in found.items() for name, size in sizes.items()}
    print(json.dumps({**times, **flat, "others": usage.others}))


if __name__ == "__main__":
    command(main)
