"""The page of keys, docs/keys.md, in Markdown, made of the JSON schema."""

import json
import re
from collections.abc import Iterator

from common.document import Document

HEAD = """# Keys of a configuration

A study is one YAML file. A key that is absent or null takes its default. `extends: other.yaml` (relative to the file)
takes another study as the base: mappings are merged, everything else is replaced. `python -m study.config FILE` checks
a file and prints it with every key.

Editors that know JSON schema complete keys and underline mistakes if a file of `configs/` begins with
`# yaml-language-server: $schema=../workflow/schemas/config.schema.yaml`. That schema and this page are made from the
types in `src/study/configuration` by `python -m study.keys`.
"""
WORDS = {"string": "text", "boolean": "`true` or `false`"}


def text(schema: Document) -> str:
    """All sections: where they stand, and their keys with values, default and meaning."""
    definitions, places = schema["$defs"], dict[str, list[str]]()
    for name, place in _places(schema, definitions, ""):
        places.setdefault(name, []).append(f"`{place}`")
    parts = [HEAD, "## A study\n", _table(schema, definitions)]
    for name, found in places.items():
        description = _plain(definitions[name]["description"])
        parts += [
            f"\n## {_title(name)}\n",
            f"{', '.join(found)}: {description}\n",
            _table(definitions[name], definitions),
        ]
    return "\n".join(parts) + "\n"


def _places(part: Document, definitions: Document, path: str) -> Iterator[tuple[str, str]]:
    """The sections below a part, each with the path of its keys."""
    for key, entry in part["properties"].items():
        inside = {"": entry, "[]": entry.get("items"), ".*": entry.get("additionalProperties")}
        for suffix, inner in inside.items():
            if isinstance(inner, dict) and (name := _section(inner)):
                place = f"{path}{key}{suffix}"
                yield name, place
                yield from _places(definitions[name], definitions, f"{place}.")


def _section(part: Document) -> str:
    """The name of the section that a part refers to, if it does; names and languages are no sections."""
    return str(part["$ref"]).removeprefix("#/$defs/") if "$ref" in part and "type" in part else ""


def _title(name: str) -> str:
    """VocabularyMap: Vocabulary map."""
    return re.sub("(?<!^)([A-Z])", r" \1", name).capitalize()


def _table(part: Document, definitions: Document) -> str:
    rows = [("key", "values", "default", "meaning"), ("---",) * 4]
    for key, entry in part["properties"].items():
        meaning = entry.get("description") or definitions[_section(entry)]["description"]
        rows.append((f"`{key}`", _values(entry), _default(entry), _plain(meaning)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _default(entry: Document) -> str:
    if "default" not in entry:
        return "required"
    if entry["default"] is False and "`off`" in _values(entry):
        return "`off`"
    return "" if entry["default"] in (None, {}) else f"`{json.dumps(entry['default'], ensure_ascii=False)}`"


def _plain(words: str) -> str:
    """Text that is no Markdown table and, outside of code, no HTML."""
    return re.sub(r"`[^`]*`|<", lambda found: "&lt;" if found[0] == "<" else found[0], words).replace("|", "\\|")


def _values(part: Document) -> str:
    """The values of a key in words; null, which every key may be, is left out."""
    if "anyOf" in part:
        return " or ".join(map(_values, part["anyOf"]))
    if part.get("const", True) is False:
        return "`off`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"] if value is not None)
    if "type" not in part:
        return str(part["$ref"]).removeprefix("#/$defs/")
    kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
    return " or ".join(_of_kind(kind, part) for kind in kinds if kind != "null")


def _of_kind(kind: str, part: Document) -> str:
    if kind == "object" and "$ref" in part:
        return f"[keys](#{_title(_section(part)).lower().replace(' ', '-')})"
    if kind == "object":
        others = part["additionalProperties"]
        return "mapping" if others is True else f"mapping of {_values(others)}"
    if kind == "array":
        return f"list of {_values(part['items'])}"
    lowest = {"minimum": "from {}", "exclusiveMinimum": "above {}"}
    highest = {"maximum": "to {}", "exclusiveMaximum": "below {}"}
    limits = lowest | highest if kind in ("integer", "number") else {}
    return " ".join([WORDS.get(kind, kind), *(each.format(part[key]) for key, each in limits.items() if key in part)])
