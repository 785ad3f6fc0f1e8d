"""Every key of the schema is described, and has an effect: another value makes another plan, or a program reads it."""

import ast
import copy
import re
import subprocess
import sys
from dataclasses import fields
from functools import reduce
from operator import getitem
from pathlib import Path

import jsonschema
import pytest
import yaml
from langid import langid
from msgspec.inspect import DictType, ListType, NoneType, StructType, UnionType, type_info

from corpora.rules import REGISTRY
from corpora.sources import SOURCES
from export.vocabulary_map import Knobs
from formats.shape import CELLS, DECODERS, Conditional, Custom, FullyConnected, Recurrent, Transformer
from study import config
from study.configuration import Configuration
from study.schema import resolved, schema

ROOT = Path(__file__).parents[1]
TRAINING = {"steps": 10, "batch_tokens": 100, "learning_rate": 0.1}
STUDY = {
    "study": "keys", "source": "en", "target": "de",
    "corpora": {
        name: {"role": role, "file": f"{name}.{{lang}}"}
        for name, role in {"pairs": "train", "text": "monolingual", "watched": "dev", "seen": "test"}.items()
    },
    "teachers": {"trained": {"shape": "wngt2020-4-3", "training": TRAINING}, "given": {"ctranslate2": "/there"}},
    "distillation": {"n_best": 2, "engine": "native"},
    "decoding": {"cores": [0, 1]},
    "mixtures": {
        "distilled": {"drop_worst": 5, "augmentation": {"both_sides": {"email": 0.1}}},
        "original": {"targets": "original"},
    },
    "students": {"small": {"shape": "wngt2020-4-3"}},
    "student_training": TRAINING,
    "vocabulary_map": {"grid": {}},
    "metrics": {"comet": "/there/checkpoints/model.ckpt"},
    "robustness": {"types": ["int8"]},
}  # fmt: skip
PLANNED = {  # another value of each key that the schema suggests none for
    "study": "other", "source": "fr", "target": "fr", "mirror": "/elsewhere",
    "mixtures.distilled.targets": "interpolated", "mixtures.distilled.teacher": "trained",
    "mixtures.distilled.weights": {"pairs": 2}, "mixtures.distilled.augmentation.both_sides": {"url": 0.1},
    "mixtures.distilled.augmentation.meant": {"typos": 0.1}, "mixtures.distilled.augmentation.source": {"joined": 0.1},
    "students.small.shape": "wngt2020-base", "students.small.mixtures": ["original"], "students.small.seeds": [1, 2],
    "students.small.training": {"steps": 3}, "students.small.start_from": "trained",
    "distillation.compute_type": "int16", "vocabulary.character_coverage": 0.99, "vocabulary.of": "original",
    "vocabulary.symbols": ["<url>"],
    "vocabulary.normalization": "identity",
    **{f"vocabulary_map.grid.{knob}": [3] for knob in Knobs._fields if knob != "counted"},
    "vocabulary_map.grid.counted": ["links"], "vocabulary_map.max_ngram": 2, "vocabulary_map.coverage": 90,
    "vocabulary_map.system": "trained",
    "decoding.compute_types": ["float32", "int8"], "decoding.engines": [], "decoding.beam_sizes": [1, 2],
    "decoding.in_every_engine": ["small"],
    "decoding.cores": [1], "decoding.cpu": "EPYC",
    "robustness.systems": ["small"], "robustness.types": ["float32"], "robustness.beam_sizes": [4],
    "speed.systems": ["small"], "speed.untrained": ["wngt2020-base"], "search.system": "trained",
    "prices.machine": "m7i.large",
    "metrics.comet": "/elsewhere/model.ckpt", "metrics.comet_score": "/elsewhere/comet-score",
}  # fmt: skip
NAMED = {"mixtures": "distilled", "students": "small"}  # the entry of each section that is varied
# Definitions whose values reach a program as JSON, so that any change makes another plan, and the files that read them.
READ_BY = {
    "corpus": [
        *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "src/corpora/sources").glob("*.py"))),
        *("src/corpora/fetch.py", "src/study/systems.py", "corpora.smk"),
    ],
    "cleaning": ["src/corpora/rules.py", "corpora.smk"],
    "teacher": [
        *("src/export/import_teacher.py", "src/distill/tokenization.py", "src/distill/settings.py"),
        *("src/study/systems.py", "src/study/workload.py", "src/study/plan/systems.py"),
    ],
    "training": [
        *(
            f"src/train/{name}.py"
            for name in ("train", "training", "schedule", "dataset", "optimizer", "guided_alignment")
        ),
        "training.smk",
    ],
    "shape": ["src/study/expansion.py"],
    "start_layers": ["src/train/start_layers.py"],
    "price": ["src/findings/cost.py", "src/study/jobs.py"],
}
TABLES = {  # keys that the code has in tables of its own
    "corpus": {*SOURCES},
    "cleaning": {key for key, _ in REGISTRY.values()},
    "shape": {
        field.name for kind in (Transformer, Recurrent, Conditional, FullyConnected, Custom) for field in fields(kind)
    },
}


def planned(part, path=()):
    """The keys that another plan must follow from, with their schemas."""
    for key, entry in part.get("properties", {}).items():
        at = (*path, key)
        sub, definition = resolved(entry), entry.get("$ref", "").removeprefix("#/$defs/")
        others = sub.get("additionalProperties")
        if ".".join((*path[:1], key)) in ("students.shape", "prices.machine"):
            yield ".".join(at), sub
        elif definition in READ_BY:
            continue
        elif "properties" in sub:
            yield from planned(sub, at)
        elif isinstance(others, dict) and key in NAMED:
            yield from planned(resolved(others), (*at, NAMED[key]))
        elif isinstance(others, dict) and others.get("$ref", "").removeprefix("#/$defs/") in READ_BY:
            continue
        else:
            yield ".".join(at), sub


def changed(study, key, value):
    study = copy.deepcopy(study)
    *above, last = key.split(".")
    at = study
    for part in above:
        at = at.setdefault(part, {})
    at[last] = value
    return study


def another(key, part, value):
    """A value other than the one that the key has."""
    if key in PLANNED:
        return PLANNED[key]
    if choices := [choice for choice in part.get("enum", []) if choice not in (value, None)]:
        return choices[0]
    if isinstance(value, bool):
        return not value
    assert value is None or isinstance(value, int | float), f"{key}: name another value in PLANNED"
    return value / 2 if isinstance(value, float) else (value or 0) + 1


@pytest.mark.long
def test_every_key_changes_the_plan(tmp_path):
    keys = dict(planned(schema()))
    assert len(keys) > 50 and set(PLANNED) <= set(keys)
    # A grid replaces the knobs, so they are varied without one.
    bases = {False: STUDY, True: changed(STUDY, "vocabulary_map", {})}
    of_knob = {key: key.removeprefix("vocabulary_map.") in Knobs._fields for key in keys}
    studies = {f"base-{number}-{knobs}": base for knobs, base in bases.items() for number in (1, 2)}
    loaded = {}
    for knobs, base in bases.items():
        (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
        loaded[knobs] = config.load(tmp_path / "base.yaml")
    for key, part in keys.items():
        value = another(key, part, reduce(getitem, key.split("."), loaded[of_knob[key]]))
        studies[key] = changed(bases[of_knob[key]], key, value)
    (tmp_path / "base.yaml").unlink()
    for name, study in studies.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(study))
    command = [sys.executable, ROOT / "tests/plans.py", tmp_path, "all", "speed", "search"]
    subprocess.run(command, check=True, cwd=tmp_path)

    plans = {name: (tmp_path / f"{name}.plan").read_text() for name in studies}
    assert not [f"{name}: {text}" for name, text in plans.items() if text.startswith("Traceback")]
    for knobs in bases:  # a key that nothing reads would leave the plan as it is
        assert plans[f"base-1-{knobs}"] == plans[f"base-2-{knobs}"] != ""
    assert [key for key in keys if plans[key] == plans[f"base-1-{of_knob[key]}"]] == []


def names(part):
    """The keys of a definition and of the mappings inside it, without those of other definitions."""
    part = part.get("items", part) if part.get("type") == "array" else part
    for key, entry in part.get("properties", {}).items():
        yield key
        yield from names(entry) if "$ref" not in entry else ()


def read(path):
    """The keys that a file reads: ``x.key``, ``x["key"]``, ``x.get("key")``, ``x[key] for key in ("key", ...)``; in
    rules, every name and every word in quotes."""
    if path.endswith(".smk"):
        return set(re.findall(r'["."](\w+)\b', (ROOT / "workflow/rules" / path).read_text()))
    keys = []
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Subscript):
            keys.append(node.slice)
        elif isinstance(node, ast.Attribute):
            keys.append(ast.Constant(node.attr))
        elif isinstance(node, ast.comprehension | ast.For) and isinstance(node.iter, ast.Tuple):
            keys += node.iter.elts
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            keys.append(node.args[0])
        elif isinstance(node, ast.keyword) and node.arg == "name":  # of a field, whose key is a word of Python
            keys.append(node.value)
    return {node.value for node in keys if isinstance(node, ast.Constant)}


@pytest.mark.parametrize("definition", READ_BY)
def test_every_key_that_is_handed_on_is_read(definition):
    used = TABLES.get(definition, set()).union(*map(read, READ_BY[definition]))
    keys = [*names(schema()["$defs"][definition])]
    assert len(keys) > 1 and [key for key in keys if key not in used] == []


def test_the_knobs_of_a_map_are_those_of_the_schema():
    """Knobs are passed on as JSON, and checked against these."""
    described = schema()["properties"]["vocabulary_map"]["properties"]
    assert set(described) == {*Knobs._fields, "system", "grid", "coverage"}
    assert set(described["grid"]["properties"]) == set(Knobs._fields)


def test_cells_and_decoders_are_those_of_the_schema():
    """A shape on the command line does not pass the schema, so that the classes have them, too."""
    described = schema()["$defs"]["shape"]["properties"]
    assert described["cell"]["enum"] == [*CELLS, None] and described["decoder"]["enum"] == [*DECODERS, None]


def described(part, path=""):
    """All keys of the schema: path, schema, and whether it may be left out."""
    keys = []
    for key, entry in part.get("properties", {}).items():
        sub = resolved(entry)
        keys.append((f"{path}{key}", sub, key not in part.get("required", [])))
        keys += described(sub, f"{path}{key}.")
    if isinstance(others := part.get("additionalProperties"), dict):
        keys += described(resolved(others), f"{path}*.")
    return keys


def test_every_key_has_a_description_and_a_valid_default():
    jsonschema.Draft202012Validator.check_schema(schema())
    definitions = schema()["$defs"]
    keys = described(schema())
    assert len(keys) > 70
    for path, entry, optional in keys:
        assert entry.get("description", "").endswith("."), path
        assert ("default" in entry) == optional, path
        if optional and not ("$ref" in entry and entry["default"] is None):  # absent, there is no such part
            jsonschema.Draft202012Validator(entry | {"$defs": definitions}).validate(entry["default"])


def compared(part, kind, path=""):
    """The keys of each mapping, and whether it may be null: what the schema has beside what the types have."""
    part, kinds = resolved(part), kind.types if isinstance(kind, UnionType) else [kind]
    default_is_null = part.get("default", 0) is None
    yield f"{path}: may be null", default_is_null, any(isinstance(each, NoneType) for each in kinds)
    for each in kinds:
        if isinstance(each, StructType) and "properties" in part:
            fields = {field.encode_name: field.type for field in each.fields}
            yield path, [*part["properties"]], [*fields]
            for key, sub in part["properties"].items():
                yield from compared(sub, fields[key], f"{path}.{key}")
        elif isinstance(each, DictType) and "properties" in resolved(part.get("additionalProperties") or {}):
            yield from compared(part["additionalProperties"], each.value_type, f"{path}.*")
        elif isinstance(each, ListType) and "properties" in part.get("items", {}):
            yield from compared(part["items"], each.item_type, f"{path}.*")


def test_the_types_have_the_keys_of_the_schema():
    found = list(compared(schema(), type_info(Configuration)))
    assert len(found) > 180
    assert [(path, keys, fields) for path, keys, fields in found if keys != fields] == []


def test_every_mapping_is_closed():
    for path, entry, _ in described(schema()):
        if "object" in str(entry.get("type")):
            assert "additionalProperties" in entry, path


@pytest.mark.long
def test_languages_are_those_of_langid():
    identifier = langid.LanguageIdentifier.from_modelstring(langid.model)
    assert schema()["$defs"]["language"]["enum"] == sorted(identifier.nb_classes)
