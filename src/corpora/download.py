"""Downloads that resume, are retried, and appear whole or not at all."""

import os
import time
from pathlib import Path

import requests
import urllib3

from nmt_frontier.progress import progress

CACHE = Path("~/.cache/nmt-frontier")  # the default folder of downloads
ATTEMPTS = 3
BACKOFF_SECONDS = 2.0  # before the second attempt; doubled before each further one
ANSWER_SECONDS = 30
REACH_SECONDS = 5
BLOCK_BYTES = 1 << 16  # the most that a broken transfer loses
WORTH_RETRYING = (408, 429, 500, 502, 503, 504)
NO_HEAD = (405, 501)  # from servers that know only GET; the address answers
RANGE_NOT_SATISFIABLE = 416
BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError)


class Unreachable(Exception):  # noqa: N818 (a fact about an address, not an error yet)
    """An address does not give its file; the message has the address and the reason."""


class NoAnswer(Unreachable):
    """An address did not answer: there is no network, or not enough time."""


def reach(url: str) -> None:
    """Ask for the headers of an address, within REACH_SECONDS. Raises Unreachable."""
    try:
        response = requests.head(url, allow_redirects=True, timeout=REACH_SECONDS)
        if response.status_code not in NO_HEAD:
            response.raise_for_status()
    except requests.RequestException as error:
        kind = NoAnswer if error.response is None else Unreachable
        raise kind(f"{url}: {_reason(error)}") from error


def download(url: str, path: Path) -> None:
    """Download to ``path``, continuing from ``path`` + ".part". Raises Unreachable.

    ``path`` + ".part.tag" keeps the server's tag of the file's version, so that two versions are never mixed.
    """
    part = path.with_name(f"{path.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(ATTEMPTS):
        try:
            _resume(url, part)
            os.replace(part, path)
            _tag(part).unlink(missing_ok=True)
            return
        except BROKEN as error:
            response = getattr(error, "response", None)
            status = None if response is None else response.status_code
            if attempt + 1 == ATTEMPTS or (status and status not in WORTH_RETRYING):
                raise Unreachable(f"{url}: {_reason(error)}") from error
            time.sleep(BACKOFF_SECONDS * 2**attempt)


def _resume(url: str, part: Path) -> None:
    size = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}  # ranges count bytes of the file, not of a compressed stream
    if size:
        headers["Range"] = f"bytes={size}-"
        if _tag(part).exists():
            headers["If-Range"] = _tag(part).read_text()
    with requests.get(url, headers=headers, stream=True, timeout=ANSWER_SECONDS) as response:
        if size and response.status_code == RANGE_NOT_SATISFIABLE:  # the file has changed since
            part.unlink()
            return _resume(url, part)
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        if not resumed:
            _remember(response, _tag(part))
        with open(part, "ab" if resumed else "wb") as stream:
            total = int(response.headers.get("Content-Length", 0)) // BLOCK_BYTES + 1
            blocks = response.raw.stream(BLOCK_BYTES, decode_content=False)  # some servers compress anyway
            for block in progress(blocks, f"download {url}", total, unit="64-KiB block"):
                stream.write(block)


def _tag(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _remember(response: requests.Response, tag: Path) -> None:
    exact = response.headers.get("ETag", "W/")
    weak = exact.startswith("W/")  # not valid for ranges
    if version := response.headers.get("Last-Modified") if weak else exact:
        tag.write_text(version)
    else:
        tag.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    if (response := getattr(error, "response", None)) is not None:
        return f"HTTP {response.status_code} {response.reason}"
    if isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError)):
        return "no answer in time"
    return f"no connection ({type(error).__name__})"
