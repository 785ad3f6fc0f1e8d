"""A folder of Hugging Face: its configuration, and its weights in safetensors; no torch, and no pickle."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers.float_model import NEVER, Norm, Product, finite
from nmt_frontier.importers.found import Config, Sides
from nmt_frontier.model import safetensors
from nmt_frontier.search import switches

CONFIG, WEIGHTS, INDEX, PICKLE = "config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
ABOUT_TOKENIZER = "tokenizer_config.json"
# Metadata of the native file for each activation.
ACTIVATIONS: dict[str, dict[str, object]] = {
    "relu": {"swish": False},
    "swish": {"swish": True},
    "silu": {"swish": True},
    "gelu": {"activation": "gelu"},
    **{name: {"activation": "gelu_tanh"} for name in ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")},
}
START = "decoder_start_token_id"
PIECES = ("eos_token_id", START)  # every model needs them
PAIR = re.compile(r"opus-mt(?:[-_](?:tc|bible|tatoeba|synthetic|tiny|small|base|big))*[-_](\w+)-(\w+)")
CONVERT = (
    'with torch and transformers installed, `python -c "import transformers; '
    "transformers.AutoModelForSeq2SeqLM.from_pretrained('{0}').save_pretrained('{0}')\"` writes model.safetensors"
)


class HuggingFaceWeights:
    """The tensors of a folder, each taken once, so that none is forgotten."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tensors: dict[str, safetensors.Array] = {}
        for path in _files(folder):
            self.tensors |= safetensors.read(path)
        self._left, self._taken = {*self.tensors}, set[str]()

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def count(self) -> int:
        """The number of parameters that were taken: without positions that follow a formula, and copies."""
        return sum(self.tensors[name].size for name in self._taken)

    def take(self, name: str, masks: bool = False) -> NDArray[np.float32]:
        """A tensor, float32. masks: of ``finite``."""
        if name not in self.tensors:
            raise UserError(f"{self.folder}: has no tensor {name}; a file is missing, or it is another architecture")
        self._left.discard(name)
        self._taken.add(name)
        return finite(self.folder, name, self.tensors[name], masks)

    def dense(self, *names: str, bias: bool = True) -> Product:
        """Layers that share their inputs, stacked; zeros as the bias of layers that have none."""
        weights = np.concatenate([self.take(f"{name}.weight") for name in names])
        if not bias:
            return weights, np.zeros(len(weights), np.float32)
        return weights, np.concatenate([self.take(f"{name}.bias") for name in names])

    def norm(self, name: str) -> Norm:
        return self.take(f"{name}.weight"), self.take(f"{name}.bias")

    def skip(self, name: str) -> None:
        self._left.discard(name)

    def check_all_taken(self) -> None:
        """Raises UserError for a tensor that nobody asked for: a part of the model that would be left out."""
        if left := sorted(self._left):
            raise UserError(f"{self.folder}: the native engine does not know {', '.join(left[:5])}")


def _files(folder: Path) -> list[Path]:
    """The file of weights, or its shards. Raises UserError where one is missing."""
    if (folder / WEIGHTS).exists():
        return [folder / WEIGHTS]
    if not (folder / INDEX).exists():
        if (folder / PICKLE).exists():
            raise UserError(f"{folder}: {PICKLE} is a pickle, which can run code; {CONVERT.format(folder)}")
        raise UserError(f"{folder}: no weights in it, {WEIGHTS} is missing")
    try:
        files = sorted({*read_json(folder / INDEX)["weight_map"].values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder / INDEX}: damaged ({error}); get the model again") from None
    if missing := [name for name in files if not (folder / name).exists()]:
        raise UserError(f"{folder}: its shard {missing[0]} is missing; get the model again")
    return [folder / name for name in files]


def read_config(folder: Path, needed: Collection[str]) -> Config:
    """The configuration. Raises UserError where it lacks one of these values, or a size is none."""
    config: Config = read_json(folder / CONFIG)
    if missing := [name for name in needed if config.get(name) is None]:
        raise UserError(f"{folder / CONFIG}: lacks {', '.join(missing)}")
    for name in needed:
        size = name not in PIECES and name != "activation_function"
        if size and not (isinstance(config[name], int) and config[name] > 0):
            raise UserError(f"{folder / CONFIG}: {name} is {config[name]!r}, not a positive number")
        if name.endswith("_attention_heads") and config["d_model"] % config[name]:
            raise UserError(
                f"{folder / CONFIG}: d_model {config['d_model']} has no {config[name]} heads of equal width"
            )
    return config


def generation(folder: Path, config: Config) -> Config:
    """How transformers generates: the configuration of generation, which older models have in config.json.

    Raises UserError for one that is damaged, or names pieces that the model does not have.
    """
    path = folder / "generation_config.json"
    try:
        said = config | (dict(read_json(path)) if path.exists() else {})
        banned = [number for words in said.get("bad_words_ids") or [] for number in words]
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error}); get the model again") from None
    if said.get(START) is None:  # as transformers does
        said[START] = said.get("bos_token_id")
    forced = [("forced_bos_token_id", number) for number in [said.get("forced_bos_token_id")] if number is not None]
    named = [*((name, said.get(name)) for name in PIECES), *forced, *(("bad_words_ids", number) for number in banned)]
    rows = max(config["vocab_size"], config.get("decoder_vocab_size") or 0)
    for name, number in named:
        if not (isinstance(number, int) and 0 <= number < rows):
            raise UserError(f"{folder}: its {name} is {number!r}, not the number of one of its {rows:,} pieces")
    return said


def activation(folder: Path, name: str) -> dict[str, object]:
    """Metadata of an activation. Raises UserError for one that the engine does not have."""
    if name not in ACTIVATIONS:
        raise UserError(f"{folder}: the native engine has no {name}, only {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def output_bias(weights: HuggingFaceWeights, said: Config, pieces: int) -> NDArray[np.float32]:
    """The bias of the output layer; pieces that are forbidden get NEVER."""
    bias = np.zeros(pieces, np.float32)
    if "final_logits_bias" in weights:
        bias = weights.take("final_logits_bias", masks=True).reshape(-1)
    for words in said.get("bad_words_ids") or []:
        if len(words) == 1:  # in OPUS-MT's models padding
            bias[words[0]] = NEVER
    return bias


def longest(said: Config, prefix: int) -> int | None:
    """The most pieces of a translation, if the model says so.

    In transformers the first input counts, and the prefix, and an end that is forced.
    """
    others = 1 + prefix + (said.get("forced_eos_token_id") is not None)
    found = said.get("max_length")
    return found - others if isinstance(found, int) and found > others else None


class Searching(TypedDict):
    """Fields of Found."""

    search: str
    notes: list[str]


def search(said: Config) -> Searching:
    """Options of the command that search as the model does, and a note of what they lack."""
    options, beams = [], said.get("num_beams") or 1
    if beams > 1:
        options.append(f"--beam-size {beams}")
    if size := said.get("no_repeat_ngram_size"):
        options.append(f"{switches.option('blocked_ngram')} {size}")
    usual = {"min_length": 0, "min_new_tokens": 0, "repetition_penalty": 1.0, "do_sample": False}
    usual |= {"length_penalty": 1.0} if beams > 1 else {}
    left = [f"{name} {said[name]}" for name, value in usual.items() if said.get(name) not in (None, value)]
    lacks = [f"its own search has {', '.join(left)}, for which nmt-frontier translate has no option"] if left else []
    return {"search": " ".join(options), "notes": lacks}


def about_tokenizer(folder: Path) -> Config:
    """What the folder says about its tokenizer, if anything."""
    try:
        found = read_json(folder / ABOUT_TOKENIZER)
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}  # its other files decide


def sides(folder: Path) -> Sides:
    """The languages, for people."""
    about = about_tokenizer(folder)
    if any(found := tuple(about.get(f"{side}_lang") for side in ("source", "target"))):
        return found[0], found[1]
    *_, last = (None, *PAIR.finditer(str(folder.resolve())))  # a cache has such a name above the folder of a version
    return (last[1], last[2]) if last else (None, None)
