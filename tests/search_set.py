"""The core and the sentences that tests of search measure on."""

import os

import pytest
from models import sentences

from formats import records

CORE = min(os.sched_getaffinity(0))

SOURCES = sentences(12, seed=3)


@pytest.fixture(scope="module", name="test_set")
def search_set(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "first.tsv.zst"
    records.write(path, zip(SOURCES, SOURCES, strict=True))
    return path
