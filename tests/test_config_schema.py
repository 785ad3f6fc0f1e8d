"""The schema of a configuration describes every key."""

import jsonschema
import pytest
from configurations import machine  # noqa: F401 (a fixture)
from langid import langid

from study import schema


def described(part, path="") -> list[tuple[str, dict, bool]]:
    """All keys of the schema: path, schema, and whether it may be left out."""
    keys = []
    for key, entry in part.get("properties", {}).items():
        sub = schema.resolved(entry)
        keys.append((f"{path}{key}", sub, key not in part.get("required", [])))
        keys += described(sub, f"{path}{key}.")
    if isinstance(others := part.get("additionalProperties"), dict):
        keys += described(schema.resolved(others), f"{path}*.")
    return keys


def test_every_key_has_a_description_and_a_valid_default():
    jsonschema.Draft202012Validator.check_schema(schema.schema())
    definitions = schema.schema()["$defs"]
    keys = described(schema.schema())
    assert len(keys) > 70
    for path, entry, optional in keys:
        assert entry.get("description", "").endswith("."), path
        assert ("default" in entry) == optional, path
        if optional and not ("$ref" in entry and entry["default"] is None):  # absent, there is no such part
            jsonschema.Draft202012Validator(entry | {"$defs": definitions}).validate(entry["default"])


def test_every_mapping_is_closed():
    for path, entry, _ in described(schema.schema()):
        if "object" in str(entry.get("type")):
            assert "additionalProperties" in entry, path


@pytest.mark.slow
def test_languages_are_those_of_langid():
    identifier = langid.LanguageIdentifier.from_modelstring(langid.model)
    assert schema.schema()["$defs"]["language"]["enum"] == sorted(identifier.nb_classes)
