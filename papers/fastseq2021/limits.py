"""How many times faster than transformers a program can be at most that computes what ``whole_models`` times.

    python -m papers.fastseq2021.limits results/reference/any-model/speed.json --output limits.json

It counts the products of a model, and those of its attention, of encoder and decoder. torch's product of 1,024 rows
tells how fast a core computes in float32 (or --core, where it was measured before); 8-bit instructions have four times
as many elements, and attention stays in float32. Needs torch (requirements-huggingface.lock) and src/ on PYTHONPATH.
"""

import argparse
import time
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from papers.fastseq2021.documents import WholeModel
from papers.fastseq2021.random_models import MODELS, Shape

INT8 = 4  # times as many elements in a register
ROWS, INNER, OUTER, SECONDS = 1024, 1024, 4096, 4


def work(shape: Shape, pieces: int) -> tuple[float, float]:
    """GFLOP of products and of attention, for sources of this many pieces in all."""
    config = shape.config
    units, inner = config["d_model"], config.get("d_ff") or config["encoder_ffn_dim"]
    encoder, decoder = (config.get(f"{side}_layers") or config["num_layers"] for side in ("encoder", "decoder"))
    said = shape.sentences * shape.beam * shape.output
    layer = 4 * units**2 + 2 * units * inner
    products = pieces * (encoder * layer + decoder * 2 * units**2)  # and keys and values of the source
    products += said * (decoder * (layer + 2 * units**2) + units * config["vocab_size"])
    source = pieces / shape.sentences
    attention = 2 * units * (pieces * encoder * source + said * decoder * (source + shape.output / 2))
    return 2e-9 * products, 2e-9 * attention


def speed_of_a_core() -> float:
    """GFLOP per second of torch's product."""
    import torch  # inside: it is no dependency

    torch.set_num_threads(1)
    inputs, weights = torch.rand(ROWS, INNER), torch.rand(INNER, OUTER)
    best, end = float("inf"), time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < end:
        torch.mm(inputs, weights)
        best = min(best, time.perf_counter() - start)
    return 2e-9 * ROWS * INNER * OUTER / best


def limits(entry: WholeModel, core: float) -> dict[str, float]:
    sentences, config, output, beam = entry["sentences"], entry["config"], entry["output"], entry["beam"]
    shape = Shape(entry["kind"], config, sentences, (0, 0), output, beam)
    products, attention = work(shape, entry["pieces"])
    speed = core * entry["cores"]
    rate = next(way["sources_per_second"] for way in entry["ways"] if way["times_faster"] is None)
    baseline = shape.sentences / rate
    least = {"float32": (products + attention) / speed, "int8": (products / INT8 + attention) / speed}
    most = {f"most_{name}": baseline / seconds for name, seconds in least.items()}
    found = {"products": products, "attention": attention, "speed": speed, "seconds": baseline, **most}
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("speed", type=there, help="result of whole_models")
    parser.add_argument("--core", type=float, help="GFLOP per second")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    entries = {name: entry for name, entry in read_json(args.speed)["models"].items() if name in MODELS}
    core = args.core or speed_of_a_core()
    write_json(args.output, {name: limits(entry, core) for name, entry in entries.items()})


if __name__ == "__main__":
    command(main)
