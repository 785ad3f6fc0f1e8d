"""The benchmark of the data stage: an honest load, and rivals that keep the same pairs."""

import importlib
import sys
from pathlib import Path

import pytest
from langid import langid

from export import phrase_table, phrases
from formats import records

FOLDER = Path(__file__).parents[1] / "benchmarks"
PAIRS = [
    (f"The man in the red shirt has {n} dogs.".encode(), f"Der Mann im roten Hemd hat {n} Hunde.".encode())
    for n in range(300)
]


@pytest.fixture(scope="module")
def corpora():
    sys.path.insert(0, str(FOLDER))
    module = importlib.import_module("corpora")
    module.BLOCK = 100  # duplicates come from blocks before
    return module


@pytest.fixture(scope="module")
def vmap(corpora):
    return importlib.import_module("vmap")


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


ALIGNED = [
    (["a", "man", "sees", "a", "dog", "."], ["ein", "Mann", "sieht", "einen", "Hund", "."], "0-0 1-1 2-2 3-3 4-4 5-5"),
    (["the", "dog", "sees", "him"], ["ihn", "sieht", "der", "Hund"], "0-2 1-3 2-1 3-0"),
    (["no"], ["nein", "nein"], "0-0 0-1"),
]


def test_the_load_of_aligned_pairs_is_the_same_every_time_and_grows(vmap):
    pieces = sorted({piece for source, target, _ in ALIGNED for piece in (*source, *target)})
    first, second = (b"".join(vmap.load(ALIGNED, pieces, 2000)) for _ in range(2))
    assert first == second
    lines = first.decode().split("\n")[:-1]
    assert len(lines) == 2000 and len(set(lines)) > 200
    assert [line.count("\t") for line in lines] == [2] * 2000


def test_the_plain_extractor_counts_the_same_phrases(vmap, tmp_path):
    pieces = sorted({piece for source, target, _ in ALIGNED for piece in (*source, *target)})
    records.write_blocks(tmp_path / "aligned.tsv.zst", vmap.load(ALIGNED, pieces, 300))
    pairs = [
        (source.split(), target.split(), links) for source, target, links in records.read(tmp_path / "aligned.tsv.zst")
    ]
    phrases.count(tmp_path / "aligned.tsv.zst", pieces, tmp_path / "1")
    (tmp_path / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", tmp_path / "table")
    table = phrase_table.PhraseTable.load(tmp_path / "table")
    plain = vmap.plain(pairs)
    assert len(plain) == len(table.phrases.keys) and sum(plain.values()) == table.phrases.counts.sum()
