"""What the JSON schema finds wrong in a configuration, in readable lines; the folder and the hash of a study."""

import datetime
import difflib
import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema

from common.document import Document, short
from nmt_frontier.languages import shortest
from study.configuration import StudyConfiguration
from study.keys import schema

RESULTS = Path("results")
RESERVED = "reference"  # results/reference is in git


def definition(name: str) -> Document:
    """The schema of one of ``$defs``, for an entry that is checked alone."""
    return {"$ref": f"#/$defs/{name}", "$defs": schema()["$defs"]}


def problems(value: Any, part: Document) -> Iterator[str]:
    """Violations of this part of the schema, a line each: ``<path of the key>: <what is wrong>``."""
    strict = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = jsonschema.validators.extend  # which has no types
    validator = extend(jsonschema.Draft202012Validator, type_checker=strict)(part)
    errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    lines = (line for error in errors for line in _described(error, ".".join(map(str, error.absolute_path))))
    yield from dict.fromkeys(lines)  # an error of each missing key describes all of them
    yield from _not_finite(value, "")


def _not_finite(value: Any, path: str) -> Iterator[str]:
    """.nan and .inf, which YAML has and JSON schema takes for numbers."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _not_finite(item, f"{path}.{key}" if path else str(key))
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{path}: {value} is no number"


def suggestion(name: str, names: list[str]) -> str:
    """The nearest of the names that would do, or all of them."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(names)}"


def _described(error: Any, path: str) -> Iterator[str]:
    inside = f"{path}." if path else ""
    where = f"{path}: " if path else ""
    value, wanted = error.instance, error.validator_value  # what is there, and what the schema has
    if error.validator == "additionalProperties":
        keys = list(error.schema["properties"])
        for key in (key for key in value if key not in keys):
            near = difflib.get_close_matches(str(key), keys, n=1, cutoff=0.5)
            yield f"unknown key {inside}{key}" + (f"; did you mean {inside}{near[0]}?" if near else "")
    elif error.validator == "required":
        yield from (f"{inside}{key} is missing" for key in wanted if key not in value)
    elif error.validator == "enum" and "en" in wanted:
        yield f"{where}{_unknown_language(value, wanted)}"
    elif error.validator == "pattern" and path != "" and "://" not in wanted:
        yield f"{where}{value!r} does not have the form {wanted}"
    elif error.validator == "exclusiveMinimum":
        yield f"{where}{value} is not greater than {wanted}"
    elif error.validator == "type":
        yield f"{where}{error.message}{_yaml_advice(value)}"
    else:
        yield f"{where}{error.message}"


def _unknown_language(code: Any, codes: list[str]) -> str:
    if not isinstance(code, str):
        return f"unknown language {code!r}{_yaml_advice(code)}"
    near = difflib.get_close_matches(code, codes, n=5, cutoff=0.5)
    near = sorted({shortest(code)} & set(codes)) or near  # deu and de-AT are both de
    advice = f"; did you mean {' or '.join(near)}?" if near else f"; known: {' '.join(codes)}"
    return f"unknown language {code!r}{advice}"


def _yaml_advice(value: Any) -> str:
    """YAML 1.1 reads 1e-3 as text, `no` as false, and 2026-07-20 as a date."""
    if isinstance(value, bool):
        return "; put quotes around it if it is a word"
    if isinstance(value, datetime.date):
        return "; put quotes around it"
    for number in (int, float) if isinstance(value, str) else ():
        with suppress(ValueError):
            return f"; write {number(value)!r} without quotes"
    return ""


def results(study: str) -> Path:
    """The folder of everything that a run of the study makes, relative to the folder it runs in."""
    return RESULTS / study


def config_hash(config: StudyConfiguration) -> str:
    """First 12 hexadecimal digits of the sha256 of the configuration as canonical JSON.

    A key at its default does not count, so that a study has the same hash in a later version, which has more keys.
    """
    text = json.dumps(short(config), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
