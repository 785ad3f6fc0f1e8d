"""The type of measurements: what is made from it is up to date, and files are checked against it."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin

import pytest
import warm
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from measured import measured

from findings import captions
from formats import measurement, measurement_page, schema_from_dataclass
from formats.measurement import Measurement
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.search import switches
from report.compact import compact

ROOT = Path(__file__).parents[3]
FIXTURE = ROOT / "tests/data/measurements.json"


def test_the_page_and_the_schema_are_up_to_date_and_the_fixture_fits(tmp_path):
    call = [warm.python(), "-m", "formats.measurement_page", "--docs", tmp_path]
    subprocess.run(call, check=True, capture_output=True)
    for name in ("measurements.md", "measurement.schema.json"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text(), "python -m formats.measurement_page"
    schema = read_json(tmp_path / "measurement.schema.json")
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(read_json(FIXTURE))


def test_every_field_is_on_the_page_once():
    lines = measurement_page.page().splitlines()
    names = measurement_page.schema()["items"]["properties"]
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == list(names)
    row = next(line for line in lines if line.startswith("| `row`"))
    assert "records of the speed tables only" in row and "| string |" in row


@pytest.mark.parametrize("path", sorted((ROOT / "results/reference").rglob("measurements.json")), ids=str)
def test_what_is_read_is_kept_again(path):
    """Byte by byte."""
    kept = [measurement.brief(record.as_json()) for record in measurement.read(path)]
    assert compact(kept) + "\n" == path.read_text()


NUMBERS = st.one_of(st.integers(0, 99), st.floats(0, 10))
KINDS = {str: st.text(), int: st.integers(-9, 2**40), float: NUMBERS, bool: st.booleans()}


def values(hint):
    """Values of the type of a column."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(map(values, arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3)
    if origin is Mapping:
        return st.dictionaries(st.text(), values(arguments[1]), max_size=3)
    return st.none() if hint is NoneType else KINDS[hint]


def spread(record):
    """The ends of a spread are there where the spread is."""
    for column in measurement.columns():
        for end in ("_min", "_max"):
            name = f"{column.name}{end}"
            if name in record and None in (record[name], record[column.name]):
                record[name] = record[column.name]
    return record


RECORDS = st.fixed_dictionaries({column.name: values(column.type) for column in measurement.columns()}).map(spread)


@settings(max_examples=50, deadline=None)
@given(record=RECORDS)
def test_any_record_survives_a_file(tmp_path_factory, record):
    """Value by value, integers as integers, in the order of the schema."""
    path = tmp_path_factory.mktemp("records") / "m.json"
    made = Measurement.of(record)
    measurement.write(path, [made])
    assert measurement.read(path) == [made]
    (written,) = read_json(path)
    left_out = {column.name: column.default for column in measurement.columns() if column.name not in written}
    assert json.dumps({name: (written | left_out)[name] for name in record}) == json.dumps(record)
    assert [*written] == [column.name for column in measurement.columns() if column.name in written]
    assert all(column.only for column in measurement.columns() if column.name in left_out)
    Draft202012Validator(measurement_page.schema()).validate([written])
    assert Measurement.of(measurement.brief(written)) == made


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bleus": 1.0}, "Object contains unknown field `bleus`"),
        ({"runs": "3"}, "Expected `int`, got `str` - at `$.runs`"),
        ({"runs": True}, "Expected `int`, got `bool` - at `$.runs`"),
        ({"bleu": "high"}, "Expected `int | float | null`, got `str` - at `$.bleu`"),
        ({"role": "pupil"}, "Invalid enum value 'pupil' - at `$.role`"),
        ({"cores": [0, "1"]}, "Expected `int`, got `str` - at `$.cores[1]`"),
        ({"study": None}, "Expected `str`, got `null` - at `$.study`"),
        (5, "Expected `object`, got `int`"),
    ],
)
def test_a_wrong_field_is_named_with_its_record(tmp_path, values, message):
    good = measured().as_json()
    write_json(tmp_path / "m.json", [good, good | values if isinstance(values, dict) else values])
    with pytest.raises(UserError) as error:
        measurement.read(tmp_path / "m.json")
    assert str(error.value) == f"{tmp_path / 'm.json'}: record 2 has a wrong field; measure it again ({message})"


def test_records_of_older_versions_have_defaults():
    record, *_ = measurement.read(FIXTURE)
    assert (record.decoding.threads, record.decoding.without, record.conditions.noise, record.timing.others) == (
        1,
        set(),
        None,
        0.0,
    )
    assert record.timing.load_seconds.low == record.value("load_seconds_min")


def test_the_header_of_the_csv_has_no_fields_of_the_speed_tables():
    names = list(measurement_page.schema()["items"]["properties"])
    ablations = [name for name, one in switches.SWITCHES.items() if one.ablation]
    of_speed_tables = ["paper", "table", "row", "way", *ablations, "tried"]
    header = measurement.header([measured()])
    assert [name for name in names if name not in header] == [*of_speed_tables, "comet", "comet_signature"]
    header = measurement.header([measured(), measured(comet=80.0, comet_signature="model:x")])
    assert [name for name in names if name not in header] == of_speed_tables


@pytest.mark.parametrize(
    ("hint", "schema", "words"),
    [
        (int, {"type": "integer"}, "integer"),
        (float | None, {"type": ["number", "null"]}, "number or null"),
        (Literal["a", "b"], {"enum": ["a", "b"]}, '`"a"` or `"b"`'),
        (Literal["a"] | None, {"enum": ["a", None]}, '`"a"` or null'),
        (tuple[str, ...] | None, {"type": ["array", "null"], "items": {"type": "string"}}, "list of string or null"),
        (Mapping[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
    ],
)
def test_types(hint, schema, words):
    assert schema_from_dataclass.json_type(hint) == schema and schema_from_dataclass.type_name(schema) == words


# Marks


@pytest.mark.parametrize(
    ("others", "noise", "mark"), [(0.0, 0.1, ""), (0.1, 0.1, ""), (0.2, 0.1, "~"), (None, 0.1, "?"), (0.2, None, "")]
)
def test_marks(others, noise, mark):
    assert captions.mark(measured(others=others, noise=noise)) == mark


def test_the_worst_mark_counts_and_the_legend_has_each_once():
    assert captions.worst(["", "?", "~"]) == "~" and captions.worst(["", "?"]) == "?"
    assert captions.worst([]) == captions.legend(["", ""]) == ""
    assert captions.legend(["?", "~", "?"]).startswith("~: other processes")
    assert captions.legend(["?", "~", "?"]).count("too short") == 1
