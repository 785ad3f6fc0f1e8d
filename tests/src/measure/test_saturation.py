"""Whether 8-bit products are exact: predictions equal what the CPU computes, and the user is warned."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from models import folders, sentences

from formats import ctranslate2_products as products
from formats import records
from formats.decoding_options import DecodingOptions
from measure import int8_other_cpus
from measure.task import RunTask
from nmt_frontier import cpu

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
LIMITED = {"CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": "AVX2"}  # as on a CPU without VNNI
EXACT = {"CT2_USE_MKL": "1", "MKL_CBWR": "COMPATIBLE"}
INTEL, AMD = "GenuineIntel", "AuthenticAMD"
WITHOUT, WITH = "avx2 avx512f avx512bw", "avx2 avx512f avx512bw avx512_vnni"

wheel = pytest.mark.skipif(not products.has_onemkl(), reason="the libraries are those of the wheel for x86-64")


@pytest.mark.parametrize(
    ("vendor", "flags", "environment", "described", "saturates"),
    [
        (INTEL, WITH, {}, "oneMKL", False),
        (INTEL, WITHOUT, {}, "oneMKL", True),
        (INTEL, WITH, {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}, "oneMKL (AVX2)", True),
        (INTEL, WITH, {"MKL_ENABLE_INSTRUCTIONS": "avx2"}, "oneMKL", False),
        (INTEL, WITHOUT, {"MKL_CBWR": "COMPATIBLE,STRICT"}, "oneMKL (compatible)", False),
        (INTEL, WITH, {"CT2_USE_MKL": "0"}, "oneDNN", False),
        (INTEL, WITH, LIMITED, "oneDNN (AVX2)", True),
        (INTEL, WITH, LIMITED | {"ONEDNN_MAX_CPU_ISA": "avx512_core"}, "oneDNN (AVX512_CORE)", True),
        (INTEL, WITH, {"CT2_USE_MKL": "0", "DNNL_MAX_CPU_ISA": "AVX2"}, "oneDNN (AVX2)", True),
        (INTEL, WITH, {"CT2_USE_MKL": "0", "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "ALL"}, "oneDNN", False),
        (INTEL, WITH, {"ONEDNN_MAX_CPU_ISA": "AVX2"}, "oneMKL", False),  # not the library in use
        (AMD, "avx2", {}, "oneDNN", True),
        (AMD, "avx2 avx_vnni", {}, "oneDNN", False),
        (AMD, "avx2", {"CT2_USE_MKL": "1"}, "oneMKL", False),
        (AMD, "avx2", {"CT2_FORCE_CPU_ISA": "AVX512"}, "oneDNN", True),
        ("", "asimd", {}, "other", False),  # ARM
    ],
)
def test_predictions_from_the_cpu_and_the_environment(
    tmp_path, monkeypatch, vendor, flags, environment, described, saturates
):
    (tmp_path / "cpuinfo").write_text(f"vendor_id\t: {vendor}\nflags\t\t: {flags}\n\nvendor_id\t: none\n")
    monkeypatch.setattr(cpu, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(products.platform, "machine", lambda: "x86_64" if vendor else "aarch64")
    for name in products.settings():
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (products.described(), products.int8_saturates()) == (described, saturates)
    assert (products.warning("m") is not None) == saturates


@wheel
@pytest.mark.slow
def test_predictions_equal_what_is_computed(monkeypatch):
    """On the real CPU: what libraries compute cannot be pretended."""
    monkeypatch.setenv("PRETENDED_CPUINFO", "/proc/cpuinfo")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    saturation = importlib.import_module("saturation")
    rows = [saturation.row(environment, None) for environment in ({}, saturation.ONEDNN, LIMITED, EXACT)]
    for row in rows:
        assert row["said"] == any(errors["wrong"] for errors in row["products"].values()), row
    assert [rows[2]["said"], rows[3]["said"]] == [True, False]


@wheel
@pytest.mark.slow
def test_decoding_where_products_saturate_warns():
    def warnings(kind, environment):
        call = [sys.executable, "-m", "nmt_frontier", "translate", "--workers", "1", "--model", folders()[kind]]
        pipes = {"input": "".join(f"{line}\n" for line in sentences(3)), "capture_output": True, "text": True}
        return subprocess.run(call, env=os.environ | environment, check=True, **pipes).stderr.splitlines()

    (warning,) = warnings("int8", LIMITED)
    assert warning.startswith(f"warning: {folders()['int8']}: oneDNN (AVX2) does not add 8-bit")
    assert not warnings("float32", LIMITED) and not warnings("int8", EXACT)


@pytest.fixture
def test_set(tmp_path):
    records.write(path := tmp_path / "t.tsv.zst", ((line, line) for line in sentences(4)))
    return path


@wheel
def test_a_measurement_records_whether_it_saturated(test_set, tmp_path):
    how = DecodingOptions(vocabulary_map=True, cores=(min(os.sched_getaffinity(0)),))
    call = RunTask(folders()["int8"], how, [("t", test_set)], tmp_path / "run.json").command(tmp_path / "task.json")
    subprocess.run(call, env=os.environ | LIMITED, check=True)
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["library"] == "oneDNN (AVX2)" and run["int8_saturates"] is True


@wheel
@pytest.mark.parametrize("here", [True, False])
@pytest.mark.slow
def test_the_other_way_of_computing_is_tried(test_set, tmp_path, monkeypatch, here):
    monkeypatch.setattr(products, "int8_saturates", lambda: here)
    call = ["elsewhere", "--model", str(folders()["int8"]), "--test-set", str(test_set)]
    monkeypatch.setattr(sys, "argv", [*call, "--target-language", "de", "--output", str(tmp_path / "x.json")])
    int8_other_cpus.main()
    (found,) = json.loads((tmp_path / "x.json").read_text())
    assert found["int8_saturates"] is not here and 0 <= found["bleu"] <= 100
    assert found["environment"] == (int8_other_cpus.EXACT if here else int8_other_cpus.WITHOUT_VNNI)
