"""The request for a text, as it is sent, and the key by which its answer is kept."""

import hashlib
import json
from typing import NamedTuple

from babel import Locale, localedata

from common.document import Document
from distill.settings import HttpSection

TEXT = "{text}"
PROMPTS = {
    "chat": "Translate this {source} text into {target}. Answer with the translation alone, in one line.\n\n" + TEXT,
    "completions": "{source}: " + TEXT + "\n{target}:",
}
PATHS = {"chat": "/chat/completions", "completions": "/completions"}
MOST_TOKENS = "max_completion_tokens"  # what some servers call max_tokens
FRAME_TOKENS = 16  # that a server puts around a message, at most


class Request(NamedTuple):
    """body: JSON as it is sent. key: sha256 of all that makes the answer, whatever the server's address."""

    body: bytes
    key: str
    most_input: int  # tokens; a token has at least one byte
    most_output: int


class Prompt:
    """Makes requests. languages: codes of the source and the target language. seed: of the first candidate."""

    def __init__(self, http: HttpSection, languages: list[str], seed: int):
        self._http, self._seed = http, seed
        names = dict(zip(("{source}", "{target}"), (names_of(each)[0] for each in languages), strict=True))
        self._prompt = http.prompt or PROMPTS[http.api]
        for place, name in () if http.prompt else names.items():
            self._prompt = self._prompt.replace(place, name)

    def request(self, text: str, candidate: int, attempt: int) -> Request:
        """candidate, attempt: counted from 0; each has a seed of its own."""
        http = self._http
        seed = self._seed + candidate + http.candidates * attempt
        asked = self._messages(text) if http.api == "chat" else self._continued(text)
        sampling = {
            "temperature": float(http.temperature),
            "top_p": float(http.top_p),
            "max_tokens": http.max_tokens,
            "seed": seed,
        }
        fields = {"model": http.model, **asked, **sampling, **http.options}
        sent = {name: value for name, value in fields.items() if name not in http.without}
        body = json.dumps(sent, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
        key = hashlib.sha256(f"{http.api} {seed}\n".encode() + body).hexdigest()
        messages = len(asked.get("messages", [text]))
        return Request(body, key, len(body) + FRAME_TOKENS * messages, sent.get(MOST_TOKENS) or sent["max_tokens"])

    def _filled(self, text: str) -> str:
        return self._prompt.replace(TEXT, text)

    def _messages(self, text: str) -> Document:
        shown = [
            {"role": role, "content": content}
            for example in self._http.examples
            for role, content in (("user", self._filled(example.source)), ("assistant", example.target))
        ]
        return {"messages": [*shown, {"role": "user", "content": self._filled(text)}]}

    def _continued(self, text: str) -> Document:
        shown = (f"{self._filled(example.source)} {example.target}\n\n" for example in self._http.examples)
        return {"prompt": "".join(shown) + self._filled(text), "stop": ["\n"]}


def names_of(language: str) -> list[str]:
    """What English calls a language, and what it calls itself, by its code."""
    locales = [locale for locale in ("en", language) if localedata.exists(locale)]
    return [str(Locale(locale).languages.get(language, language)) for locale in locales]
