"""Train a Transformer on one GPU with PyTorch alone, where OpenNMT-tf cannot be installed; write a CTranslate2 model.

It is the Transformer of OpenNMT-tf (pre-norm, one matrix of embeddings), which `benchmarks/to_opennmt_tf.py` makes a
checkpoint of. It needs PyTorch, sentencepiece, zstandard and NumPy, and src/ on PYTHONPATH. The learning rate follows
the clock: it has fallen to nothing when the minutes are over. So the weights differ from run to run.
"""

import argparse
import json
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

from formats import ctranslate2_model, records
from formats.ctranslate2_model import Variable

BLANK, START, END = 0, 1, 2
EPSILON = 1e-3  # formats.conversion, which needs CTranslate2
MAXIMUM = 150  # pieces of a side, as in the studies
FLAGS = {"activation": 0, "pre_norm": 1, "scale_embeddings": 1}  # of CTranslate2's TransformerSpec, int8
DECODER_FLAGS = dict.fromkeys(("alibi", "alibi_use_positive_positions", "scale_alibi", "start_from_zero_embedding"), 0)
ENCODER_FLAGS = dict.fromkeys(("embeddings_merge", "multi_query_attention"), 0)

Side = tuple[np.ndarray, np.ndarray]  # pieces of all sentences, [pieces] uint16, and where each begins, [sentences + 1]


# Data


class Pairs(NamedTuple):
    """Of one corpus or several. Pieces of all sentences after one another, and where each sentence begins and the
    last one ends. lengths: of the longer side, with the end. corpora: where each corpus begins and the last one ends.
    """

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
    """Batches of an epoch, each the numbers of its pairs. A corpus's share grows with its size to the power."""
    usable = [begin + np.flatnonzero(pairs.lengths[begin:end] <= MAXIMUM) for begin, end in pairwise(pairs.corpora)]
    sizes = np.array([*map(len, usable)])
    counts = np.rint(sizes**power / (sizes**power).sum() * sizes.sum()).astype(int)
    drawn = [
        np.concatenate([*[numbers] * (count // len(numbers)), random.permutation(numbers)[: count % len(numbers)]])
        for numbers, count in zip(usable, counts, strict=True)
    ]
    order = random.permutation(np.concatenate(drawn))
    order = order[np.argsort(pairs.lengths[order], kind="stable")]  # in a random order among equal lengths
    lengths, batches, begin = pairs.lengths[order], [], 0
    while begin < len(order):
        window = lengths[begin : begin + tokens]
        fits = np.searchsorted(window * np.arange(1, len(window) + 1), tokens, "right")
        batches.append(order[begin : begin + max(fits, 1)])
        begin += max(fits, 1)
    return [batches[number] for number in random.permutation(len(batches))]


def padded(side: Side, numbers: np.ndarray) -> np.ndarray:
    """The pieces of sentences, [sentences, longest + 1 rounded up to 8] int64, with blanks behind them."""
    pieces, starts = side
    lengths = starts[numbers + 1] - starts[numbers]
    columns = np.arange(-(-(lengths.max() + 1) // 8) * 8)
    places = np.minimum(starts[numbers][:, None] + columns, len(pieces) - 1)
    return np.where(columns < lengths[:, None], pieces[places], BLANK).astype(np.int64)


def tensors(pairs: Pairs, numbers: np.ndarray) -> tuple[Tensor, ...]:
    """Source and what the decoder reads, [pairs, pieces]; the places of what it says among those, and what, [said]."""
    source, target = padded(pairs.source, numbers), padded(pairs.target, numbers)
    lengths = np.diff(pairs.target[1])[numbers]
    said = target.copy()
    said[np.arange(len(numbers)), lengths] = END
    before = np.concatenate([np.full((len(numbers), 1), START), target[:, :-1]], axis=1)
    places = np.flatnonzero(said.reshape(-1) != BLANK)
    return tuple(map(torch.from_numpy, (source, before, places, said.reshape(-1)[places])))


def stream(pairs: Pairs, power: float, tokens: int, seed: int, cuda: bool) -> Iterator[tuple[Tensor, ...]]:
    """Batches without end, made ahead in another thread."""
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


# Model; modules have the names of CTranslate2's variables


class Attention(nn.Module):
    def __init__(self, units: int, heads: int, across: bool, dropout: float):
        super().__init__()
        self.layer_norm = nn.LayerNorm(units, eps=EPSILON)
        self.linear_0 = nn.Linear(units, units if across else 3 * units)
        if across:
            self.linear_1 = nn.Linear(units, 2 * units)
            self.linear_2 = nn.Linear(units, units)
        else:
            self.linear_1 = nn.Linear(units, units)
        self.heads, self.across, self.dropout = heads, across, dropout

    def forward(self, inputs: Tensor, memory: Tensor | None, mask: Tensor | None) -> Tensor:
        """[batch, pieces, units]; mask: [batch, 1, 1, pieces of the source], None for what comes before only."""
        normed = self.layer_norm(inputs)
        if self.across:
            queries, (keys, values) = self.linear_0(normed), self.linear_1(memory).chunk(2, -1)
        else:
            queries, keys, values = self.linear_0(normed).chunk(3, -1)
        by_head = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (queries, keys, values)]
        dropout = self.dropout if self.training else 0.0
        context = functional.scaled_dot_product_attention(
            *by_head, attn_mask=mask, dropout_p=dropout, is_causal=mask is None
        )
        output = self.linear_2 if self.across else self.linear_1
        return output(context.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, units: int, inner: int, dropout: float):
        super().__init__()
        self.layer_norm = nn.LayerNorm(units, eps=EPSILON)
        self.linear_0, self.linear_1 = nn.Linear(units, inner), nn.Linear(inner, units)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.linear_1(self.dropout(functional.relu(self.linear_0(self.layer_norm(inputs)))))


class Layer(nn.Module):
    def __init__(self, units: int, inner: int, heads: int, decoder: bool, dropout: float):
        super().__init__()
        self.self_attention = Attention(units, heads, False, dropout / 2)
        if decoder:
            self.attention = Attention(units, heads, True, dropout / 2)
        self.ffn = FeedForward(units, inner, dropout / 2)
        self.dropout, self.decoder = nn.Dropout(dropout), decoder

    def forward(self, inputs: Tensor, own_mask: Tensor | None, memory: Tensor | None, mask: Tensor | None) -> Tensor:
        inputs = inputs + self.dropout(self.self_attention(inputs, None, own_mask))
        if self.decoder:
            inputs = inputs + self.dropout(self.attention(inputs, memory, mask))
        return inputs + self.dropout(self.ffn(inputs))


class Stack(nn.Module):
    def __init__(self, layers: int, units: int, inner: int, heads: int, decoder: bool, dropout: float):
        super().__init__()
        for number in range(layers):
            self.add_module(f"layer_{number}", Layer(units, inner, heads, decoder, dropout))
        self.layer_norm = nn.LayerNorm(units, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)
        self.layers = layers

    def forward(self, embedded: Tensor, own: Tensor | None, memory: Tensor | None, mask: Tensor | None) -> Tensor:
        hidden = self.dropout(embedded)
        for number in range(self.layers):
            hidden = getattr(self, f"layer_{number}")(hidden, own, memory, mask)
        return self.layer_norm(hidden)


class Transformer(nn.Module):
    def __init__(self, vocabulary: int, args: argparse.Namespace):
        super().__init__()
        sizes = args.units, args.ffn_units, args.heads
        self.encoder = Stack(args.encoder_layers, *sizes, False, args.dropout)
        self.decoder = Stack(args.decoder_layers, *sizes, True, args.dropout)
        self.embeddings = nn.Parameter(torch.randn(vocabulary, args.units) * args.units**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        for name, weights in self.named_parameters():
            if weights.dim() == 2 and name != "embeddings":
                nn.init.xavier_uniform_(weights)
        self.register_buffer("positions", positions(MAXIMUM + 16, args.units), persistent=False)

    def embed(self, pieces: Tensor) -> Tensor:
        scaled = functional.embedding(pieces, self.embeddings) * math.sqrt(self.embeddings.shape[1])
        return scaled + self.positions[: pieces.shape[1]]

    def forward(self, source: Tensor, before: Tensor, places: Tensor) -> Tensor:
        """Logits of what is no padding, [said, vocabulary]."""
        mask = (source != BLANK)[:, None, None, :]
        memory = self.encoder(self.embed(source), mask, None, None)
        hidden = self.decoder(self.embed(before), None, memory, mask)
        return functional.linear(hidden.flatten(0, 1)[places], self.embeddings, self.bias)


def positions(length: int, units: int) -> Tensor:
    """Sinusoidal positions of OpenNMT-tf, [length, units], the first of which is 1."""
    half = units // 2
    rates = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
    angles = torch.arange(1, length + 1)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


# Training


def loss_of(model: nn.Module, batch: tuple[Tensor, ...], device: str, smoothing: float) -> tuple[Tensor, int]:
    """The mean loss of a piece, and their number."""
    *inputs, pieces = (tensor.to(device, non_blocking=True) for tensor in batch)
    with torch.autocast(device, torch.bfloat16):
        logits = model(*inputs)
    return functional.cross_entropy(logits.float(), pieces, label_smoothing=smoothing), len(pieces)


@torch.no_grad()
def validate(model: nn.Module, dev: dict[str, list], device: str) -> dict[str, float]:
    """Nats a piece of each dev set."""
    model.eval()
    found = {}
    for name, batches in dev.items():
        losses = [loss_of(model, batch, device, 0.0) for batch in batches]
        found[name] = round(sum(loss.item() * count for loss, count in losses) / sum(count for _, count in losses), 4)
    model.train()
    return found


def train(model: Transformer, batches: Iterator, dev: dict[str, list], args: argparse.Namespace) -> None:
    """Until the minutes are over; the model has the mean of its weights in the last tenth of them then."""
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


# CTranslate2


def variables(weights: dict[str, Tensor], heads: int) -> dict[str, Variable]:
    """The variables of CTranslate2's TransformerSpec, revision 7, in float16."""
    found: dict[str, Variable] = {}
    for name, tensor in weights.items():
        array = tensor.cpu().numpy().astype(np.float16)
        found[of_ctranslate2(name)] = Variable(array.shape, 4, memoryview(array.tobytes()))
    for side, flags in (("encoder", FLAGS | ENCODER_FLAGS), ("decoder", FLAGS | DECODER_FLAGS)):
        for name, value in flags.items():
            found[f"{side}/{name}"] = Variable((), 1, memoryview(np.int8(value).tobytes()))
        found[f"{side}/num_heads"] = Variable((), 2, memoryview(np.int16(heads).tobytes()))
    found["decoder/alignment_heads"] = Variable((), 2, memoryview(np.int16(1).tobytes()))
    found["decoder/alignment_layer"] = Variable((), 2, memoryview(np.int16(-1).tobytes()))
    return dict(sorted(found.items()))


def of_ctranslate2(name: str) -> str:
    """The name of a parameter there."""
    if name == "embeddings":
        return "decoder/embeddings/weight"
    if name == "bias":
        return "decoder/projection/bias"
    name = name.replace("layer_norm.weight", "layer_norm.gamma").replace("layer_norm.bias", "layer_norm.beta")
    return name.replace(".", "/")


def write(folder: Path, weights: dict[str, Tensor], heads: int, pieces: list[str]) -> None:
    folder.mkdir(parents=True)
    shared = dict.fromkeys(("decoder/projection/weight", "encoder/embeddings_0/weight"), "decoder/embeddings/weight")
    model = ctranslate2_model.Model("TransformerSpec", 7, variables(weights, heads), shared)
    ctranslate2_model.write(folder, model)
    config = {
        "add_source_bos": False,
        "add_source_eos": False,
        "bos_token": "<s>",
        "decoder_start_token": "<s>",
        "eos_token": "</s>",
        "layer_norm_epsilon": EPSILON,
        "multi_query_attention": False,
        "unk_token": "<unk>",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "shared_vocabulary.json").write_text(json.dumps([*pieces, "<unk>"], ensure_ascii=False, indent=2) + "\n")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, nargs="+", required=True, help="corpora of a study, clean or distilled")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="whose loss is told on the way")
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
    model = Transformer(len(pieces) + 1, args).to(args.device)
    print(f"{sum(weights.numel() for weights in model.parameters()):,} parameters on {args.device}", flush=True)
    train(model, stream(pairs, args.power, args.batch_tokens, args.seed, args.device == "cuda"), dev, args)
    write(args.output, model.state_dict(), args.heads, pieces)


if __name__ == "__main__":
    main()
