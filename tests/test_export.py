"""Model folders: complete, movable, and never half there."""

import json

import pytest

from export.package import package
from formats.errors import UserError

DESCRIPTION = {
    "engine": "ctranslate2", "study": "s", "system": "tiny", "role": "student", "source": "en", "target": "de",
    "shape": "2:1 d96", "parameters": 1234567, "quantization": "int8",
}  # fmt: skip


@pytest.fixture
def weights(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"weights")
    (tmp_path / "sp.model").write_bytes(b"pieces")
    (tmp_path / "map.txt").write_text("\ta b\n")
    return folder


def test_folder_holds_everything_and_says_what_it_is(weights, tmp_path):
    package(DESCRIPTION, weights, tmp_path / "sp.model", tmp_path / "map.txt", tmp_path / "model")
    folder = tmp_path / "model"
    assert {path.name for path in folder.iterdir()} == {
        "model.bin", "sentencepiece.model", "vmap.txt", "model.json", "README.md",
    }  # fmt: skip
    assert json.loads((folder / "model.json").read_text()) == DESCRIPTION
    readme = (folder / "README.md").read_text()
    assert "1,234,567 parameters" in readme and "sequence-level distillation" in readme and "`vmap.txt`" in readme


def test_without_map_there_is_none(weights, tmp_path):
    package(DESCRIPTION, weights, tmp_path / "sp.model", None, tmp_path / "model")
    assert not (tmp_path / "model" / "vmap.txt").exists()
    assert "vmap.txt" not in (tmp_path / "model" / "README.md").read_text()


def test_a_good_folder_is_never_replaced_by_a_bad_one(weights, tmp_path):
    package(DESCRIPTION, weights, tmp_path / "sp.model", None, tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        package(DESCRIPTION, weights, tmp_path / "sp.model", tmp_path / "absent map", tmp_path / "model")
    (weights / "model.bin").unlink()
    with pytest.raises(UserError, match="neither CTranslate2 weights"):
        package(DESCRIPTION, weights, tmp_path / "sp.model", None, tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == b"weights"
    assert not list(tmp_path.glob(".*part"))
