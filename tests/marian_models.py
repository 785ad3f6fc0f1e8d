"""Tiny models of any shape that Marian trains here for seconds, until they mostly copy their source."""

import json
import random
import subprocess
import sys
from pathlib import Path

from formats import marian
from formats.shape import shape
from nmt_frontier.importers.marian_binary import END, UNKNOWN
from nmt_frontier.importers.marian_parameters import Parameters
from nmt_frontier.importers.read_marian import read
from nmt_frontier.model import native_weights
from train.marian import Schedule, train

PIECES = [f"p{number}" for number in range(90)]
VOCABULARY = [END, UNKNOWN, *PIECES]
SMALL = {"encoder_layers": 1, "decoder_layers": 2, "units": 64, "ffn_units": 72, "heads": 4}
CONDITIONAL = {"units": 64, "embedding_units": 64}
SHAPES = {
    "self-attention": SMALL,
    "averaging": SMALL | {"decoder": "averaging"},
    "averaging, gated": SMALL | {"decoder": "averaging-gated"},
    "averaging, ungated": SMALL | {"decoder": "averaging-ungated"},
    "averaging, plain": SMALL | {"decoder": "averaging-plain"},
    "ssru, shared": SMALL | {"decoder": "ssru", "share_embeddings": True},
    "conditional": CONDITIONAL | {"encoder_transitions": 1, "decoder_transitions": 2},
    "conditional, deep": CONDITIONAL | {"encoder_transitions": 3, "decoder_transitions": 4, "share_embeddings": True},
}
LONGEST = 10  # pieces of a sentence
DECODE = """
import json, sys, _pymarian
translator = _pymarian.Translator(" ".join(sys.argv[1:]))
print(json.dumps(translator.translate(json.load(sys.stdin))))
"""


def sentences(count: int, seed: int) -> list[list[str]]:
    generator = random.Random(seed)
    return [generator.choices(PIECES, k=generator.randint(1, LONGEST)) for _ in range(count)]


def trained(values: dict, folder: Path, updates: int = 400) -> Path:
    """Train a model of this shape in a folder, with its native files in subfolders. Returns its model.npz."""
    texts = prepared(folder)
    schedule = Schedule(updates=updates, batch_tokens=400, learning_rate=0.003, warmup=100, seed=1)
    train(texts, shape(values), schedule, folder)
    return convert(folder / "model.npz")


def nematus(folder: Path) -> Path:
    """Train a model with Nematus' names for too short a time to learn anything. Returns its model.npz."""
    texts, model = prepared(folder), folder / "model.npz"
    options = ["--model", model, "--train-sets", *texts, "--vocabs", *[folder / marian.VOCABULARY] * 2]
    options += ["--type", "nematus", "--enc-cell", "gru-nematus", "--dec-cell", "gru-nematus"]
    options += ["--enc-cell-depth", 3, "--dec-cell-base-depth", 4, "--dim-rnn", 64, "--dim-emb", 48]
    options += ["--after", "150u", "--learn-rate", 0.003, "--mini-batch", 64, "--cpu-threads", 1]
    options += ["--workspace", 300, "--quiet"]
    marian.run("train", *options, log=folder / "log")
    return convert(model)


def prepared(folder: Path) -> list[Path]:
    """Make a folder with a vocabulary and two sides of a training text, which are the same."""
    folder.mkdir(exist_ok=True)
    (text := folder / "text").write_text("".join(f"{' '.join(line)}\n" for line in sentences(20_000, seed=1)))
    marian.write_vocabulary(VOCABULARY, folder / marian.VOCABULARY)
    return [text, text]


def convert(model: Path) -> Path:
    """Write the native files of a model.npz beside it, in all types."""
    found = read(Parameters(model), VOCABULARY, VOCABULARY)
    for kind in native_weights.TYPES:
        found.write(kind, model.parent / kind)
    return model


def translations(model: Path, batch: list[list[str]], beam_size: int, factor: int) -> list[tuple[list[str], float]]:
    """Marian's best translation of each source, and its log probability by its length, with the end.

    factor: a translation is at most so many times as long as the longest source of its batch.
    """
    options = ["--models", model, "--vocabs", *[model.with_name(marian.VOCABULARY)] * 2, "--cpu-threads", 1]
    options += ["--mini-batch", 64, "--maxi-batch", 100, "--beam-size", beam_size, "--normalize", 1, "--n-best"]
    options += ["--max-length-factor", factor, "--allow-unk", "--log-level", "error"]
    call = [sys.executable, "-P", "-c", DECODE, *map(str, options)]
    text = json.dumps([" ".join(sentence) for sentence in batch])
    answer = json.loads(subprocess.run(call, input=text, capture_output=True, text=True, check=True).stdout)
    best: dict[int, tuple[list[str], float]] = {}
    for line in "\n".join(answer).splitlines():
        number, pieces, _, score = line.split(" ||| ")
        if int(number) not in best or float(score) > best[int(number)][1]:
            best[int(number)] = pieces.split(), float(score)
    return [best[number] for number in range(len(batch))]
