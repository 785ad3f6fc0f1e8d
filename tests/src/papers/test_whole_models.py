"""Whole models that are timed in turn: their ways, ratios and table. The seconds are made up."""

import re
from pathlib import Path

import pytest

from papers.fastseq2021 import whole_models, whole_models_report
from papers.fastseq2021.documents import BATCHES, CACHE, NGRAMS, OVERLAP, TRANSFORMERS

TIMED = [  # engine, type, batch, ideas, seconds
    (TRANSFORMERS, "float32", 4, [], [8.0, 9.0, 10.0]),
    (TRANSFORMERS, "float32", 8, [], [6.0, 6.0, 12.0]),
    ("native", "float32", 4, [], [4.0, 4.0, 4.0]),
    ("native", "float32", 4, [OVERLAP], [2.0, 4.0, 2.0]),
    ("native", "float32", 8, [OVERLAP, CACHE, BATCHES], [2.0, 2.0, 2.0]),
    ("native", "int8", 8, [OVERLAP, CACHE, BATCHES], [1.0, 1.0, 1.0]),
    ("ctranslate2", "float32", 8, [], [4.0, 4.0, 6.0]),
]


def entry():
    names = "engine", "compute_type", "batch", "ideas", "seconds"
    ways = [dict(zip(names, timed, strict=True), same=8) for timed in TIMED]
    whole_models.add_ratios(ways, 8)
    work = {"sentences": 8, "output": 32, "beam": 4, "ngram": 0, "cores": 1, "pieces": 160, "peer": True}
    return work | {"ways": ways}


def test_ratios_are_over_the_better_batch_the_last_idea_and_the_same_type():
    four, eight, plain, overlap, all_ideas, int8, peer = entry()["ways"]
    assert eight["times_faster"] is None and four["times_faster"]["median"] == 0.75
    assert plain["times_faster"] == {"median": 1.5, "lowest": 1.5, "highest": 3.0}
    assert "by_idea" not in plain and overlap["by_idea"] == {"median": 2.0, "lowest": 1.0, "highest": 2.0}
    assert all_ideas["over_ctranslate2"] == {"median": 2.0, "lowest": 2.0, "highest": 3.0}
    assert not any("over_ctranslate2" in way for way in (overlap, int8, peer))
    assert int8["sources_per_second"] == 8.0


@pytest.mark.parametrize("name", ["bart", "opus-mt"])
def test_the_ways_add_one_idea_after_the_other(name, monkeypatch):
    made = []
    for engine in ("in_transformers", "in_native", "in_ctranslate2"):
        monkeypatch.setattr(
            whole_models, engine, lambda *arguments, engine=engine: made.append((engine, *arguments[3:]))
        )
    shape = whole_models.MODELS[name]
    found = [*whole_models.ways(shape, None, Path("x"), 1)]
    few, many = shape.batches
    ideas = ([OVERLAP, NGRAMS] if shape.ngram else [OVERLAP]) + [CACHE, BATCHES]
    native = [way for way in found if (way.engine, way.compute_type) == ("native", "float32")]
    assert [way.ideas for way in native] == [tuple(ideas[:count]) for count in range(len(ideas) + 1)]
    assert [way.batch for way in native] == [few] * len(ideas) + [many]
    assert [way.overlap for way in native] == [False, *[True] * len(ideas)]
    without = [{NGRAMS, CACHE}, {CACHE}, set()] if shape.ngram else [{CACHE}, set()]
    loaded = [sets for engine, *sets in made if engine == "in_native" and sets]  # a model for each set, in 8 bits none
    assert loaded == [[frozenset(names)] for names in without]
    others = [(way.engine, way.compute_type, way.batch) for way in found if way not in native]
    assert others[:3] == [(TRANSFORMERS, "float32", few), (TRANSFORMERS, "float32", many), ("native", "int8", many)]
    assert others[3:] == [("ctranslate2", kind, many) for kind in ("float32", "int8") if shape.peer]


def test_the_table_and_the_picture_name_the_ways():
    here = {"cpu": "a CPU", "isa": "avx2", "date": "2026-11-28"}
    versions = {"versions": dict.fromkeys(("torch", "transformers", "ctranslate2"), "1")}
    result = {"models": {"t5": entry()}, **here, **versions}
    lines = [re.sub(" +", " ", line) for line in whole_models_report.ratios_table(result).splitlines()]
    names = [line.split(" | ")[0].strip("| ") for line in lines if re.match(r"\| (trans|nat|CT)", line)]
    assert names == [
        "transformers, batches of 4", "transformers, batches of 8", "native, float32", "native, float32, overlap",
        "native, float32, overlap, cache, larger batches", "native, int8", "CTranslate2, float32",
    ]  # fmt: skip
    assert any("| native, int8 | 1.00 | 8.00 | 6.00 (6.00 to 12.00) | | | 8 of 8 |" in line for line in lines)
    axes = whole_models_report.ratios_picture(result).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [3.0, 6.0, 1.5]
