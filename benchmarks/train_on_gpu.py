"""Train a Transformer on one GPU with PyTorch alone, where OpenNMT-tf cannot be installed; write a CTranslate2 model.

The model is the Transformer of OpenNMT-tf (pre-norm, one matrix of embeddings); `benchmarks/to_opennmt_tf.py` makes a
checkpoint from it. It needs PyTorch, sentencepiece, zstandard and NumPy, and src/ on PYTHONPATH. The learning rate
follows the clock and is zero when the minutes are over, so weights differ from run to run.
"""

import argparse
import math
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import numpy as np
import sentencepiece
import torch
from torch import Tensor, nn
from torch.nn import functional
from train_on_gpu_model import BLANK, MAXIMUM, TorchTransformer, write

from formats import records

START, END = 1, 2
Side = tuple[np.ndarray, np.ndarray]  # pieces of all sentences, [pieces] uint16, and where each begins, [sentences + 1]


# Data


class Pairs(NamedTuple):
    """The pairs of all corpora. lengths: pieces of the longer side, with the end. corpora: where each corpus begins,
    and where the last one ends."""

    source: Side
    target: Side
    lengths: np.ndarray  # [pairs]
    corpora: np.ndarray  # [corpora + 1]


def read(paths: list[Path], tokenizer: sentencepiece.SentencePieceProcessor, ids: dict[str, int]) -> Pairs:
    pairs = [[*records.read(path)] for path in paths]
    source, target = (
        encoded([record[column] for corpus in pairs for record in corpus], tokenizer, ids) for column in (0, 1)
    )
    lengths = np.maximum(np.diff(source[1]), np.diff(target[1]) + 1)
    lengths[np.minimum(np.diff(source[1]), np.diff(target[1])) == 0] = MAXIMUM + 1  # no text
    return Pairs(source, target, lengths, np.cumsum([0, *map(len, pairs)]))


def encoded(sentences: list[str], tokenizer: sentencepiece.SentencePieceProcessor, ids: dict[str, int]) -> Side:
    unknown = len(ids)
    pieces = tokenizer.encode(sentences, out_type=str, num_threads=-1)
    starts = np.cumsum([0, *map(len, pieces)])
    return np.fromiter((ids.get(piece, unknown) for line in pieces for piece in line), np.uint16, starts[-1]), starts


def epoch(pairs: Pairs, power: float, tokens: int, random: np.random.Generator) -> list[np.ndarray]:
    """Batches of an epoch as numbers of pairs. The share of a corpus is proportional to its size to the ``power``."""
    usable = [begin + np.flatnonzero(pairs.lengths[begin:end] <= MAXIMUM) for begin, end in pairwise(pairs.corpora)]
    sizes = np.array([*map(len, usable)])
    counts = np.rint(sizes**power / (sizes**power).sum() * sizes.sum()).astype(int)
    drawn = [
        np.concatenate([*[numbers] * (count // len(numbers)), random.permutation(numbers)[: count % len(numbers)]])
        for numbers, count in zip(usable, counts, strict=True)
    ]
    order = random.permutation(np.concatenate(drawn))
    order = order[np.argsort(pairs.lengths[order], kind="stable")]  # random among equal lengths
    lengths, batches, begin = pairs.lengths[order], [], 0
    while begin < len(order):
        window = lengths[begin : begin + tokens]
        fits = np.searchsorted(window * np.arange(1, len(window) + 1), tokens, "right")
        batches.append(order[begin : begin + max(fits, 1)])
        begin += max(fits, 1)
    return [batches[number] for number in random.permutation(len(batches))]


def padded(side: Side, numbers: np.ndarray) -> np.ndarray:
    """The pieces of sentences, [sentences, longest + 1 rounded up to 8] int64, padded with blanks."""
    pieces, starts = side
    lengths = starts[numbers + 1] - starts[numbers]
    columns = np.arange(-(-(lengths.max() + 1) // 8) * 8)
    places = np.minimum(starts[numbers][:, None] + columns, len(pieces) - 1)
    return np.where(columns < lengths[:, None], pieces[places], BLANK).astype(np.int64)


def tensors(pairs: Pairs, numbers: np.ndarray) -> tuple[Tensor, ...]:
    """Source and the decoder's input, [pairs, pieces]; the places of its outputs there, and the outputs, [places]."""
    source, target = padded(pairs.source, numbers), padded(pairs.target, numbers)
    lengths = np.diff(pairs.target[1])[numbers]
    outputs = target.copy()
    outputs[np.arange(len(numbers)), lengths] = END
    before = np.concatenate([np.full((len(numbers), 1), START), target[:, :-1]], axis=1)
    places = np.flatnonzero(outputs.reshape(-1) != BLANK)
    return tuple(map(torch.from_numpy, (source, before, places, outputs.reshape(-1)[places])))


def stream(pairs: Pairs, power: float, tokens: int, seed: int, cuda: bool) -> Iterator[tuple[Tensor, ...]]:
    """Endless batches, made ahead in another thread."""
    made: Queue = Queue(64)

    def fill() -> None:
        random = np.random.default_rng(seed)
        while True:
            for numbers in epoch(pairs, power, tokens, random):
                batch = tensors(pairs, numbers)
                made.put([tensor.pin_memory() for tensor in batch] if cuda else batch)

    threading.Thread(target=fill, daemon=True).start()
    while True:
        yield made.get()


# Training


def loss_of(model: nn.Module, batch: tuple[Tensor, ...], device: str, smoothing: float) -> tuple[Tensor, int]:
    """The mean loss per piece, and the number of pieces."""
    *inputs, pieces = (tensor.to(device, non_blocking=True) for tensor in batch)
    with torch.autocast(device, torch.bfloat16):
        logits = model(*inputs)
    return functional.cross_entropy(logits.float(), pieces, label_smoothing=smoothing), len(pieces)


@torch.no_grad()
def validate(model: nn.Module, dev: dict[str, list], device: str) -> dict[str, float]:
    """Nats per piece on each dev set."""
    model.eval()
    found = {}
    for name, batches in dev.items():
        losses = [loss_of(model, batch, device, 0.0) for batch in batches]
        found[name] = round(sum(loss.item() * count for loss, count in losses) / sum(count for _, count in losses), 4)
    model.train()
    return found


def train(model: TorchTransformer, batches: Iterator, dev: dict[str, list], args: argparse.Namespace) -> None:
    """Train until the minutes are over. The final weights are their mean over the last tenth of the time."""
    fused = args.device == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), args.learning_rate, (0.9, 0.98), 1e-9, 0.0, fused=fused)
    begin, step, pieces, snapshots = time.monotonic(), 0, 0, 0
    mean: dict[str, Tensor] = {}
    losses: list[Tensor] = []
    while (elapsed := (time.monotonic() - begin) / 60 / args.minutes) < 1:
        step += 1
        rate = args.learning_rate * min(1, step / args.warmup) * 0.5 * (1 + math.cos(math.pi * elapsed))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss, count = loss_of(model, next(batches), args.device, 0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        pieces += count
        losses.append(loss.detach())
        if elapsed > 0.9 and step % 25 == 0:
            snapshots += 1
            for name, weights in model.state_dict().items():
                mean[name] = mean.get(name, 0) + (weights.float() - mean.get(name, 0)) / snapshots
        if step % args.report == 0:
            speed = f"{pieces / (time.monotonic() - begin):,.0f} pieces/s"
            found = validate(model, dev, args.device)
            print(
                f"step {step:6}  loss {torch.stack(losses).mean():.3f}  {speed}  rate {rate:.6f}  {found}", flush=True
            )
            losses.clear()
    model.load_state_dict(mean or model.state_dict())
    print(f"mean of {snapshots} in {step} steps, {pieces:,} pieces: {validate(model, dev, args.device)}", flush=True)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, nargs="+", required=True, help="corpora of a study, clean or distilled")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="whose loss is printed during training")
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder for the CTranslate2 model in float16")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--encoder-layers", type=int, default=6)
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--units", type=int, default=512)
    parser.add_argument("--ffn-units", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--dropout", type=float, default=0.2, help="of residuals; half of it in attention and inside")
    parser.add_argument("--batch-tokens", type=int, default=25000, help="with padding")
    parser.add_argument("--power", type=float, default=0.7, help="of a corpus's size in its share of an epoch")
    parser.add_argument("--learning-rate", type=float, default=0.0014)
    parser.add_argument("--warmup", type=int, default=1000, help="updates")
    parser.add_argument("--report", type=int, default=500, help="updates between two lines of the log")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def main() -> None:
    args = options().parse_args()
    args.device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    pieces = args.vocabulary.read_text().split("\n")[:-1]
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(args.sentencepiece))
    pairs = read(args.train, tokenizer, ids)
    for path, (first, last) in zip(args.train, pairwise(pairs.corpora), strict=True):
        lengths = pairs.lengths[first:last]
        print(f"{records.name(path)}: {(lengths <= MAXIMUM).sum():,} of {len(lengths):,} pairs", flush=True)
    random, dev = np.random.default_rng(0), {}
    for path in args.dev:
        held = read([path], tokenizer, ids)
        dev[records.name(path)] = [tensors(held, numbers) for numbers in epoch(held, 1, args.batch_tokens, random)]
    model = TorchTransformer(len(pieces) + 1, args).to(args.device)
    print(f"{sum(weights.numel() for weights in model.parameters()):,} parameters on {args.device}", flush=True)
    train(model, stream(pairs, args.power, args.batch_tokens, args.seed, args.device == "cuda"), dev, args)
    write(args.output, model.state_dict(), args.heads, pieces)


if __name__ == "__main__":
    main()
