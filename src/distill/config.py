"""The configuration of a study: read, merged with its base, checked, defaults filled in.

The JSON schema says what every key means; here is only what a schema cannot say.
"""

import argparse
import copy
import datetime
import difflib
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ctranslate2
import jsonschema
import langcodes
import yaml

from distill.sources.copies import KINDS, TWO_FILES, alternatives, declared_format
from distill.systems import ORIGINAL, learned_from, splits_as_study, systems, untrained
from formats.cpu import has_onemkl, int8_saturates, warning
from formats.decoding import HALF_TYPES
from formats.errors import UserError, command
from formats.files import read_json, write_json
from formats.prices import PATH as PRICES
from formats.prices import prices
from formats.shape import registry, shape

SCHEMA = Path(__file__).with_name("config.schema.yaml")  # a link to the one in workflow/schemas
RESULTS = Path("results")
EXPORTED_TYPES = ("float32", "int16", "int8")
ROLES_NEEDED = ("train", "dev", "test")
LENGTHS = ("steps", "epochs")  # of a training or a phase, one of them
BATCHES = ("batch_tokens", "batch_sentences")  # of a training, likewise
RESERVED_STUDY = "reference"  # results/reference is in git

Config = dict[str, Any]


class _UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; a second corpus of the same name is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        for position, (key, _) in enumerate(node.value):
            if key.value in keys[:position]:
                raise yaml.MarkedYAMLError(problem=f"key '{key.value}' is there twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


def load(path: str | Path) -> Config:
    """The effective configuration of a study: every key of the schema is there.

    Raises UserError with one line a problem, ``<file>: <path of the key>: <what is wrong>``.
    """
    config = _without_nulls(_extended(Path(path), ()))
    problems = list(_schema_problems(config, _schema()))
    if not problems:
        config = _filled(_with_own_training(_with_own_cleaning(_with_named_shapes(config))), _schema())
        config["prices"] = _with_price(config["prices"])
        config["distillation"]["compute_type"] = config["distillation"]["compute_type"] or _teachers_type(config)
        problems = list(_study_problems(config))
    if problems:
        raise UserError("\n".join(f"{path}: {problem}" for problem in problems))
    return config


def _teachers_type(config: Config) -> str:
    """What teachers compute in where the study does not say.

    On a CPU, what this study was last run with, so that the nodes of a cluster and a machine that goes on with it take
    the same, whatever their CPUs; else int8 where its products are exact here, float32 where they are not.
    """
    if config["distillation"]["device"] == "cuda":
        return "float16"
    if (noted := _note(config)).exists():
        return read_json(noted)["compute_type"]
    return "float32" if int8_saturates() else "int8"


def _note(config: Config) -> Path:
    return RESULTS / config["study"] / "distillation.json"


def note_teachers_type(config: Config) -> None:
    """Keep the type that the teachers of this run compute in for the next load()."""
    if config["distillation"]["device"] == "cpu":
        write_json(_note(config), {"compute_type": config["distillation"]["compute_type"]})


def warnings(config: Config) -> Iterator[str]:
    """What is allowed, but costs quality on this machine; a line each."""
    asked = config["distillation"]
    if config["teachers"] and asked["device"] == "cpu" and asked["compute_type"].startswith("int8"):
        yield from filter(None, [warning("distillation.compute_type")])


@cache
def listed_prices() -> dict[str, Config]:
    """formats/prices.yaml. Raises UserError for a price that does not say where it is from."""
    entries = {"type": "object", "additionalProperties": {"type": "object", "$ref": "#/$defs/price"}}
    if problems := list(_schema_problems(prices(), entries | {"$defs": _schema()["$defs"]})):
        raise UserError("\n".join(f"{PRICES}: {problem}" for problem in problems))
    return prices()


def _with_price(asked: Config) -> Config:
    """The entry of the machine instead of its name. Unknown names stay for the check to find."""
    machine, listed = asked["machine"], listed_prices()
    return {"machine": listed.get(machine, machine) if isinstance(machine, str) else machine}


def corpus(entry: Any) -> Config:
    """The effective form of one entry of ``corpora``. Raises UserError as load() does."""
    reference = {"$ref": "#/$defs/corpus"}
    entry = _without_nulls(entry)
    problems = list(_schema_problems(entry, reference | {"$defs": _schema()["$defs"]}))
    if problems:
        raise UserError("\n".join(f"corpus: {problem}" for problem in problems))
    return _filled(entry, reference)


def languages(corpus: Config, pair: list[str]) -> list[str]:
    """The languages a corpus is in: monolingual text has the source side only."""
    return pair[:1] if corpus["role"] == "monolingual" else pair


def config_hash(config: Config) -> str:
    """First 12 hexadecimal digits of the sha256 of the configuration as canonical JSON."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# Reading


def _extended(path: Path, above: tuple[Path, ...]) -> Config:
    if path.resolve() in above:
        raise UserError(f"{above[0]}: extends: {path} is its own base")
    config = _parsed(path)
    base = config.pop("extends", None)
    if base is None:
        return config
    if not isinstance(base, str):
        raise UserError(f"{path}: extends: {base!r} is not the name of a file")
    return _merged(_extended(path.parent / base, (*above, path.resolve())), config)


def _parsed(path: Path) -> Config:
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except yaml.MarkedYAMLError as error:
        where = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise UserError(f"{path}:{where} not YAML: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: not a mapping of keys to values")
    return config


def _merged(base: Any, top: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(top, dict)):
        return top
    return base | {key: _merged(base.get(key), value) for key, value in top.items()}


def _without_nulls(value: Any) -> Any:
    """Null means "as if the key were absent", so a study can drop a corpus of its base."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(item) for key, item in value.items() if item is not None}


# Schema


@cache
def _schema() -> dict:
    return yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))


def _resolved(schema: dict) -> dict:
    if "$ref" not in schema:
        return schema
    return _schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")] | schema


def _filled(value: Any, schema: dict) -> Any:
    """The value with the schema's defaults, keys in the order of the schema."""
    schema = _resolved(schema)
    if isinstance(value, list):
        return [_filled(item, schema.get("items") or {}) for item in value]
    if not isinstance(value, dict):
        return value
    named, others = schema.get("properties", {}), schema.get("additionalProperties")
    others = others if isinstance(others, dict) else {}
    filled = {key: _filled(value.get(key, copy.deepcopy(sub.get("default"))), sub) for key, sub in named.items()}
    return filled | {key: _filled(item, others) for key, item in value.items() if key not in named}


def _with_own_cleaning(config: Config) -> Config:
    """What the study says of cleaning holds for every corpus that does not say otherwise."""
    general = config.get("cleaning", {})
    corpora = {
        name: corpus | {"cleaning": general | corpus.get("cleaning", {})} for name, corpus in config["corpora"].items()
    }
    return config | {"corpora": corpora}


def _with_own_training(config: Config) -> Config:
    """Likewise what it says of the training of students."""

    def merged(own: Config) -> Config:
        # A student that has one of two has not the other one of the study.
        instead = {key for pair in (LENGTHS, BATCHES) if own.keys() & pair for key in pair}
        general = {key: value for key, value in config["student_training"].items() if key not in instead}
        return _filled(_merged(general, own), {"$ref": "#/$defs/training"})

    students = {
        name: entry | {"training": merged(entry.get("training", {}))} for name, entry in config["students"].items()
    }
    return config | {"students": students}


def _with_named_shapes(config: Config) -> Config:
    """Shapes with the numbers of the ones they are named after. Unknown names stay for the check to find."""

    def resolved(entry: Config) -> Config:
        values = entry.get("shape")
        values = {"like": values} if isinstance(values, str) else values
        if values and values.get("like") in registry():
            values = registry()[values["like"]] | {key: value for key, value in values.items() if key != "like"}
        return entry | ({"shape": values} if values else {})

    named = {
        kind: {name: resolved(entry) for name, entry in config.get(kind, {}).items()}
        for kind in ("teachers", "students")
    }
    reverse = {key: resolved(config[key]) for key in ("reverse_teacher",) if key in config}
    return config | named | reverse


def _schema_problems(value: Any, schema: dict) -> Iterator[str]:
    strict = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=strict)(schema)
    for error in sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path))):
        yield from _described(error, ".".join(map(str, error.absolute_path)))


def _described(error: jsonschema.ValidationError, path: str) -> Iterator[str]:
    inside = f"{path}." if path else ""
    where = f"{path}: " if path else ""
    value = error.instance
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        for key in (key for key in value if key not in known):
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
            yield f"unknown key {inside}{key}" + (f"; did you mean {inside}{near[0]}?" if near else "")
    elif error.validator == "required":
        yield from (f"{inside}{key} is missing" for key in error.validator_value if key not in value)
    elif error.validator == "enum" and "en" in error.validator_value:
        yield f"{where}{_unknown_language(value, error.validator_value)}"
    elif error.validator == "pattern" and path != "" and "://" not in error.validator_value:
        yield f"{where}{value!r} does not have the form {error.validator_value}"
    elif error.validator == "exclusiveMinimum":
        yield f"{where}{value} is not greater than {error.validator_value}"
    elif error.validator == "type":
        yield f"{where}{error.message}{_hint(value)}"
    else:
        yield f"{where}{error.message}"


def _unknown_language(code: Any, known: list[str]) -> str:
    near = difflib.get_close_matches(str(code), known, n=5, cutoff=0.5)
    if isinstance(code, str) and langcodes.tag_is_valid(code):  # deu and de-AT are both de
        near = sorted({langcodes.standardize_tag(code).split("-")[0]} & set(known)) or near
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; known: {' '.join(known)}"
    return f"unknown language {code!r}{hint}"


def _hint(value: Any) -> str:
    """YAML 1.1 has surprises: 1e-3 is text there, `no` is false, and 2026-07-20 is no text."""
    if isinstance(value, bool):
        return "; put quotes around it if it is a word"
    if isinstance(value, datetime.date):
        return "; put quotes around it"
    try:
        return f"; write {float(value)!r} without quotes" if isinstance(value, str) else ""
    except ValueError:
        return ""


# What a schema cannot say


def _study_problems(config: Config) -> Iterator[str]:
    if config["study"] == RESERVED_STUDY:
        yield f"study: {RESERVED_STUDY!r} is taken, results/{RESERVED_STUDY} is part of the repository"
    if config["source"] == config["target"]:
        yield f"target: {config['target']!r} is the source language too"
    if isinstance(machine := config["prices"]["machine"], str):
        known = ", ".join(listed_prices())
        yield f"prices.machine: {machine!r} is none of {known}; name one, or give an entry like those of {PRICES.name}"
    yield from _system_problems(config)
    yield from _corpora_problems(config)
    yield from _vocabulary_problems(config)
    yield from _compute_type_problems(config)
    yield from _speed_problems(config)
    if config["vocabulary_map"]["grid"] is not None and all(
        entry["shape"]["cell"] for entry in config["students"].values()
    ):
        yield "vocabulary_map.grid: the map is fitted to a student, and CTranslate2 has none of these recurrent ones"


def _system_problems(config: Config) -> Iterator[str]:
    for kind in ("teachers", "students"):
        for name, entry in config[kind].items():
            path = f"{kind}.{name}"
            yield from _teacher_problems(path, entry) if kind == "teachers" else _student_problems(path, entry, config)
            if entry["shape"]:
                yield from _shape_problems(f"{path}.shape", entry["shape"])
    if config["reverse_teacher"]:
        yield from _teacher_problems("reverse_teacher", config["reverse_teacher"])
        if config["reverse_teacher"]["shape"]:
            yield "reverse_teacher.shape: is not trained here; give checkpoint, ctranslate2 or converted"
    yield from _training_problems("student_training", config["student_training"])
    taken = ["reverse"] * bool(config["reverse_teacher"]) + ["ensemble"] * (len(config["teachers"]) > 1)
    names = [system.name for system in (*systems(config), *untrained(config))] + taken
    yield from (f"students: two systems have the name {name}" for name in sorted(set(names)) if names.count(name) > 1)
    yield from _distillation_problems(config)


def _teacher_problems(path: str, teacher: Config) -> Iterator[str]:
    given = [kind for kind in ("shape", "checkpoint", "ctranslate2", "converted") if teacher[kind] is not None]
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "has none"
        yield f"{path}: needs exactly one of shape, checkpoint, ctranslate2, converted; it {found}"
    elif given != ["shape"]:
        extra = [key for key in ("training", "seed") if teacher[key] is not None]
        yield from (f"{path}.{key}: is for a teacher that is trained here" for key in extra)
        tokenization = teacher["tokenization"] or {}
        if sum(value is not None for value in tokenization.values()) > 1:
            yield f"{path}.tokenization: has both sentencepiece and bpe; give one"
    elif teacher["training"] is None:
        yield f"{path}.training is missing"
    else:
        yield from _training_problems(f"{path}.training", teacher["training"])
        if teacher["tokenization"] is not None:
            yield f"{path}.tokenization: a teacher that is trained here has the study's own"
    if teacher["shape"] and teacher["shape"]["cell"]:
        yield f"{path}.shape.cell: CTranslate2 has no recurrent models, and it is what translates the training data"


def _student_problems(path: str, student: Config, config: Config) -> Iterator[str]:
    for number, mixture in enumerate(student["mixtures"] or ()):
        if mixture not in config["mixtures"]:
            yield f"{path}.mixtures.{number}: {mixture!r} is not one of the mixtures {', '.join(config['mixtures'])}"
    if (parent := student["start_from"]) is not None:
        teacher = config["teachers"].get(parent, {"shape": None})
        if not teacher["shape"]:
            yield f"{path}.start_from: {parent!r} is not a teacher that is trained here"
        elif teacher["shape"] != student["shape"]:
            yield f"{path}.start_from: {parent} has another shape, so its weights do not fit"
    problems = list(_schema_problems(student["training"], {"$ref": "#/$defs/training", "$defs": _schema()["$defs"]}))
    yield from (f"{path}.training: {problem}" for problem in problems)
    if not problems:
        yield from _training_problems(f"{path}.training", student["training"])


def _training_problems(path: str, training: Config) -> Iterator[str]:
    asked = [(path, training, LENGTHS), (path, training, BATCHES)]
    asked += [(f"{path}.then.{number}", phase, LENGTHS) for number, phase in enumerate(training["then"])]
    for where, values, pair in asked:
        given = [key for key in pair if values[key] is not None]
        if len(given) != 1:
            yield f"{where}: needs either {' or '.join(pair)}; it has {'both' if given else 'neither'}"


def _shape_problems(path: str, values: Config) -> Iterator[str]:
    if (like := values["like"]) is not None:
        yield _unknown_shape(path, like)
        return
    try:
        shape(values)
    except ValueError as error:
        yield f"{path}: {error}"


def _unknown_shape(path: str, name: str) -> str:
    near = difflib.get_close_matches(name, registry(), n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(registry())}"
    return f"{path}: unknown shape {name!r}{hint}"


def _distillation_problems(config: Config) -> Iterator[str]:
    distillation = config["distillation"]
    if distillation["n_best"] > distillation["beam_size"]:
        yield (f"distillation.n_best: {distillation['n_best']} hypotheses need a beam as wide; "
               f"beam_size is {distillation['beam_size']}")  # fmt: skip
    corpora = config["corpora"]
    for name, mixture in config["mixtures"].items():
        path = f"mixtures.{name}"
        if name == ORIGINAL and mixture["targets"] != "original":
            yield f"{path}.targets: this name is that of the teachers' data"
        if mixture["targets"] != "original" and not config["teachers"]:
            yield f"{path}.targets: {mixture['targets']} needs teachers; without any all targets are original"
        if mixture["teacher"] not in (None, *config["teachers"]):
            yield f"{path}.teacher: {mixture['teacher']!r} is not one of the teachers {', '.join(config['teachers'])}"
        for corpus in mixture["weights"] or ():
            role = corpora[corpus]["role"] if corpus in corpora else None
            allowed = ["train"] if mixture["targets"] == "original" else ["train", "monolingual"]
            if role not in allowed:
                yield f"{path}.weights.{corpus}: is not a corpus with the role {' or '.join(allowed)}"
        if mixture["targets"] == "interpolated" and distillation["n_best"] < 2:
            yield f"{path}.targets: interpolated chooses among hypotheses; distillation.n_best is 1 (the paper has 8)"
        if mixture["drop_by"] == "reverse" and config["reverse_teacher"] is None:
            yield f"{path}.drop_by: reverse needs a reverse_teacher"
        if mixture["targets"] == "original" and mixture["drop_worst"]:
            yield f"{path}.drop_worst: original targets have no scores"


def _vocabulary_problems(config: Config) -> Iterator[str]:
    """What is learned from translations cannot be needed to make them."""
    of, path = config["vocabulary"]["of"], "vocabulary.of"
    if of is None:
        return
    if of not in config["mixtures"]:
        yield f"{path}: {of!r} is not one of the mixtures {', '.join(config['mixtures'])}"
        return
    names = [name for name in learned_from(config, of) if name in config["teachers"]]
    needed = {name: config["teachers"][name] for name in names}
    if config["mixtures"][of]["drop_by"] == "reverse" and config["mixtures"][of]["drop_worst"]:
        needed |= {"reverse_teacher": config["reverse_teacher"]} if config["reverse_teacher"] else {}
    for name, teacher in needed.items():
        if splits_as_study(teacher):
            remedy = "take a teacher from elsewhere" if teacher["shape"] else "give it a tokenization of its own"
            yield f"{path}: {of} is made by {name}, which splits text with this vocabulary itself; {remedy}"


def _corpora_problems(config: Config) -> Iterator[str]:
    corpora = config["corpora"]
    roles = {corpus["role"] for corpus in corpora.values()}
    for role in ROLES_NEEDED:
        if role not in roles:
            yield f"corpora: none has the role {role}"
    texts: dict[str, str] = {}
    for name, corpus in corpora.items():
        path = f"corpora.{name}"
        given = [kind for kind in KINDS if corpus[kind] is not None]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "has none"
            yield f"{path}: needs exactly one source of {', '.join(KINDS)}; it {found}"
        else:
            kind = given[0]
            yield from (
                _builtin_problems(path, corpus, config) if kind == "builtin" else _source_problems(path, corpus, config)
            )
            text = _text_key(kind, corpus)
            if text in texts:
                where = f"{path}.builtin.split" if kind == "builtin" else path
                yield f"{where}: is the text of {texts[text]}"
            texts[text] = path
        if (most := corpus["max_lines"] or corpus["lines"]) and (corpus["sample"] or 0) > most:
            yield f"{path}.sample: {corpus['sample']:,} lines of {most:,}; take fewer, or all with null"
        yield from _cleaning_problems(path, corpus, config)


def _cleaning_problems(path: str, corpus: Config, config: Config) -> Iterator[str]:
    if corpus["role"] in ("dev", "test"):
        if corpus["cleaning"] != config["cleaning"]:
            yield f"{path}.cleaning: {corpus['role']} sets are never filtered"
        if corpus["sample"]:
            yield f"{path}.sample: {corpus['role']} sets are taken whole, or up to max_lines"
        return
    candidates = corpus["cleaning"]["langid_languages"]
    for side, language in zip(
        ("source", "target"), languages(corpus, [config["source"], config["target"]]), strict=False
    ):
        if candidates and side in corpus["cleaning"]["langid"] and language not in candidates:
            yield f"{path}.cleaning.langid_languages: {language}, the language of the {side} side, is not among them"


def _text_key(kind: str, corpus: Config) -> str:
    """Equal for corpora that are the same text, whatever is done with it."""
    source = corpus["builtin"]["split"] if kind == "builtin" else corpus[kind]
    return json.dumps([kind, source, *(corpus[key] for key in ("member", "columns", "query", "names"))], sort_keys=True)


def _source_problems(path: str, corpus: Config, config: Config) -> Iterator[str]:
    asked = languages(corpus, [config["source"], config["target"]])
    kind = declared_format(corpus)
    two = kind in TWO_FILES
    for key in ("columns", "names"):
        for language in asked if corpus[key] is not None else ():
            if language not in corpus[key]:
                known = ", ".join(corpus[key]) or "none"
                yield f"{path}.{key}: no {key.removesuffix('s')} for {language}; it has {known}"
    if isinstance(corpus["sha256"], str) and two:
        yield f"{path}.sha256: {kind} has a file for each language; give {asked[0]}: ... for each of them"
    in_mirror_two = "{lang}" in (corpus["mirror"] or "")
    if kind and isinstance(corpus["sha256"], dict) and not (two or in_mirror_two):
        yield f"{path}.sha256: {kind} has all languages in one file; give one checksum"
    if kind and len(asked) > 1:
        yield from _language_problems(path, corpus, two)
    yield from _reading_problems(path, corpus, kind)


def _reading_problems(path: str, corpus: Config, kind: str | None) -> Iterator[str]:
    """Keys that would be without effect, and one that must be there."""
    told = {"mtdata": ["member", "format", "columns"], "sacrebleu": ["member", "format"], "package": ["member"]}
    for source, keys in told.items():
        for key in keys if corpus[source] is not None else ():
            if corpus[key] is not None:
                yield f"{path}.{key}: {source} says this itself"
    for key, needed in (("query", "sqlite"), ("names", "sqlite"), ("columns", "tsv")):
        if corpus[key] is not None and kind not in (needed, None):
            yield f"{path}.{key}: is for the format {needed}, this is {kind}"
    if kind == "sqlite" and corpus["query"] is None:
        yield f"{path}.query is missing; the format sqlite needs it"


def _language_problems(path: str, corpus: Config, two: bool) -> Iterator[str]:
    """Two files need {lang} in the address, or in the member of an archive; one file has it nowhere."""
    inside = corpus["package"]["member"] if corpus["package"] else corpus["member"] or ""
    places = [("file", corpus["file"])] if corpus["file"] else []
    places += [(f"url.{number}", url) for number, parts in enumerate(alternatives(corpus)) for url in parts]
    places += [("package.member", inside)] if corpus["package"] else []
    for key, place in places:
        if two and "{lang}" not in place + inside:
            yield f"{path}.{key}: {place} has no {{lang}} in it (a file with both languages needs format: tsv or tmx)"
        elif not two and "{lang}" in place:
            yield f"{path}.{key}: {place} has {{lang}} in it, but its format has both languages in one file"


def _builtin_problems(path: str, corpus: Config, config: Config) -> Iterator[str]:
    from distill.grammar import LANGUAGES  # only built-in studies need the grammar

    if config["source"] != "en":
        yield f"{path}.builtin: the grammar is from English, not from {config['source']}"
    if config["target"] not in LANGUAGES:
        yield f"{path}.builtin: the grammar has no {config['target']}, only {', '.join(LANGUAGES)}"


def _compute_type_problems(config: Config) -> Iterator[str]:
    # CTranslate2 names int16 on Intel's CPUs only, but computes in it wherever it can be told to take oneMKL.
    here = {*ctranslate2.get_supported_compute_types("cpu"), *(["int16"] if has_onemkl() else [])}
    computed = [name for name in EXPORTED_TYPES if name in here]
    supported = [*computed, *HALF_TYPES]
    asked = [(f"decoding.compute_types.{i}", name) for i, name in enumerate(config["decoding"]["compute_types"])]
    if config["distillation"]["device"] == "cpu":  # what a GPU computes in is known where it is
        asked = [("distillation.compute_type", config["distillation"]["compute_type"]), *asked]
    for path, name in asked:
        if "bfloat16" in name and importlib.util.find_spec("torch") is None:
            yield f"{path}: {name!r} needs PyTorch, which is no dependency: pip install torch"
        elif name not in supported:
            yield f"{path}: {name!r} is not supported on this CPU; supported: {', '.join(supported)}"


def _speed_problems(config: Config) -> Iterator[str]:
    trained = {system.name: system for system in systems(config) if system.shape}
    recurrent = "is recurrent, and CTranslate2 has no such models"
    for number, name in enumerate(config["speed"]["systems"]):
        if name not in trained:
            yield f"speed.systems.{number}: {name!r} is not one of the systems {', '.join(trained)}"
        elif trained[name].shape["cell"]:
            yield f"speed.systems.{number}: {name} {recurrent}"
    for number, system in enumerate(untrained(config)):
        path = f"speed.untrained.{number}"
        if system.shape is None:
            yield _unknown_shape(path, system.student)
        elif "cell" in system.shape:
            yield f"{path}: {system.student} {recurrent}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the effective configuration of a study.")
    parser.add_argument("config", help="a file of configs/")
    print(yaml.safe_dump(load(parser.parse_args().config), sort_keys=False, allow_unicode=True, width=120), end="")


if __name__ == "__main__":
    command(main)
