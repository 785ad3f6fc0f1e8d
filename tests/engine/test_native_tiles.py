"""Tiles change only the speed of products, and measure.tune finds the fastest."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from native import KINDS, engine, folders, kernels, outputs, sentences, worker
from test_native_kernels import linear

from measure import tune
from nmt_frontier.errors import UserError
from nmt_frontier.model import model_folder, native_map, native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search import loading, tuned
from nmt_frontier.search.engine import Search
from nmt_frontier.search.tuned import tiled_rows, tiles

CHOSEN = [tile for tile in engine.TILES if tile != "usual"]
TIMED = [tile for tile in CHOSEN if tile != "amx" or engine.isa() == "amx"]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(tune, "SECONDS", 1e-5)
    monkeypatch.setattr(tune, "ROUNDS", 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inputs", [64, 2048])
@pytest.mark.parametrize("count", [1, 2, 3, 13])
def test_products_are_the_same_in_all_tiles(kind, inputs, count):
    random = np.random.default_rng(1)
    matrix = random.normal(size=(80, inputs)).astype(np.float32)
    tensors = linear(matrix, kind, random.normal(size=80))
    rows, scale = kernels.quantise(random.normal(size=(count, inputs)).astype(np.float32), kind)
    found = [kernels.product(tensors, kind, rows, scale, True, tile=tile).tobytes() for tile in engine.TILES]
    assert len({*found}) == 1


@pytest.mark.parametrize("way", [*CHOSEN, "packed for every product"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_translates_the_same_with_any_tiles_and_packing(kind, way):
    folder = folders() / kind
    shapes = dict.fromkeys(tune.of_model(folder), way) if way in CHOSEN else None
    files = folder / native_weights.NAME, folder / native_map.NAME
    rows = dict.fromkeys(tune.of_model(folder), 2) if way == "amx" else None
    cut = engine.Worker(engine.Model(*files, shapes, () if way in CHOSEN else {"packed"}, rows))
    batch = sentences(20)
    assert outputs(cut, batch, scores=True) == outputs(worker(kind), batch, scores=True)


def test_every_product_of_a_model_is_timed_in_every_type_and_tile(quick):
    found = tune.products(folders() / "int8")
    assert {tuple(map(int, shape.split("x"))) for shape in found} == {*tune.of_model(folders() / "int8")}
    assert any(shape.endswith(f"x{len(Vocabulary.read(folders() / 'int8').target)}") for shape in found)
    for of_types in found.values():
        assert [*of_types] == [*KINDS]
        assert all([*times] == TIMED and min(times.values()) > 0 for times in of_types.values())


def test_the_fastest_tiles_are_kept_and_used(quick, tmp_path, monkeypatch):
    folder = shutil.copytree(folders() / "int8", tmp_path / "model")
    run = SimpleNamespace(test_sets={"text": SimpleNamespace(source_words=10, text_seconds=1.0, others=None)})
    monkeypatch.setattr(tune, "decode", lambda *_: run)
    times = {kind: {"tall": 1.0, "square": 2.0 if kind == "int8" else 0.5} for kind in KINDS}
    monkeypatch.setattr(tune, "products", lambda _: {"32x64": times})
    tune.tune(folder, ["a b"] * 300)
    assert tiles(folder, "int8", 1, engine.TILES) == {(32, 64): "square"}
    assert tiles(folder, "int16", 1, engine.TILES) == {(32, 64): "tall"}
    assert tiles(folder, "int8", 4, engine.TILES) == {}
    times["int8"]["amx"] = 3.0
    tune.tune(folder, ["a b"] * 300)
    assert tiles(folder, "int8", 1, engine.TILES) == {(32, 64): "amx"}
    assert loading.load(folder, Search(), checksums=False).translate([["a"]])


@pytest.mark.parametrize(
    ("faster", "fewest"), [({12, 16, 24, 32}, 12), ({2, 8, 12, 16, 24, 32}, 8), ({16}, tune.NEVER)]
)
def test_tiles_of_amx_are_used_from_the_fewest_rows_that_pay(faster, fewest, tmp_path, monkeypatch):
    speeds = {"tall": 1.0, "square": 2.0}
    monkeypatch.setattr(tune, "tiles", lambda *product: {**speeds, "amx": 3.0 if product[-1] in faster else 1.5})
    monkeypatch.setattr(engine, "isa", lambda: "amx")
    found = tune.tiled_rows(folders() / "int8")
    assert found == {f"{inputs}x{outputs}": fewest for inputs, outputs in tune.of_model(folders() / "int8")}
    monkeypatch.undo()
    folder = shutil.copytree(folders() / "int8", tmp_path / "model")
    settings = {"isa": None, "batch_tokens": 512, "tiled_rows": found}
    (folder / model_folder.TUNED).write_text(json.dumps({tuned.here(1): settings}))
    assert {*tiled_rows(folder, 1).values()} == {fewest} and tiled_rows(folder, 4) == {}
    assert loading.load(folder, Search(), checksums=False).translate([["a"]])
    (folder / model_folder.TUNED).write_text(json.dumps({tuned.here(1): {**settings, "tiled_rows": {"32": 1}}}))
    with pytest.raises(UserError, match=r"tuned\.json: damaged .*tune again"):
        tiled_rows(folder, 1)


DAMAGED = [[], {"32": {}}, {"32x64": {}}, {"32x64": {"int8": {}}}, {"axb": {"int8": {"tall": 1, "square": 1}}}]


@pytest.mark.parametrize("products", DAMAGED)
def test_damaged_settings_are_one_message(products, tmp_path):
    folder = shutil.copytree(folders() / "int8", tmp_path / "model")
    settings = {"isa": None, "batch_tokens": 512, "products": products}
    (folder / model_folder.TUNED).write_text(json.dumps({tuned.here(1): settings}))
    with pytest.raises(UserError, match=r"tuned\.json: damaged .*tune again"):
        loading.load(folder, Search(), checksums=False)
