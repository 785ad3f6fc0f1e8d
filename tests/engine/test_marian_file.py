"""A model.npz of Marian's that is damaged or lacks something is refused by name."""

import numpy as np
import pytest
import yaml

from nmt_frontier.errors import UserError
from nmt_frontier.importers import read_marian
from nmt_frontier.importers.marian_parameters import CONFIG, Parameters
from nmt_frontier.importers.marian_recurrent import ONLY_RECURRENT
from nmt_frontier.importers.read_marian import ONLY_TRANSFORMER

PIECES = ["</s>", "<unk>"]


def file(folder, options):
    np.savez(path := folder / "model.npz", **{CONFIG: np.frombuffer(f"{options}\0".encode(), np.int8)})
    return path


@pytest.mark.parametrize("options", ["", "- type", "type"])
def test_options_that_are_no_mapping(options, tmp_path):
    with pytest.raises(UserError, match=r"not a model\.npz of Marian's, or damaged"):
        Parameters(file(tmp_path, options))


TRANSFORMER = ONLY_TRANSFORMER | {
    "type": "transformer", "transformer-preprocess": "", "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d", "transformer-ffn-activation": "relu", "transformer-aan-activation": "swish",
    "transformer-dim-ffn": 48, "transformer-decoder-dim-ffn": 0, "transformer-decoder-ffn-depth": 0,
}  # fmt: skip
RECURRENT = ONLY_RECURRENT | {"type": "s2s", "enc-cell": "gru", "dec-cell": "gru", "dim-emb": 32, "dim-rnn": 32}


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        (TRANSFORMER | {"dim-emb": 24}, "units in multiples of 16, not 24"),
        (RECURRENT | {"dim-rnn": 24}, "units in multiples of 16, not 24"),
        (RECURRENT | {"dim-emb": 40}, "embedding_units in multiples of 16, not 40"),
    ],
)
def test_a_width_that_the_native_engine_does_not_compute(options, needed, tmp_path):
    with pytest.raises(UserError, match=f"native needs {needed}; Marian decodes it"):
        read_marian.read(Parameters(file(tmp_path, yaml.safe_dump(options))), PIECES, PIECES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{version: v1.12}", "its options lack type; the native engine needs what Marian 1.12 writes"),
        ("type: transformer", r"its options lack [a-z-]+; the native engine"),
        ("type: s2s", r"its options lack [a-z-]+; the native engine"),
        ("type: lm", "the native engine has no --type lm of Marian's"),
    ],
)
def test_options_that_are_missing_or_foreign(options, message, tmp_path):
    with pytest.raises(UserError, match=message):
        read_marian.read(Parameters(file(tmp_path, options)), PIECES, PIECES)
