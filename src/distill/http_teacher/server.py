"""One request to a server with OpenAI's API, with the retries of urllib3. The key leaves this module in no way."""

import json
import os
import sys
import time
from typing import Any

import requests
import urllib3
from urllib3.exceptions import HTTPError, InvalidHeader, MaxRetryError, ProtocolError, ReadTimeoutError
from urllib3.util import Retry, Timeout

from distill.http_teacher.kept import Answer
from distill.http_teacher.prompt import PATHS, Request
from distill.settings import HttpSection
from nmt_frontier.errors import UserError

CONNECT_SECONDS = 10
ATTEMPTS = 10  # beyond the first: no connection, too many requests, an error of the server
SILENT = 2  # of these, the most after a server that was silent or broke off
TOLD = 3  # attempts without an answer, after which a line says so
BACKOFF_SECONDS = 0.5  # doubled before each further attempt, unless the server says how long to wait
LONGEST_WAIT = 600  # seconds that a server may ask for
WORTH_RETRYING = (408, 429, 500, 502, 503, 504, 529)
REJECTING = (400, 413, 422)  # for what is in this request; 413 is retried if the server says when
REJECTED = "rejected"
EXCERPT = 200  # characters of a server's message
MOST_TOKENS = 2**53  # that a server may say that it has counted
OTHER = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # a document that the API does not have
GOES_ON = "answers so far are kept, the same command goes on"
REMEDIES = {
    401: "; the variable that `key` names must have a valid key",
    403: "; the key may not use this model",
    404: "; see `address` and `model`",
}
MAYBE_BILLED = (ReadTimeoutError, ProtocolError)  # the server may have worked, and may count it


class NoAnswer(UserError):  # noqa: N818 (that of the server)
    """billed: for how many attempts the server may have worked."""

    def __init__(self, text: str, billed: int):
        super().__init__(text)
        self.billed = billed


class Unreadable(Exception):  # noqa: N818 (an answer, which is asked for again)
    """No JSON, or another document than the API has."""


class _Retries(Retry):
    """Says that it tries again. Servers whose Retry-After is none that HTTP has, such as 0.5, have said nothing."""

    def increment(self, *args: Any, **kwargs: Any) -> "_Retries":
        after = super().increment(*args, **kwargs)
        if len(after.history) == TOLD:
            error, response, pool = (kwargs.get(key) for key in ("error", "response", "_pool"))
            reason = f"HTTP {response.status}" if response else type(error).__name__
            print(f"{pool and pool.host}: {reason}, {TOLD} times; goes on trying", file=sys.stderr)
        return after

    def parse_retry_after(self, retry_after: str) -> float:
        try:
            return super().parse_retry_after(retry_after)
        except InvalidHeader:
            return 0.0


class Connection:
    """Sends JSON to one address, of several threads at a time. variable: name of that with the key, if it needs one.
    seconds: to wait for an answer. Raises UserError for a key that is absent or cannot be sent."""

    def __init__(self, url: str, variable: str | None, concurrency: int, seconds: float):
        self._url, self._key = url, key(variable)
        self._headers = {"Content-Type": "application/json"}
        self._headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        retries = _Retries(
            total=ATTEMPTS, read=SILENT, other=0, status_forcelist=WORTH_RETRYING, allowed_methods=None,
            backoff_factor=BACKOFF_SECONDS, retry_after_max=LONGEST_WAIT, raise_on_status=False,
        )  # fmt: skip
        timeout = Timeout(connect=CONNECT_SECONDS, read=seconds)
        pool: dict[str, Any] = {"maxsize": concurrency, "block": True, "timeout": timeout, "retries": retries}
        proxy = requests.utils.select_proxy(self._url, requests.utils.get_environ_proxies(self._url))
        self._pool = urllib3.ProxyManager(proxy, **pool) if proxy else urllib3.PoolManager(**pool)

    def post(self, body: bytes) -> tuple[int, str, int]:
        """The status, 200 or one of REJECTING, the text of the answer, and for how many attempts before it the server
        may have worked. Raises NoAnswer."""
        try:
            # redirect: it would send the text to another server.
            response = self._pool.request("POST", self._url, body=body, headers=self._headers, redirect=False)
        except MaxRetryError as error:
            silent = isinstance(error.reason, MAYBE_BILLED)
            reason = f"{'no whole answer' if silent else 'no connection'} ({type(error.reason).__name__})"
            raise NoAnswer(f"{self._url}: {reason}; {GOES_ON}", 1 + SILENT * silent) from None
        except HTTPError as error:
            raise NoAnswer(f"{self._url}: {type(error).__name__}; {GOES_ON}", 1) from None
        history = response.retries.history if response.retries else ()
        before = sum(isinstance(each.error, MAYBE_BILLED) for each in history)
        text, status = response.data.decode(errors="replace"), response.status
        if self._key:  # some servers repeat it in a message
            text = text.replace(self._key, "***")
        if status != 200 and status not in REJECTING:
            told = f"HTTP {status}: {message(text)}{REMEDIES.get(status, '')}"
            raise NoAnswer(f"{self._url}: {told}; {GOES_ON}", before)
        return status, text, before


class Server:
    """Sends requests. Raises UserError as Connection."""

    def __init__(self, http: HttpSection):
        url = http.address.rstrip("/") + PATHS[http.api]
        self._connection = Connection(url, http.key, http.concurrency, float(http.timeout))

    def answer(self, request: Request) -> tuple[Answer, int]:
        """The answer, and for how many attempts before it the server may have worked.

        An answer with ``finish`` REJECTED has the server's reason as its text. Raises NoAnswer and Unreadable.
        """
        start = time.monotonic()
        status, text, before = self._connection.post(request.body)
        if status in REJECTING:
            return Answer(request.key, message(text), REJECTED), before
        return read(text, request.key, round(time.monotonic() - start, 3)), before


def key(variable: str | None) -> str:
    """The value of the environment variable; empty without one. Raises UserError, which does not show it."""
    if variable is None:
        return ""
    if not (value := os.environ.get(variable, "").strip()):
        raise UserError(f"the environment variable {variable} is not set; it must have the server's key (`key`)")
    if not (value.isascii() and value.isprintable()):
        raise UserError(f"the environment variable {variable} has characters that no header may have (`key`)")
    return value


def message(text: str) -> str:
    """What a server says is wrong, in one line."""
    try:
        error = json.loads(text)["error"]
        text = _whole(error["message"] if isinstance(error, dict) else error)
    except OTHER:
        pass
    return " ".join(text.split())[:EXCERPT]


def read(text: str, key: str, seconds: float) -> Answer:
    """The answer in a response. Raises Unreadable."""
    try:
        response = json.loads(text)
        choice = response["choices"][0]
        said = choice.get("message", choice)  # of chat; completions have the text here
        answer = said.get("content") or said.get("text") or said.get("refusal") or ""
        if not isinstance(answer, str):
            raise TypeError
        usage = response.get("usage") or {}
        input, output = (_tokens(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        finish = "content_filter" if said.get("refusal") else choice.get("finish_reason")
        model = response.get("model")
        finish, model = (value and _whole(value) for value in (finish, model))
        return Answer(key, _whole(answer), finish, model, input, output, seconds)
    except OTHER:
        raise Unreadable(message(text)) from None


def _whole(value: Any) -> str:
    """The text of a value, where halves of surrogate pairs are U+FFFD: they are no text."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tokens(value: Any) -> int | None:
    """A number of tokens; None for what can be none, which would make the budget larger."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None
