"""benchmarks/filters*.py: damage of known kinds, the bounds that find it, and the table of what filters find."""

import argparse
import gzip
import importlib
import random
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from study import config

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs/filters.yaml"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def text(corpus, number):
    """Pairs without a word in common, of 2 to 9 words a side."""
    lengths = [2 + place % 8 for place in range(number)]
    return [
        tuple(" ".join(f"{corpus}{side}{place}w{word}" for word in range(length)) for side in ("s", "t"))
        for place, length in enumerate(lengths)
    ]


@pytest.fixture
def damage(script):
    """One of two corpora, a caption of which has French, and its pairs; a target is held out."""
    module = script("filters_damage")
    pairs = [module.Pair(*sides, name) for name in ("a", "b") for sides in text(name, 40)]
    french = {pairs[5].source: "un homme rit", "no pair": "une femme avec un chien"}
    return module.Damage(pairs, french, {pairs[21].target}, random.Random(1)), pairs


def test_each_kind_of_damage_is_what_it_says(damage):
    made, pairs = damage
    pair = pairs[7]  # of nine words
    assert made.sides("shifted", 7) == (pair.source, pairs[8].target)
    assert made.sides("copied", 7) == (pair.source, pair.source)
    assert made.sides("cut source", 7) == (" ".join(pair.source.split()[:5]), pair.target)
    assert made.sides("cut target", 7) == (pair.source, " ".join(pair.target.split()[:5]))
    assert made.sides("language", 5) == (pairs[5].source, "un homme rit")
    source, words = pair.source, pair.target.split()
    foreign = made.sides("language", 7)[1].split()
    assert len(foreign) == 9 and {*foreign} <= {"un", "homme", "rit", "une", "femme", "avec", "chien"}
    shuffled = made.sides("shuffled", 7)[1].split()
    assert sorted(shuffled) == sorted(words) and sum(map(str.__eq__, shuffled, words)) <= 4
    others = {made.sides("other", 7) for _ in range(50)} - {None}
    lengths = {len(target.split()) for _, target in others}
    assert others and lengths == {8, 9} and all(target[:2] == "at" and one == source for one, target in others)


def test_pairs_that_cannot_have_a_kind_of_damage_do_not_get_it(damage):
    made, pairs = damage
    for kind in ("cut source", "cut target", "shuffled"):
        assert made.sides(kind, 0) is None  # two words
    assert made.sides("shifted", 39) is None  # the last pair of its corpus
    assert made.sides("shifted", 20) is None  # the next target is held out
    assert made.sides("shifted", 19) == (pairs[19].source, pairs[20].target)


def test_a_shifted_alignment_says_something_else(script):
    module = script("filters_damage")
    sides = [("I see a dog", "Ich sehe einen Hund"), ("I see a Dog !", "Da ist ein Hund"), ("no", "nein")]
    pairs = [module.Pair(*each, "a") for each in sides]
    assert module.Damage(pairs, {}, set(), random.Random(1)).sides("shifted", 0) == ("I see a dog", "nein")


@pytest.fixture
def folder(script, tmp_path, monkeypatch):
    """What the program makes of two corpora, twice: 600 noisy pairs, and 100 of one of them for models."""
    for name in ("a", "b"):
        records.write(tmp_path / f"{name}.tsv.zst", text(name, 1000))
    for name, lines in (("en", text("a", 100)[0]), ("fr", ("un homme rit", "une femme rit"))):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in lines[:2]).encode()))
    sizes = ["--pairs", "600", "--trusted", "300", "--dev", "20", "--test", "30", "--rest", "b"]
    sizes += ["--models", "a", "--learned", "100"]
    a, b, english, french = (str(tmp_path / name) for name in ("a.tsv.zst", "b.tsv.zst", "en.gz", "fr.gz"))
    given = ["--corpora", a, b, "--captions", english, french]
    for output in ("first", "second"):
        monkeypatch.setattr(sys, "argv", ["x", *given, *sizes, "--output", str(tmp_path / output)])
        script("filters_damage").main()
    return tmp_path / "first"


def test_the_text_is_the_same_every_time_and_its_parts_share_nothing(folder, script):
    lines = script("filters_damage").lines
    read = {path.name.removesuffix(".tsv.gz"): lines(path) for path in folder.iterdir()}
    for path in folder.iterdir():
        assert path.read_bytes() == (folder.with_name("second") / path.name).read_bytes()
    assert read["noisy"] == read["rules"] == read["punctuation"] and len(read["noisy"]) == 700
    sides = {name: {side for line in read[name] for side in line.split("\t")[:2]} for name in read if name != "labels"}
    held_out = sides["dev"] | sides["test"]
    assert not held_out & (sides["noisy"] | sides["trusted"] | sides["rest"] | sides["clean"])
    assert not sides["clean"] & (sides["trusted"] | sides["rest"])
    labels = [line.split("\t") for line in read["labels"]]
    counts = Counter((kind, part) for _, kind, part, _ in labels)
    assert all((part, corpus) == ("3", "a") for _, _, part, corpus in labels[600:])
    assert sum(kind == "good" for _, kind, _, _ in labels[600:]) == counts["good", "3"] == 71
    assert counts["good", "1"] == counts["good", "2"] == 210
    assert {counts[kind, half] for kind in ("shifted", "language", "copied", "shuffled", "other") for half in "12"} == {
        15
    }
    assert {abs(counts[kind, half] - 7.5) for kind in ("cut source", "cut target") for half in "12"} == {0.5}
    for (number, kind, _, corpus), noisy, clean in zip(labels, read["noisy"], read["clean"], strict=True):
        *pair, own = noisy.split("\t")
        assert own == number and clean.startswith(corpus) and (pair == clean.split("\t")) == (kind == "good")
    assert all(line.startswith("bs") for line in read["rest"])


def test_too_few_pairs_are_an_error(script):
    module = script("filters_damage")
    pairs = [module.Pair(*sides, "a") for sides in text("a", 5)]
    draw = module.Draw(pairs, random.Random(1))
    assert len(draw.places(4, {pairs[0].source})) == 4
    with pytest.raises(UserError, match="0 pairs that may be drawn, not 1"):
        draw.places(1, {pairs[0].source})


NOISE = np.arange(1000) < 300


def test_a_bound_finds_as_much_noise_as_asked_for_at_the_fewest_good_pairs(script):
    module = script("filters_bounds")
    scores = np.where(NOISE, np.arange(1000), np.arange(1000) - 50) / 1000  # 50 good pairs among the best noise
    every, none = np.ones(1000, bool), np.zeros(1000, bool)
    one = module.Filter("x", none, every, {"score": scores})
    chosen = module.bounds(one, NOISE, every, found=0.95)
    assert np.flatnonzero(module.dropped(one, chosen)).tolist() == [*range(285), *range(300, 335)]
    chosen = module.bounds(one, NOISE, every, lost=0.03)  # 21 of the good pairs
    assert np.flatnonzero(module.dropped(one, chosen)).tolist() == [*range(271), *range(300, 321)]
    ruled = module.Filter("x", np.arange(1000) >= 970, every, {"score": scores})
    assert module.bounds(ruled, NOISE, every, lost=0.03) is None
    half = np.arange(1000) % 2 == 0  # chosen by these
    assert module.bounds(one, NOISE, half, found=0.95) == {"score": pytest.approx(0.284, abs=1e-9)}


def test_two_bounds_find_what_neither_finds_alone(script):
    module = script("filters_bounds")
    rng = np.random.default_rng(1)
    left, right = rng.random((2, 1000)) * 0.5 + 0.5
    left[:150], right[150:300] = rng.random((2, 150)) * 0.4
    both = module.Filter("x", np.zeros(1000, bool), np.ones(1000, bool), {"left": left, "right": right})
    chosen = module.bounds(both, NOISE, np.ones(1000, bool), found=1.0)
    assert (module.dropped(both, chosen) == NOISE).all()
    alone = replace(both, scores={"left": left})
    chosen = module.bounds(alone, NOISE, np.ones(1000, bool), found=1.0)
    assert module.dropped(alone, chosen)[~NOISE].mean() > 0.9


def test_weights_of_products_find_what_no_bound_finds(script):
    module = script("filters_bounds")
    features = np.random.default_rng(1).normal(size=(2000, 2))
    noise = features.prod(1) < 0
    odds = module.weighed([*features.T], noise, np.arange(2000) < 1000)
    assert ((odds < 0) == noise)[1000:].mean() > 0.95


def test_the_table_has_every_filter_and_the_texts_what_they_keep(folder, script, monkeypatch):
    """A score that knows the noise, one that knows nothing, and rules that drop what is cut."""
    monkeypatch.chdir(folder.parent)
    module = script("filters_damage")
    kinds = [line.split("\t")[1] for line in module.lines(folder / "labels.tsv.gz")]
    pairs = [tuple(line.split("\t")) for line in module.lines(folder / "noisy.tsv.gz")]
    corpora = Path("results/filters/corpora")
    order = [*range(350, 700), *range(350)]  # of the study's text
    monkeypatch.setattr(records, "FRAME_BYTES", 2000)  # so that there are two shards
    noisy = corpora / "unfiltered/noisy.tsv.zst"
    records.write(noisy, ((*pairs[n][:2], f"{n}.0") for n in order))
    shards = [[int(float(number)) for _, _, number in records.read(noisy, (k, 2))] for k in (1, 2)]
    cut = [("length_ratio", *pairs[n]) for n in order if kinds[n].startswith("cut")]
    records.write(corpora / "unfiltered/rules.rejected.tsv.zst", [*cut, ("language", *pairs[kinds.index("good")])])
    shuffled = [("terminal_punctuation", *pairs[n]) for n in order if kinds[n] == "shuffled"]
    records.write(corpora / "unfiltered/punctuation.rejected.tsv.zst", shuffled)
    for shard, numbers in enumerate(shards, 1):
        alignment = [-1.0 - (kinds[n] != "good") + n / 1e6 for n in numbers]
        translation = [0.5 + n / 1e6 if n % 50 else 0.0 for n in numbers]  # 0: less than its decimals
        for name, values in (("alignment", alignment), ("translation", translation)):
            records.write(corpora / f"scores/noisy/{name}/{shard}-of-2.tsv.zst", ((repr(value),) for value in values))
        records.write(f"{shard}-of-2.tsv.zst", ((repr(1.0 - (kinds[n] != "good")),) for n in numbers))
    said = (*["keep"] * 600, "not_too_short(left)", "no_paren(left,right)+not_too_short(left)", *["keep"] * 98)
    Path("hard.tsv").write_text("".join(f"x\t{each}\n" for each in said))
    given = ["--config", str(CONFIG), "--text", str(folder), "--hardrules", "hard.tsv", "--output", "x.json"]
    given += ["--scores", "alignment", "translation", "--learned", "hardrules", "hardrules-but-short", "alignment"]
    given += ["--other", "b", "--embeddings", "1-of-2.tsv.zst"]  # of pairs 350 to 699 alone
    monkeypatch.setattr(sys, "argv", ["x", *given])
    script("filters").main()
    rows = {row["filter"]: row for row in reversed(read_json(Path("x.json"))["filters"])}  # the first of a name
    assert rows["embeddings"]["pairs"] == rows["weighed-embeddings"]["pairs"] < 350
    assert rows["embeddings"]["found 0.95"]["found"] == 100.0 == rows["embeddings"]["lost 0.03"]["precision"]
    assert (
        rows["rules"]["always"]["kinds"]["cut source"] == 100.0 == rows["rules-without-langid"]["always"]["precision"]
    )
    assert rows["rules"]["always"]["found"] == pytest.approx(100 / 6, abs=1)
    assert rows["weighed"]["lost 0.03"]["found"] > 90
    by_other, by_all = (rows[f"weighed, by {text} text"] for text in ("other", "all"))  # of corpus a alone
    assert by_other["pairs"] == by_all["pairs"] < rows["weighed"]["pairs"] and by_other["lost 0.03"]["found"] > 90
    assert by_all["found 0.95"]["bounds"] == rows["weighed"]["found 0.95"]["bounds"] != by_other["found 0.95"]["bounds"]
    assert rows["punctuation"]["always"]["kinds"] == dict.fromkeys(module.SHARES, 0.0) | {"shuffled": 100.0}
    perfect = rows["alignment"]["found 0.95"]
    assert perfect["lost"] == 0 and perfect["found"] >= 90 and perfect["precision"] == 100.0
    assert rows["translation"]["lost 0.03"]["found"] < 10 and rows["combined"]["found 0.95"]["lost"] == 0
    assert read_json(Path("x.json"))["pairs"]["good"] == 420  # of both halves
    learned = {row["filter"]: row for row in read_json(Path("x.json"))["models"]}
    texts = {path.name.removesuffix(".tsv.gz"): module.lines(path) for path in (folder / "models").iterdir()}
    assert len(texts.pop("good")) == 71
    assert {name: len(lines) for name, lines in texts.items()} == dict.fromkeys(["clean", "noisy", *learned], 100)
    assert texts["noisy"] == ["\t".join(pair[:2]) for pair in pairs[600:]]
    assert texts["clean"] == module.lines(folder / "clean.tsv.gz")[600:]
    hard = [texts[name][:3] for name in ("hardrules", "hardrules-but-short")]
    assert [[line.split("\t")[2] for line in each] for each in hard] == [["0", "0", "1"], ["1", "0", "1"]]
    assert learned["hardrules"]["kept"] == 98 and learned["alignment"]["found"] == 100.0
    given += ["--learned", "weighed-embeddings", "--embeddings", "2-of-2.tsv.zst"]
    monkeypatch.setattr(sys, "argv", ["x", *given])
    with pytest.raises(UserError, match="weighed-embeddings: some pairs that models learn from have no score"):
        script("filters").main()
    monkeypatch.setattr(sys, "argv", ["x", *given, "1-of-2.tsv.zst"])
    script("filters").main()
    (kept,) = read_json(Path("x.json"))["models"]
    assert kept["found"] == 100.0 and kept["lost"] <= 10


@pytest.mark.slow
def test_speeds_are_those_that_the_commands_count(script, tmp_path):
    module, study = script("filters_speed"), config.read(CONFIG)
    source = tmp_path / "text.tsv.zst"
    records.write(source, [(*pair, f"{number}.0") for number, pair in enumerate(text("a", 300))])
    args = argparse.Namespace(scores=tmp_path / "scores", model=tmp_path / "model", address="http://localhost:1/v1")
    found = module.filters(args, study)
    assert [*found] == [
        "rules", "rules without language", "terminal_punctuation", "alignment", "translation", "embeddings",
    ]  # fmt: skip
    assert "langid" in found["rules"][-1] and "langid" not in found["rules without language"][-1]
    timed = {"x": partial(module.ours, found["terminal_punctuation"], source, tmp_path)}
    (rates,) = module.measured(timed, 2).values()
    assert len(rates) == 2 and all(rate > 100 for rate in rates)
    assert [path.name for path in tmp_path.iterdir()] == ["text.tsv.zst"]
