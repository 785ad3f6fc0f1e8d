"""Read a model of Marian's for the native engine, from Marian's own file.

A model's options and the names of its weights decide what it computes (marian-dev, src/models/transformer.h).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.importers import marian_recurrent
from nmt_frontier.importers.float_model import FloatModel, LayerWeights, Norm
from nmt_frontier.importers.marian_parameters import ONLY, MarianOptions, Parameters, framing, vocabulary
from nmt_frontier.model.native_packing import padded
from nmt_frontier.model.shape_text import SELF_ATTENTION

POSITIONS = 2048  # encodings that are stored; Marian computes as many as a sentence needs
EPSILON = 1e-6  # of Marian's layer normalisation

# Options with a meaning for the computation, and the one value of each that the engine computes.
ONLY_TRANSFORMER = {
    **ONLY,
    "transformer-alibi-shift": False,
    "transformer-attention-mask": "default",
    "transformer-disable-position-embeddings": False,
    "transformer-ffn-depth": 2,
    "transformer-no-affine": False,
    "transformer-no-bias": False,
    "transformer-no-projection": False,
    "transformer-pool": False,
    "transformer-postprocess-top": "",
    "transformer-rnn-projection": False,
    "transformer-tied-layers": [],
}
ACTIVATIONS = {"relu": False, "swish": True}  # whether each is swish


AVERAGING = {  # keys: has a feed-forward layer behind the average, has a gate
    (True, True): "averaging",
    (False, True): "averaging-gated",
    (True, False): "averaging-ungated",
    (False, False): "averaging-plain",
}


def shape(config: MarianOptions) -> dict[str, int | bool | str]:
    """The values of the shape of a model with these options, of a Transformer or a conditional GRU."""
    if config["type"] != "transformer":
        return dict(
            encoder_transitions=config["enc-cell-depth"],
            decoder_transitions=config["dec-cell-base-depth"],
            units=config["dim-rnn"],
            embedding_units=config["dim-emb"],
            share_embeddings=config["tied-embeddings-all"],
        )
    history = config["transformer-decoder-autoreg"]
    decoders = {"self-attention": SELF_ATTENTION, "rnn": "ssru"}
    averaging = AVERAGING[config["transformer-aan-depth"] > 1, not config["transformer-aan-nogate"]]
    return dict(
        encoder_layers=config["enc-depth"],
        decoder_layers=config["dec-depth"],
        units=config["dim-emb"],
        ffn_units=config["transformer-dim-ffn"],
        heads=config["transformer-heads"],
        share_embeddings=config["tied-embeddings-all"],
        decoder=decoders.get(history, averaging),
    )


def read(parameters: Parameters, source: list[str], target: list[str]) -> FloatModel:
    """The model with the pieces of these vocabularies. Raises UserError for one that the engine cannot run."""
    kind = parameters.config["type"]
    readers = {"transformer": _transformer, "s2s": marian_recurrent.read, "nematus": marian_recurrent.read}
    if kind not in readers:
        raise UserError(f"{parameters.path}: the native engine has no --type {kind} of Marian's")
    model = readers[kind](parameters, source, target)
    parameters.check_all_taken()
    model.integers = parameters.integers
    return model


def _transformer(parameters: Parameters, source: list[str], target: list[str]) -> FloatModel:
    config = parameters.config
    _check_transformer(parameters)
    units, heads = config["dim-emb"], config["transformer-heads"]
    layers = MarianTransformerLayers(parameters)
    embeddings, bias = parameters.embeddings("decoder_ff_logit_out")
    learned = "Wpos" in parameters
    layers.vectors["positions"] = lengthened(parameters.take("Wpos")) if learned else positions(units)
    factor = 1.0 if learned else float(np.sqrt(np.float32(units)))  # of embeddings, where positions are computed
    metadata = {
        "architecture": "transformer",
        "units": units,
        "feed_forward_units": padded(config["transformer-dim-ffn"]),
        "swish": ACTIVATIONS[config["transformer-ffn-activation"]],
        **{f"{side}_layers": config[f"{side[:3]}-depth"] for side in ("encoder", "decoder")},
        **{f"{side}_heads": heads for side in ("encoder", "decoder")},
        **{f"{side}_head_units": units // heads for side in ("encoder", "decoder")},
        **framing(target),
        **layers.history,
        "pre_norm": False,
        "source_factor": factor,
        "target_factor": factor,
        "epsilon": EPSILON,
    }
    pieces = vocabulary(source, target)
    return FloatModel(parameters.path, metadata, layers.products, layers.vectors, embeddings, bias, pieces)


def lengthened(table: NDArray[Any]) -> NDArray[Any]:
    """Learned positions, float32 [at least POSITIONS, units]: in Marian the last one serves all later positions."""
    return np.pad(table, ((0, max(0, POSITIONS - len(table))), (0, 0)), mode="edge")


def positions(units: int) -> NDArray[Any]:
    """Marian's position encodings, float32 [POSITIONS, units]: sines, then cosines.

    The wave lengths grow to 10,000 in units / 2 - 1 steps; CTranslate2's converter assumes units / 2 steps.
    """
    rates = 10_000.0 ** -(np.arange(units // 2) / (units // 2 - 1))
    angles = np.arange(POSITIONS)[:, None] * rates
    waves: NDArray[Any] = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return waves.astype(np.float32)


def _check_transformer(parameters: Parameters) -> None:
    """Raises UserError for what the engine does not compute."""
    config, path = parameters.config, parameters.path
    parameters.check(ONLY_TRANSFORMER)
    processes = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-emb")
    before, after, embedded = (config[option].replace("d", "") for option in processes)  # d: dropout, in training
    if (before, after, embedded) != ("", "an", ""):
        raise UserError(f"{path}: the native engine computes Marian's layers with --transformer-postprocess dan alone")
    for option in ("transformer-ffn-activation", "transformer-aan-activation"):
        if config[option] not in ACTIVATIONS:
            raise UserError(f"{path}: the native engine has no --{option} {config[option]}")
    # Versions before 1.10 lack the options of the decoder's layers: they have those of the encoder's, as with 0.
    inner = {config["transformer-dim-ffn"], config.get("transformer-decoder-dim-ffn", 0)} - {0}
    if len(inner) > 1 or config.get("transformer-decoder-ffn-depth", 0) not in (0, 2):
        raise UserError(f"{path}: the feed-forward layers of its two sides differ; the native engine has one size")
    parameters.check_widths({"units": config["dim-emb"]})


class MarianTransformerLayers(LayerWeights):
    """The layers of Marian's Transformer."""

    def __init__(self, parameters: Parameters):
        super().__init__()
        self._take = parameters
        self._heads = parameters.config["transformer-heads"]
        look_back = {
            "self-attention": self._self_attention,
            "average-attention": self._averaging,
            "rnn": self._simple_recurrence,
        }[parameters.config["transformer-decoder-autoreg"]]
        for number in range(parameters.config["enc-depth"]):
            self._self_attention(f"encoder.{number}.self", f"encoder_l{number + 1}")
            self._feed_forward(f"encoder.{number}.feed_forward", f"encoder_l{number + 1}_ffn")
        for number in range(parameters.config["dec-depth"]):
            look_back(f"decoder.{number}.self", f"decoder_l{number + 1}")
            self._source_attention(f"decoder.{number}.source", f"decoder_l{number + 1}_context")
            self._feed_forward(f"decoder.{number}.feed_forward", f"decoder_l{number + 1}_ffn")

    def _norm(self, old: str) -> Norm:
        return self._take.take(f"{old}_ln_scale"), self._take.take(f"{old}_ln_bias")

    def _self_attention(self, new: str, layer: str) -> None:
        queries, output = (self._take.joined(f"{layer}_self", names) for names in ("qkv", "o"))
        self.attention(new, self._heads, queries, output, self._norm(f"{layer}_self_Wo"))

    def _source_attention(self, new: str, old: str) -> None:
        queries, memory, output = (self._take.joined(old, names) for names in ("q", "kv", "o"))
        self.attention(new, self._heads, queries, output, self._norm(f"{old}_Wo"), memory)

    def _inner_and_outer(self, new: str, old: str) -> None:
        self.feed_forward(new, self._take.joined(old, "1"), self._take.joined(old, "2"))

    def _feed_forward(self, new: str, old: str) -> None:
        self._inner_and_outer(new, old)
        self.norm(f"{new}.norm", self._norm(f"{old}_ffn"))

    def _averaging(self, new: str, layer: str) -> None:
        config, old = self._take.config, f"{layer}_aan"
        depth, inner = config["transformer-aan-depth"], config["transformer-dim-aan"]
        self.history = {"decoder": "averaging", "gated": not config["transformer-aan-nogate"]}
        # Marian leaves out the outer layer where both have one size.
        if depth > 2 or (depth == 2 and inner == config["dim-emb"]):
            raise UserError(
                f"{self._take.path}: the native engine has feed-forward layers of averages with --transformer-aan-depth"
                " 2 and a --transformer-dim-aan other than --dim-emb; or none, with depth 1"
            )
        if depth == 2:
            self._inner_and_outer(new, old)
            swish = ACTIVATIONS[config["transformer-aan-activation"]]
            self.history |= {"averaging_units": padded(inner), "averaging_swish": swish}
        if self.history["gated"]:
            self.products[f"{new}.input_gate"] = self._take.joined(old, "i")
            self.products[f"{new}.mean_gate"] = self._take.joined(old, "f")
        self.norm(f"{new}.norm", self._norm(f"{old}_ffn"))

    def _simple_recurrence(self, new: str, layer: str) -> None:
        if (cell := self._take.config["dec-cell"]) != "ssru":
            problem = f"the native engine has no --dec-cell {cell} in a Transformer, only ssru"
            raise UserError(f"{self._take.path}: {problem}")
        old = f"{layer}_rnn"
        self.history = {"decoder": "ssru"}
        kept, fresh = self._take.dense(f"{old}_Wf", f"{old}_bf"), self._take.dense(f"{old}_W")
        weight, bias = map(np.concatenate, zip(kept, fresh, strict=True))
        self.products[f"{new}.gates"] = weight, bias
        self.norm(f"{new}.norm", self._norm(f"{old}_ffn"))
