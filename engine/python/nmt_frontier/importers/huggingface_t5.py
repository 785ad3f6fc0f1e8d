"""Read T5 of Hugging Face, T5 v1.1, mT5 and MADLAD-400, as transformers computes them (modeling_t5.py).

Scores of attention are not scaled there, but by the engine, so query weights get the inverse factor. Layers have no
biases, and norms no mean. Embeddings that are tied to the output layer are scaled in it.
"""

from pathlib import Path
from typing import Any

import numpy as np

from nmt_frontier.errors import UserError
from nmt_frontier.importers import huggingface_pieces
from nmt_frontier.importers.float_model import UNSCALED, FloatModel, LayerWeights, Norm, Product, check_widths
from nmt_frontier.importers.found import Config, Found, ImportOptions, transformer
from nmt_frontier.importers.huggingface_folder import (
    HuggingFaceWeights,
    activation,
    generation,
    longest,
    output_bias,
    read_config,
    search,
)
from nmt_frontier.model import native_packing
from nmt_frontier.model.native_vocabulary import Vocabulary

KINDS = ("t5", "mt5")
NEEDED = ("vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_heads")
UNKNOWN = "<unk>"
SIDES = ("encoder", "decoder")


def read(source: Path, options: ImportOptions) -> Found:
    """The model. Raises UserError for files that are missing, do not fit, or that the native engine cannot compute."""
    config = {"eos_token_id": 1, "decoder_start_token_id": 0, **read_config(source, NEEDED)}
    weights, said = HuggingFaceWeights(source), generation(source, config)
    check_widths(source, {"units": config["d_model"]})
    # Tables of embeddings have more rows than there are pieces.
    rows = max(len(tensor) for name, tensor in weights.tensors.items() if name in ("shared.weight", "lm_head.weight"))
    found = huggingface_pieces.read(source, options, rows)
    pieces = huggingface_pieces.vocabulary(source, found, options, said, config["eos_token_id"], UNKNOWN)
    model = _model(source, config, weights, said, pieces)
    return Found(
        toolkit=f"Hugging Face, {(config.get('architectures') or ['T5'])[0]}",
        model=model,
        shape=transformer(model),
        parameters=weights.count(),
        tokenizer=found.tokenizer,
        languages=options.languages or (None, None),
        longest=longest(said, len(pieces.target_prefix)),
        **search(said),
    )


def _layer_counts(config: Config) -> dict[str, int]:
    return {"encoder": config["num_layers"], "decoder": config.get("num_decoder_layers") or config["num_layers"]}


def _model(folder: Path, config: Config, weights: HuggingFaceWeights, said: Config, pieces: Vocabulary) -> FloatModel:
    form, _, name = config.get("feed_forward_proj", "relu").rpartition("-")
    gated = form == "gated"
    layers = T5Layers(weights, config, gated)
    embeddings = _embeddings(weights, config)
    metadata: dict[str, object] = {
        "architecture": "transformer",
        "units": config["d_model"],
        "feed_forward_units": native_packing.padded(config["d_ff"]),
        **activation(folder, "gelu_new" if gated and name == "gelu" else name),
        **({"gated_feed_forward": True} if gated else {}),
        **{f"{side}_layers": count for side, count in _layer_counts(config).items()},
        **{f"{side}_heads": config["num_heads"] for side in SIDES},
        **{f"{side}_head_units": config["d_kv"] for side in SIDES},
        "start": said["decoder_start_token_id"],
        "end": config["eos_token_id"],
        "start_from_zero": False,
        "pre_norm": True,
        "norm": "rms",
        "positions": "none",
        "relative_buckets": config.get("relative_attention_num_buckets", 32),
        "relative_distance": config.get("relative_attention_max_distance", 128),
        **UNSCALED,
        "epsilon": config.get("layer_norm_epsilon", 1e-6),
    }
    weights.check_all_taken()
    bias = output_bias(weights, said, len(embeddings["output"][1]))
    return FloatModel(folder, metadata, layers.products, layers.vectors, embeddings, bias, pieces)


def _embeddings(weights: HuggingFaceWeights, config: Config) -> dict[str, tuple[str, Any]]:
    """FloatModel.embeddings. The output layer is that of the file, or the scaled embeddings."""
    for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):
        weights.skip(name)
    shared = weights.take("shared.weight")
    # mT5's are not, though transformers 5 says in the configurations that it writes that they are tied.
    scaled = config["model_type"] != "mt5" and config.get("tie_word_embeddings") is not False
    name = "lm_head.weight"
    output = weights.take(name) if name in weights else shared
    if config.get("scale_decoder_outputs", scaled):
        name, output = f"{name}, scaled", output * np.float32(config["d_model"] ** -0.5)
    return {"source": ("shared.weight", shared), "target": ("shared.weight", shared), "output": (name, output)}


class T5Layers(LayerWeights):
    """The layers of both sides."""

    def __init__(self, weights: HuggingFaceWeights, config: Config, gated: bool):
        super().__init__()
        self._weights, self._heads, self._gated = weights, config["num_heads"], gated
        self._wide = config["num_heads"] * config["d_kv"]
        self._unscaled = np.float32(np.sqrt(config["d_kv"]))
        for side, count in _layer_counts(config).items():
            for number in range(count):
                old, new = f"{side}.block.{number}.layer", f"{side}.{number}"
                self._attention(f"{old}.0.SelfAttention", f"{old}.0", f"{new}.self")
                if side == "decoder":
                    self._attention(f"{old}.1.EncDecAttention", f"{old}.1", f"{new}.source", memory=True)
                self._feed_forward(f"{old}.{2 if side == 'decoder' else 1}", f"{new}.feed_forward")
            # [buckets, heads], shared by the layers
            relative = weights.take(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
            self.vectors[f"{side}.relative"] = np.ascontiguousarray(relative.T)
            self.norm(f"{side}.norm", self._norm(f"{side}.final_layer_norm"))
        weights.skip("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")  # of old files, unused

    def _dense(self, *names: str) -> Product:
        return self._weights.dense(*names, bias=False)

    def _norm(self, name: str) -> Norm:
        return self._weights.take(f"{name}.weight"), None

    def _attention(self, old: str, layer: str, new: str, memory: bool = False) -> None:
        queries, bias = self._dense(f"{old}.q")
        if len(bias) != self._wide:
            raise UserError(f"{self._weights.folder}: {old} has {len(bias)} units; config.json says {self._wide}")
        queries = queries * self._unscaled
        others, output, norm = self._dense(f"{old}.k", f"{old}.v"), self._dense(f"{old}.o"), f"{layer}.layer_norm"
        if memory:
            self.attention(new, self._heads, (queries, bias), output, self._norm(norm), others)
        else:
            stacked = np.concatenate([queries, others[0]]), np.concatenate([bias, others[1]])
            self.attention(new, self._heads, stacked, output, self._norm(norm))

    def _feed_forward(self, old: str, new: str) -> None:
        inner = f"{old}.DenseReluDense"
        names = [f"{inner}.wi_0", f"{inner}.wi_1"] if self._gated else [f"{inner}.wi"]
        self.feed_forward(new, self._dense(*names), self._dense(f"{inner}.wo"), parts=len(names))
        self.norm(f"{new}.norm", self._norm(f"{old}.layer_norm"))
