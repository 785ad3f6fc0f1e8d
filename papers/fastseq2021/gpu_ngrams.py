"""Block repeated n-grams on a GPU in FastSeq's three ways (Yan et al. 2021, tables 2 and 3), also in a random BART.

``scan`` is what the toolkits did: hypothesis by hypothesis, with a transfer for each. ``one transfer`` scans all
hypotheses on the CPU after a single transfer. ``kernel`` is the paper's algorithm 1: a program for each hypothesis
compares all its n-grams at once on the GPU. All ban the same pieces. It needs PyTorch, Triton, transformers and
msgspec, and src/ on PYTHONPATH.
"""

import argparse
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import torch
import triton
import triton.language as tl
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration, LogitsProcessor, LogitsProcessorList

from formats import experiments
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json

SIZE = 3  # of an n-gram
BEAM = 4
INPUT, OUTPUT = 1024, 50  # pieces, by which the paper estimates its cache
VOCABULARY = 50_265
DRAWN = 500  # different pieces of the hypotheses of table 3, so that some n-grams repeat
INFINITY = float("inf")
DEVICE = "cuda"


def banned(hypothesis: list[int]) -> list[int]:
    """The pieces that would repeat an n-gram, found by a scan."""
    last = hypothesis[len(hypothesis) - SIZE + 1 :]
    starts = range(len(hypothesis) - SIZE + 1)
    return [hypothesis[start + SIZE - 1] for start in starts if hypothesis[start : start + SIZE - 1] == last]


def scan(pieces: Tensor, scores: Tensor) -> None:
    for row in range(len(pieces)):
        if found := banned(pieces[row].tolist()):
            scores[row, found] = -INFINITY


def one_transfer(pieces: Tensor, scores: Tensor) -> None:
    found = [(row, piece) for row, hypothesis in enumerate(pieces.tolist()) for piece in banned(hypothesis)]
    if found:
        rows, columns = torch.tensor(found, device=scores.device).T
        scores[rows, columns] = -INFINITY


@triton.jit
def _ban(pieces, scores, length, stride, vocabulary, size: tl.constexpr, block: tl.constexpr):
    row, start = tl.program_id(0), tl.arange(0, block)
    inside = start <= length - size
    hypothesis = pieces + row * stride
    same = inside
    for place in tl.static_range(size - 1):
        last = tl.load(hypothesis + length - size + 1 + place)
        same = same & (tl.load(hypothesis + start + place, mask=inside, other=-1) == last)
    piece = tl.load(hypothesis + start + size - 1, mask=inside, other=0)
    tl.store(scores + row * vocabulary + piece, float("-inf"), mask=same)


def kernel(pieces: Tensor, scores: Tensor) -> None:
    if (length := pieces.shape[1]) >= SIZE:
        block = triton.next_power_of_2(length)
        _ban[(len(pieces),)](pieces, scores, length, pieces.stride(0), scores.shape[1], SIZE, block)


Block = Callable[[Tensor, Tensor], None]
WAYS: dict[str, Block] = {"scan": scan, "one transfer": one_transfer, "kernel": kernel}


class Blocking(LogitsProcessor):
    def __init__(self, way: Block):
        self.way = way

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        scores = scores.clone()
        self.way(input_ids.contiguous(), scores)
        return scores


def seconds(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def blocking(rows: int, length: int, runs: int) -> dict[str, list[float]]:
    """Milliseconds of blocking alone in all steps of a search, by way; scores are cleared between them."""
    torch.manual_seed(1)
    pieces = torch.randint(DRAWN, (rows, length), device=DEVICE)
    scores = {way: torch.zeros(rows, VOCABULARY, device=DEVICE) for way in WAYS}
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(runs + 1):
        for way, block in WAYS.items():
            scores[way].zero_()

            def search(block: Block = block, written: Tensor = scores[way]) -> None:
                for step in range(SIZE, length + 1):
                    block(pieces[:, :step], written)

            found[way].append(1000 * seconds(search))
    marked = [each.isinf() for each in scores.values()]
    if not all(torch.equal(each, marked[0]) for each in marked) or not marked[0].any():
        raise UserError("the ways do not ban the same pieces")
    return {way: values[1:] for way, values in found.items()}  # the first one compiles and loads


def generating(batch: int, runs: int) -> dict[str, list[float]]:
    """Samples a second of a whole search, by way: without the decoder's cache, with each way of blocking, without."""
    torch.manual_seed(1)
    model = BartForConditionalGeneration(BartConfig(forced_eos_token_id=None)).half().to(DEVICE).eval()
    sources = torch.randint(10, VOCABULARY, (batch, INPUT), device=DEVICE)
    shared = {"num_beams": BEAM, "min_new_tokens": OUTPUT, "max_new_tokens": OUTPUT, "early_stopping": True}

    def generate(way: str, use_cache: bool = True) -> Tensor:
        processors = LogitsProcessorList([Blocking(WAYS[way])] if way in WAYS else [])
        ours = {} if way != "transformers" else {"no_repeat_ngram_size": SIZE}
        options = shared | ours | {"use_cache": use_cache, "logits_processor": processors}
        return model.generate(input_ids=sources, attention_mask=torch.ones_like(sources), **options)

    works: dict[str, Callable[[], Tensor]] = {"no cache": lambda: generate("transformers", use_cache=False)}
    works |= {way: partial(generate, way) for way in ("transformers", *WAYS, "no blocking")}
    outputs = {name: work() for name, work in works.items() if name != "no cache"}
    same = {name: float((each == outputs["scan"]).all(1).float().mean()) for name, each in outputs.items()}
    print(f"batch {batch}: share of translations equal to those of scan: {same}", flush=True)
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            found[name].append(batch / seconds(work))
    return found


def spreads(found: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"median": statistics.median(runs), "lowest": min(runs), "highest": max(runs)}
        for name, runs in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=128, help="hypotheses: 32 sentences with beam 4")
    parser.add_argument("--length", type=int, default=140, help="pieces of a hypothesis")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batches", type=int, nargs="*", default=[32, 128])
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise UserError("PyTorch finds no GPU here; run this on a machine with one")

    alone = blocking(args.rows, args.length, args.runs)
    ratios = {
        f"{one} over {other}": [a / b for a, b in zip(alone[one], alone[other], strict=True)]
        for one, other in (("scan", "one transfer"), ("one transfer", "kernel"), ("scan", "kernel"))
    }
    record = {
        "command": f"python -m papers.fastseq2021.gpu_ngrams {shlex.join(sys.argv[1:])}",
        "gpu": torch.cuda.get_device_name(),
        "versions": {name: version(name) for name in ("torch", "transformers", "triton")},
        "size": SIZE,
        "rows": args.rows,
        "length": args.length,
        "blocking_milliseconds": spreads(alone),
        "times_faster": spreads(ratios),
    } | experiments.here()
    write_json(args.output, record)
    samples = {}
    for batch in args.batches:
        samples[str(batch)] = spreads(generating(batch, 3))
        write_json(args.output, {**record, "samples_per_second": samples})
    print(record, samples)


if __name__ == "__main__":
    command(main)
