"""A fixture for the tests of corpora: no mirror, no cache, short delays."""

import pytest

from corpora import download


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    monkeypatch.delenv("NMT_FRONTIER_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(download, "BACKOFF_SECONDS", 0.01)
