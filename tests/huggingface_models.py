"""Folders of Hugging Face with random weights, and greedy search with them in NumPy, as transformers computes it."""

import math
from pathlib import Path

import numpy as np
import sentencepiece
from marian_weights import vocabulary

from nmt_frontier.files import read_json, write_json
from nmt_frontier.model import safetensors

UNITS, INNER, HEADS, PLACES = 32, 48, 4, 64
PAD, END = 90, 0  # of MarianMT
BART = {
    "d_model": UNITS, "encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER,
    "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "tie_word_embeddings": True,
    "max_position_embeddings": PLACES,
}  # fmt: skip
MARIAN = BART | {
    "model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": 91, "activation_function": "swish",
    "scale_embedding": True, "eos_token_id": END, "pad_token_id": PAD, "decoder_start_token_id": PAD,
    "share_encoder_decoder_embeddings": True,
}  # fmt: skip
FAIRSEQ = BART | {"eos_token_id": 2, "decoder_start_token_id": 2, "activation_function": "gelu"}
T5 = {
    "d_model": UNITS, "d_kv": 16, "d_ff": INNER, "num_layers": 2, "num_decoder_layers": 1, "num_heads": HEADS,
    "vocab_size": 96, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20,
    "eos_token_id": 1, "decoder_start_token_id": 0, "layer_norm_epsilon": 1e-6,
}  # fmt: skip
CONFIGS = {
    "marian": MARIAN,
    "bart": FAIRSEQ | {"model_type": "bart", "vocab_size": 95, "forced_bos_token_id": 0, "bos_token_id": 0},
    "mbart": FAIRSEQ | {"model_type": "mbart", "vocab_size": 96, "scale_embedding": True, "decoder_ffn_dim": 64},
    "m2m_100": FAIRSEQ | {"model_type": "m2m_100", "vocab_size": 99, "scale_embedding": True},
    "t5": T5 | {"model_type": "t5"},
    "mt5": T5 | {"model_type": "mt5", "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}
CONFIGS["m2m_100"]["activation_function"] = "relu"
LANGUAGES = {"mbart": ("en_XX", "de_DE"), "m2m_100": ("en", "de")}


class Random:
    """Tensors by name, drawn when they are first asked for."""

    def __init__(self):
        self.tensors: dict[str, np.ndarray] = {}
        self._generator = np.random.default_rng(1)

    def __call__(self, name: str, *shape: int, wide: float = 0.4, around: float = 0) -> np.ndarray:
        if name not in self.tensors:
            drawn = around + self._generator.standard_normal(shape) * wide
            self.tensors[name] = drawn.astype(np.float32)
        return self.tensors[name].astype(np.float64)


class Model:
    """A model of transformers; its tensors are drawn by translating once.

    begin: what a translation begins with. frame: what is before and after a source.
    """

    def __init__(self, kind: str, **config: object):
        self.config, self.kind, self.weights = CONFIGS[kind] | config, kind, Random()
        self.t5 = kind.endswith("t5")
        self.begin = {"bart": [0], "mbart": [93], "m2m_100": [93]}.get(kind, [])
        self.frame = {"bart": ([0], [2]), "mbart": ([92], [2]), "m2m_100": ([94], [2]), "marian": ([], [END])}.get(kind)
        self.translate([5, 6])

    def translate(self, source: list[int], longest: int = 39) -> list[int]:
        """Without what it begins with, and the end."""
        before, after = self.frame or ([], [1])
        memory = self.side("encoder", [*before, *source, *after])
        output = [self.config["decoder_start_token_id"], *self.begin]
        while len(output) <= longest:
            states = self.side("decoder", output, memory)
            if (best := int(self.scores(states[-1]).argmax())) == self.config["eos_token_id"]:
                break
            output.append(best)
        return output[1 + len(self.begin) :]

    def scores(self, state: np.ndarray) -> np.ndarray:
        if not self.t5:
            scores = self.embeddings @ state + (0 if self.kind == "m2m_100" else self.bias())
            if self.kind == "marian":
                scores[PAD] = -np.inf
            return scores
        if self.config.get("tie_word_embeddings", True):
            return self.embeddings @ state * (1 if self.kind == "mt5" else UNITS**-0.5)
        return self.weights("lm_head.weight", self.config["vocab_size"], UNITS) @ state

    def bias(self) -> np.ndarray:
        """Sentences end; padding would always win if it was not forbidden."""
        first = "final_logits_bias" not in self.weights.tensors
        self.weights("final_logits_bias", 1, self.config["vocab_size"], wide=0.5)
        if first:
            self.weights.tensors["final_logits_bias"][0, self.config["eos_token_id"]] = 2
            if self.kind == "marian":
                self.weights.tensors["final_logits_bias"][0, PAD] = 50
        return self.weights("final_logits_bias")[0]

    @property
    def embeddings(self) -> np.ndarray:
        name = "shared.weight" if self.t5 else "model.shared.weight"
        return self.weights(name, self.config["vocab_size"], UNITS, wide=1 if self.t5 else 0.3)

    def dense(self, name: str, inputs: np.ndarray, outputs: int) -> np.ndarray:
        bias = 0 if self.t5 else self.weights(f"{name}.bias", outputs, wide=0.2)
        wide = 0.2 if self.t5 and "EncDecAttention" not in name else 0.4  # narrower, the source would hardly matter
        return inputs @ self.weights(f"{name}.weight", outputs, inputs.shape[1], wide=wide).T + bias

    def norm(self, name: str, inputs: np.ndarray) -> np.ndarray:
        scale = self.weights(f"{name}.weight", UNITS, wide=0.1, around=1)
        centred = inputs if self.t5 else inputs - inputs.mean(1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + (1e-6 if self.t5 else 1e-5)) * scale
        return scaled if self.t5 else scaled + self.weights(f"{name}.bias", UNITS, wide=0.1)

    def side(self, side: str, numbers: list[int], memory: np.ndarray | None = None) -> np.ndarray:
        states = self.embeddings[numbers] * (math.sqrt(UNITS) if self.config.get("scale_embedding") else 1)
        if not self.t5:
            states = states + self.positions(side, len(numbers))
        if self.kind.endswith("bart"):
            states = self.norm(f"model.{side}.layernorm_embedding", states)
        count = self.config["num_layers" if side == "encoder" else "num_decoder_layers"] if self.t5 else (
            self.config[f"{side}_layers"]
        )  # fmt: skip
        for number in range(count):
            states = (self.t5_layer if self.t5 else self.bart_layer)(side, number, states, memory)
        if self.t5:
            return self.norm(f"{side}.final_layer_norm", states)
        return self.norm(f"model.{side}.layer_norm", states) if self.pre_norm else states

    @property
    def pre_norm(self) -> bool:
        return self.t5 or self.kind in ("mbart", "m2m_100")

    def positions(self, side: str, count: int) -> np.ndarray:
        if self.kind.endswith("bart"):
            return self.weights(f"model.{side}.embed_positions.weight", PLACES + 2, UNITS, wide=0.3)[2 : count + 2]
        first, last = (0, UNITS // 2) if self.kind == "marian" else (2, UNITS // 2 - 1)
        waves = np.arange(first, first + count)[:, None] / 10_000 ** (np.arange(UNITS // 2) / last)
        return np.concatenate([np.sin(waves), np.cos(waves)], 1)

    def sublayer(self, norm: str, states: np.ndarray, compute) -> np.ndarray:
        if self.pre_norm:
            return states + compute(self.norm(norm, states))
        return self.norm(norm, states + compute(states))

    def bart_layer(self, side: str, number: int, states: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
        layer, inner = f"model.{side}.layers.{number}", self.config[f"{side}_ffn_dim"]
        for name in ("self_attn", *(["encoder_attn"] if memory is not None else [])):
            names = [f"{layer}.{name}.{part}_proj" for part in ("q", "k", "v", "out")]
            other, heads = memory if name == "encoder_attn" else None, self.config[f"{side}_attention_heads"]
            causal = memory is not None and other is None
            states = self.sublayer(
                f"{layer}.{name}_layer_norm",
                states,
                lambda rows, n=names, o=other, h=heads, c=causal: self.attention(
                    n, rows, o, (h, UNITS // h), math.sqrt(h / UNITS), c
                ),
            )
        act = ACTIVATIONS[self.config["activation_function"]]
        return self.sublayer(
            f"{layer}.final_layer_norm",
            states,
            lambda rows: self.dense(f"{layer}.fc2", act(self.dense(f"{layer}.fc1", rows, inner)), UNITS),
        )

    def t5_layer(self, side: str, number: int, states: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
        block, decodes = f"{side}.block.{number}.layer", memory is not None
        size = len(states)
        table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        distances = np.arange(size) - np.arange(size)[:, None]
        count, far = (self.config[f"relative_attention_{name}"] for name in ("num_buckets", "max_distance"))
        heads = self.config["num_heads"], self.config["d_kv"]
        table = self.weights(table, count, heads[0], wide=1)
        bias = table[buckets(distances, not decodes, count, far)].transpose(2, 0, 1)
        for at, name in enumerate(("SelfAttention", *(["EncDecAttention"] if decodes else []))):
            names = [f"{block}.{at}.{name}.{part}" for part in "qkvo"]
            extra = (None, heads, 1, decodes, bias) if at == 0 else (memory, heads, 1, False, 0)
            states = self.sublayer(
                f"{block}.{at}.layer_norm", states, lambda rows, n=names, e=extra: self.attention(n, rows, *e)
            )
        layer = f"{block}.{2 if decodes else 1}"

        def feed_forward(rows: np.ndarray) -> np.ndarray:
            form, _, act = self.config.get("feed_forward_proj", "relu").rpartition("-")
            act = ACTIVATIONS["gelu_new" if (form, act) == ("gated", "gelu") else act]
            names = ["wi_0", "wi_1"] if form else ["wi"]
            inner, *factor = (self.dense(f"{layer}.DenseReluDense.{name}", rows, INNER) for name in names)
            return self.dense(f"{layer}.DenseReluDense.wo", math.prod([act(inner), *factor]), UNITS)

        return self.sublayer(f"{layer}.layer_norm", states, feed_forward)

    def attention(self, names, rows, memory, heads, scale, causal, bias=0) -> np.ndarray:
        """heads: how many, and of which width."""
        others = rows if memory is None else memory
        heads = [self.dense(name, one, math.prod(heads)).reshape(len(one), *heads)
                 for name, one in zip(names[:3], (rows, others, others), strict=True)]  # fmt: skip
        scores = np.einsum("qhd,khd->hqk", *heads[:2]) * scale + bias
        if causal:
            scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", shares / shares.sum(-1, keepdims=True), heads[2]).reshape(len(rows), -1)
        return self.dense(names[3], mixed, UNITS)


def relu(inputs):
    return np.maximum(inputs, 0)


def swish(inputs):
    return inputs / (1 + np.exp(-inputs))


def gelu(inputs):
    return inputs * (1 + np.vectorize(math.erf)(inputs / math.sqrt(2))) / 2


def gelu_tanh(inputs):
    return inputs * (1 + np.tanh(math.sqrt(2 / math.pi) * (inputs + 0.044715 * inputs**3))) / 2


ACTIVATIONS = {"relu": relu, "swish": swish, "silu": swish, "gelu": gelu, "gelu_new": gelu_tanh}


def buckets(distances: np.ndarray, both: bool, count: int, longest: int) -> np.ndarray:
    """T5's bucket of each distance, key minus query (Raffel et al. 2020, section 2.1)."""
    found = np.zeros(distances.shape, int)
    if both:
        count //= 2
        found += (distances > 0) * count
        distances = np.abs(distances)
    else:
        distances = np.maximum(-distances, 0)
    exact = count // 2
    far = exact + (np.log(np.maximum(distances, 1) / exact) / math.log(longest / exact) * (count - exact)).astype(int)
    return found + np.where(distances < exact, distances, np.minimum(far, count - 1))


def write(folder: Path, kind: str, **config: object) -> Model:
    """A folder of Hugging Face of a kind of CONFIGS. Its tokenizer has 90 pieces. config: what is different."""
    folder.mkdir()
    spm = vocabulary()
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    rest = [piece for piece in pieces if piece not in ("</s>", "<unk>")]
    fairseq = {piece: number for number, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *rest])}
    model = Model(kind, **config)
    write_json(folder / "config.json", model.config)
    never = {"bad_words_ids": [[PAD]]} if kind == "marian" else {}
    first = {name: model.config[name] for name in ("decoder_start_token_id", "eos_token_id")}
    write_json(folder / "generation_config.json", {**never, **first, "max_length": 40})
    safetensors.write(folder / "model.safetensors", model.weights.tensors, {"format": "pt"})
    if kind == "marian":
        for side in ("source", "target"):
            (folder / f"{side}.spm").write_bytes(spm)
        write_json(folder / "vocab.json", {piece: number for number, piece in enumerate([*pieces, "<pad>"])})
    elif model.t5:
        (folder / "spiece.model").write_bytes(vocabulary(bos_id=-1, pad_id=0, eos_id=1, unk_id=2))
    else:
        (folder / "sentencepiece.bpe.model").write_bytes(spm)
        write_json(folder / "vocab.json", fairseq)
        listed = {"mbart": ["en_XX", "de_DE", "fr_XX"], "m2m_100": ["__fr__", "__de__", "__en__"]}.get(kind, [])
        write_json(folder / "special_tokens_map.json", {"additional_special_tokens": listed})
    return model


def marked(folder: Path) -> Model:
    """A folder of MarianMT, in which a piece becomes the mark >>deu<<. Returns its model."""
    model = write(folder, "marian")
    names = read_json(folder / "vocab.json").items()
    write_json(folder / "vocab.json", {(">>deu<<" if number == 50 else name): number for name, number in names})
    return model
