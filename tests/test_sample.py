import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill import sample
from formats import records
from formats.files import read_json

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
    assert all(
        abs(part - Fraction(pairs * weight, sum(weights))) < 1 for part, weight in zip(parts, weights, strict=True)
    )


def test_shares_of_the_paper():
    assert sample.shares(9_000_000, [5, 2, 2]) == [5_000_000, 2_000_000, 2_000_000]


@given(st.integers(1, 40), st.integers(0, 200), SEEDS)
def test_full_passes_and_a_rest_without_replacement(size, share, seed):
    corpus = [(str(number),) for number in range(size)]
    counts = Counter(sample.drawn(corpus, size, share, random.Random(seed)))
    assert counts.total() == share
    assert {counts[record] for record in corpus} <= {share // size, -(-share // size)}


def test_every_record_is_drawn_equally_often():
    source, counts = random.Random(1), Counter()
    for _ in range(6000):
        counts.update(sample.drawn(list("abcde"), 5, 2, source))
    assert all(abs(counts[record] - 2400) < 5 * 38 for record in "abcde")  # five standard deviations


@given(st.lists(st.tuples(st.text("ab ", max_size=3), st.text("ab ", max_size=3))), st.integers(1, 20), SEEDS)
def test_shuffle_keeps_every_record(tmp_path_factory, corpus, bucket, seed):
    folder = tmp_path_factory.mktemp("buckets")
    mixed = list(sample.shuffled(corpus, len(corpus), random.Random(seed), folder, bucket))
    assert Counter(mixed) == Counter(corpus)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("bucket", [1, 2, 100])
def test_shuffle_is_uniform(tmp_path, bucket):
    """All 24 orders of four records, whatever the number of buckets."""
    source, orders = random.Random(1), Counter()
    corpus = [(letter,) for letter in "abcd"]
    for _ in range(2400):
        orders[tuple(sample.shuffled(corpus, 4, source, tmp_path, bucket))] += 1
    assert len(orders) == 24
    assert all(abs(count - 100) < 5 * 10 for count in orders.values())


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 200), SEEDS)
def test_mixture_is_what_its_json_says(folder, shapes, pairs, seed):
    corpora = [corpus(folder, f"c{number}", size) for number, (size, _) in enumerate(shapes)]
    weights = [weight for _, weight in shapes]
    sample.mix(corpora, weights, pairs, seed, folder / "mixture.tsv.zst")
    mixture = list(records.read(folder / "mixture.tsv.zst"))
    assert len(mixture) == pairs
    drawn = Counter(source.split()[0] for source, _ in mixture)
    about = read_json(folder / "mixture.json")
    expected = [
        {"name": f"c{number}", "lines": size, "weight": weight, "drawn": share}
        for number, ((size, weight), share) in enumerate(zip(shapes, sample.shares(pairs, weights), strict=True))
    ]
    assert about["corpora"] == expected
    assert {row["name"]: row["drawn"] for row in expected if row["drawn"]} == drawn
    times = Counter(mixture)
    for row in expected:
        often = {times[(f"{row['name']} {number}", "x")] for number in range(row["lines"])}
        assert max(often) - min(often) <= 1


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "distill.sample", *map(str, arguments)], capture_output=True, text=True
    )


def test_same_seed_same_bytes(tmp_path):
    corpora = [corpus(tmp_path, "a", 700), corpus(tmp_path, "b", 90)]
    outputs = [tmp_path / f"{name}.tsv.zst" for name in ("one", "two", "three")]
    for seed, output in zip((1, 1, 2), outputs, strict=True):
        common = ("--corpora", *corpora, "--weights", "5", "2", "--pairs", "700", "--seed", seed, "--output", output)
        assert run(*common).returncode == 0
    one, two, three = (output.read_bytes() for output in outputs)
    assert one == two != three
    assert read_json(tmp_path / "one.json") == read_json(tmp_path / "two.json")
    assert [row["drawn"] for row in read_json(tmp_path / "one.json")["corpora"]] == [500, 200]
    names = {name.name for name in tmp_path.iterdir()}
    assert not any(name.startswith(".") for name in names)


def test_without_a_number_the_mixture_is_as_large_as_the_corpora(tmp_path):
    corpora = [corpus(tmp_path, "a", 5), corpus(tmp_path, "b", 7)]
    assert run("--corpora", *corpora, "--weights", "1", "2", "--output", tmp_path / "o.tsv.zst").returncode == 0
    assert [row["drawn"] for row in read_json(tmp_path / "o.json")["corpora"]] == [4, 8]


@pytest.mark.parametrize(
    ("corpora", "weights", "pairs", "message"),
    [
        ("a b", "5", 9, "2 corpora need as many weights, not 1"),
        ("a b", "5 0", 9, "b.tsv.zst: weight 0 is not above zero; leave the corpus out instead"),
        ("a b", "-1 1", 9, "a.tsv.zst: weight -1 is not above zero; leave the corpus out instead"),
        ("a b", "nan 1", 9, "a.tsv.zst: weight nan is not above zero"),
        ("a a", "1 1", 9, "a.tsv.zst: is there twice; give it one weight"),
        ("a b", "1 1", 0, "--pairs 0: needs at least one"),
        ("a none", "1 1", 9, "none.tsv.zst: there is nothing to draw from an empty corpus"),
        ("a mono", "1 1", 9, "pairs and monolingual text do not mix: "),
        ("a gone", "1 1", 9, "gone.tsv.zst: No such file or directory"),
    ],
)
def test_wrong_arguments(tmp_path, corpora, weights, pairs, message):
    for name, size in (("a", 3), ("b", 3), ("none", 0)):
        corpus(tmp_path, name, size)
    records.write(tmp_path / "mono.tsv.zst", [("one column",)])
    paths = [tmp_path / f"{name}.tsv.zst" for name in corpora.split()]
    output = ("--output", tmp_path / "o.tsv.zst")
    done = run("--corpora", *paths, "--weights", *weights.split(), "--pairs", pairs, *output)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o.tsv.zst").exists()
