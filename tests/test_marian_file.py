"""A model.npz of Marian's that is damaged or lacks something is refused by name."""

import numpy as np
import pytest

from common.errors import UserError
from export import read_marian
from export.marian_parameters import CONFIG, Parameters


def file(folder, options):
    np.savez(path := folder / "model.npz", **{CONFIG: np.frombuffer(f"{options}\0".encode(), np.int8)})
    return path


@pytest.mark.parametrize("options", ["", "- type", "type"])
def test_options_that_are_no_mapping(options, tmp_path):
    with pytest.raises(UserError, match=r"not a model\.npz of Marian's, or damaged"):
        Parameters(file(tmp_path, options))


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
        read_marian.read(Parameters(file(tmp_path, options)), ["</s>", "<unk>"])
