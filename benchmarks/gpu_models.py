"""The papers' Transformers with random weights for gpu.py: as folders of CTranslate2, and as transformers' MarianMT.

What CTranslate2 translates has given lengths by its weights (export.lengths, here for PyTorch's modules); transformers
is held to them by a logits processor.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from train_on_gpu_model import TorchTransformer, positions, write
from transformers import LogitsProcessor, MarianConfig, MarianMTModel

from export.lengths import END, LOUD, STEEP, ClockUnits, contents_of_pieces, reserved_units, sine
from formats.shape import Values

PADDING, START = 0, 1  # of OpenNMT-tf's vocabularies
LONGEST = 512  # positions
CHUNK = 64  # sentences that the encoder reads at a time


def ctranslate2(values: Values, entries: list[str], sources: list[list[int]], lengths: np.ndarray, folder: Path) -> int:
    """Write a model in float32 whose translations of these sources have these lengths. Returns its parameters.

    entries: of the vocabulary, without <unk>; lengths: pieces, [sentences].
    """
    torch.manual_seed(1)
    sizes = {name: values[name] for name in ("encoder_layers", "decoder_layers", "units", "ffn_units", "heads")}
    model = TorchTransformer(len(entries) + 1, argparse.Namespace(**sizes, dropout=0.0)).cuda().eval()
    with torch.no_grad():
        _set_lengths(model, sources, lengths)
    write(folder, dict(model.named_parameters()), values["heads"], entries, np.float32, bool(values.get(SHARED)))
    own = 1 if values.get(SHARED) else 3  # matrices of embeddings
    return sum(map(torch.numel, model.parameters())) + (own - 1) * model.embeddings.numel()


def _set_lengths(model: TorchTransformer, sources: list[list[int]], lengths: np.ndarray) -> None:
    """export.lengths.set_lengths for this module."""
    depth = model.embeddings.shape[1]
    model.positions = positions(LONGEST, depth).cuda()
    units = reserved_units(depth, lengths.max())
    _reserve(model, units)
    clocks = sine(lengths + 0.5, units.clock, depth)
    means, rates = _encode(model, sources, units)
    slope = (means @ clocks) / (means @ means)
    _subtract_mean(model, units, slope)
    numbers, contents = contents_of_pieces(sources, rates, clocks / slope - means)
    model.embeddings[numbers, units.content] = torch.tensor(contents / math.sqrt(depth)).float().cuda()


def _reserve(model: TorchTransformer, units: ClockUnits) -> None:
    for name, weights in model.named_parameters():
        if name.endswith(("linear_0.bias", "linear_1.bias", "linear_2.bias")):
            weights.zero_()
    layers = [
        getattr(side, f"layer_{number}") for side in (model.encoder, model.decoder) for number in range(side.layers)
    ]
    writers = [layer.self_attention.linear_1 for layer in layers] + [layer.ffn.linear_1 for layer in layers]
    writers += [layer.attention.linear_2 for layer in layers if layer.decoder]
    for dense in writers:
        dense.weight[list(units)] = 0.0
    model.embeddings[:, list(units)] = 0.0
    model.embeddings[END] = 0.0
    model.embeddings[END, units.clock], model.embeddings[END, units.still] = STEEP, -STEEP
    model.encoder.layer_norm.weight[[units.content, units.still]] = LOUD
    model.decoder.layer_norm.weight[[units.clock, units.still]] = LOUD


def _encode(model: TorchTransformer, sources: list[list[int]], units: ClockUnits) -> tuple[np.ndarray, np.ndarray]:
    depth = model.embeddings.shape[1]
    means, rates = [], []
    for start in range(0, len(sources), CHUNK):
        chunk = sources[start : start + CHUNK]
        batch = padded(chunk)
        memory = model.encoder(model.embed(batch), (batch != PADDING)[:, None, None, :], None, None)
        content = (memory[..., units.content] - memory[..., units.still]).double().cpu().numpy()
        for outputs, length in zip(content, map(len, chunk), strict=True):
            steps = np.arange(1, length + 1)
            inputs = sine(steps, units.content, depth) - sine(steps, units.still, depth)
            means.append(outputs[:length].mean())
            rates.append(outputs[:length] / inputs / length)
    return np.array(means), np.concatenate(rates)


def _subtract_mean(model: TorchTransformer, units: ClockUnits, slope: float) -> None:
    attention = model.decoder.layer_0.attention
    depth = model.embeddings.shape[1]
    attention.linear_0.weight[: depth // attention.heads] = 0.0
    value = attention.linear_1.weight[depth]  # the first of the values, behind the keys
    value.zero_()
    value[units.content], value[units.still] = LOUD * slope, -LOUD * slope
    attention.linear_2.weight[:, 0] = 0.0
    attention.linear_2.weight[units.clock, 0] = -1 / LOUD


def padded(sentences: list[list[int]]) -> Tensor:
    """Pieces of sentences on the GPU, [sentences, longest]."""
    return pad_sequence([torch.tensor(each) for each in sentences], True, PADDING).cuda()


SHARED = "share_embeddings"


def transformers(values: Values, entries: int, folder: Path) -> None:
    """Write a MarianMT of a shape; post-norm, as Marian's are."""
    torch.manual_seed(1)
    sides = {
        f"{side}_{name}": number
        for side in ("encoder", "decoder")
        for name, number in (("attention_heads", values["heads"]), ("ffn_dim", values["ffn_units"]))
    }
    config = MarianConfig(
        vocab_size=entries,
        d_model=values["units"],
        encoder_layers=values["encoder_layers"],
        decoder_layers=values["decoder_layers"],
        **sides,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=LONGEST,
        share_encoder_decoder_embeddings=bool(values.get(SHARED)),
        tie_word_embeddings=bool(values.get(SHARED)),
        pad_token_id=PADDING,
        eos_token_id=END,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
    )
    MarianMTModel(config).save_pretrained(folder)


class GivenLengths(LogitsProcessor):
    """Ends every hypothesis behind so many pieces, and not before. lengths: [sentences x beams], on the GPU."""

    def __init__(self, lengths: Tensor):
        self.lengths = lengths

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        ends = (self.lengths < input_ids.shape[1])[:, None]  # with the start
        is_end = torch.arange(scores.shape[1], device=scores.device) == END
        return scores.masked_fill(ends != is_end, -math.inf)
