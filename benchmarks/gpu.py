"""Time the papers' Transformers on a GPU: table 6 of WNGT 2020 and table 3 of Marian at WNMT 2018.

CTranslate2 decodes all shapes; transformers' MarianMT, with beam 4, stands for the papers' baseline, OpenNMT-tf.
Weights are random and translations as long as the references, so this is about speed only. All systems take turns;
loading, tokenisation and detokenisation are timed apart from decoding. It needs PyTorch, transformers, CTranslate2,
SentencePiece and msgspec, and src/ on PYTHONPATH.
"""

import argparse
import gzip
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import ctranslate2
import gpu_models
import numpy as np
import torch
from sentencepiece import SentencePieceProcessor as Tokenizer
from transformers import LogitsProcessorList, MarianMTModel

from formats import experiments
from formats.shape import registry
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json

BATCH = {"wngt2020": 6000, "marian2018": 8192}  # tokens of a batch
LONGEST_OUTPUT = 400


class PublishedRow(NamedTuple):
    """A row of a table. row: its number in papers.csv."""

    paper: str
    row: str
    shape: str
    engine: str
    type: str
    beam: int

    def __str__(self) -> str:
        return f"{self.paper} ({self.row}) {self.shape} {self.engine} {self.type} beam {self.beam}"


WNGT = dict(zip(("wngt2020-base", "wngt2020-4-3-2xffn", "wngt2020-6-3", "wngt2020-4-3"), range(13, 17), strict=True))
MARIAN = {("marian-big", 8): 3, ("marian-big", 4): 5, ("marian-big", 2): 6, ("marian-big", 1): 7}
MARIAN |= {("marian-base", 4): 8, ("marian-base", 2): 9, ("marian-base", 1): 10, ("marian-small", 1): 14}
PEER, OURS = "transformers", "CTranslate2"
SYSTEMS = [
    PublishedRow("wngt2020", str(row + 4), shape, OURS, kind, beam)
    for shape, row in WNGT.items()
    for kind, beam in (("float32", 1), ("float32", 4), ("float16", 1))
]
SYSTEMS += [
    PublishedRow("marian2018", str(row), shape, OURS, kind, beam)
    for (shape, beam), row in MARIAN.items()
    for kind in ("float32", "float16")
]
SYSTEMS += [PublishedRow("wngt2020", str(row), shape, PEER, "float32", 4) for shape, row in WNGT.items()]


OVER = {("wngt2020", str(row + 4)): [str(row)] for row in WNGT.values()}
OVER |= {("marian2018", one): [other] for one, other in (("5", "3"), ("6", "5"), ("7", "6"), ("9", "8"), ("14", "10"))}
OVER["marian2018", "10"] = ["9", "7"]  # as `over` in their claims.csv


class SentencesToTime(NamedTuple):
    """Sentences, and the pieces of their references."""

    name: str
    lines: list[str]
    lengths: np.ndarray  # [sentences]


def read(source: Path, target: Path, tokenizer: Tokenizer) -> SentencesToTime:
    lines, references = (gzip.decompress(path.read_bytes()).decode().splitlines() for path in (source, target))
    lengths = np.array([len(pieces) for pieces in tokenizer.encode(references)])
    return SentencesToTime(source.name.split(".")[0], lines, np.clip(lengths, 1, 250))


Run = dict[str, float]
Decode = Callable[[list[list[str]]], list[list[str]]]


def load_ctranslate2(system: PublishedRow, folder: Path, test_set: SentencesToTime, ids: dict[str, int]) -> Decode:
    translator = ctranslate2.Translator(str(folder), device="cuda", compute_type=system.type)

    def decode(sentences: list[list[str]]) -> list[list[str]]:
        results = translator.translate_batch(
            sentences,
            beam_size=system.beam,
            batch_type="tokens",
            max_batch_size=BATCH[system.paper],
            max_decoding_length=LONGEST_OUTPUT,
            max_input_length=0,
        )
        return [result.hypotheses[0] for result in results]

    return decode


def load_transformers(system: PublishedRow, folder: Path, test_set: SentencesToTime, ids: dict[str, int]) -> Decode:
    model = MarianMTModel.from_pretrained(folder, dtype=getattr(torch, system.type)).cuda().eval()
    entries = [*ids, "<unk>"]

    def decode(sentences: list[list[str]]) -> list[list[str]]:
        numbers = [[ids.get(piece, len(ids)) for piece in sentence] for sentence in sentences]
        outputs: list[list[str]] = [[]] * len(sentences)
        for batch in batches(numbers, BATCH[system.paper]):
            lengths = torch.tensor(test_set.lengths[batch]).cuda().repeat_interleave(system.beam)
            sources = gpu_models.padded([numbers[number] for number in batch])
            found = model.generate(
                input_ids=sources,
                attention_mask=(sources != gpu_models.PADDING).long(),
                num_beams=system.beam,
                max_new_tokens=LONGEST_OUTPUT,
                early_stopping=True,
                logits_processor=LogitsProcessorList([gpu_models.GivenLengths(lengths)]),
            )
            for number, row, length in zip(batch, found[:, 1:].tolist(), test_set.lengths[batch], strict=True):
                outputs[number] = [entries[piece] for piece in row[:length]]
        return outputs

    return decode


def batches(sentences: list[list[int]], tokens: int) -> Iterator[list[int]]:
    """Numbers of sentences, the longest first, in batches of at most so many tokens with padding."""
    batch: list[int] = []
    for number in sorted(range(len(sentences)), key=lambda number: -len(sentences[number])):
        if batch and (len(batch) + 1) * len(sentences[batch[0]]) > tokens:
            yield batch
            batch = []
        batch.append(number)
    yield batch


LOAD = {OURS: load_ctranslate2, PEER: load_transformers}


def timed(
    system: PublishedRow, folder: Path, test_set: SentencesToTime, tokenizer: Tokenizer, ids: dict[str, int]
) -> Run:
    """Seconds of each step, and pieces of all translations."""
    torch.cuda.empty_cache()
    clock = [time.perf_counter()]
    decode = LOAD[system.engine](system, folder, test_set, ids)
    clock.append(time.perf_counter())
    decode([tokenizer.encode(test_set.lines[0], out_type=str)])  # warm: kernels are loaded
    clock.append(time.perf_counter())
    sentences = tokenizer.encode(test_set.lines, out_type=str)
    clock.append(time.perf_counter())
    outputs = decode(sentences)
    clock.append(time.perf_counter())
    tokenizer.decode(outputs)
    clock.append(time.perf_counter())
    steps = ("load_seconds", "first_seconds", "tokenise_seconds", "decode_seconds", "detokenise_seconds")
    return dict(zip(steps, np.diff(clock).tolist(), strict=True)) | {"pieces": sum(map(len, outputs))}


def write_models(
    folder: Path,
    ids: dict[str, int],
    sets: dict[str, SentencesToTime],
    tokenizer: Tokenizer,
    systems: list[PublishedRow],
) -> dict[str, int]:
    """Write every model once. Returns the parameters by shape."""
    entries, found = [*ids], {}
    for shape, paper, engine in sorted({(each.shape, each.paper, each.engine) for each in systems}):
        values = registry()[shape]
        if engine == PEER:
            gpu_models.transformers(values, len(entries) + 1, folder / f"{shape} {engine}")
            continue
        lines = tokenizer.encode(sets[paper].lines, out_type=str)
        sources = [[ids.get(piece, len(ids)) for piece in line] for line in lines]
        output = folder / f"{shape} {engine}"
        found[shape] = gpu_models.ctranslate2(values, entries, sources, sets[paper].lengths, output)
        print(f"{shape}: {found[shape]:,} parameters", flush=True)
    return found


def spread(values: Iterable[float]) -> dict[str, float]:
    found = sorted(values)
    return {"median": statistics.median(found), "lowest": found[0], "highest": found[-1]}


def seconds(system: PublishedRow, run: Run) -> float:
    """From text to text, and loading where the paper counts it."""
    text = sum(run[f"{step}_seconds"] for step in ("tokenise", "decode", "detokenise"))
    return text + run["load_seconds"] * (system.paper == "wngt2020")


def summary(runs: dict[PublishedRow, list[Run]], sets: dict[str, SentencesToTime]) -> dict[str, list[dict]]:
    """The seconds of each system, and the ratios that the papers' tables give, run by run."""
    systems = [
        system._asdict()
        | {"seconds": spread(seconds(system, run) for run in found)}
        | {"pieces_of_references": int(sets[system.paper].lengths.sum()), "runs": found}
        for system, found in runs.items()
    ]
    ratios = []
    for (one, found), (other, others) in permutations(runs.items(), 2):
        over = OVER.get((one.paper, one.row), ())
        if (other.paper, other.type) == (one.paper, one.type) and other.row in over:
            faster = [seconds(other, b) / seconds(one, a) for a, b in zip(found, others, strict=False)]
            ratios.append({"system": str(one), "over": str(other), "times_faster": spread(faster)})
    return {"systems": systems, "ratios": ratios}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True, help="of OpenNMT-tf, an entry a line")
    for paper, name in (("wngt2020", "newstest2019"), ("marian2018", "newstest2014")):
        help = f"source and reference of {name}, or a translation of the same length, gzipped"
        parser.add_argument(f"--{paper}", type=Path, nargs=2, required=True, help=help)
    parser.add_argument("--sentences", type=int, help="of each test set, the first; default: all")
    parser.add_argument("--types", nargs="+", default=["float32", "float16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no other round that would end later")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    return parser.parse_args()


def main() -> None:
    args = options()
    if not torch.cuda.is_available():
        raise UserError("PyTorch finds no GPU here; run this on a machine with one")

    begin = time.perf_counter()
    tokenizer = Tokenizer(model_file=str(args.sentencepiece))
    ids = {entry: number for number, entry in enumerate(args.vocabulary.read_text(encoding="utf-8").splitlines())}
    systems = [system for system in SYSTEMS if system.type in args.types]
    sets = {paper: read(*getattr(args, paper), tokenizer) for paper in BATCH}
    first = slice(args.sentences)
    sets = {paper: SentencesToTime(each.name, each.lines[first], each.lengths[first]) for paper, each in sets.items()}
    runs: dict[PublishedRow, list[Run]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        parameters = write_models(Path(scratch), ids, sets, tokenizer, systems)
        print(f"models: {time.perf_counter() - begin:.0f} s", flush=True)
        for number in range(args.rounds):
            round_began = time.perf_counter()
            for system in systems:
                folder = Path(scratch, f"{system.shape} {system.engine}")
                found = timed(system, folder, sets[system.paper], tokenizer, ids)
                runs.setdefault(system, []).append(found)
                print(f"{number + 1}: {system}: {found['decode_seconds']:.2f} s, {found['pieces']} pieces", flush=True)
                record = {
                    "command": f"python benchmarks/gpu.py {shlex.join(sys.argv[1:])}",
                    "gpu": torch.cuda.get_device_name(),
                    "versions": {name: version(name) for name in ("ctranslate2", "torch", "transformers")},
                    "test_sets": {paper: [each.name, len(each.lines)] for paper, each in sets.items()},
                    "parameters": parameters,
                }
                write_json(args.output, record | summary(runs, sets) | experiments.here())
            if 2 * time.perf_counter() - round_began - begin > args.seconds:
                break


if __name__ == "__main__":
    command(main)
