"""Downloads: resumed, retried, shared by jobs; and the errors without one."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from mirrored_texts import ENGLISH, GERMAN, PAIRS, checksum, corpus, records_of, refused
from surroundings import isolated  # noqa: F401 (a fixture of all tests here)
from web import NOWHERE

from corpora import download
from corpora.readers import Lines
from corpora.readers.reader import Selection
from corpora.sources.addressed import WebFile
from corpora.sources.place import Copy


def test_download_in_parts_is_cached(server, tmp_path):
    cut = ENGLISH.index("\n", 4000) + 1
    first = {"/1.en.gz": gzip.compress(ENGLISH[:cut].encode()), "/1.de.gz": gzip.compress(GERMAN.encode())}
    server.files = first | {"/2.en": ENGLISH[cut:].encode(), "/2.de": b""}
    urls = [[f"{server.url}/1.{{lang}}.gz", f"{server.url}/2.{{lang}}"]]
    for mirror in (None, tmp_path / "no mirror"):
        pairs, origins = records_of(corpus(url=urls), tmp_path, mirror)
        assert pairs == PAIRS and origins[1] == f"{server.url}/2.en"
        assert len(server.requests) == 4
    assert (tmp_path / "cache" / checksum(f"{server.url}/1.en.gz") / "1.en.gz").exists()


def test_a_broken_download_resumes(server, tmp_path):
    server.files, server.cut = {"/x": bytes(range(256)) * 256 * 8}, 2  # eight blocks
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == server.files["/x"]
    assert server.requests == ["/x", f"/x bytes={4 << 16}-", f"/x bytes={6 << 16}-"]
    assert not (tmp_path / "x.part").exists()


@pytest.mark.parametrize(
    ("part", "ranges", "requests"),
    [
        (b"0123", True, ["/x bytes=4-"]),
        (b"0123", False, ["/x bytes=4-"]),
        (b"something else altogether", True, ["/x bytes=25-", "/x"]),
    ],
    ids=["killed", "server without ranges", "longer than the file"],
)
def test_part_of_a_download(server, tmp_path, part, ranges, requests):
    server.files, server.ranges = {"/x": b"0123456789"}, ranges
    (tmp_path / "x.part").write_bytes(part)
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"0123456789"
    assert server.requests == requests


def test_a_file_that_changes_in_between_starts_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    server.files, server.cut, server.tag = {"/x": b"old" * 100_000}, 1, '"1"'
    with pytest.raises(download.Unreachable):
        download.download(f"{server.url}/x", tmp_path / "x")
    server.files, server.tag = {"/x": b"new" * 100_000}, '"2"'
    download.download(f"{server.url}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"new" * 100_000
    assert server.requests[1].startswith("/x bytes=")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_jobs_that_want_one_archive_download_it_once(server, tmp_path):
    server.files = {"/x": ENGLISH.encode() * 100}
    copy = Copy(Lines(Selection(["en"], [])), {"en": [WebFile(f"{server.url}/x")]})
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: copy.obtained(tmp_path), range(4)))
    assert len({parts["en"][0].path for parts in found}) == 1
    assert server.requests == ["/x"]


def test_alternatives_are_tried_in_order(server, tmp_path):
    server.files = {"/b.en": ENGLISH.encode(), "/b.de": GERMAN.encode(), "/a.en": b"half a copy"}
    asked = corpus(url=[f"{server.url}/a.{{lang}}", [f"{server.url}/b.{{lang}}"]])
    assert records_of(asked, tmp_path)[0] == PAIRS
    assert server.requests == ["/a.en", "/a.de", "/b.en", "/b.de"]


@pytest.mark.parametrize(
    ("name", "busy", "requests", "error"),
    [
        ("/x", 2, 3, None),
        ("/x", 3, 3, "/x: HTTP 503 Service Unavailable"),
        ("/gone", 0, 1, "/gone: HTTP 404 Not Found"),
    ],
    ids=["busy twice", "busy", "missing"],
)
def test_a_busy_server_is_asked_three_times(server, tmp_path, name, busy, requests, error):
    server.files, server.busy = {"/x": b"0"}, busy
    with pytest.raises(download.Unreachable, match=error) if error else nullcontext():
        download.download(server.url + name, tmp_path / "x")
    assert len(server.requests) == requests


def test_a_wrong_download_is_deleted(server, tmp_path):
    server.files = {"/en": b"something else\n", "/de": GERMAN.encode()}
    asked = corpus(url=[f"{server.url}/{{lang}}"])
    message = refused(asked, tmp_path)
    assert f"sha256 of the text is {checksum(server.files['/en'])}, expected {checksum(ENGLISH)}" in message
    assert f"deleted the download of {server.url}/en; run again" in message
    assert not (tmp_path / "cache" / checksum(f"{server.url}/en") / "en").exists()
    server.files["/en"] = ENGLISH.encode()
    assert records_of(asked, tmp_path)[0] == PAIRS


def test_neither_mirror_nor_network(tmp_path):
    message = refused(corpus(url=[f"{NOWHERE}/x.{{lang}}"]), tmp_path, tmp_path / "mirror")
    assert f"x: no {tmp_path}/mirror/x.en.gz in the mirror, and no download: {NOWHERE}/x.en: no connection" in message
    assert "Set NMT_FRONTIER_MIRROR to a folder that has x.en.gz" in message
    assert "or run configs/offline.yaml, which needs neither" in message


def test_no_mirror_and_no_url(tmp_path):
    assert refused(corpus(), tmp_path).startswith("x: no mirror, and no file x.en.gz in /")
