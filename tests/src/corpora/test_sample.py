"""Epochs: exact shares, no pair again before all others, equal bytes for equal seeds; one-line errors."""

import resource
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import warm
from hypothesis import given
from hypothesis import strategies as st

from corpora import permutation
from formats import records
from nmt_frontier.files import read_json
from train import sample

WEIGHTS = st.lists(st.integers(1, 50), min_size=1, max_size=5)
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sample")


def corpus(folder, name, size):
    path = folder / f"{name}.tsv.zst"
    records.write(path, ((f"{name} {number}", "x") for number in range(size)))
    return path


@given(st.integers(0, 10**6), WEIGHTS)
def test_shares_follow_the_weights(pairs, weights):
    parts = sample.shares(pairs, weights)
    assert sum(parts) == pairs
    exact = [Fraction(pairs * weight, sum(weights)) for weight in weights]
    assert all(abs(part - share) < 1 for part, share in zip(parts, exact, strict=True))


def test_shares_of_the_paper():
    assert sample.shares(9_000_000, [5, 2, 2]) == [5_000_000, 2_000_000, 2_000_000]


def epoch(folder, corpora, weights, pairs, seed, number=1):
    sample.draw(corpora, weights, pairs, seed, number, folder / "epoch.tsv.zst")
    return list(records.read(folder / "epoch.tsv.zst")), read_json(folder / "epoch.json")


@given(st.integers(1, 5000), st.integers())
def test_a_permutation_has_every_number_once(size, seed):
    places = permutation.places(np.arange(size), size, permutation.keys(seed, "x"))
    assert sorted(places.tolist()) == list(range(size))


@pytest.mark.parametrize("size", [2, 5, 16, 100])
def test_a_permutation_puts_every_number_anywhere(size):
    trials = 4000
    places = np.array([permutation.places(np.arange(size), size, permutation.keys(key)) for key in range(trials)])
    for number in range(size):
        counts = np.bincount(places[:, number], minlength=size)
        assert (abs(counts - trials / size) < 5 * (trials / size) ** 0.5).all()
    ascending = np.mean(places[:, 0] < places[:, 1])
    assert abs(ascending - 0.5) < 5 * 0.5 / trials**0.5


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 200), SEEDS)
@pytest.mark.slow
def test_an_epoch_has_the_counts_of_its_json(folder, shapes, pairs, seed):
    corpora = [corpus(folder, f"c{number}", size) for number, (size, _) in enumerate(shapes)]
    weights = [weight for _, weight in shapes]
    mixture, info = epoch(folder, corpora, weights, pairs, seed)
    assert len(mixture) == pairs
    found = Counter(source.split()[0] for source, _ in mixture)
    shares = sample.shares(pairs, weights)
    assert [row["drawn"] for row in info["corpora"]] == shares
    assert {f"c{number}": share for number, share in enumerate(shares) if share} == found
    times = Counter(mixture)
    for number, (size, _) in enumerate(shapes):
        repeats = {times[(f"c{number} {line}", "x")] for line in range(size)}
        assert max(repeats) - min(repeats) <= 1 or shares[number] < size


@given(st.integers(1, 60), st.integers(1, 25), st.integers(1, 8), SEEDS)
@pytest.mark.slow
def test_no_pair_comes_again_before_all_others_have_come(folder, size, share, epochs, seed):
    path = corpus(folder, "a", size)
    seen = Counter()
    for number in range(1, epochs + 1):
        mixture, info = epoch(folder, [path], [1], share, seed, number)
        seen.update(mixture)
        repeats = [seen[(f"a {line}", "x")] for line in range(size)]
        assert max(repeats) - min(repeats) <= 1
        assert info["corpora"][0]["passes"] == round(number * share / size, 3)


def test_epochs_differ_and_are_drawn_by_themselves(tmp_path):
    paths = [corpus(tmp_path, "a", 400), corpus(tmp_path, "b", 400)]
    first, second, again = (epoch(tmp_path, paths, [5, 2], 140, 1, number)[0] for number in (1, 2, 1))
    assert first == again and not set(first) & set(second)
    assert first != sorted(first)


def test_buckets_change_nothing(tmp_path):
    paths = [corpus(tmp_path, "a", 500), corpus(tmp_path, "b", 50)]
    in_one_bucket = epoch(tmp_path, paths, [1, 1], 300, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "BUCKET_PAIRS", 17)
        assert epoch(tmp_path, paths, [1, 1], 300, 7) == in_one_bucket


def test_corpora_are_mixed_evenly(tmp_path):
    mixture, _ = epoch(tmp_path, [corpus(tmp_path, "a", 3000), corpus(tmp_path, "b", 3000)], [2, 1], 3000, 3)
    first_half = Counter(source[0] for source, _ in mixture[:1500])
    assert abs(first_half["a"] - 1000) < 5 * 13  # five standard deviations of drawing without replacement


def run(corpora, *options, output, code=0, python=None):
    command = [python or warm.python(), "-m", "train.sample", "--corpora", *corpora, *options, "--output", output]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr


def drawn(path):
    return [row["drawn"] for row in read_json(records.info(path))["corpora"]]


@pytest.mark.slow
def test_same_seed_same_bytes(tmp_path):
    corpora = [corpus(tmp_path, "a", 700), corpus(tmp_path, "b", 90)]
    outputs = [tmp_path / f"{name}.tsv.zst" for name in ("one", "two", "three")]
    for seed, output in zip((1, 1, 2), outputs, strict=True):
        # Forked processes would share the seed of Python's hashes.
        run(corpora, "--weights", "5", "2", "--pairs", "700", "--seed", seed, output=output, python=sys.executable)
    first, same_seed, other_seed = (output.read_bytes() for output in outputs)
    assert first == same_seed != other_seed
    assert read_json(tmp_path / "one.json") == read_json(tmp_path / "two.json")
    assert drawn(outputs[0]) == [500, 200]
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


@pytest.mark.slow
def test_without_a_number_the_mixture_is_as_large_as_the_corpora(tmp_path):
    corpora = [corpus(tmp_path, "a", 5), corpus(tmp_path, "b", 7)]
    run(corpora, "--weights", "1", "2", output=tmp_path / "o.tsv.zst")
    assert drawn(tmp_path / "o.tsv.zst") == [4, 8]


def test_without_weights_every_pair_comes_once(tmp_path):
    corpora = [corpus(tmp_path, "a", 500), corpus(tmp_path, "b", 70)]
    run(corpora, output=(output := tmp_path / "o.tsv.zst"))
    mixture = list(records.read(output))
    assert sorted(mixture) == sorted(record for path in corpora for record in records.read(path))
    first = Counter(source[0] for source, _ in mixture[:285])
    assert abs(first["b"] - 35) < 5 * 4  # a sample of both: five standard deviations
    assert drawn(output) == [500, 70]


def test_there_are_as_many_buckets_as_files_may_be_open(tmp_path, monkeypatch):
    """More than the soft limit, which is a thousand on most machines."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(sample, "BUCKET_PAIRS", 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    try:
        assert len(epoch(tmp_path, [corpus(tmp_path, "a", 100)], None, None, 1)[0]) == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(
    ("corpora", "weights", "pairs", "message"),
    [
        ("a b", "5", 9, "2 corpora need as many weights, not 1"),
        ("a b", "5 0", 9, "b.tsv.zst: weight 0 is not above zero; leave the corpus out instead"),
        ("a b", "-1 1", 9, "a.tsv.zst: weight -1 is not above zero; leave the corpus out instead"),
        ("a b", "nan 1", 9, "a.tsv.zst: weight nan is not above zero"),
        ("a a", "1 1", 9, "a.tsv.zst: is there twice; give it one weight"),
        ("a b", "1 1", 0, "--pairs 0: needs at least one"),
        ("a b", "1 1 --epoch 0", 9, "--epoch 0: epochs are counted from 1"),
        ("a none", "1 1", 9, "none.tsv.zst: there is nothing to draw from an empty corpus"),
        ("a mono", "1 1", 9, "pairs and monolingual text do not mix: "),
        ("a gone", "1 1", 9, "gone.tsv.zst: No such file or directory"),
    ],
)
def test_wrong_arguments(tmp_path, corpora, weights, pairs, message):
    for name, size in (("a", 3), ("b", 3), ("none", 0)):
        corpus(tmp_path, name, size)
    records.write(tmp_path / "mono.tsv.zst", [("one column",)])
    paths, output = [tmp_path / f"{name}.tsv.zst" for name in corpora.split()], tmp_path / "o.tsv.zst"
    errors = run(paths, "--weights", *weights.split(), "--pairs", pairs, output=output, code=1)
    assert errors.startswith("error: ") and message in errors and "Traceback" not in errors
    assert not output.exists()
