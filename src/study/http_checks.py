"""Checks of teachers behind HTTP, and of the mixtures that have their translations."""

import re
from collections.abc import Iterator

from distill.http_teacher.prompt import MOST_TOKENS, TEXT
from distill.settings import HttpSection
from study.candidates import hypotheses
from study.configuration import StudyConfiguration
from study.configuration.systems import TeacherSection
from study.systems import asked, learned_from

ADDRESS = re.compile(r"https?://[^@/?#\s]+(/[^?#\s]*)?")
VARIABLE = re.compile("[A-Z][A-Z0-9_]*")
# Fields of a request that no option may change.
OWN = ("model", "messages", "prompt", "temperature", "top_p", "max_tokens", "seed", "stop", "n", "stream")


def teacher_problems(path: str, teacher: TeacherSection) -> Iterator[str]:
    """A line for each problem of a teacher, at this path."""
    if not (http := teacher.http):
        return
    for key in ("parameters", "tokenization", "prefix"):
        if getattr(teacher, key) is not None:
            yield f"{path}.{key}: a teacher behind HTTP has none that is known here"
    yield from _problems(f"{path}.http", http)


def _problems(path: str, http: HttpSection) -> Iterator[str]:
    yield from server_problems(path, http.address, http.key)
    if http.prompt is not None and TEXT not in http.prompt:
        yield f"{path}.prompt: has no {TEXT}, where the text goes"
    if http.candidates > 1 and not http.temperature:
        yield f"{path}.candidates: without a temperature {http.candidates} answers are one; set it, or take 1"
    if http.budget is not None and http.prices is None:
        yield f"{path}.budget: needs prices, in USD a million tokens"
    yield from _option_problems(f"{path}.options", http)


def server_problems(path: str, address: str | None, key: str | None) -> Iterator[str]:
    """Neither value is shown: someone may have written a key or a password there."""
    if address is not None and not ADDRESS.fullmatch(address):
        yield f"{path}.address: has not the form http://host:port/v1, without a user, a password, ? and #"
    if key is not None and not VARIABLE.fullmatch(key):
        yield f"{path}.key: is the name of an environment variable, in capitals, never the key itself"


def _option_problems(path: str, http: HttpSection) -> Iterator[str]:
    yield from (f"{path}.{name}: is not for options" for name in http.options if name in OWN)
    most = http.options.get(MOST_TOKENS)
    if MOST_TOKENS in http.options and not (type(most) is int and most > 0):
        yield f"{path}.{MOST_TOKENS}: {most!r} is no number of tokens"
    elif "max_tokens" in http.without and most is None:
        yield f"{path}: an answer needs a limit; without max_tokens give {MOST_TOKENS}"


def mixture_problems(config: StudyConfiguration) -> Iterator[str]:
    """A line for each thing that a mixture asks of a teacher that has no probabilities."""
    for name, mixture in config.mixtures.items():
        teachers = learned_from(config, name)
        behind = [each for each in teachers if each in asked(config)]
        if len(teachers) > 1 and behind and mixture.ensemble != "union":
            scores = f"{behind[0]} answers over HTTP and scores nothing, so it is part of no ensemble"
            yield f"mixtures.{name}.teacher: {scores}; name one of {', '.join(teachers)}"
        elif behind and mixture.drop_worst and hypotheses(config, name) == 1:
            yield f"mixtures.{name}.drop_worst: one answer has no score; that of several candidates is their share"
