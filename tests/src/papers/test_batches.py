"""The rows of WNGT 2020 with the batches of OpenNMT-tf's automatic configuration. The measurement is made up."""

import shutil
import sys
from pathlib import Path

import pytest
from descriptions import redescribe
from measured import measured
from models import folders, sentences

from experiments import table_rows
from formats import measurement, records
from nmt_frontier.errors import UserError
from papers.wngt2020 import batches

KEPT = Path(__file__).parents[3] / "results/reference/wngt2020-speed/batches.json"
DECODED = (
    "engine", "compute_type", "student", "beam_size", "vocabulary_map", "batch_tokens", "batch_sentences", "sorting",
    "overlap", "packed",
)  # fmt: skip


def record(configuration):
    about, options = configuration.model.description, configuration.options
    names = ("beam_size", "vocabulary_map", "batch_tokens", "batch_sentences")
    values = {name: options[name] for name in names}
    values |= {"engine": about.engine, "compute_type": about.quantization, "student": about.student}
    return measured(configuration.without, **values)


@pytest.mark.slow
def test_the_rows_are_decoded_as_those_of_the_kept_result(tmp_path, monkeypatch):
    native = pytest.importorskip("native").folders()
    sources = {name: folders()[name] for name in ("opennmt-tf", "float32", "int8")} | {"native-int8": native / "int8"}
    models = []
    for student in (batches.BASE, batches.SMALL):
        for name, source in sources.items():
            models.append(shutil.copytree(source, tmp_path / f"{student}-untrained" / name))
            redescribe(models[-1], role="untrained", system=f"{student}-untrained", student=student)
    monkeypatch.setattr(table_rows.protocol, "timed", lambda todo, args: [*map(record, todo)])
    records.write(text := tmp_path / "text.tsv.zst", zip(sentences(6), sentences(6), strict=True))

    def measure(*folders):
        call = ["batches", "--models", *folders, "--test-sets", f"test={text}", "--runs", 2, "--sentences", 6]
        call += ["--translations", tmp_path / "x", "--output", tmp_path / "x.json"]
        monkeypatch.setattr(sys, "argv", [*map(str, call)])
        batches.main()
        return measurement.read(tmp_path / "x.json")

    found, kept = ({one.place: one.as_json() for one in rows} for rows in (measure(*models), measurement.read(KEPT)))
    assert found.keys() == kept.keys() and len(found) == len(batches.ROWS) == 7
    for place, row in found.items():
        assert {name: row[name] for name in DECODED} == {name: kept[place][name] for name in DECODED}, place
    with pytest.raises(UserError, match="--models: none of wngt2020-4-3 for opennmt-tf in float32"):
        measure(*models[:4])
