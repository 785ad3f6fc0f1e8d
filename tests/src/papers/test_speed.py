"""The speed tables: one switch a rung, ratios run by run, workers against threads. The measurements are made up."""

import importlib
import itertools
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from descriptions import described, redescribe
from measured import replaced
from models import folders, sentences

from experiments import architectures, switches, table_rows
from experiments.table_rows import TableRow
from findings.comparison import times_faster
from formats import ctranslate2_products as products
from formats import measurement, records
from formats.measurement import RecordPlace
from measure import score
from measure.configuration import ModelFolder
from measure.task import RunTask
from nmt_frontier import machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.search import loading, tuned
from nmt_frontier.search.engine import Search
from nmt_frontier.search.loading import load
from nmt_frontier.search.native import Native
from nmt_frontier.search.switches import values
from nmt_frontier.translator import Translator
from papers.devlin2017 import identities, identities_report
from papers.marian2018 import tables
from papers.wngt2020 import end_to_end, end_to_end_report, ladder, ladder_report, scaling, scaling_report, table5
from papers.wnmt2018 import table3
from report import __main__ as report
from report import architectures as architectures_report
from report import claims, rungs, table_parts
from report import switches as switches_report

pytestmark = pytest.mark.slow

SOURCES = sentences(6, seed=4)


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: (0, 1))
    monkeypatch.setattr(loading, "isa", lambda *_: "AVX512")
    monkeypatch.setattr(products, "packs", lambda: True)


@pytest.fixture
def made_up(monkeypatch):
    """Replaces measure.run; returns its tasks.

    The first run takes 1 s and the second one 2 s on one core, divided by workers and, half as well, by threads; with
    batches of 1,024 tokens a fifth less. The baseline takes ten and twenty times as long. Loading takes 1 s.
    """
    calls, real = [], subprocess.run

    def measured(call, **options):
        if "measure.run" not in call:
            return real(call, **options)
        calls.append(task := RunTask.read(Path(call[-1])))
        decoding, output, workers = task.decoding, task.output, task.decoding.workers
        number, baseline = int(output.suffixes[-2][1:]), "opennmt-tf" in str(task.model)
        seconds = number * (10 * number if baseline else 1) / workers
        seconds /= (1 + decoding.threads) / 2
        seconds *= 0.8 if decoding.batch_tokens == 1024 else 1
        if task.translations:
            path = Path(f"{task.translations}.test.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
        row = dict.fromkeys(("tokenization_seconds", "decode_seconds", "detokenization_seconds"), seconds)
        row |= {"text_seconds": seconds, "cpu_seconds": seconds, "joules": None, "others": 0.0, "sentences": 6}
        row |= {"source_words": 60, "source_tokens": 100, "target_tokens": 120, "output_sha256": "x"}
        row |= {"reference_tokens": 125, "candidates": 300.0 if decoding.vocabulary_map else None}
        run = {"engine_version": "1", "effective_compute_type": "int8_float32", "test_sets": {"test": row}}
        run |= {"forced_isa": options["env"].get(products.ISA), "peak_rss_bytes": 50_000_000 * workers}
        write_json(output, run | {"checksum_seconds": 0.1, "load_seconds": 1.0, "warmup_seconds": 0.1})
        return subprocess.CompletedProcess(call, 0)

    monkeypatch.setattr(subprocess, "run", measured)
    return calls


@pytest.fixture
def untrained(tmp_path):
    """Copies of the tiny models that are described as untrained."""
    made = {name: shutil.copytree(folder, tmp_path / "x-untrained" / name) for name, folder in folders().items()}
    for folder in made.values():
        redescribe(folder, role="untrained", system="x-untrained")
    return made


def run(module, folder, *options):
    """Records of a benchmark, with scores, two runs of each."""
    records.write(folder / "test.tsv.zst", zip(SOURCES, SOURCES, strict=True))
    test_sets = ["--test-sets", f"test={folder}/test.tsv.zst"]
    common = [*test_sets, "--runs", "2", "--translations", folder / "x", "--sentences", "9"]
    sys.argv = list(map(str, [module.__name__, *options, *common, "--output", folder / "x.json"]))
    module.main()
    sys.argv = ["score", "--records", str(folder / "x.json"), *test_sets, "--target-language", "de"]
    sys.argv += ["--samples", "2", "--output", str(folder / "scored.json")]
    score.main()
    return measurement.read(folder / "scored.json")


def models(of):
    return ["--baseline", of["opennmt-tf"], "--models", of["float32"], of["int8"]]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def legend(picture):
    return [text.get_text() for text in picture.legends[0].get_texts()]


def rows_of(text):
    """Lines of Markdown tables by their first cell."""
    return {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}


# Table 5


def differences(configurations):
    fields = [asdict(configuration) | values(configuration) for configuration in configurations]
    different = ({name for name in one if one[name] != other[name]} for one, other in itertools.pairwise(fields))
    return [names - {"without"} for names in different]


def test_every_rung_has_one_switch_more(two_cores):
    found = ladder.rungs(*described(*folders().values()))
    engine = {"model", "baseline", "packed", "isa"}
    one_each = ["isa", "model", "sorting", "packed", "vocabulary_map", "overlap"]
    assert differences(found.values()) == [{"beam_size"}, engine, *({name} for name in one_each)]
    assert set(ladder_report.PAPER) < set(found)
    assert [name for name, rung in found.items() if rung.isa == "AVX2"] == ["isa"]
    last = found[ladder.OVERLAPPING]
    assert last.isa == "AVX512" and not last.without and last.cores == (0,)
    one_core = ladder.on_one_core(last)
    assert {size: rung.batch_tokens for size, rung in one_core.items()} == {n: n for n in (256, 512, 1024, 2048)}
    assert one_core[512] == last and differences([last, one_core[256]]) == [{"batch_tokens", "label"}]
    all_cores = ladder.on_all_cores(last)
    assert set(all_cores) == set(one_core)  # the same sizes on both sides
    assert {(rung.workers, rung.cores) for rung in all_cores.values()} == {(2, (0, 1))}
    assert differences([one_core[256], all_cores[256]]) == [{"workers", "cores", "label"}]
    same, own = ladder.native_rungs(*described(folders()["float32"]), last).values()  # with the settings of CTranslate2
    assert differences([last, same, own]) == [{"model", "isa", "map_per_sentence"}, {"map_per_sentence"}]
    assert not own.without and own.isa is None and own.batch_tokens == 512


def test_some_machines_have_fewer_rungs(two_cores, monkeypatch):
    """On other CPUs than Intel's CTranslate2 has another library of matrix products, which never packs."""
    packing = ladder.rungs(*described(*folders().values()))
    monkeypatch.setattr(products, "packs", lambda: False)
    found = ladder.rungs(*described(*folders().values()))
    assert set(packing) - set(found) == {"packed"}
    assert not any("packed" in rung.without for rung in found.values())
    assert packing[ladder.OVERLAPPING] == found[ladder.OVERLAPPING]
    monkeypatch.setattr(machine, "cores", lambda: (3,))
    monkeypatch.setattr(loading, "isa", lambda *_: None)
    found = ladder.rungs(*described(*folders().values()))
    assert list(found)[-2:] == ["vocabulary_map", "overlap"]
    assert {rung.isa for rung in found.values()} == {None} and ladder.on_all_cores(found["overlap"]) == {}


def test_ladder(two_cores, made_up, tmp_path):
    found = run(ladder, tmp_path, *models(folders()))
    assert len(made_up) == 2 * 17 and not any(task.decoding.sentences for task in made_up)
    assert all(record.scores.bleu == pytest.approx(100) and record.scores.bleu_signature for record in found)
    reference = found.pop()
    assert (reference.place.row, reference.decoding.beam_size, reference.decoding.vocabulary_map) == (
        ladder.SEARCH,
        4,
        False,
    )
    assert (
        reference.decoding.compute_type == "float32"
        and "sorting" not in reference.decoding.without
        and reference.decoding.cores == (0,)
    )
    found.append(replaced(reference, bleu=100.39))
    text = ladder_report.table(found)
    rows = rows_of(text)
    assert len(rows) == len(found) and "| 100.00 |   0.39 |" in rows["vocabulary map"]
    assert "in float32 without a map, tiny float32" in text and " beam 4 (100.39)." in text
    # Ratios are 10 and 20 in the two runs, while the ratio of the medians is 25 / 1.5.
    assert "| 15.0 (10.0 to 20.0) |" in rows["CTranslate2"] and " 1.13 |" in rows["CTranslate2"]
    assert "80 (60 to 120)" in rows["8 bits"] and "100.00" in rows["8 bits"]
    assert "medians of 2 runs, interleaved;" in text
    assert rows["vocabulary map"].count(" 25.42 |") == 1  # the paper's BLEU
    (axes,) = ladder_report.draw(found).axes
    assert labels(axes) == list(rows)[1:]
    assert "80   ×15.0" in texts(axes) and texts(axes).count("100.00") == texts(axes).count("0.39") == 11
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == [table_parts.tokens_per_second(record).middle for record in found[:-1]]
    # The best of the batches is the last rung on one core.
    *_, last, everywhere, _ = found
    best, everywhere_best = map(ladder_report.label, (last, everywhere))
    assert best == "best of 4 sizes of batches: 1,024 tokens" and last.decoding.batch_tokens == 1024
    assert last.tried == pytest.approx({"256": 80, "512": 80, "1024": 100, "2048": 80})
    assert everywhere_best == "2 workers on 2 cores, best of 4 sizes of batches: 1,024 tokens"
    assert everywhere.tried == pytest.approx({"256": 160, "512": 160, "1024": 200, "2048": 160})
    one_core, all_cores = ladder_report.table(found).split("## On all cores")
    assert "1.25 (1.25 to 1.25)" in rows_of(one_core)[best] and everywhere_best not in one_core
    assert "brings on one core" in one_core and "100 (1,024)" in one_core
    assert "2.00 (2.00 to 2.00)" in rows_of(all_cores)[everywhere_best] and "× one core" in all_cores
    picture = ladder_report.draw(found)
    below = [bar.get_y() for bar in picture.axes[0].patches][-3:]
    assert below[2] - below[1] == pytest.approx(1.5) and below[1] - below[0] == pytest.approx(1)
    assert legend(picture) == ["OpenNMT-tf", "switches of table 5 of WNGT 2020", "switches beyond it", "all cores"]


def test_what_is_untrained_has_the_lengths_of_references_and_no_bleu(two_cores, made_up, untrained, tmp_path):
    found = run(ladder, tmp_path, *models(untrained))
    assert all(task.decoding.sentences == 9 for task in made_up)
    assert all(record.speed_only and record.scores.bleu is record.scores.bleu_signature is None for record in found)
    text = ladder_report.table(found)
    rows = rows_of(text)
    assert "6 sentences, translations as long as their references (96.0% of their pieces)" in text
    assert "100.00" not in text and text.count("| speed only |") == 11
    assert "1.13 (trained)" in rows["CTranslate2"] and "(trained)" not in rows["overlapping stages"]
    assert rows["vocabulary map"].count(" 300 |") == 1 and " 300 |" not in rows["8 bits"]
    assert " AVX2 |" in rows["CTranslate2 held to AVX2"] and "AVX512" in rows["CTranslate2"]
    picture = ladder_report.draw(found)
    assert "parameters, speed only" in picture.legends[0].get_title().get_text()
    assert "BLEU" not in texts(picture.axes[0])


def test_a_ladder_needs_a_map(made_up, tmp_path):
    without = shutil.copytree(folders()["int8"], tmp_path / "int8", ignore=shutil.ignore_patterns("vmap.txt"))
    with pytest.raises(UserError, match="int8: is to be decoded with a vocabulary map, and has none"):
        run(ladder, tmp_path, *models(folders() | {"int8": without}))


@pytest.fixture
def native(tmp_path):
    """A folder with the native engine's model folders of the same system, named as in a study."""
    made = pytest.importorskip("native").folders()
    for kind in ("int8", "int16", "float32"):
        (tmp_path / f"native-{kind}").symlink_to(made / kind)
    return tmp_path


def test_ladder_with_the_native_engine(two_cores, made_up, native, tmp_path):
    found = run(ladder, tmp_path, *models(folders()), native / "native-int8")
    names = [ladder_report.label(record) for record in found if record.decoding.engine == "native"]
    best = "best of 4 sizes of batches: 1,024 tokens"
    ends = ("", f", {best}", f", 2 workers on 2 cores, {best}")
    assert names == ["native engine", "map of each sentence", *(f"native engine{end}" for end in ends[1:])]
    of_native = [record for record in found if record.decoding.engine == "native"]
    assert [record.value("map_per_sentence") for record in of_native] == [False, True, True, True]
    assert found[-1].place.row == ladder.SEARCH and len(made_up) == 2 * (17 + 1 + 4 + 4)
    one_core, all_cores = ladder_report.table(found).split("## On all cores")
    rows = rows_of(one_core)
    assert [*rows].index("native engine") == [*rows].index(best) + 1
    assert "1.00 (1.00 to 1.00) |" in rows["native engine"]  # over overlapping stages: both are made up
    assert all(part in one_core for part in ("CTranslate2: 80 (256)", "native: 80 (256)", '"native engine" decodes'))
    assert all(name in all_cores for name in ("2 workers on 2 cores, best", names[-1])) and "native: 160" in all_cores
    picture = ladder_report.draw(found)
    colors = dict(zip(legend(picture), (p.get_facecolor() for p in picture.legends[0].get_patches()), strict=True))
    bars = [bar.get_facecolor() for bar in picture.axes[0].patches]
    assert bars.count(colors["native engine"]) == 3 and bars.count(colors["all cores"]) == 2


@pytest.fixture
def gru(tmp_path):
    """The folders of a recurrent system that CTranslate2 does not run; OpenNMT-tf's is one in name only."""
    pytest.importorskip("native")
    made = importlib.import_module("recurrent").folders()
    baseline = shutil.copytree(folders()["opennmt-tf"], tmp_path / "gru" / "opennmt-tf")
    redescribe(baseline, system="gru", shape="GRU 2:1 d512 e256")
    return {"opennmt-tf": baseline, **made}


def test_a_ladder_without_ctranslate2_has_one_switch_a_rung(two_cores, gru):
    gru = dict(zip(gru, described(*gru.values()), strict=True))
    (found,), apart = ladder.all_rungs(gru["opennmt-tf"], [gru[kind] for kind in ("float32", "int16", "int8")], None)
    one_each = ["beam_size", "model", "model", "vocabulary_map", "map_per_sentence", "sorting", "overlap"]
    assert [*found][2:5] == ["float32", "int16", "int8"]
    changed = differences(found.values())
    assert changed[1] == {"model", "baseline", "map_per_sentence"}
    assert [*changed[:1], *changed[2:]] == [{name} for name in one_each]
    assert differences([found[ladder.OVERLAPPING], *apart.values()]) == [{"model", "beam_size", "vocabulary_map"}]
    (without,), _ = ladder.all_rungs(gru["opennmt-tf"], [gru["float32"], gru["int8"]], None)
    assert set(found) - set(without) == {"int16"}
    with pytest.raises(UserError, match="--models: none in float32;"):
        ladder.all_rungs(gru["opennmt-tf"], [gru["int8"]], None)
    with pytest.raises(UserError, match="opennmt-tf: is for OpenNMT-tf; give it as --baseline"):
        ladder.all_rungs(gru["opennmt-tf"], [gru["opennmt-tf"]], None)


def test_a_ladder_without_ctranslate2(two_cores, made_up, gru, tmp_path):
    types = [gru[kind] for kind in ("float32", "int16", "int8")]
    found = run(ladder, tmp_path, "--baseline", gru["opennmt-tf"], "--models", *types)
    assert {record.decoding.engine for record in found} == {"opennmt-tf", "native"}
    assert found[-1].place.row == ladder.SEARCH
    text = ladder_report.table(found)
    rows = rows_of(text)
    assert (
        "CTranslate2" not in text.replace("that CTranslate2 is set to use", "")
        and "native engine, float32, beam 4" not in rows
    )
    for name, number in (("16 bits", "1.77"), ("vocabulary map", "4.79"), ("vocabulary map", "23.18")):
        assert rows[name].count(f" {number} |") == 1
    assert "table 3 of WNMT 2018" in text and "WNGT" not in text
    names = labels(ladder_report.draw(found).axes[0])
    assert names[2] == "native engine, float32" and len(names) == len(found) - 1


def test_end_to_end_scaling_and_switches_without_ctranslate2(two_cores, made_up, gru, tmp_path):
    models = [folders()["opennmt-tf"], folders()["int8"], gru["opennmt-tf"], gru["int8"]]
    found = run(end_to_end, tmp_path, "--models", *models, "--exact", gru["float32"])
    missing = [(ways.optimized is None, ways.native is None) for ways in end_to_end_report.ways(found)]
    assert missing == [*[(False, True)] * 2, *[(True, False)] * 2]
    text = end_to_end_report.table(found)
    assert "optimised, s" in text and "native, s" in text and len(rows_of(text)) == 3
    assert len(legend(end_to_end_report.draw(found))) == 3
    alone = [record for record in found if record.system.name == "gru"]
    text = end_to_end_report.table(alone)
    assert "optimised, s" not in text and "CTranslate2 runs none of these systems" in text
    assert len(legend(end_to_end_report.draw(alone))) == 2
    found = run(scaling, tmp_path, "--models", gru["int8"])
    assert {record.decoding.engine for record in found} == {"native"} and "| native " in scaling_report.table(found)
    found = run(switches, tmp_path, "--model", gru["int8"], "--others", gru["float32"])
    assert "float32" in rows_of(switches_report.table(found))


# Table 6


def test_end_to_end(two_cores, made_up, untrained, tmp_path):
    pairs = [[of[name] for of in (folders(), untrained)] for name in ("opennmt-tf", "int8")]
    exact = folders()["float32"]
    found = run(end_to_end, tmp_path, "--models", *pairs[0], *pairs[1], "--exact", exact)
    outputs = [str(task.output) for task in made_up]
    assert len(outputs) == len(set(outputs)) == 2 * (2 * 2 * 2 + 2)  # runs, cores, systems, ways; and two searches
    assert all(output.endswith(".1.json") for output in outputs[:10])  # all systems, then all again
    *_, greedy, beam = found
    assert (greedy.decoding.beam_size, beam.decoding.beam_size) == (1, 4)
    assert all(
        (search.decoding.compute_type, search.decoding.vocabulary_map) == ("float32", False)
        for search in (greedy, beam)
    )
    found[-2:] = replaced(greedy, bleu=100.39), replaced(beam, bleu=100.2)
    one, two, *speed_only = end_to_end_report.ways(found)
    assert [len(pair.optimized.decoding.cores) for pair in (one, two)] == [1, 2] and two.optimized.decoding.workers == 2
    assert (
        one.baseline.decoding.beam_size == 4
        and one.optimized.decoding.vocabulary_map
        and one.optimized.scores.bleu is not None
    )
    faster = times_faster(one.optimized, one.baseline, "total_seconds")
    assert faster == pytest.approx(((11 / 2 + 41 / 3) / 2, 11 / 2, 41 / 3))  # loading is in it
    assert [pair.optimized.scores.bleu for pair in speed_only] == [None, None]
    text = end_to_end_report.table(found)
    assert text.count("| x-untrained ") == 2 and f"{faster:.1f}" in text
    assert [line.count(" 0.39 |") for line in text.splitlines() if line.startswith("| tiny")] == [2, 2]
    (axes,) = end_to_end_report.draw(found).axes
    assert labels(axes) == ["tiny, 1 core", "tiny, 2 cores", "x-untrained, 1 core", "x-untrained, 2 cores"]
    assert f"×{faster.middle:.1f}" in texts(axes) and texts(axes).count("speed only") == 2


# All architectures


def test_untrained_models_of_every_architecture(two_cores, made_up, untrained, native, tmp_path):
    folder = shutil.copytree(native / "native-int8", tmp_path / "x-untrained" / "native-int8")
    redescribe(folder, role="untrained", system="x-untrained")
    found = run(architectures, tmp_path, "--models", untrained["opennmt-tf"], folder)
    ways = [(record.decoding.engine, record.decoding.beam_size, record.decoding.vocabulary_map) for record in found]
    assert ways == [("opennmt-tf", 1, False), ("native", 1, True)] and not found[1].decoding.without
    assert all(record.decoding.cores == (0,) and record.speed_only for record in found)
    text = architectures_report.table(found)
    assert text.count("| x-untrained ") == 1 and "| 15.0 (10.0 to 20.0) |" in text
    picture = architectures_report.draw(found)
    assert [bar.get_width() for bar in picture.axes[0].patches] == pytest.approx([4.8, 80.0])


@pytest.mark.parametrize(
    ("module", "option", "message"),
    [
        (architectures, "--models", "int8: is for CTranslate2; here OpenNMT-tf and native are compared"),
        (switches, "--model", "int8: is for CTranslate2, not for native"),
        (end_to_end, "--models", "--models: tiny needs one folder of OpenNMT-tf and some of other engines"),
    ],
)
def test_a_folder_of_ctranslate2_is_not_enough(tmp_path, module, option, message):
    with pytest.raises(UserError, match=message):
        run(module, tmp_path, option, folders()["int8"])


def test_end_to_end_with_the_native_engine(two_cores, made_up, native, tmp_path):
    models = [folders()["opennmt-tf"], folders()["int8"], native / "native-int8"]
    found = run(end_to_end, tmp_path, "--models", *models)
    assert len(made_up) == 2 * 2 * 3
    one, two = end_to_end_report.ways(found)
    assert (
        one.native.decoding.engine == "native"
        and one.native.decoding.vocabulary_map
        and "map_per_sentence" not in one.native.decoding.without
    )
    assert (two.native.decoding.workers, two.native.decoding.beam_size, two.native.decoding.batch_tokens) == (2, 1, 256)
    faster = times_faster(one.optimized, one.baseline, "total_seconds")
    text = end_to_end_report.table(found)
    assert "| native × | native × CTranslate2 |" in re.sub(" +", " ", text) and "map of each sentence" in text
    assert text.count(" 1.00 (1.00 to 1.00) |") == 2 and text.count(f" {faster:.1f} |") == 2  # made up alike
    picture = end_to_end_report.draw(found)
    assert legend(picture) == list(end_to_end_report.COLORS)
    assert texts(picture.axes[0]).count(f"×{faster.middle:.1f}") == 2


def test_the_settings_found_for_this_machine_are_used(two_cores, monkeypatch):
    models = described(folders()["opennmt-tf"], folders()["int8"])

    def best():
        return end_to_end.configurations(*models, label="x")[1::2]

    wide = {products.ISA: "AVX512"}
    assert [(c.environment, c.batch_tokens, c.workers) for c in best()] == [(wide, 512, 1), (wide, 256, 2)]
    monkeypatch.undo()
    monkeypatch.delenv(products.ISA, raising=False)
    monkeypatch.setattr(machine, "cores", lambda: (0, 1))
    monkeypatch.setattr(tuned, "settings", lambda *_: {"isa": "AVX2", "batch_tokens": 128})
    assert [(c.environment, c.batch_tokens) for c in best()] == [({products.ISA: "AVX2"}, n) for n in (512, 128)]
    monkeypatch.setenv(products.ISA, "AVX512")  # the user's choice goes before
    assert best()[0].environment == {products.ISA: "AVX512"}


@pytest.mark.parametrize("names", [["opennmt-tf"], ["opennmt-tf", "int8", "opennmt-tf"]])
def test_a_system_needs_its_baseline_and_another_engine(tmp_path, names):
    with pytest.raises(UserError, match="--models: tiny needs one folder of OpenNMT-tf and some of other engines"):
        run(end_to_end, tmp_path, "--models", *(folders()[name] for name in names))


# Figure 2


@pytest.mark.parametrize("counts", [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8, 16]])
def test_cores_double(counts):
    assert scaling.counts(counts[-1]) == counts


def test_scaling(two_cores, made_up, tmp_path):
    found = run(scaling, tmp_path, "--models", folders()["int8"])
    ways = [(len(record.decoding.cores), record.decoding.workers, record.decoding.threads) for record in found]
    assert ways == [(1, 1, 1), (2, 2, 1), (2, 1, 2)]
    assert all(
        record.decoding.batch_tokens == 1024 and record.decoding.vocabulary_map for record in found
    )  # the best of all three
    cost = [record.core_seconds_per_million_words * record.words_per_second / 1e6 for record in found]
    assert cost == pytest.approx([cost[0], 2 * cost[0], 2 * cost[0]])  # every core that a run holds costs
    assert [task.decoding.threads > 1 for task in made_up] == ([False] * 8 + [True] * 4) * 2
    tried = [str(task.decoding.batch_tokens) for task in made_up]
    assert tried == ["256", "512", "1024", "2048"] * 3 * 2  # the same sizes on one core as on all
    assert "|workers:1|threads:2|cores:2|" in found[2].signature and "threads" not in found[0].signature
    text = scaling_report.table(found)
    assert text.count(" 1,024 |") == 3
    assert "1 × 1: 80 (256), 80 (512), 100 (1,024), 80 (2,048); 2 × 1: 160 (256)" in text
    assert "2.00 (2.00 to 2.00)" in text and "1.50 (1.50 to 1.50)" in text and "+50" in text
    left, right = scaling_report.draw(found).axes
    assert texts(left) == ["1.00", "1.50", "1.00", "2.00"] and texts(right) == ["50", "50", "50", "100"]


def test_scaling_of_two_engines(two_cores, made_up, native, tmp_path):
    found = run(scaling, tmp_path, "--models", folders()["int8"], native / "native-int8")
    assert [record.decoding.engine for record in found] == ["ctranslate2"] * 3 + ["native"] * 3
    text = scaling_report.table(found)
    assert text.count("| CTranslate2 ") == text.count("| native ") == 3 and "native: 1 × 1: 80 (256)" in text
    assert text.count("1.00 (1.00 to 1.00)") == 2  # each over itself on one core
    panels = scaling_report.draw(found).axes
    assert [axes.get_title(loc="left").partition(":")[0] for axes in panels] == ["CTranslate2"] * 2 + ["native"] * 2


# The switches of the native engine


def test_every_switch_is_off_once(two_cores, native, monkeypatch):
    int8, *others = described(*(native / f"native-{kind}" for kind in ("int8", "int16", "float32")))
    found = switches.configurations(int8, others)
    groups = {RecordPlace(row=switches.EVERYTHING, way=way): [] for way in ("", "beam", "workers")}
    for place, configuration in found.items():
        if place in groups:
            first, group = configuration, groups[place]
        else:
            group += differences([first, configuration])
    greedy, beam, everywhere = groups.values()
    one_each = ["map_per_sentence", "vocabulary_map", "sorting", "overlap", "packed", "remove_finished"]
    one_each += ["isa"] * len(switches.instruction_sets()) + ["model"] * 2
    assert greedy == [{name} for name in one_each]
    assert beam == [{"shared_cache"}, {"blocked_ngram"}, {"blocked_ngram", "parallel_scan"}]
    assert everywhere == [{"workers", "threads"}]
    assert len({configuration.name for configuration in found.values()}) == len(found)
    monkeypatch.setattr(machine, "cores", lambda: (0,))
    assert not any(place.way in ("workers", "threads") for place in switches.configurations(int8, []))


def test_switches(two_cores, made_up, native, tmp_path, monkeypatch):
    monkeypatch.setattr(switches, "instruction_sets", lambda: ["avx2", "portable"])
    types = [native / "native-int16", native / "native-float32"]
    found = run(switches, tmp_path, "--model", native / "native-int8", "--others", *types)
    assert len(found) == 17 and len(made_up) == 2 * 17
    assert [len(group) for group in switches_report.groups(found)] == [11, 4, 2]
    rows = rows_of(switches_report.table(found))
    assert "1.00 (1.00 to 1.00)" in rows["map of the batch"]
    assert "0.75 (0.75 to 0.75)" in rows["2 threads in place of workers"]
    assert "×" not in rows["everything"] and "100.00" in rows["int16"] and "| 300 |" in re.sub(" +", " ", rows["int16"])
    (axes,) = switches_report.draw(found).axes
    assert labels(axes) == [*rows][1:]
    assert [bar.get_width() for bar in axes.patches][-2:] == [1, pytest.approx(0.75)]
    assert "×0.75   120 tokens/s" in texts(axes)
    tops = [bar.get_y() for bar in axes.patches]
    assert tops[11] - tops[10] == pytest.approx(1.5) and tops[10] - tops[9] == pytest.approx(1)


# Devlin 2017


@pytest.fixture
def layered(tmp_path):
    """Folders of the native engine that are described as models with fully connected layers on top."""
    made = pytest.importorskip("native").folders()
    copies = [shutil.copytree(made / kind, tmp_path / f"native-{kind}") for kind in ("int8", "float32", "int16")]
    for folder in copies:
        redescribe(folder, shape="GRU d16 e16 FC 2x16")
    return copies


def test_every_rung_computes_less_in_one_way_more(two_cores, layered):
    found = identities.rungs(identities.by_type(described(*layered)))
    expected = ["model", "piece_products", "source_products", "polynomials", "equal_states", "model", "batch_sentences"]
    assert differences(found.values()) == [{name} for name in expected]
    assert {rung.beam_size for rung in found.values()} == {4} and all(rung.vocabulary_map for rung in found.values())
    for folder in layered:
        (folder / loading.of(folder).map_file).unlink()
    assert not any(rung.vocabulary_map for rung in identities.rungs(identities.by_type(described(*layered))).values())


def test_identities(two_cores, made_up, layered, tmp_path):
    run(identities, tmp_path, "--baseline", folders()["opennmt-tf"], "--models", *layered)
    assert len(made_up) == 2 * (8 + 5 + 1)
    found = identities_report.read(tmp_path / "scored.json")
    ladder = identities_report.ladder(found)
    last = tmp_path / ladder[-1].record.decoding.output
    last.write_text(last.read_text().replace(SOURCES[0], "other", 1))
    found = identities_report.read(tmp_path / "scored.json")
    assert [rung.same for rung in found] == [*[1.0] * 7, pytest.approx(5 / 6), *[1.0] * 6]
    rows = rows_of(identities_report.table(found))
    assert "0.08 (0.05 to 0.10)" in rows["OpenNMT-tf"] and "OpenNMT-tf decodes the same" in identities_report.table(
        found
    )
    assert "1.00 (1.00 to 1.00)" in rows["16 bits"] and "83.3%" in rows["batches of sentences"]
    assert "×" not in rows["float32 with polynomials"] and "1.00 (1.00 to 1.00)" in rows["all of them"]
    (axes,) = identities_report.draw(found).axes
    assert labels(axes) == [*rows][1:9]
    assert [bar.get_width() for bar in axes.patches] == [1.0] * 8

    # Layers on top are needed in every type.
    with pytest.raises(UserError, match="--models: none in int16"):
        identities.by_type(described(*layered[:2]))
    redescribe(layered[0], shape="1:1 d16 ff32 h2")
    with pytest.raises(UserError, match="1:1 d16 ff32 h2 has no fully connected layers"):
        identities.by_type(described(*layered))
    with pytest.raises(UserError, match="int8: is for CTranslate2, not for native"):
        ModelFolder.read(folders()["int8"], Native)


def test_the_rows_of_a_papers_table(two_cores, made_up, layered, tmp_path, monkeypatch):
    for folder in layered:
        redescribe(folder, role="untrained", system="x-untrained", student="x")
    fast = TableRow("x", "int8", vocabulary_map=True)
    monkeypatch.setattr(table3, "ROWS", {"1": TableRow("x"), "2": fast, "3": fast, "4": TableRow("x", share=0.5)})
    found = run(table3, tmp_path, "--models", *layered)
    assert [record.place for record in found] == [RecordPlace("wnmt2018", "3", row) for row in "1234"]
    assert len(made_up) == 2 * 3 and {task.decoding.sentences for task in made_up} == {9, 4}
    rows = rows_of(rungs.table(found))
    assert "1.00 (1.00 to 1.00)" in rows["(3) direct RNN Large"] and "1.00" not in rows["(1) Transformer Large"]
    with pytest.raises(UserError, match="--models: none of y for native in int16; the table needs it"):
        table_rows.configuration(TableRow("y", "int16"), table_rows.by_system(described(*layered)), None)


@pytest.mark.parametrize(
    ("paper", "table", "rows"),
    [
        *(("marian2018", *table) for table in tables.TABLES.items()),
        ("wnmt2018", "3", table3.ROWS),
        ("wngt2020", "5", table5.ROWS),
    ],
)
def test_the_rows_have_the_shapes_that_the_paper_gives_them(paper, table, rows):
    shapes = {claim.row: claim.shape for claim in claims.of_paper(paper) if claim.table == table and claim.shape}
    assert all(shapes[number] == row.system for number, row in rows.items())
    with pytest.raises(UserError, match=rf"{paper}/claims.csv: has no row 99 of table {table}"):
        claims.row_name(RecordPlace(paper, table, "99"))


def test_threads_change_nothing_but_time():
    model = folders()["float32"]
    batch = [list(line.replace(" ", "")) for line in SOURCES]
    assert load(model, Search(threads=2)).translate(batch) == load(model, Search()).translate(batch)
    assert Translator(model, threads=2).search.threads == 2


def test_pictures_are_written_and_a_disturbed_measurement_is_marked(two_cores, made_up, tmp_path):
    found = run(scaling, tmp_path, "--models", folders()["int8"])
    measurement.write(tmp_path / "records.json", found)
    for suffix in ("svg", "png"):
        sys.argv = ["x", "scaling", "--input", f"{tmp_path}/records.json", "--output", f"{tmp_path}/x.{suffix}"]
        report.main()
        assert (tmp_path / f"x.{suffix}").stat().st_size > 5000
    assert "~" not in scaling_report.table(found)
    text = scaling_report.table([found[0], *(replaced(record, others=0.5) for record in found[1:])])
    assert text.count(")~ |") == 2 * 2 and "such a speed is no result" in text
    text = scaling_report.table([replaced(found[0], others=None), *found[1:]])  # the one that all ratios are of
    assert text.count(")? |") == 1 + 3 and "too short to tell" in text
