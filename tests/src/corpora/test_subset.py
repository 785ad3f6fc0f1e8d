"""A random subset of a corpus: of exactly the size asked for, in order, the same for the same seed."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.subset import subset
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json


def corpus(folder, lines, claimed=None, **about):
    path = Path(folder, "x.tsv.zst")
    count, checksum = records.write(path, [(f"line {number}",) for number in range(lines)])
    about = {"name": "x", "lines": claimed or count, "sha256": checksum, "dropped": {"overlong": 2}} | about
    write_json(records.info(path), about)
    return path


def taken(path, sample, seed, name="out"):
    output = path.parent / name / "x.tsv.zst"
    output.parent.mkdir(exist_ok=True)
    subset(path, sample, seed, output)
    return [int(record[0].split()[1]) for record in records.read(output)], output


@given(st.data(), st.integers(1, 3000), st.integers(0, 5))
@pytest.mark.slow
def test_it_has_exactly_the_size_asked_for_and_keeps_the_order(data, lines, seed):
    sample = data.draw(st.integers(1, lines))
    with tempfile.TemporaryDirectory() as folder:
        path = corpus(folder, lines)
        numbers, output = taken(path, sample, seed)
        assert len(numbers) == sample and numbers == sorted(set(numbers))
        _, again = taken(path, sample, seed, "again")
        assert output.read_bytes() == again.read_bytes()


@pytest.mark.slow
def test_every_record_is_as_likely_as_any_other(tmp_path):
    """200 subsets of 50 of 500: every record some 20 times; a third of each subset is in each third of the text."""
    path = corpus(tmp_path, 500)
    found = Counter(number for seed in range(200) for number in taken(path, 50, seed)[0])
    assert len(found) == 500 and min(found.values()) >= 3 and max(found.values()) <= 45
    chi_squared = sum((found[number] - 20) ** 2 / (20 * 0.9) for number in range(500))
    assert 380 < chi_squared < 630  # 499 degrees of freedom, four standard deviations


def test_what_is_left_out_is_counted(tmp_path):
    numbers, output = taken(corpus(tmp_path, 100, origin=["here"]), 30, 1)
    about = read_json(records.info(output))
    assert about["lines"] == len(numbers) == 30 and about["origin"] == ["here"]
    assert about["dropped"] == {"overlong": 2, "not_sampled": 70}


def test_wrong_sizes_are_errors(tmp_path):
    with pytest.raises(UserError, match="x: sample: 101 lines of 100; take fewer, or all with null"):
        taken(corpus(tmp_path, 100), 101, 1)
    with pytest.raises(UserError, match="does not have the 90 lines that x"):
        taken(corpus(tmp_path, 100, claimed=90), 10, 1)
