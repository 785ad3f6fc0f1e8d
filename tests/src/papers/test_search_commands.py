"""The programs that time search, and the pages from their JSON."""

import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from descriptions import redescribe
from measured import replaced
from models import folders
from search_set import CORE, SOURCES, search_set  # noqa: F401 (the fixture test_set)

from decode.engines.ctranslate2 import CTranslate2
from formats import measurement, records
from measure import in_process
from nmt_frontier.errors import UserError
from nmt_frontier.search import loading
from papers.fastseq2021 import pipeline_cost, pipeline_cost_report
from papers.wnmt2018 import beam_batch_report, components, components_native, components_report
from papers.wnmt2018.documents import OPERATORS
from report import __main__ as report
from report.registry import SUBJECTS

pytestmark = pytest.mark.long


def run(module, *arguments):
    call = [sys.executable, "-m", f"papers.{module}", *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def timing(module, test_set, output, *more):
    """The JSON of a measurement on one core, without repetitions for noise."""
    run(module, "--test-set", test_set, "--runs", 2, "--noise", 1, "--core", CORE, "--output", output, *more)
    return json.loads(output.read_text())


def page(question, tmp_path, *found):
    """Make the page of a question; return its table."""
    written = tmp_path / f"{question}.md", tmp_path / f"{question}.svg", tmp_path / f"{question}.png"
    sys.argv = ["report", f"search-{question}", "--input", *map(str, found), "--output", *map(str, written)]
    report.main()
    assert all(path.stat().st_size > 1000 for path in written[1:])
    return written[0].read_text()


def timed_page(module, question, test_set, tmp_path, *more):
    """The JSON of a measurement and its table."""
    found = timing(module, test_set, tmp_path / "x.json", *more)
    return found, page(question, tmp_path, tmp_path / "x.json")


def footnote(question, found):
    return " ".join(SUBJECTS[f"search-{question}"].functions().draw(found).get_supxlabel().split())


def grid(test_set, tmp_path, *models, beams=(1,), sizes=(1, 4)):
    """The records of a grid of beam and batch sizes."""
    options = ["--test-sets", f"first={test_set}", "--core", CORE, "--runs", 1, "--target-language", "de"]
    options += ["--beam-sizes", *beams, "--batch-sentences", *sizes, "--translations", tmp_path / "grid"]
    run("wnmt2018.beam_batch", "--model", *models, *options, "--output", tmp_path / "grid.json")
    return measurement.read(tmp_path / "grid.json")


def ways(rows):
    return [(row["compute_type"], row["beam_size"], row["vocabulary_map"]) for row in rows]


# The searches of components: float32 and int8 without a map, int8 with it
SEARCHES = [*itertools.product(("float32", "int8"), (1, 2), (False,)), ("int8", 1, True), ("int8", 2, True)]


def shares(row, key="shares"):
    return {name: value["share"] for name, value in row[key].items()}


def test_grid(test_set, tmp_path):
    found = grid(test_set, tmp_path, folders()["int8"], "--exact", folders()["float32"], beams=(1, 2))
    places = [*itertools.product((1, 2), (1, 4)), (1, None), (4, None)]  # the last two in float32
    assert [(r.decoding.beam_size, r.decoding.batch_sentences) for r in found] == places
    for record in found:
        lines = (tmp_path / record.decoding.output).read_text(encoding="utf-8").splitlines()
        bleu = sacrebleu.corpus_bleu(lines, [SOURCES])
        assert (
            record.scores.bleu == pytest.approx(bleu.score)
            and record.scores.bleu_signature
            and record.timing.cpu_seconds > 0
        )
    assert len({record.scores.bleu for record in found}) > 1  # the beam of 2 has other translations
    text = page("grid", tmp_path, tmp_path / "grid.json")
    shown = ("## BLEU", "## Source words", "beam 2", f"{found[0].timing.cpu_seconds:.2f}")
    assert all(part in text for part in shown)
    best = found[-1].scores.bleu + 1
    found[-2] = replaced(found[-2], bleu=best)
    text = beam_batch_report.table(found)
    assert f"without a map, tiny float32 greedy ({best:.2f})" in text
    lost = text.split("## Loss of BLEU")[1].split("##")[0]
    assert f" {best - found[0].scores.bleu:z.2f} |" in lost and "beam 4" not in lost
    assert footnote("grid", found).startswith("tiny (1:1 d16 ff32 h2); first, 12 sentences; a single run, ")


def test_the_grid_of_an_untrained_model_has_no_bleu(test_set, tmp_path):
    folder = shutil.copytree(folders()["int8"], tmp_path / "int8")
    redescribe(folder, role="untrained")
    found = grid(test_set, tmp_path, folder, "--sentences", 6)
    assert {record.decoding.sentences for record in found} == {6} and found[0].scores.bleu is None
    text = page("grid", tmp_path, tmp_path / "grid.json")
    assert "there is no BLEU" in text and "## BLEU" not in text and "## CPU seconds" in text
    assert len(beam_batch_report.draw(found).axes) == 1


def test_components_of_both_engines(test_set, tmp_path):
    models = [folders()["float32"], folders()["int8"]]
    found = timing("wnmt2018.components", test_set, tmp_path / "a.json", "--models", *models, "--beam-sizes", 1, 2)
    assert ways(found["rows"]) == SEARCHES
    options = ["--model", folders()["opennmt-tf"], "--beam-sizes", 2]
    base = timing("wnmt2018.components_tf", test_set, tmp_path / "b.json", *options)
    assert all(shares(base["rows"][0])[name] > 0 for name in components.COMPONENTS)
    operators = shares(base["rows"][0], "operators")
    assert tuple(operators) == OPERATORS
    assert all(operators[name] > 0 for name in ("linear", "attention", "softmax"))  # a tiny model proves no order
    assert sum(operators.values()) == pytest.approx(1, abs=0.05)
    for row in (*found["rows"], *base["rows"]):
        assert set(row["shares"]) == set(components.COMPONENTS) and row["cpu_seconds"] > 0
    text = page("components", tmp_path, tmp_path / "b.json", tmp_path / "a.json")
    assert "OpenNMT-tf, float32, beam 2" in text and "CTranslate2, int8, beam 2, map" in text
    assert text.count(" profiler |") == 1 and text.count(" differences |") == len(SEARCHES)
    below = footnote("components", components_report.together([base, found]))
    assert "12 sentences of first" in text and "first, 12 sentences; medians of 2 runs" in below
    assert "Parts below zero are not drawn; the others fill the bar." in below


def test_pipelines(test_set, tmp_path):
    found = timing(
        "fastseq2021.pipeline_cost", test_set, tmp_path / "p.json", "--models", folders()["int8"], "--lines", 30
    )
    expected = pipeline_cost.settings(sorted(os.sched_getaffinity(0)))
    assert [(len(row["cores"]), row["workers"]) for row in found["rows"][::3]] == [(len(c), w) for c, w in expected]
    assert [row["way"] for row in found["rows"][:3]] == ["engine", "synchronous", "asynchronous"]
    assert all(row["times_engine"] == 1 for row in found["rows"] if row["way"] == "engine")
    assert "1 worker, 1 core" in page("pipeline", tmp_path, tmp_path / "p.json")
    assert footnote("pipeline", found).startswith("tiny (1:1 d16 ff32 h2); first, 30 lines; medians of 2 runs, ")


def test_ngrams(test_set, tmp_path):
    options = ["--models", folders()["int8"], "--beam-sizes", 1, 2, "--lengths", 8, 16]
    found, text = timed_page("fastseq2021.ngram_timing", "ngrams", test_set, tmp_path, *options)
    assert len(found["algorithms"]) == 2 * 2 * 3 and len(found["engine"]) == 2 * 2
    assert all(row["times_scan"] == 1 for row in found["algorithms"] if row["way"] == "scan")
    assert "extra ms a step" in text and "not comparable" in text
    assert "drawn at random, of 40 so that trigrams come again, from a vocabulary of 8,000" in text
    assert "batches of 32 sentences; medians of 2 runs" in footnote("ngrams", found)
    assert "Extra milliseconds of zero or less are not drawn." in footnote("ngrams", found)


def test_cache(test_set, tmp_path):
    options = ["--models", folders()["int8"], "--beam-sizes", 1, 4, "--pieces", 20, "--lengths", 8]
    found, text = timed_page("fastseq2021.encoder_cache", "cache", test_set, tmp_path, *options)
    assert [row["copies_bytes"] for row in found["engine"]] == [0, 3 * 2 * 64 * 20 * 16 * 4]
    assert len(found["reckoning"]) == 2 * 3
    assert "copies alone" in text and "estimates for 1,024 pieces in and 50 out" in text
    assert "64 sources of 20 pieces; medians of 2 runs" in footnote("cache", found)


# With the native engine beside CTranslate2


@pytest.fixture(scope="module")
def native():
    return pytest.importorskip("native").folders()


def test_components_by_the_native_engines_own_clock(native, test_set, tmp_path):
    own = [native / kind for kind in ("float32", "int8")]
    models = ["--models", folders()["int8"], *own, "--beam-sizes", 1, 2]
    found = timing("wnmt2018.components", test_set, tmp_path / "a.json", *models)
    rows = [row for row in found["rows"] if row["how"] == "clock"]
    assert ways(rows) == SEARCHES
    for row in rows:
        assert [name for name, share in shares(row).items() if share <= 0] == ["other"]
        assert sum(shares(row).values()) == pytest.approx(1, abs=0.05) and row["engine_label"] == "native"  # of medians
    (written := tmp_path / "b.json").write_text(json.dumps({**found, "rows": []}))
    text = page("components", tmp_path, written, tmp_path / "a.json")
    assert text.count("| native, int8, beam 2, map") == 2 and text.count(" clock |") == 6 and "* **clock**" in text
    assert "By operators" in text


def test_the_groups_have_each_component_of_the_engine_once(native):
    from nmt_frontier.bindings import components as names

    assert sorted(itertools.chain(*components_native.GROUPS.values())) == sorted(names())
    assert tuple(components_native.GROUPS) == components.COMPONENTS
    assert sorted(itertools.chain(*components_native.OPERATORS.values())) == sorted(names())
    assert set(components_native.OPERATORS) < set(OPERATORS)


def test_the_pipelines_of_two_engines(native, test_set, tmp_path):
    models = ["--models", folders()["int8"], native / "int8"]
    found = timing("fastseq2021.pipeline_cost", test_set, tmp_path / "p.json", *models, "--lines", 30)
    half = len(found["rows"]) // 2
    assert [row["engine_label"] for row in found["rows"]] == ["CTranslate2"] * half + ["native"] * half
    assert page("pipeline", tmp_path, tmp_path / "p.json").count(" native |") == half
    panels = pipeline_cost_report.draw(found).axes
    assert [axes.get_title(loc="left") for axes in panels] == ["CTranslate2", "native"]


def test_ngrams_of_the_native_engine(native, test_set, tmp_path):
    options = ["--models", folders()["int8"], native / "int8", "--beam-sizes", 2, "--lengths", 8, 16]
    found, text = timed_page("fastseq2021.ngram_timing", "ngrams", test_set, tmp_path, *options)
    rows = [(row["engine_label"], row["way"], row["length"]) for row in found["engine"]]
    scans = [("native", scan, length) for length in (8, 16) for scan in ("vectors", "places")]
    assert rows == [("CTranslate2", "on", 8), ("CTranslate2", "on", 16), *scans]
    assert text.count("| native ") == 4 and "which looks for n-grams with vectors" in text and "CTranslate2 4" in text


def test_copies_of_the_cache_in_the_native_engine(native, test_set, tmp_path):
    options = ["--models", folders()["int8"], native / "float32", "--beam-sizes", 1, 8, "--pieces", 200]
    found, text = timed_page("fastseq2021.encoder_cache", "cache", test_set, tmp_path, *options, "--lengths", 8)
    one, many = found["native"]
    assert [one["beam_size"], many["beam_size"]] == [1, 8] and many["times_shared"] > 0
    copies = 2 * 7 * 64 * 200 * 16 * 4  # keys and values of 7 further beams, float32
    assert many["copied_bytes"] - many["shared_bytes"] > copies / 2
    assert "a copy a beam, added MB" in text and "as engines did that FastSeq improved" in text


def test_the_grid_describes_the_candidates(native, test_set, tmp_path):
    found = grid(test_set, tmp_path, native / "int8")
    text = beam_batch_report.table(found)
    assert len({record.scores.bleu for record in found}) == 1 and "in native" in text
    assert "Here each sentence has candidates of its own" in text


# With the native engine alone, where CTranslate2 does not run the system


@pytest.fixture(scope="module")
def gru():
    pytest.importorskip("native")
    return importlib.import_module("recurrent").folders()


def test_the_grid_of_a_recurrent_model(gru, test_set, tmp_path):
    found = grid(test_set, tmp_path, gru["int8"], "--exact", gru["float32"], beams=(1, 2), sizes=(4,))
    kinds = ("int8", "int8", "float32", "float32")
    assert [(record.decoding.engine, record.decoding.compute_type) for record in found] == [
        ("native", kind) for kind in kinds
    ]
    assert "in native" in page("grid", tmp_path, tmp_path / "grid.json")


def test_components_of_a_recurrent_model(gru, test_set, tmp_path):
    models = ["--models", gru["float32"], gru["int8"], "--beam-sizes", 1, 2]
    found, text = timed_page("wnmt2018.components", "components", test_set, tmp_path, *models)
    assert [row["how"] for row in found["rows"]] == ["clock"] * 6
    for row in found["rows"]:
        assert [name for name, share in shares(row).items() if share <= 0] == ["other"]
    assert "**differences**" not in text and text.count(" clock |") == 6


def test_search_of_a_recurrent_model(gru, test_set, tmp_path):
    found = timing("fastseq2021.pipeline_cost", test_set, tmp_path / "p.json", "--models", gru["int8"], "--lines", 30)
    assert {row["engine_label"] for row in found["rows"]} == {"native"}
    options = ["--models", gru["int8"], "--beam-sizes", 2, "--lengths", 8]
    found, text = timed_page("fastseq2021.ngram_timing", "ngrams", test_set, tmp_path, *options)
    assert [row["way"] for row in found["engine"]] == ["vectors", "places"]
    assert "The native engine, which looks for n-grams" in text and "CTranslate2" not in text


def test_copies_of_the_memory_of_a_recurrent_model(gru, test_set, tmp_path):
    options = ["--models", gru["float32"], "--beam-sizes", 1, 8, "--pieces", 200, "--lengths", 8]
    found, text = timed_page("fastseq2021.encoder_cache", "cache", test_set, tmp_path, *options)
    assert found["engine"] == [] and (found["layers"], found["units"]) == (1, 32)
    assert found["native"][1]["copied_bytes"] > found["native"][1]["shared_bytes"]
    assert "CTranslate2" not in text and "64 sources of 200 pieces, few candidates" in text


def test_what_cannot_be_measured_is_refused(test_set, tmp_path):
    with pytest.raises(UserError, match="is for OpenNMT-tf, not for CTranslate2"):
        loading.describe_for(folders()["opennmt-tf"], CTranslate2)
    records.write(empty := tmp_path / "empty.tsv.zst", [("", "")])
    session = in_process.Session(runs=1, noise=1.0, test_set=Path(empty), sentences=None, core=CORE)
    with pytest.raises(UserError, match="no sentence with a piece"):
        in_process.pieces(folders()["int8"], session)
    sys.argv = ["components", "--models", str(folders()["int8"]), "--beam-sizes", "99", "--test-set", str(test_set)]
    sys.argv += ["--output", str(tmp_path / "x.json")]
    with pytest.raises(UserError, match="at most 32"):
        components.main()
