"""Maps in the engine: counted, timed, explained; what is written about them."""

import importlib
import os
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import sentencepiece
from descriptions import redescribe
from models import folders, sentences
from phrase_tables import run

from experiments import map_timing
from export import coverage, model_outputs
from export.vocabulary_map import Knobs, explain
from formats import records
from measure.timing_loop import Repeats
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.search import pipeline
from nmt_frontier.search.engine import Search
from nmt_frontier.search.loading import load
from report import maps as map_report

pytestmark = pytest.mark.slow

CORE = min(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def model():
    return folders()["int8"]


@pytest.fixture(scope="module")
def processor(model):
    return sentencepiece.SentencePieceProcessor(model_file=str(model / "sentencepiece.model"))


@pytest.fixture(scope="module")
def maps(processor, tmp_path_factory):
    """Two maps in which every piece brings others; a 2-gram and a 3-gram of the test set bring one more each."""
    folder = tmp_path_factory.mktemp("maps")
    *pieces, two, three = (processor.id_to_piece(number) for number in range(3, processor.get_piece_size()))
    source = processor.encode(sentences(1)[0], out_type=str)
    longer = f"{' '.join(source[:2])}\t{two}\n{' '.join(source[:3])}\t{three}\n"
    for number, size in enumerate((4, 12), 1):
        lines = [f"{piece}\t{' '.join(np.roll(pieces, -3 * k)[:size])}\n" for k, piece in enumerate(pieces)]
        zero = f"\t{pieces[5]} {pieces[7]}\n"
        (folder / f"{Knobs(number, 1, 20).name}.txt").write_text(f"{zero}{''.join(lines)}{longer}")
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def test_set(tmp_path_factory):
    path = tmp_path_factory.mktemp("set") / "t.tsv.zst"
    records.write(path, zip(sentences(30), sentences(30, seed=2), strict=True))
    return path


def counted(model, path, batches):
    """The candidates of each batch in the engine."""
    with map_timing.with_map(model, path) as folder:
        translator = load(folder, Search(vocabulary_map=True))._translator
    options = {"beam_size": 1, "use_vmap": True, "return_logits_vocab": True, "max_decoding_length": 1}
    return [np.array(translator.translate_batch(batch, **options)[0].logits[0][0]).size for batch in batches]


def test_the_engine_has_as_many_candidates_as_we_read_in_the_map(model, processor, maps, tmp_path):
    lines = processor.encode(sentences(20), out_type=str)
    batches = [lines[:size] for size in (1, 3, 20)]
    for path in maps:
        found = counted(model, path, batches)
        assert found == [len(VocabularyMap.load(path).candidates(batch)) for batch in batches]
        rows = path.read_text().splitlines(keepends=True)
        for longest in (1, 2):
            shorter = tmp_path / f"{longest}-{path.name}"
            shorter.write_text("".join(row for row in rows if len(row.split("\t")[0].split()) <= longest))
            assert counted(model, shorter, batches) == [count - (3 - longest) for count in found]


def timed(model, maps, test_set, output):
    call = ["experiments.map_timing", "--model", model, "--maps", *maps, "--test-set", test_set]
    call += ["--target-language", "de", "--runs", "2", "--batch-tokens", "1", "30", "--output", output]
    run(*call, "--core", CORE, "--noise", "1")  # whatever else runs on this machine, no run is repeated
    return read_json(output)


@pytest.fixture(scope="module")
def timing(model, maps, test_set, tmp_path_factory):
    return timed(model, maps, test_set, tmp_path_factory.mktemp("timing") / "timing.json")


def test_every_map_is_timed_in_every_batch_size(timing, maps):
    rows = {(row["map"], row["batch_tokens"]): row for row in timing["rows"]}
    assert rows.keys() == {(name, tokens) for name in ("whole", *(m.stem for m in maps)) for tokens in (1, 30)}
    for row in rows.values():
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
        assert row["times_faster_min"] <= row["times_faster"] <= row["times_faster_max"]
    assert rows["whole", 1]["candidates"] == rows["whole", 30]["candidates"] == 121
    small, large = (rows[m.stem, 1]["candidates"] for m in maps)
    assert small < large < 121 and rows[maps[0].stem, 30]["candidates"] > small
    assert rows["whole", 1]["bleu_delta"] == 0 and rows["whole", 1]["bleu_p"] == 1
    assert timing["sentences"] == 30 and timing["test_set"] == "t" and timing["noise"] == 1.0
    assert all("others" in row for row in rows.values())


def steps(model, maps, monkeypatch, seconds):
    """The rows of a timing with a fixed number of steps, in which the runs took these seconds, by map."""

    def timed_run(timing, way, number, decode=map_timing.MapTimer.run):
        return replace(decode(timing, way, number), seconds=seconds[way.name][number - 1], others=None)

    monkeypatch.setattr(map_timing.MapTimer, "run", timed_run)
    timing = map_timing.MapTimer(model, sentences(10), CORE, steps=5)
    rows = map_timing.measured(timing, maps[:1], [30], 5, Repeats(runs=2, noise=0.1), None)
    return {row["map"]: row for row in rows}


def test_a_fixed_number_of_steps_separates_the_output_layer_from_the_rest(model, maps, monkeypatch):
    rows = steps(model, maps, monkeypatch, {"whole": [9, 11], "nothing": [1, 1], maps[0].stem: [2, 3]})
    assert rows["nothing"]["candidates"] == 3 and "bleu" not in rows["whole"]
    found = rows[maps[0].stem]
    assert [found[f"output_layer_times_faster{end}"] for end in ("", "_min", "_max")] == [6.5, 5, 8]
    assert [found[f"output_layer_share{end}"] for end in ("_min", "_max")] == [1 / 2, 2 / 3]


@pytest.mark.parametrize("taken", [([9, 11], [2, 1]), ([9, 11], [0.9, 2]), ([1, 11], [2, 3])])
def test_an_output_layer_that_takes_no_time_is_an_error(model, maps, monkeypatch, taken):
    seconds = {"whole": taken[0], "nothing": [1, 1], maps[0].stem: taken[1]}
    with pytest.raises(UserError, match=r"batches of 30: .* a run took no longer than without the output layer"):
        steps(model, maps, monkeypatch, seconds)


def test_the_first_batch_that_differs_from_the_map_is_named(model, maps, monkeypatch):
    timing = map_timing.MapTimer(model, sentences(30), CORE, steps=None)
    message = r"CTranslate2 has \d+ candidates in batch 1, the map 1;"
    with monkeypatch.context() as patch, pytest.raises(UserError, match=message):
        patch.setattr(VocabularyMap, "candidates", lambda *_: {"a"})
        timing.run(map_timing.MapInBatches("m", maps[0], 30), 1)

    def other(found, sources, candidates=VocabularyMap.candidates):
        return {*candidates(found, sources), *(["more"] if sources == [timing.sources[4]] else [])}

    monkeypatch.setattr(VocabularyMap, "candidates", other)
    place = [places[0] for places in pipeline.batches(timing.sources, 1)].index(4)
    with pytest.raises(UserError, match=rf"CTranslate2 has (\d+) candidates in batch {place + 1}, the map (?!\1;)"):
        timing.run(map_timing.MapInBatches("m", maps[0], 1), 1)


def test_the_toolkit_has_no_maps():
    with pytest.raises(UserError, match="OpenNMT-tf, which uses no such vocabulary map"):
        map_timing.MapTimer(folders()["opennmt-tf"], ["a"], CORE, steps=None)


def test_maps_are_timed_in_the_native_engine_where_ctranslate2_does_not_run_the_student(maps, test_set, tmp_path):
    pytest.importorskip("native")
    folder = importlib.import_module("recurrent").folders()["int8"]
    found = timed(folder, maps, test_set, tmp_path / "timing.json")
    rows = {(row["map"], row["batch_tokens"]): row for row in found["rows"]}
    assert rows["whole", 1]["candidates"] == 121
    for path in maps:
        assert rows[path.stem, 1]["candidates"] == rows[path.stem, 30]["candidates"] < 121  # those of each sentence
    decoded = [*model_outputs.outputs(test_set, folder, "int8", folder / "sentencepiece.model", 1, 5)]
    lines = [f"▁{line}".replace(" ", "▁") for line in sentences(30)]
    assert [source.replace(" ", "") for source, *_ in decoded] == lines
    assert max(len(output.split()) for _, output, _ in decoded) == 5


def test_a_map_that_the_native_engine_does_not_use_is_an_error(maps, monkeypatch):
    pytest.importorskip("native")
    folder = importlib.import_module("recurrent").folders()["int8"]
    timing = map_timing.MapTimer(folder, sentences(30), CORE, steps=3)
    assert timing.run(map_timing.MapInBatches("nothing", maps[0], 30), 1).seconds > 0
    monkeypatch.setattr(VocabularyMap, "candidates", lambda *_: set())
    with pytest.raises(UserError, match=r"native engine generates '.*' in sentence 1, which the map does not allow"):
        timing.run(map_timing.MapInBatches("m", maps[1], 30), 1)


@pytest.fixture(scope="module")
def covered(maps, model, test_set, processor, tmp_path_factory):
    """As export.coverage writes it, for maps that come from no phrase table."""
    path = tmp_path_factory.mktemp("outputs") / "t.tsv.zst"
    records.write(path, model_outputs.outputs(test_set, model, "int8", model / "sentencepiece.model", 1))
    read = coverage.read(path)
    assert [sentence.source for sentence in read] == processor.encode(sentences(30), out_type=str)
    rows = [
        {"map": path.stem, **Knobs(number, 1, 20)._asdict(), "ngrams": 1000 * number, "bytes": 10_000}
        | coverage.map_coverage(VocabularyMap.load(path), read)
        for number, path in enumerate(maps, 1)
    ]
    return {"coverage": 99.5, "picked": coverage.pick(rows, 99.5), "maps": rows}


def test_table_and_plot_show_every_map(covered, timing, tmp_path):
    text = map_report.table(map_report.joined(covered, covered, timing))
    assert text.count("\n| ") == 1 + len(covered["maps"]) and text.count("phrases**") == 1
    assert "none does; this one allows the most" in text
    for row in timing["rows"]:
        if row["map"] != "whole":
            assert f"{row['times_faster']:.2f} (" in text and f"| {row['bleu_delta']:+.2f}" in text
            assert re.search(rf"\| {row['candidates']:.0f} +\| {row['times_faster']:.2f} \(", text)
    for path in (tmp_path / "dev.json", tmp_path / "timing.json"):
        write_json(path, covered if path.stem == "dev" else timing)
    inputs = [tmp_path / name for name in ("dev.json", "dev.json", "timing.json")]
    for output in (tmp_path / "maps.svg", tmp_path / "maps.png"):
        run("report", "maps", "--input", *inputs, "--output", output)
        assert output.stat().st_size > 5000


def test_a_map_that_was_not_timed_is_named(covered, timing):
    less = timing | {"rows": [row for row in timing["rows"] if row["map"] == "whole"]}
    with pytest.raises(UserError, match=f"the map {covered['maps'][0]['map']} was not timed"):
        map_report.joined(covered, covered, less)
    picture = map_report.draw(map_report.joined(covered, covered, timing))
    assert len(picture.axes) == 2


def test_explain_shows_what_each_piece_brings_and_what_is_blocked(model, processor, maps):
    line = sentences(1)[0]
    source = processor.encode(line, out_type=str)
    with map_timing.with_map(model, maps[0]) as folder:
        printed = list(explain(folder, line))
        found = VocabularyMap.load(maps[0])
    rows = dict(row.split(maxsplit=1) for row in printed)
    allowed = found.candidates([source])
    assert rows["source"] == " ".join(source)
    assert rows["candidates"] == f"{len(allowed)}, and {len(allowed)} counted in the engine; 121 without the map"
    assert all(any(row.strip().startswith(piece) for row in printed) for piece in source if (piece,) in found.entries)
    blocked = rows["blocked"].split()
    assert blocked and not {*blocked} & allowed


def test_no_translation_is_longer_than_the_model_allows(model, maps, test_set, tmp_path):
    folder = shutil.copytree(model, tmp_path / "int8")
    shutil.copy(maps[0], folder / "vmap.txt")
    redescribe(folder, max_decoding_length=1)
    timing = map_timing.MapTimer(folder, sentences(5), CORE, steps=None)
    timing.run(way := map_timing.MapInBatches("m", maps[0], 1), 1)
    assert {len(timing.tokenizer.encode(output)) for output in timing.outputs[way]} <= {0, 1}
    (whole,) = [row for row in explain(folder, sentences(1)[0]) if row.startswith("whole")]
    assert len(timing.tokenizer.encode(whole.split(maxsplit=1)[1])) == 1
    outputs = model_outputs.outputs(test_set, model, "int8", model / "sentencepiece.model", 1, 3)
    assert max(len(output.split()) for _, output, _ in outputs) == 3


def test_explain_needs_a_map(tmp_path):
    with pytest.raises(UserError, match=r"model\.bin: not there; .* is no model folder of CTranslate2"):
        list(explain(tmp_path, "a"))


@pytest.mark.parametrize(
    ("file", "message"),
    [("model.bin", "CTranslate2 cannot load this model, a file is damaged"), ("sentencepiece.model", "SentencePiece")],
)
def test_a_damaged_model_is_one_line(model, test_set, tmp_path, file, message):
    folder = shutil.copytree(model, tmp_path / "int8")
    (folder / file).write_bytes((folder / file).read_bytes()[:100])
    for work in (
        lambda: list(explain(folder, "a")),
        lambda: list(model_outputs.outputs(test_set, folder, "int8", folder / "sentencepiece.model", 1)),
        lambda: map_timing.MapTimer(folder, ["a"], CORE, steps=None),
    ):
        with pytest.raises(UserError, match=rf"int8.*{message}"):
            work()


def test_explain_is_a_command(model, capfd):
    run("export.vocabulary_map", "explain", model, "abc")
    printed = capfd.readouterr().out
    assert "candidates" in printed and "blocked" in printed
    assert read_json(model / "model.json")["engine"] == "ctranslate2"
