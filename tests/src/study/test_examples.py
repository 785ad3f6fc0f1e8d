"""Examples in the comments of configs/ show every key that no configuration sets; uncommented, they are right.

An example begins with a # and a key, without a space between them, and goes on over the lines below it that have their
# in the same column, and more than one space behind it.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from configurations import CONFIGS, machine, resolved, saved  # noqa: F401 (a fixture)

from study import config, expansion
from study.keys import schema

EXAMPLE = re.compile(r"( *)#([\w-]+:.*)")
STUDIES = sorted(CONFIGS.glob("*.yaml"))


def uncommented(text):
    """The text with its examples, and the number of them."""
    lines, further, examples = [], None, 0
    for line in text.splitlines():
        if match := EXAMPLE.fullmatch(line):
            line, examples = "".join(match.groups()), examples + 1
            further = re.compile(f"({match[1]})#(  .*)")
        elif further and (match := further.fullmatch(line)):
            line = "".join(match.groups())
        else:
            further = None
        lines.append(line)
    return "\n".join(lines), examples


def study_with_examples(path):
    """The mapping of a configuration with its examples, which can be saved anywhere, and the number of them."""
    text, examples = uncommented(path.read_text())
    study = yaml.load(text, Loader=expansion._UniqueKeyLoader)
    base = {"extends": str(CONFIGS / study["extends"])} if "extends" in study else {}
    return study | base, examples


def keys(part, at=""):
    """All keys of a part of the schema; those of a definition are the same, wherever it stands."""
    at, part = part.get("$ref", at), resolved(part)
    for key, entry in part.get("properties", {}).items():
        yield f"{at}.{key}"
        yield from keys(entry, f"{at}.{key}")
    for entry in (part.get("items"), part.get("additionalProperties")):
        yield from keys(entry, at) if isinstance(entry, dict) else ()


def used(value, part, at=""):
    """Those that a value has."""
    at, part = part.get("$ref", at), resolved(part)
    if isinstance(value, list):
        for item in value:
            yield from used(item, part.get("items") or {}, at)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in part.get("properties", {}):
            yield f"{at}.{key}"
            yield from used(item, part["properties"][key], f"{at}.{key}")
        elif isinstance(others := part.get("additionalProperties"), dict):
            yield from used(item, others, at)


def test_what_is_an_example():
    text = "a: 1 #b: 2\n#c: 3\n# d: 4\n  #e:\n  #  f: 5\n  #   - 6\n  # g\n  #  h: 7\n#i"
    expected = "a: 1 #b: 2\nc: 3\n# d: 4\n  e:\n    f: 5\n     - 6\n  # g\n  #  h: 7\n#i"
    assert uncommented(text) == (expected, 2)


def test_every_key_is_in_a_configuration_or_in_an_example():
    shown = {key for path in STUDIES for key in used(study_with_examples(path)[0], schema())}
    every = {*keys(schema())}
    assert len(every) > 150 and shown - every == set()
    assert sorted(every - shown) == []


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_examples_are_right_and_do_something(path, tmp_path):
    study, examples = study_with_examples(path)
    changed = config.load(saved(tmp_path, study))
    assert (changed == config.load(path)) is not bool(examples)


@pytest.mark.long
def test_studies_can_be_planned_with_their_examples(tmp_path):
    planned = []
    for path in STUDIES:
        study, examples = study_with_examples(path)
        if examples:
            fewer = {key: study.get(key, {}) | {"shards": 2} for key in ("distillation", "alignment")}
            planned.append(saved(tmp_path, study | fewer, path.name))
    subprocess.run([sys.executable, Path(__file__).parents[2] / "plans.py", tmp_path, "all"], check=True, cwd=tmp_path)
    plans = {path.name: path.with_suffix(".plan").read_text() for path in planned}
    assert len(plans) > 3 and all(plans.values())
    assert [f"{name}: {plan}" for name, plan in plans.items() if plan.startswith("Traceback")] == []
