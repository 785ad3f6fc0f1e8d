"""Read a MarianMT, as OPUS-MT's models are, from a folder of Hugging Face: safetensors, no torch and no pickle.

The architecture is Marian's; names of weights, positions and the first input of the decoder are those of transformers
(modeling_marian.py). The piece of padding begins translations and, where the configuration forbids it, is never said.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.errors import UserError
from common.files import read_json
from export.float_model import FloatModel, LayerWeights, Norm, Product, check_widths
from export.toolkits.found import Found, Options, Sides, tokenizer_files
from formats import native_model, safetensors
from formats.shape import Transformer

CONFIG, WEIGHTS, INDEX, PICKLE = "config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
KIND = "marian"
ACTIVATIONS = {"relu": False, "swish": True, "silu": True}  # whether each is swish
ONLY = {"normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False}
NEEDED = ("vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim",
          "encoder_attention_heads", "decoder_attention_heads", "activation_function", "eos_token_id",
          "decoder_start_token_id")  # fmt: skip
EPSILON = 1e-5  # torch's default
POSITIONS = 2048  # encodings that are stored; they follow a formula
NEVER = -1e9  # the bias of a piece that is never said
UNKNOWN = "<unk>"
PAIR = re.compile(r"opus-mt-(\w+)-(\w+)")
CONVERT = (
    'with torch and transformers installed, `python -c "import transformers; '
    "transformers.AutoModelForSeq2SeqLM.from_pretrained('{0}').save_pretrained('{0}')\"` writes model.safetensors"
)


def recognised(source: Path) -> bool:
    """Whether this is a folder with a configuration of transformers."""
    try:
        return source.is_dir() and "model_type" in read_json(source / CONFIG)
    except (OSError, ValueError, TypeError):
        return False


def read(source: Path, options: Options) -> Found:
    """The model. Raises UserError for files that are missing, do not fit, or that the native engine cannot compute."""
    config = read_json(source / CONFIG)
    if (kind := config["model_type"]) != KIND:
        raise UserError(f"{source}: is a model of type {kind}; of Hugging Face's this reads {KIND} (OPUS-MT)")
    if missing := [name for name in NEEDED if config.get(name) is None]:
        raise UserError(f"{source / CONFIG}: lacks {', '.join(missing)}")
    weights = Weights(source)
    model = _model(source, config, weights, _said(source, config))
    return Found(
        toolkit=f"Hugging Face, {config.get('architectures', ['MarianMT'])[0]}",
        model=model,
        shape=str(_shape(config, model)),
        parameters=weights.count(),
        tokenizer=tokenizer_files(source, options, "MarianMT has source.spm and target.spm"),
        languages=_languages(source),
        longest=_longest(source, config),
    )


class Weights:
    """The tensors of a folder, each taken once, so that none is forgotten."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tensors: dict[str, safetensors.Array] = {}
        for path in _files(folder):
            self.tensors |= safetensors.read(path)
        self._left = {*self.tensors}

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def count(self) -> int:
        """The number of parameters: all but positions, which follow a formula."""
        return sum(tensor.size for name, tensor in self.tensors.items() if "embed_positions" not in name)

    def take(self, name: str) -> NDArray[np.float32]:
        if name not in self.tensors:
            raise UserError(f"{self.folder}: has no tensor {name}; a file is missing, or it is another architecture")
        self._left.discard(name)
        return self.tensors[name].astype(np.float32)

    def dense(self, *names: str) -> Product:
        """Layers that share their inputs, stacked."""
        parts = ([self.take(f"{name}.{part}") for name in names] for part in ("weight", "bias"))
        weights, biases = map(np.concatenate, parts)
        return weights, biases

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


def _said(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """How transformers generates: the configuration of generation, which older models have in config.json."""
    path = folder / "generation_config.json"
    try:
        return config | (read_json(path) if path.exists() else {})
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error}); get the model again") from None


def _model(folder: Path, config: dict[str, Any], weights: Weights, generation: dict[str, Any]) -> FloatModel:
    _check(folder, config)
    units, source = config["d_model"], _vocabulary(folder / "vocab.json")
    target = _vocabulary(path) if (path := folder / "target_vocab.json").exists() else source
    layers = Layers(weights, config)
    embeddings = _embeddings(weights, config)
    bias = np.zeros(len(embeddings["output"][1]), np.float32)
    if "final_logits_bias" in weights:
        bias = weights.take("final_logits_bias").reshape(-1)
    for words in generation.get("bad_words_ids") or []:
        if len(words) == 1:  # in OPUS-MT's models padding
            bias[words[0]] = NEVER
    factor = float(np.sqrt(np.float32(units))) if config.get("scale_embedding") else 1.0
    metadata = {
        "architecture": "transformer",
        "units": units,
        "feed_forward_units": native_model.padded(config["encoder_ffn_dim"]),
        "swish": ACTIVATIONS[config["activation_function"]],
        **{f"{side}_layers": config[f"{side}_layers"] for side in ("encoder", "decoder")},
        **{f"{side}_heads": config[f"{side}_attention_heads"] for side in ("encoder", "decoder")},
        **{f"{side}_head_units": units // config[f"{side}_attention_heads"] for side in ("encoder", "decoder")},
        "start": config["decoder_start_token_id"],
        "end": config["eos_token_id"],
        "start_from_zero": False,
        "pre_norm": False,
        "source_factor": factor,
        "target_factor": factor,
        "epsilon": EPSILON,
    }
    pieces = native_model.Vocabulary(source, target, UNKNOWN, suffix=[source[config["eos_token_id"]]])
    weights.check_all_taken()
    return FloatModel(folder, metadata, layers.products, layers.vectors, embeddings, bias, pieces)


def _check(folder: Path, config: dict[str, Any]) -> None:
    """Raises UserError for what the engine does not compute."""
    for name, value in ONLY.items():
        if config.get(name, value) != value:
            raise UserError(f"{folder}: the native engine does not compute MarianMT with {name} {config[name]}")
    if (activation := config["activation_function"]) not in ACTIVATIONS:
        raise UserError(f"{folder}: the native engine has no {activation}, only {', '.join(ACTIVATIONS)}")
    if config["encoder_ffn_dim"] != config["decoder_ffn_dim"]:
        raise UserError(f"{folder}: the feed-forward layers of its two sides differ; the native engine has one size")
    check_widths(folder, {"units": config["d_model"]}, [])


def _vocabulary(path: Path) -> list[str]:
    """The pieces by number. Raises UserError for a missing or damaged file."""
    try:
        numbers = read_json(path)
        pieces = sorted(numbers, key=numbers.__getitem__)
        if [numbers[piece] for piece in pieces] != [*range(len(pieces))]:
            raise ValueError("its numbers have gaps")
        if UNKNOWN not in numbers:
            raise ValueError(f"it has no {UNKNOWN}")
        return pieces
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: missing or damaged ({error}); get the model again") from None


def _embeddings(weights: Weights, config: dict[str, Any]) -> dict[str, tuple[str, NDArray[np.float32]]]:
    """FloatModel.embeddings. Shared matrices may be stored under any of their names."""
    shared = "model.shared.weight"
    own = {"source": "model.encoder.embed_tokens.weight", "target": "model.decoder.embed_tokens.weight"}
    tied = config.get("tie_word_embeddings", True)
    if config.get("share_encoder_decoder_embeddings", True):
        names = [shared, *own.values(), *(["lm_head.weight"] if tied else [])]
        name = next((name for name in names if name in weights), shared)
        for other in names:
            weights.skip(other)
        own = dict.fromkeys(own, name)
    output = own["target"] if tied else "lm_head.weight"
    if tied:
        weights.skip("lm_head.weight")
    matrices = {name: weights.take(name) for name in {*own.values(), output}}
    return {side: (name, matrices[name]) for side, name in {**own, "output": output}.items()}


class Layers(LayerWeights):
    """The layers of both sides."""

    def __init__(self, weights: Weights, config: dict[str, Any]):
        super().__init__()
        for side in ("encoder", "decoder"):
            heads = config[f"{side}_attention_heads"]
            for number in range(config[f"{side}_layers"]):
                old, new = f"model.{side}.layers.{number}", f"{side}.{number}"
                self._attention(weights, f"{old}.self_attn", f"{new}.self", heads, memory=False)
                if side == "decoder":
                    self._attention(weights, f"{old}.encoder_attn", f"{new}.source", heads, memory=True)
                layer = f"{new}.feed_forward"
                self.feed_forward(layer, weights.dense(f"{old}.fc1"), weights.dense(f"{old}.fc2"))
                self.norm(f"{layer}.norm", weights.norm(f"{old}.final_layer_norm"))
            weights.skip(f"model.{side}.embed_positions.weight")
        self.vectors["positions"] = positions(config["d_model"])

    def _attention(self, weights: Weights, old: str, new: str, heads: int, memory: bool) -> None:
        queries, keys, values = (f"{old}.{name}_proj" for name in "qkv")
        norm, output = weights.norm(f"{old}_layer_norm"), weights.dense(f"{old}.out_proj")
        if memory:
            self.attention(new, heads, weights.dense(queries), output, norm, weights.dense(keys, values))
        else:
            self.attention(new, heads, weights.dense(queries, keys, values), output, norm)


def positions(units: int) -> NDArray[np.float32]:
    """Encodings as transformers computes them, float32 [POSITIONS, units]: sines, then cosines."""
    rates = 10_000.0 ** -(np.arange(units // 2) / (units / 2))
    angles = np.arange(POSITIONS)[:, None] * rates
    encodings: NDArray[np.float32] = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    return encodings


def _shape(config: dict[str, Any], model: FloatModel) -> Transformer:
    return Transformer(
        encoder_layers=config["encoder_layers"],
        decoder_layers=config["decoder_layers"],
        units=config["d_model"],
        ffn_units=config["encoder_ffn_dim"],
        heads=config["encoder_attention_heads"],
        share_embeddings=len({name for name, _ in model.embeddings.values()}) == 1,
    )


def _languages(folder: Path) -> Sides:
    path = folder / "tokenizer_config.json"
    try:
        about = read_json(path) if path.exists() else {}
        if found := (about.get("source_lang"), about.get("target_lang")) if about else None:
            return found
    except (ValueError, AttributeError):
        pass  # only for people
    match = PAIR.search(folder.resolve().name)
    return (match[1], match[2]) if match else (None, None)


def _longest(folder: Path, config: dict[str, Any]) -> int | None:
    """The most pieces of a translation, if the model says so; the first input counts in transformers."""
    longest = _said(folder, config).get("max_length")
    return longest - 1 if isinstance(longest, int) and longest > 1 else None
