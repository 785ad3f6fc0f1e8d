"""Numbers of the papers' texts, not of their tables, that two cores can measure.

Klein et al. 2020: lines discarded for their language. Senellart et al. 2018: products in 16 bits against 8,
(20, 1024) x (1024, 512); wider instructions; processes side by side; how much shorter sentences are with 64,000 pieces.
Junczys-Dowmunt et al. 2018: sentences of a batch of 384 or 8,192 words. The timed model is Senellart's Tiny GRU with
random weights in 16 bits, greedy, with 1,000 candidates, on random sentences. A process has one instruction set, so
each run is a process; all take turns.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from engine_recurrent import entries, native, text
from sacremoses import MosesTokenizer

from experiments.altered_models import ForcedLength
from export import read_opennmt_tf, untrained
from formats import experiments
from formats.records import sources
from formats.shape import registry
from formats.spread import Spread
from measure import protocol
from measure.timing_loop import watch
from nmt_frontier import kernels, machine
from nmt_frontier.bindings import available_sets
from nmt_frontier.command_line import named_path, positive
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json, write_text
from nmt_frontier.model import native_weights
from nmt_frontier.search.native import ISA, Native

ROWS, INPUTS, OUTPUTS = 20, 1024, 512  # of the paper's product
REPEAT = 5_000
SHAPE, SENTENCES, BATCH, PIECES = "wnmt2018-rnn-tiny", 512, 32, 24
WORDS = 384, 8192  # of Marian's batches on a CPU and on a GPU


def products(folder: Path) -> dict[str, float]:
    """Seconds of a product in 16 bits, and in 8 with an offset for inputs without a sign, as gemmlowp has."""
    draw = np.random.default_rng(1)
    weights, inputs = draw.normal(size=(OUTPUTS, INPUTS)).astype(np.float32), draw.normal(size=(ROWS, INPUTS))
    found = {}
    for kind in ("int16", "int8"):
        tensors = native_weights.linear("x", weights, np.zeros(OUTPUTS, np.float32), kind)
        tensors = {name.removeprefix("x."): tensor for name, tensor in tensors.items()}
        rows, scales = kernels.quantise(inputs.astype(np.float32), kind)
        with watch([*os.sched_getaffinity(0)]) as usage:
            kernels.product(tensors, kind, rows, scales, shifted=kind == "int8", repeat=REPEAT)
        found[kind] = usage.seconds / REPEAT
    return found


def decoding(folder: Path) -> dict[str, float]:
    """Seconds of all sentences, once this process is told to begin."""
    forced = ForcedLength(folder, folder / Native.map_file)
    sentences = text(SENTENCES, PIECES)
    batches = [sentences[start : start + BATCH] for start in range(0, SENTENCES, BATCH)]
    forced.decode(batches[0], PIECES, beam_size=1)
    print("ready", flush=True)
    sys.stdin.readline()
    with watch([*os.sched_getaffinity(0)]) as usage:
        for batch in batches:
            forced.decode(batch, PIECES, beam_size=1)
    return {"seconds": usage.seconds}


CHILDREN = {each.__name__: each for each in (products, decoding)}


def child(work: str, folder: Path, isa: str, core: int) -> subprocess.Popen:
    """A process that does work of CHILDREN on one core."""
    call = [sys.executable, __file__, "--child", work, "--folder", str(folder), "--core", str(core)]
    environment = os.environ | {ISA: isa}
    return subprocess.Popen(call, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def side_by_side(folder: Path, isa: str, cores: list[int]) -> float:
    """Pieces a second of processes that begin together, one on each core, until the last one has ended."""
    started = [child("decoding", folder, isa, core) for core in cores]
    for process in started:
        process.stdout.readline()
    seconds = [json.loads(process.communicate("\n")[0])["seconds"] for process in _begun(started)]
    return len(cores) * SENTENCES * PIECES / max(seconds)


def _begun(started: list[subprocess.Popen]) -> list[subprocess.Popen]:
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    return started


def over(rates: dict[str, list[float]], one: str, other: str) -> dict[str, float]:
    """How many times faster one is than another, run by run."""
    return Spread.of(a / b for a, b in zip(rates[one], rates[other], strict=True)).fields("times_faster")


def timed(folder: Path, runs: int) -> dict[str, Any]:
    """All that is timed: rates of each way, in turn, and the ratios that the papers print."""
    sets, cores = available_sets(), machine.cores()[:2]
    rates: dict[str, list[float]] = {}
    for _ in range(runs):
        for isa in sets:
            (answer, _) = child("products", folder, isa, cores[0]).communicate()
            for kind, seconds in json.loads(answer).items():
                rates.setdefault(f"{kind} products, {isa}", []).append(1 / seconds)
            rates.setdefault(f"decoding, {isa}", []).append(side_by_side(folder, isa, cores[:1]))
        rates.setdefault(f"{len(cores)} processes", []).append(side_by_side(folder, sets[-1], cores))
    ratios = {f"16 bits over 8, {isa}": over(rates, f"int16 products, {isa}", f"int8 products, {isa}") for isa in sets}
    for wider, isa in zip(sets[1:], sets, strict=False):
        ratios[f"{wider} over {isa}"] = over(rates, f"decoding, {wider}", f"decoding, {isa}")
    ratios[f"{len(cores)} processes over one"] = over(rates, f"{len(cores)} processes", f"decoding, {sets[-1]}")
    return {"rates": {name: Spread.of(found).fields("per_second") for name, found in rates.items()}, "ratios": ratios}


def lengths(lines: list[str], models: dict[str, Path]) -> dict[str, float]:
    """Pieces of a sentence, in the mean, by the name of a SentencePiece model."""
    encoders = {name: sentencepiece.SentencePieceProcessor(model_file=str(path)) for name, path in models.items()}
    return {name: sum(map(len, encode.encode(lines))) / len(lines) for name, encode in encoders.items()}


def in_batches(lines: list[str]) -> dict[str, float]:
    """Sentences of a batch, in the mean, if sorted ones are cut where a batch has at least so many Moses tokens."""
    tokenizer, found = MosesTokenizer("en"), {}
    tokens = sorted(len(tokenizer.tokenize(line, aggressive_dash_splits=True, escape=False)) for line in lines)
    for least in WORDS:
        batches = full = 0
        for count in tokens:
            full += count
            batches, full = (batches + 1, 0) if full >= least else (batches, full)
        found[str(least)] = len(lines) / (batches + bool(full))
    return found


def language_share(cleaned: Path) -> dict[str, float]:
    """Lines that cleaning dropped for their language, in per cent of all lines of the corpora it looked at."""
    corpora = [read_json(path) for path in sorted(cleaned.glob("*.json"))]
    looked = [corpus for corpus in corpora if "language" in corpus["dropped"]]
    lines, dropped = sum(each["lines_in"] for each in looked), sum(each["dropped"]["language"] for each in looked)
    return {"lines": lines, "dropped": dropped, "per_cent": 100 * dropped / lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test-set", type=Path, help="records of newstest2014")
    parser.add_argument("--cleaned", type=Path, help="folder of what cleaning counted of each corpus")
    parser.add_argument("--vocabularies", type=named_path, nargs="+", help="name=model of SentencePiece")
    parser.add_argument("--runs", type=positive, default=5)
    parser.add_argument("--output", type=Path, help="JSON to write")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()

    if args.child:
        machine.pin([args.core])
        print(json.dumps(CHILDREN[args.child](args.folder)))
        return
    lines = sources(args.test_set)
    found = {"pieces_of_a_sentence": lengths(lines, dict(args.vocabularies)), "sentences_of_a_batch": in_batches(lines)}
    found |= {"dropped_for_their_language": language_share(args.cleaned)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "native-int16")
        write_text(folder.with_name("vocabulary.txt"), "".join(f"{entry}\n" for entry in entries()))
        untrained.make(registry()[SHAPE], folder.with_name("vocabulary.txt"), 1, folder.with_name("checkpoint"))
        native(read_opennmt_tf.read(folder.with_name("checkpoint")), PIECES, folder, "int16")
        found |= timed(folder, args.runs)
    found = json.loads(json.dumps(found), parse_float=lambda number: round(float(number), 2))
    found["command"] = f"python benchmarks/text_claims.py {shlex.join(sys.argv[1:])}"
    shared = {"shape": SHAPE, "runs": args.runs, "commit": protocol.commit()} | experiments.here()
    write_json(args.output, found | shared)


if __name__ == "__main__":
    command(main)
