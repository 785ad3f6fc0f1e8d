"""The benchmark of the data stage: an honest load, and rivals that keep the same pairs."""

import importlib.util
from pathlib import Path

import pytest
from langid import langid

from formats import records

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "corpora.py"
PAIRS = [
    (f"The man in the red shirt has {n} dogs.".encode(), f"Der Mann im roten Hemd hat {n} Hunde.".encode())
    for n in range(300)
]


@pytest.fixture(scope="module")
def corpora():
    spec = importlib.util.spec_from_file_location("corpora", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BLOCK = 100  # duplicates come from blocks before
    return module


def test_the_load_is_the_same_every_time_and_as_large_as_asked_for(corpora):
    first, second = (b"".join(corpora.load(PAIRS, 1000)) for _ in range(2))
    assert first == second
    lines = first.decode().split("\n")[:-1]
    assert len(lines) == 1000 and all(line.count("\t") == 1 for line in lines)
    assert 900 < len(set(lines)) < 1000


def test_our_rules_keep_what_the_plain_loop_keeps(corpora, tmp_path):
    records.write_blocks(tmp_path / "x.tsv.zst", corpora.load(PAIRS, 1000))
    pairs = list(records.read(tmp_path / "x.tsv.zst"))
    kept = corpora.plain_loop(pairs, langid.LanguageIdentifier.from_modelstring(langid.model))
    assert corpora.ours_in_process(tmp_path / "x.tsv.zst")() == kept
    assert 800 < kept < 960
