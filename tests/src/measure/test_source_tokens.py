"""Source tokens are those that the papers count."""

import gzip
import os
from pathlib import Path

import pytest

from formats import records
from measure import source_tokens
from report.our_number import TOKENS

MIRROR = Path(os.environ.get("NMT_FRONTIER_MIRROR", ""))
FILES = {"newstest2015": "newstest/newstest2015.en.gz", "newstest2019": "published-students/wmt19.en.gz"}


def test_punctuation_and_hyphens_are_tokens_and_abbreviations_keep_their_stop(tmp_path):
    path = tmp_path / "test.tsv.zst"
    records.write(path, [("A well-known dog, e.g. Rex.", "x"), ("It's <b>100 %</b> ok", "y")])
    assert source_tokens.moses(path, 1, "en") == 9  # A well @-@ known dog , e.g. Rex .
    assert source_tokens.moses(path, None, "en") == 9 + 12  # It 's < b > 100 % < / b > ok


@pytest.mark.parametrize(("test_set", "file"), FILES.items())
def test_the_tokens_of_test_sets_that_no_paper_prints_were_counted(test_set, file, tmp_path):
    if not (MIRROR / file).is_file():
        pytest.skip(f"NMT_FRONTIER_MIRROR has no {file}")
    path = tmp_path / "test.tsv.zst"
    with gzip.open(MIRROR / file, "rt", encoding="utf-8", newline="\n") as lines:
        records.write(path, [(line.rstrip("\n"), "") for line in lines])
    assert source_tokens.moses(path, None, "en") == TOKENS[test_set]
