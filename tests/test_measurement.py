"""The type of measurements: what is made from it is up to date, and files are checked against it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import jsonschema
import pytest
import warm
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import measured

from common.errors import UserError
from common.files import read_json, write_json
from findings import captions
from formats import measurement, schema_from_dataclass, switches
from report.keep import compact

ROOT = Path(__file__).parents[1]
FIXTURE = ROOT / "tests/data/measurements.json"
OPTIONAL = st.one_of(st.none(), st.floats(0, 10))


def test_the_page_and_the_schema_are_up_to_date_and_the_fixture_fits(tmp_path):
    call = [warm.python(), "-m", "formats.measurement", "--docs", tmp_path]
    subprocess.run(call, check=True, capture_output=True)
    for name in ("measurements.md", "measurement.schema.json"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text(), "python -m formats.measurement"
    schema = read_json(tmp_path / "measurement.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(read_json(FIXTURE), schema)


def test_every_field_is_on_the_page_once():
    lines = measurement.page().splitlines()
    names = measurement.schema()["items"]["properties"]
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == list(names)
    rung = next(line for line in lines if line.startswith("| `rung`"))
    assert "records of the speed tables only" in rung and "string or null" in rung


@pytest.mark.parametrize("path", sorted((ROOT / "results/reference").glob("*/measurements.json")), ids=str)
def test_what_is_read_is_written_again(path, tmp_path):
    """Byte by byte."""
    measurement.write(tmp_path / "m.json", measurement.read(path))
    assert compact(read_json(tmp_path / "m.json")) + "\n" == path.read_text()


@settings(max_examples=25, deadline=None)
@given(noise=OPTIONAL, others=OPTIONAL, rung=st.one_of(st.none(), st.text()), runs=st.lists(st.floats(0, 9)))
def test_any_record_survives_a_file(tmp_path_factory, **values):
    path = tmp_path_factory.mktemp("records") / "m.json"
    record = measured(text_seconds_runs=values.pop("runs"), tried={"512": 1.5}, **values)
    measurement.write(path, [record])
    assert measurement.read(path) == [record]
    assert ("rung" in read_json(path)[0]) == (record.rung is not None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bleus": 1.0}, "record 2: Additional properties are not allowed ('bleus' was unexpected)"),
        ({"runs": "3"}, "record 2: runs: '3' is not of type 'integer'"),
        ({"runs": True}, "record 2: runs: True is not of type 'integer'"),
        ({"bleu": "high"}, "record 2: bleu: 'high' is not of type 'number', 'null'"),
        ({"role": "pupil"}, "record 2: role: 'pupil' is not one of ['teacher', 'student', 'control', 'untrained']"),
        ({"cores": [0, "1"]}, "record 2: cores: 1: '1' is not of type 'integer'"),
        ({"study": None}, "record 2: study: None is not of type 'string'"),
        (5, "record 2: 5 is not of type 'object'"),
    ],
)
def test_a_wrong_field_is_named_with_its_record(tmp_path, values, message):
    good = measured().as_json()
    write_json(tmp_path / "m.json", [good, good | values if isinstance(values, dict) else values])
    with pytest.raises(UserError) as error:
        measurement.read(tmp_path / "m.json")
    assert str(error.value) == f"{tmp_path / 'm.json'}: {message}"


def test_records_of_older_versions_have_defaults():
    record, *_ = measurement.read(FIXTURE)
    assert (record.threads, record.without, record.noise, record.others) == (1, set(), None, 0.0)
    assert record.spread("load_seconds").low == record.load_seconds_min


def test_the_header_of_the_csv_has_no_fields_of_the_speed_tables():
    names = list(measurement.schema()["items"]["properties"])
    of_speed_tables = ["rung", *(name for name, one in switches.SWITCHES.items() if one.ablation), "tried"]
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
