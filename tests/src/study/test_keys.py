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
from configurations import resolved
from langid import langid

from corpora.repairs import REPAIRS
from corpora.rules import REGISTRY
from corpora.settings import LANGUAGES, OWN_SCORES, TARGET_ONLY
from corpora.sources import SOURCES
from export.vocabulary_map import Knobs
from formats.shape import (
    CELLS,
    DECODERS,
    ConditionalShape,
    CustomShape,
    FullyConnectedShape,
    RecurrentShape,
    TransformerShape,
)
from nmt_frontier.search.sampling import Sampling
from study import config
from study.keys import PAGE, SCHEMA, page, schema, schema_text

ROOT = Path(__file__).parents[3]
TRAINING = {"steps": 10, "batch_tokens": 100, "learning_rate": 0.1}
STUDY = {
    "study": "keys", "source": "en", "target": "de",
    "corpora": {
        name: {"role": role, "file": f"{name}.{{lang}}"}
        for name, role in {
            "pairs": "train", "text": "monolingual", "alone": "monolingual_target", "watched": "dev", "seen": "test"
        }.items()
    },
    "back_translation": {"teacher": {"ctranslate2": "/back"}, "noise": {}},
    "teachers": {
        "trained": {"shape": "wngt2020-4-3", "training": TRAINING, "mixture": "reversed"},
        "given": {"ctranslate2": "/there"},
    },
    "distillation": {"n_best": 2, "engine": "native"},
    "decoding": {"cores": [0, 1]},
    "mixtures": {
        "distilled": {"drop_worst": 5, "augmentation": {"both_sides": {"email": 0.1}}},
        "original": {"targets": "original"},
        "reversed": {"targets": "original", "weights": {"alone": 1}},
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
    "mixtures.distilled.scores.command": "tac",
    "mixtures.distilled.weights": {"pairs": 2}, "mixtures.distilled.augmentation.both_sides": {"url": 0.1},
    "mixtures.distilled.augmentation.meant": {"typos": 0.1}, "mixtures.distilled.augmentation.source": {"joined": 0.1},
    "students.small.shape": "wngt2020-base", "students.small.mixtures": ["original"], "students.small.seeds": [1, 2],
    "students.small.training": {"steps": 3}, "students.small.start_from": "trained",
    "back_translation.tag": "<BT>",
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
    "Corpus": [
        *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "src/corpora/sources").glob("*.py"))),
        *("src/corpora/fetch.py", "src/corpora/settings.py", "src/study/systems.py", "corpora.smk"),
    ],
    "Cleaning": ["src/corpora/rules.py", "corpora.smk"],
    "Score": ["src/corpora/settings.py", "src/corpora/bounds.py"],
    "OwnScores": [
        *("src/study/plan/scores.py", "src/study/score_checks.py", "src/study/scoring.py", "scores.smk"),
        "src/scores/embeddings.py",
    ],
    "Teacher": [
        *("src/export/import_teacher.py", "src/export/settings.py", "src/distill/tokenization.py"),
        *("src/distill/settings.py", "src/study/systems.py", "src/study/workload.py", "src/study/plan/systems.py"),
    ],
    "Http": [
        *(f"src/distill/http_teacher/{name}.py" for name in ("prompt", "server", "teacher", "budget")),
        *("src/study/http_checks.py", "src/study/plan/systems.py"),
    ],
    "Training": [
        *(
            f"src/train/{name}.py"
            for name in ("train", "training", "schedule", "dataset", "optimizer", "guided_alignment")
        ),
        "training.smk",
    ],
    "ModelShape": ["src/study/expansion.py"],
    "StartLayers": ["src/train/start_layers.py"],
    "Words": ["src/train/word_distillation.py", "src/study/plan/mixtures.py"],
    "TranslationSampling": [],
    "Price": ["src/findings/cost.py", "src/study/jobs.py"],
}
TABLES = {  # keys that the code has in tables of its own
    "Corpus": {*SOURCES},
    "Cleaning": {key for key, _ in REGISTRY.values()} | {f"repair_{name}" for name in REPAIRS},
    "TranslationSampling": {field.name for field in fields(Sampling)},
    "ModelShape": {
        field.name
        for kind in (TransformerShape, RecurrentShape, ConditionalShape, FullyConnectedShape, CustomShape)
        for field in fields(kind)
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


# What a study needs for keys that are refused, or change nothing, beside those of STUDY.
CHOSEN = {"targets": "all", "keep": 2, "different": True, "candidates": {"n_best": 4, "beam_size": 5}}
BASES = {
    "study": STUDY,
    "knobs": changed(STUDY, "vocabulary_map", {}),  # a grid replaces them
    "different": changed(STUDY, "mixtures.distilled", CHOSEN),
    "aggregate": changed(STUDY, "mixtures.distilled", {"targets": "mbr", "metric": "chrf"}),
    "scores": changed(STUDY, "mixtures.distilled", {"targets": "mbr", "scores": {"command": "cat"}}),
}


def base(key):
    """The name of the study in which a key is varied."""
    if key.removeprefix("vocabulary_map.") in Knobs._fields:
        return "knobs"
    own = key.removeprefix("mixtures.distilled.").split(".")[0] if key.startswith("mixtures.distilled.") else ""
    if own in ("aggregate", "scores"):
        return own
    return "different" if own in ("candidates", "metric", "keep", "different") else "study"


@pytest.mark.long
def test_every_key_changes_the_plan(tmp_path):
    keys = dict(planned(schema()))
    assert len(keys) > 50 and set(PLANNED) <= set(keys)
    studies = {f"base-{number}-{name}": study for name, study in BASES.items() for number in (1, 2)}
    loaded = {}
    for name, study in BASES.items():
        (tmp_path / "base.yaml").write_text(yaml.safe_dump(study))
        loaded[name] = config.load(tmp_path / "base.yaml")
    for key, part in keys.items():
        value = another(key, part, reduce(getitem, key.split("."), loaded[base(key)]))
        studies[key] = changed(BASES[base(key)], key, value)
    (tmp_path / "base.yaml").unlink()
    for name, study in studies.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(study))
    command = [sys.executable, ROOT / "tests/plans.py", tmp_path, "all", "speed", "search"]
    subprocess.run(command, check=True, cwd=tmp_path)

    plans = {name: (tmp_path / f"{name}.plan").read_text() for name in studies}
    assert not [f"{name}: {text}" for name, text in plans.items() if text.startswith("Traceback")]
    for name in BASES:  # a key that nothing reads would leave the plan as it is
        assert plans[f"base-1-{name}"] == plans[f"base-2-{name}"] != ""
    assert [key for key in keys if plans[key] == plans[f"base-1-{base(key)}"]] == []


def names(part):
    """The keys of a definition and of the mappings inside it, without those that other files read."""
    part = resolved(part.get("items", part) if part.get("type") == "array" else part)
    for key, entry in part.get("properties", {}).items():
        yield key
        yield from names(entry) if entry.get("$ref", "").removeprefix("#/$defs/") not in READ_BY else ()


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
    described, grid = (schema()["$defs"][name]["properties"] for name in ("VocabularyMap", "Grid"))
    assert set(described) == {*Knobs._fields, "system", "grid", "coverage"} and set(grid) == set(Knobs._fields)


def test_cells_and_decoders_are_those_of_the_schema():
    """A shape on the command line does not pass the schema, so that the classes have them, too."""
    described = schema()["$defs"]["ModelShape"]["properties"]
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


def test_the_files_made_of_the_types_are_up_to_date():
    """``python -m study.keys`` makes them."""
    assert SCHEMA.read_text() == schema_text() and PAGE.read_text() == page.text(schema())


@pytest.mark.long
def test_languages_are_those_of_langid():
    identifier = langid.LanguageIdentifier.from_modelstring(langid.model)
    assert sorted(identifier.nb_classes) == LANGUAGES


def test_the_keys_beside_the_steps_of_another_pipeline_are_there():
    page = (ROOT / "docs/corpora.md").read_text().partition("### Mozilla's steps and ours")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[-1] for line in page.splitlines() if line.startswith("|")][2:]
    named = {part for row in rows for key in re.findall("`(.+?)`", row) for part in key.split(".") if "<" not in part}
    known = {name for each in definitions().values() for name in each} | {*OWN_SCORES, TARGET_ONLY}
    assert len(rows) > 20 and all("`" in row for row in rows) and named - known == set()


def definitions():
    """The keys of every section, by its name."""
    found = schema()
    return {name: each.get("properties", {}) for name, each in found["$defs"].items()} | {"": found["properties"]}
