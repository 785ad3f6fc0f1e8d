"""Read BART of Hugging Face, and the models that have its layers: MarianMT (OPUS-MT), mBART-50, M2M100 and NLLB.

They differ in positions, in where they normalise, and in their pieces. As in transformers (modeling_bart.py,
modeling_marian.py, modeling_mbart.py, modeling_m2m_100.py), learned positions begin at their third row, and so do
M2M100's waves. The piece of MarianMT's padding begins translations and, where the configuration forbids it, is never
said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from nmt_frontier.importers import huggingface_pieces
from nmt_frontier.importers.float_model import FloatModel, LayerWeights, check_widths
from nmt_frontier.importers.found import Config, Found, ImportOptions, tokenizer_files, transformer
from nmt_frontier.importers.huggingface_folder import (
    HuggingFaceWeights,
    about_tokenizer,
    activation,
    generation,
    longest,
    output_bias,
    read_config,
    search,
    sides,
)
from nmt_frontier.model import native_packing
from nmt_frontier.model.native_vocabulary import Vocabulary


@dataclass(frozen=True)
class Kind:
    """How the models of one name differ. waves: positions follow a formula; else they are learned."""

    name: str
    waves: bool = False
    pre_norm: bool = False  # with a norm after the last layer
    embedding_norm: bool = False


MARIAN = "marian"
KINDS = {
    MARIAN: Kind("MarianMT", waves=True),
    "bart": Kind("BART", embedding_norm=True),
    "mbart": Kind("mBART", pre_norm=True, embedding_norm=True),
    "m2m_100": Kind("M2M100", waves=True, pre_norm=True),
}
MULTILINGUAL = ("mbart", "m2m_100")
ONLY = {"normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False}  # of MarianMT's options
NEEDED = ("vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim",
          "encoder_attention_heads", "decoder_attention_heads", "activation_function", "eos_token_id")  # fmt: skip
EPSILON = 1e-5  # torch's default
POSITIONS = 2048  # encodings that are stored where they follow a formula
OFFSET = 2  # the row of the first position
UNKNOWN = "<unk>"
SIDES = ("encoder", "decoder")


def read(source: Path, options: ImportOptions) -> Found:
    """The model. Raises UserError for files that are missing, do not fit, or that the native engine cannot compute."""
    config = read_config(source, NEEDED)
    kind, weights, said = KINDS[config["model_type"]], HuggingFaceWeights(source), generation(source, config)
    _check(source, config)
    if kind is KINDS[MARIAN]:
        pieces, tokenizer = _pieces_of_marian(source, config, options)
    else:
        found = huggingface_pieces.read(source, options, config["vocab_size"], fairseq=config["model_type"] != "bart")
        pieces = huggingface_pieces.vocabulary(source, found, options, said, config["eos_token_id"], UNKNOWN)
        tokenizer = found.tokenizer
        if config["model_type"] in MULTILINGUAL and not found.languages and not options.spaces:
            raise UserError(f"{source}: no file lists its languages, as special_tokens_map.json does")
        if config["model_type"] == "bart":
            pieces.prefix = [pieces.source[config.get("bos_token_id", 0)]]
    model = _model(source, config, weights, said, pieces)
    return Found(
        toolkit=f"Hugging Face, {(config.get('architectures') or [kind.name])[0]}",
        model=model,
        shape=transformer(model),
        parameters=weights.count(),
        tokenizer=tokenizer,
        languages=options.languages or sides(source),
        longest=longest(said, len(pieces.target_prefix)),
        **search(said),
    )


def _pieces_of_marian(folder: Path, config: Config, options: ImportOptions) -> tuple[Vocabulary, Mapping[str, Path]]:
    source = _vocabulary(folder / "vocab.json")
    target = _vocabulary(path) if (path := folder / "target_vocab.json").exists() else source
    vocabulary = Vocabulary(source, target, UNKNOWN, suffix=[source[config["eos_token_id"]]])
    return vocabulary, tokenizer_files(folder, options, "MarianMT has source.spm and target.spm")


def _model(folder: Path, config: Config, weights: HuggingFaceWeights, said: Config, pieces: Vocabulary) -> FloatModel:
    units, kind = config["d_model"], KINDS[config["model_type"]]
    layers = BartLayers(weights, config)
    embeddings = _embeddings(weights, config)
    bias = output_bias(weights, said, len(embeddings["output"][1]))
    factor = float(np.sqrt(np.float32(units))) if config.get("scale_embedding") else 1.0
    inner = {side: native_packing.padded(config[f"{side}_ffn_dim"]) for side in SIDES}
    metadata: dict[str, object] = {
        "architecture": "transformer",
        "units": units,
        "feed_forward_units": inner["encoder"],
        **({"decoder_feed_forward_units": inner["decoder"]} if inner["decoder"] != inner["encoder"] else {}),
        **activation(folder, config["activation_function"]),
        **{f"{side}_layers": config[f"{side}_layers"] for side in SIDES},
        **{f"{side}_heads": config[f"{side}_attention_heads"] for side in SIDES},
        **{f"{side}_head_units": units // config[f"{side}_attention_heads"] for side in SIDES},
        "start": said["decoder_start_token_id"],
        "end": config["eos_token_id"],
        "start_from_zero": False,
        "pre_norm": kind.pre_norm,
        **({"embedding_norm": True} if kind.embedding_norm else {}),
        "source_factor": factor,
        "target_factor": factor,
        "epsilon": EPSILON,
    }
    weights.check_all_taken()
    return FloatModel(folder, metadata, layers.products, layers.vectors, embeddings, bias, pieces)


def _check(folder: Path, config: Config) -> None:
    """Raises UserError for what the engine does not compute."""
    for name, value in ONLY.items() if config["model_type"] == MARIAN else ():
        if config.get(name, value) != value:
            raise UserError(f"{folder}: the native engine does not compute MarianMT with {name} {config[name]}")
    about = about_tokenizer(folder)
    if about.get("legacy_behaviour") or about.get("tokenizer_class", "").startswith("MBartTokenizer"):
        raise UserError(f"{folder}: its sources end with their language, which is not supported; take mBART-50, say")
    check_widths(folder, {"units": config["d_model"]})


def _vocabulary(path: Path) -> list[str]:
    """The pieces by number. Raises UserError for a missing or damaged file."""
    first_bytes.check_files([path])
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


def _embeddings(weights: HuggingFaceWeights, config: Config) -> dict[str, tuple[str, NDArray[np.float32]]]:
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


class BartLayers(LayerWeights):
    """The layers of both sides."""

    def __init__(self, weights: HuggingFaceWeights, config: Config):
        super().__init__()
        kind = KINDS[config["model_type"]]
        for side in SIDES:
            heads = config[f"{side}_attention_heads"]
            for number in range(config[f"{side}_layers"]):
                old, new = f"model.{side}.layers.{number}", f"{side}.{number}"
                self._attention(weights, f"{old}.self_attn", f"{new}.self", heads, memory=False)
                if side == "decoder":
                    self._attention(weights, f"{old}.encoder_attn", f"{new}.source", heads, memory=True)
                layer = f"{new}.feed_forward"
                self.feed_forward(layer, weights.dense(f"{old}.fc1"), weights.dense(f"{old}.fc2"))
                self.norm(f"{layer}.norm", weights.norm(f"{old}.final_layer_norm"))
            if kind.embedding_norm:
                self.norm(f"{side}.embedding_norm", weights.norm(f"model.{side}.layernorm_embedding"))
            if kind.pre_norm:
                self.norm(f"{side}.norm", weights.norm(f"model.{side}.layer_norm"))
            positions = f"model.{side}.embed_positions.weight"
            if kind.waves:
                weights.skip(positions)
            else:
                self.vectors[f"{side}.positions"] = weights.take(positions)[OFFSET:]
        if kind.waves:
            first = 0 if kind is KINDS[MARIAN] else OFFSET
            self.vectors["positions"] = waves(config["d_model"], first)

    def _attention(self, weights: HuggingFaceWeights, old: str, new: str, heads: int, memory: bool) -> None:
        queries, keys, values = (f"{old}.{name}_proj" for name in "qkv")
        norm, output = weights.norm(f"{old}_layer_norm"), weights.dense(f"{old}.out_proj")
        if memory:
            self.attention(new, heads, weights.dense(queries), output, norm, weights.dense(keys, values))
        else:
            self.attention(new, heads, weights.dense(queries, keys, values), output, norm)


def waves(units: int, first: int) -> NDArray[np.float32]:
    """Encodings as transformers computes them, float32 [POSITIONS, units]: sines, then cosines.

    first: the position of the first row. 0 is MarianMT, whose rates are a little higher than those of M2M100.
    """
    half = units // 2
    if first:  # in float32, as there: late positions have errors that translations depend on
        rates = np.exp(np.arange(half, dtype=np.float32) * np.float32(-np.log(10_000) / (half - 1)))
        angles = np.arange(first, first + POSITIONS, dtype=np.float32)[:, None] * rates
    else:
        angles = np.arange(POSITIONS)[:, None] * 10_000.0 ** -(np.arange(half) / half)
    encodings: NDArray[np.float32] = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    return encodings
