"""Read a recurrent model of Marian's for the native engine: Nematus' conditional GRU (marian-dev, src/rnn/cells.h).

It has two sets of names: Marian's (``--type s2s``) and Nematus' (``--type nematus``).
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.importers.float_model import UNSCALED, FloatModel, Product
from nmt_frontier.importers.marian_parameters import ONLY, Parameters, framing, vocabulary

ONLY_RECURRENT = {**ONLY, "enc-type": "bidirectional", "enc-depth": 1, "dec-depth": 1}
CELLS = ("gru", "gru-nematus")  # they differ only in layer normalisation
PARTS = "Ux?|Wx?|bx?"  # of a cell

# Nematus' names and Marian's, the first that fits; a transition's number is one more in Marian's decoder.
NAMES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"encoder(_r)?_({PARTS})", r"encoder_bi\1_\2"),
    (rf"encoder(_r)?_({PARTS})_drt_(\d+)", lambda m: f"encoder_bi{m[1] or ''}_cell{int(m[3]) + 1}_{m[2]}"),
    (rf"decoder_({PARTS})", r"decoder_cell1_\1"),
    (rf"decoder_({PARTS})_nl", r"decoder_cell2_\1"),
    (r"decoder_Wc(x?)", r"decoder_cell2_W\1"),
    (rf"decoder_({PARTS})_nl_drt_(\d+)", lambda m: f"decoder_cell{int(m[2]) + 2}_{m[1]}"),
    (r"ff_state_(W|b)", r"decoder_ff_state_\1"),
    (r"ff_logit_(prev|lstm|ctx)_(W|b)", lambda m: f"decoder_ff_logit_l1_{m[2]}{('prev', 'lstm', 'ctx').index(m[1])}"),
    (r"ff_logit_(W|b)", r"decoder_ff_logit_l2_\1"),
    ("Wemb_dec", "decoder_Wemb"),
)


def read(parameters: Parameters, source: list[str], target: list[str]) -> FloatModel:
    """The model with the pieces of these vocabularies. Raises UserError for one that the engine cannot run."""
    config, path = parameters.config, parameters.path
    parameters.check(ONLY_RECURRENT)
    if foreign := {config["enc-cell"], config["dec-cell"]} - {*CELLS}:
        raise UserError(f"{path}: the native engine has no recurrent model of Marian's with {foreign.pop()} cells")
    parameters.check_widths({"units": config["dim-rnn"], "embedding_units": config["dim-emb"]})
    if config["dec-cell-base-depth"] < 2:
        raise UserError(f"{path}: has no cell behind its attention; the native engine needs --dec-cell-base-depth 2")
    if config["type"] == "nematus":
        parameters.rename(_marians_name)
    layers = MarianRecurrentLayers(parameters)
    embeddings, bias = parameters.embeddings("decoder_ff_logit_l2")
    metadata = {
        "architecture": "conditional",
        "units": config["dim-rnn"],
        "embedding_units": config["dim-emb"],
        "encoder_transitions": config["enc-cell-depth"],
        "decoder_transitions": config["dec-cell-base-depth"],
        **framing(target),
        **UNSCALED,
    }
    pieces = vocabulary(source, target)
    return FloatModel(path, metadata, layers.products, layers.vectors, embeddings, bias, pieces)


def _marians_name(name: str) -> str | None:
    """Marian's name for a weight of Nematus'; None for what holds no weights."""
    if name == "decoder_c_tt":
        return None
    for pattern, new in NAMES:
        if match := re.fullmatch(pattern, name):
            return match.expand(new) if isinstance(new, str) else new(match)
    return name


class MarianRecurrentLayers:
    """Products and vectors of the layers by the engine's names."""

    def __init__(self, parameters: Parameters):
        self._take = parameters
        self.products: dict[str, Product] = {}
        self.vectors: dict[str, NDArray[Any]] = {}
        for direction, old in (("forward", "encoder_bi"), ("backward", "encoder_bi_r")):
            for cell in range(parameters.config["enc-cell-depth"]):
                name = f"{old}_cell{cell + 1}" if cell else old
                self._gated_unit(f"encoder.{direction}.{cell}", name, entered=cell < 1, inside=False)
        for cell in range(parameters.config["dec-cell-base-depth"]):
            self._gated_unit(f"decoder.{cell}", f"decoder_cell{cell + 1}", entered=cell < 2, inside=cell > 0)
        self.products["attention.queries"] = parameters.dense("decoder_W_comb_att")
        self.products["attention.keys"] = parameters.dense("decoder_Wc_att", "decoder_b_att")
        self.vectors["attention.combination"] = parameters.take("decoder_U_att")[:, 0]
        self.products["start"] = parameters.dense("decoder_ff_state_W", "decoder_ff_state_b")
        names = [(f"decoder_ff_logit_l1_W{part}", f"decoder_ff_logit_l1_b{part}") for part in range(3)]
        weights, biases = zip(*(parameters.dense(*pair) for pair in names), strict=True)
        self.products["hidden"] = np.concatenate(weights, axis=1), sum(biases)

    def _gated_unit(self, new: str, old: str, entered: bool, inside: bool) -> None:
        """entered: the unit has an input, unlike a transition. inside: the reset also scales the candidate's bias.

        It does in Marian's final cells. The engine adds the bias of the inputs' product outside the reset, that of the
        states' product inside.
        """
        bias = self._in_order(self._take.take(f"{old}_b"), self._take.take(f"{old}_bx"))
        nothing = np.zeros_like(bias)
        of_inputs, of_states = (nothing, bias) if inside else (bias, nothing)
        self.products[f"{new}.states"] = self._matrix(old, "U"), of_states
        if entered:
            self.products[f"{new}.inputs"] = self._matrix(old, "W"), of_inputs
        else:
            self.vectors[f"{new}.constant"] = of_inputs

    def _matrix(self, old: str, name: str) -> NDArray[Any]:
        return self._in_order(self._take.take(f"{old}_{name}").T, self._take.take(f"{old}_{name}x").T)

    def _in_order(self, gates: NDArray[Any], fresh: NDArray[Any]) -> NDArray[Any]:
        """From Marian's order of gates, reset and update, to the engine's: update, reset, candidate."""
        reset, kept = np.split(gates, 2)
        return np.concatenate([kept, reset, fresh])
