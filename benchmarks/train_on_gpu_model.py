"""OpenNMT-tf's Transformer (pre-norm, one matrix of embeddings) in PyTorch, for train_on_gpu.py.

Its modules have the names of CTranslate2's variables, which it is written with.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.importers.ctranslate2_model import Variable

BLANK = 0  # in OpenNMT-tf's vocabularies
MAXIMUM = 150  # pieces of a side, as in the studies
EPSILON = 1e-3  # formats.conversion, which needs CTranslate2
FLAGS = {"activation": 0, "pre_norm": 1, "scale_embeddings": 1}  # of CTranslate2's TransformerSpec, int8
DECODER_FLAGS = dict.fromkeys(("alibi", "alibi_use_positive_positions", "scale_alibi", "start_from_zero_embedding"), 0)
TYPES = {np.float32: 0, np.float16: 4}  # numbers of CTranslate2's types
ENCODER_FLAGS = dict.fromkeys(("embeddings_merge", "multi_query_attention"), 0)


class TorchAttention(nn.Module):
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
        """[batch, pieces, units]; mask: [batch, 1, 1, pieces of the source], None for a causal mask."""
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


class TorchLayer(nn.Module):
    def __init__(self, units: int, inner: int, heads: int, decoder: bool, dropout: float):
        super().__init__()
        self.self_attention = TorchAttention(units, heads, False, dropout / 2)
        if decoder:
            self.attention = TorchAttention(units, heads, True, dropout / 2)
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
            self.add_module(f"layer_{number}", TorchLayer(units, inner, heads, decoder, dropout))
        self.layer_norm = nn.LayerNorm(units, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)
        self.layers = layers

    def forward(self, embedded: Tensor, own: Tensor | None, memory: Tensor | None, mask: Tensor | None) -> Tensor:
        hidden = self.dropout(embedded)
        for number in range(self.layers):
            hidden = getattr(self, f"layer_{number}")(hidden, own, memory, mask)
        return self.layer_norm(hidden)


class TorchTransformer(nn.Module):
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
        """Logits of the pieces without padding, [places, vocabulary]."""
        mask = (source != BLANK)[:, None, None, :]
        memory = self.encoder(self.embed(source), mask, None, None)
        hidden = self.decoder(self.embed(before), None, memory, mask)
        return functional.linear(hidden.flatten(0, 1)[places], self.embeddings, self.bias)


def positions(length: int, units: int) -> Tensor:
    """Sinusoidal positions of OpenNMT-tf, [length, units]; they begin at 1."""
    half = units // 2
    rates = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
    angles = torch.arange(1, length + 1)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


# CTranslate2


def variables(weights: dict[str, Tensor], heads: int, dtype: type[np.floating]) -> dict[str, Variable]:
    """The variables of CTranslate2's TransformerSpec, revision 7, in float16 or float32."""
    found: dict[str, Variable] = {}
    for name, tensor in weights.items():
        array = tensor.detach().cpu().numpy().astype(dtype)
        found[of_ctranslate2(name)] = Variable(array.shape, TYPES[dtype], memoryview(array.tobytes()))
    for side, flags in (("encoder", FLAGS | ENCODER_FLAGS), ("decoder", FLAGS | DECODER_FLAGS)):
        for name, value in flags.items():
            found[f"{side}/{name}"] = Variable((), 1, memoryview(np.int8(value).tobytes()))
        found[f"{side}/num_heads"] = Variable((), 2, memoryview(np.int16(heads).tobytes()))
    found["decoder/alignment_heads"] = Variable((), 2, memoryview(np.int16(1).tobytes()))
    found["decoder/alignment_layer"] = Variable((), 2, memoryview(np.int16(-1).tobytes()))
    return dict(sorted(found.items()))


def of_ctranslate2(name: str) -> str:
    """CTranslate2's name of a parameter."""
    if name == "embeddings":
        return "decoder/embeddings/weight"
    if name == "bias":
        return "decoder/projection/bias"
    name = name.replace("layer_norm.weight", "layer_norm.gamma").replace("layer_norm.bias", "layer_norm.beta")
    return name.replace(".", "/")


def write(
    folder: Path,
    weights: dict[str, Tensor],
    heads: int,
    pieces: list[str],
    dtype: type[np.floating] = np.float16,
    share: bool = True,
) -> None:
    """share: write the embeddings once, not three times."""
    folder.mkdir(parents=True)
    shared = dict.fromkeys(("decoder/projection/weight", "encoder/embeddings_0/weight"), "decoder/embeddings/weight")
    found = variables(weights, heads, dtype)
    if not share:
        found |= {name: found[original] for name, original in shared.items()}
        found, shared = dict(sorted(found.items())), {}
    model = ctranslate2_model.ModelBin("TransformerSpec", 7, found, shared)
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
