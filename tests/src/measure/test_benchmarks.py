"""Benchmarks: the same load every time, ratios of runs in turn, and tables of what was measured."""

import importlib
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from descriptions import described
from langid import langid
from marian_weights import options, weights, write_bin
from measured import measured, replaced
from mirrored_texts import fetched

from decode.engines import ENGINES
from export import phrase_table, phrases
from formats import ctranslate2_products, records
from formats.shape import shape
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers import marian_binary
from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.model import native_quantization
from nmt_frontier.model.native_vocabulary import Vocabulary
from study import config

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "benchmarks"
CORE = min(os.sched_getaffinity(0))
PAIRS = [
    (f"The man in the red shirt has {n} dogs.".encode(), f"Der Mann im roten Hemd hat {n} Hunde.".encode())
    for n in range(300)
]
ALIGNED = [
    (["a", "man", "sees", "a", "dog", "."], ["ein", "Mann", "sieht", "einen", "Hund", "."], "0-0 1-1 2-2 3-3 4-4 5-5"),
    (["the", "dog", "sees", "him"], ["ihn", "sieht", "der", "Hund"], "0-2 1-3 2-1 3-0"),
    (["no"], ["nein", "nein"], "0-0 0-1"),
]
PIECES = sorted({piece for source, target, _ in ALIGNED for piece in (*source, *target)})


@pytest.fixture
def script(monkeypatch):
    """A function that imports a script of benchmarks/."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def text(script, monkeypatch):
    monkeypatch.setattr(module := script("real_text"), "BLOCK", 100)  # duplicates come from earlier blocks
    return module


@pytest.mark.parametrize(
    ("module", "given", "tabs", "distinct"),
    [("real_text", (PAIRS, 1000), 1, range(901, 1000)), ("vmap", (ALIGNED, PIECES, 2000), 2, range(201, 2001))],
)
def test_the_load_is_the_same_every_time_and_as_large_as_asked_for(script, text, module, given, tabs, distinct):
    first, second = (b"".join(script(module).load(*given)) for _ in range(2))
    lines = first.decode().split("\n")[:-1]
    assert first == second and len(lines) == given[-1] and len(set(lines)) in distinct
    assert {line.count("\t") for line in lines} == {tabs}


def test_the_load_of_lines_is_the_same_every_time_and_as_long_as_asked_for(script, tmp_path):
    words = [script("stream").load(["a b", "c", "d e f"], 8, tmp_path / name) for name in "xy"]
    first, second = ((tmp_path / name).read_text() for name in "xy")
    lines = first.splitlines()
    assert first == second and len(lines) == 8 and words[0] == len(first.split())
    assert sorted(lines[:3]) == sorted(lines[3:6]) == ["a b", "c", "d e f"]


def test_weights_are_rounded_within_each_bound(script):
    module = script("engine_rounding")
    weights = np.random.default_rng(1).uniform(-1, 1, (40, 64)).astype(np.float32)
    found = {bound: module.rounded(weights, bound) for bound in module.BOUNDS}
    errors = [float(np.square(found[bound] - weights).sum()) for bound in ("none", "pairs", "engine")]
    assert 0 < errors[0] < 0.7 * errors[1] < 0.7 * 0.9 * errors[2]
    integers = {bound: np.rint(one / native_quantization.steps(one)[:, None]) for bound, one in found.items()}
    bounded, free = (module.pair_sum(integers[bound]).max() for bound in ("pairs", "none"))
    assert bounded <= native_quantization.INT8_LANE < free


def test_only_the_named_products_are_rounded(script):
    module = script("engine_rounding")
    product = np.random.default_rng(1).normal(size=(16, 16)).astype(np.float32), np.zeros(16)
    table = {"source": ("s", product[0]), "target": ("t", product[0]), "output": ("t", product[0])}
    names = ("encoder.0.self.queries", "encoder.0.feed_forward.inner")
    pieces = Vocabulary([*map(str, range(16))], [*map(str, range(16))], "0")
    model = FloatModel(Path(), {}, dict.fromkeys(names, product), {}, table, np.zeros(16), pieces)

    def changed(part):
        made = module.with_rounded(model, part, "engine")
        matrices = [made.products[name][0] for name in names] + [matrix for _, matrix in made.embeddings.values()]
        return [not np.array_equal(matrix, product[0]) for matrix in matrices]

    assert changed("attention") == [True, False, False, False, False]
    assert changed("feed-forward") == [False, True, False, False, False]
    assert changed("embeddings") == [False, False, True, True, True] and all(changed("all"))


def test_a_file_as_firefox_publishes_it_has_the_weights_of_marians(script, tmp_path):
    write_bin(tmp_path / "marian.bin", exact := weights(90, 90), options(90, 90))
    script("engine_firefox").firefox(tmp_path / "marian.bin", tmp_path / "firefox.bin")
    found = marian_binary.read(tmp_path / "firefox.bin")
    for name, weight in exact.items():
        step = np.abs(weight).max() / 127 if name == "Wemb" else 0
        assert found[name].integers == (name == "Wemb")
        assert np.abs(found[name].value.reshape(weight.shape) - weight).max() <= 0.51 * step, name
    assert {*found} - {*exact} == {"special:model.yml", "Wemb_QuantMultA", "none_QuantMultA"}


@pytest.mark.long
def test_cleaning_keeps_what_a_plain_loop_keeps(script, text, tmp_path, monkeypatch):
    cleaning = script("cleaning")
    others = ("control_characters", "identical", "min_script_share", "max_digit_mismatch", "max_repeats")
    rules = cleaning.RULES | dict.fromkeys((*others, "near_duplicates"), False)
    monkeypatch.setattr(script("processes"), "CORES", (CORE,))
    records.write_blocks(tmp_path / "x.tsv.zst", text.load(PAIRS, 500))
    identifier = langid.LanguageIdentifier.from_modelstring(langid.model)
    read = (pair for pair in records.read(tmp_path / "x.tsv.zst") if all(pair))
    short = (pair for pair in read if all(len(side.split()) <= 100 for side in pair))
    alike = (pair for pair in short if max(map(len, pair)) <= 3 * min(map(len, pair)))
    kept = {pair for pair in alike if [identifier.classify(side)[0] for side in pair] == ["en", "de"]}
    found = cleaning.chain(tmp_path / "x.tsv.zst", tmp_path, rules, 1)
    assert found["kept"] == len(kept) and 400 < len(kept) < 480
    assert found["pairs"] == 500 and found["clean_peak_rss_bytes"] > 10**7
    with pytest.raises(UserError, match=r"python -m corpora\.nothing --help: failed"):
        script("processes").Process("corpora.nothing", "--help").wait()


@pytest.mark.long
def test_readers_are_timed_on_the_same_pairs_in_every_format(script, tmp_path):
    readers = script("readers")
    pairs = list(readers.pairs(150))
    for name, (write, encoding) in readers.FILES.items():
        with open(tmp_path / name, "w", encoding=encoding, newline="") as file:
            write(pairs, file)
        broken = (0, 100) if name == "broken.tmx" else ()
        assert fetched(tmp_path, file=name)[0] == [pair for row, pair in enumerate(pairs) if row not in broken], name
    result = readers.rates(tmp_path / "text.tsv", {"now": ROOT / "src", "before": ROOT / "src"}, 150, 1)
    assert result["now"]["kept"] == result["before"]["kept"] == 150 and len(result["now_over_before"]) == 3


def test_langid_is_raced_on_the_same_lines(script):
    language = script("language")
    reference = langid.LanguageIdentifier.from_modelstring(langid.model)
    lines = ["The man has a dog.", "Der Mann hat einen Hund."]
    found = language.race(language.Identifier(), reference, lines, [*lines, "Le chien dort."], CORE)
    assert found["runs"] == len(found["ratios_of_runs"]) == 5 and found["ratio"] > 1
    assert found["corpora.language"]["lines"] == 100 * found["langid.py"]["lines"] == 200
    assert found["corpora.language, all lines"]["lines"] == 3


@pytest.mark.long
def test_the_plain_extractor_counts_the_same_phrases_and_is_timed(script, tmp_path, monkeypatch):
    vmap = script("vmap")
    records.write_blocks(tmp_path / "aligned.tsv.zst", vmap.load(ALIGNED, PIECES, 300))
    read = records.read(tmp_path / "aligned.tsv.zst")
    pairs = [(source.split(), target.split(), links) for source, target, links in read]
    phrases.count(tmp_path / "aligned.tsv.zst", PIECES, tmp_path / "1")
    (tmp_path / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", None, tmp_path / "table")
    table = phrase_table.PhraseTable.load(tmp_path / "table")
    plain = vmap.plain(pairs)
    assert len(plain) == len(table.phrases.keys) and sum(plain.values()) == table.phrases.counts.sum()
    monkeypatch.setattr(vmap, "CORES", (CORE, CORE))
    monkeypatch.setattr(vmap.machine, "pin", lambda cores: None)
    rate = vmap.plain_rate(pairs)
    assert 0 < rate["min"] <= rate["pairs_per_second"] <= rate["max"] and rate["runs"] == 3
    assert rate["kept"] == len(plain)


def test_architectures_whose_trainings_are_compared_are_of_one_size(script):
    shapes = script("training").ARCHITECTURES.values()
    parameters = [shape(values).parameters(4000) for values in shapes]
    assert max(parameters) < 1.08 * min(parameters)
    assert {values.get("embedding_units", values["units"]) for values in shapes} == {128}
    assert len({str(values) for values in shapes}) == len(shapes) == 10


def test_architectures_are_trained_as_the_first_student(script):
    training, study = script("training"), config.load(ROOT / "configs/demo.yaml")
    _, settings = training.trained(study, "deep", False)
    assert training.trained(study, "gru", True) == (training.ARCHITECTURES["gru"], settings)
    with pytest.raises(UserError, match="--systems gru: is none of teacher, "):
        training.trained(study, "gru", False)


DESCRIBED = {"format": 1, "quantization": "int8", "vocabulary_map": True}
DESCRIBED |= {"system": "tiny", "role": "student", "parameters": 1000}


@pytest.fixture
def exported(tmp_path):
    """Folders as of export.marian, and one of OpenNMT-tf, with nothing but their descriptions."""
    for name, engine in (("int8", "ctranslate2"), ("marian-int8", "marian"), ("toolkit", "opennmt-tf")):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "model.json", DESCRIBED | {"engine": engine, "shape": "1:1"})
    for path in ("int8/vmap.txt", "marian-int8/shortlist.bin"):
        (tmp_path / path).touch()
    return tmp_path


@pytest.mark.long
def test_all_three_engines_are_measured_in_one_run(script, exported, monkeypatch):
    marian, (toolkit,) = script("marian"), described(exported / "toolkit")
    monkeypatch.setattr("nmt_frontier.search.loading.isa", lambda *_: "AVX512")
    found = marian.configurations(exported, toolkit, (0, 1))
    assert [(c.model.path.name, c.beam_size, c.baseline) for c in found[:2]] == [
        ("toolkit", 4, True),
        ("toolkit", 1, True),
    ]
    assert [c.model.path.name for c in found[2:]] == ["marian-int8", "int8"] * 2
    forced = {c.model.path.name: c.environment.get(ctranslate2_products.ISA) for c in found}
    assert forced == {"toolkit": None, "marian-int8": None, "int8": "AVX512"}
    assert [c.vocabulary_map for c in found[2:]] == [False] * 2 + [True] * 2
    assert {c.cores for c in found} == {(0, 1)} and {c.workers for c in found[2:]} == {2}
    marian.check(exported, toolkit)
    marian.protocol.check(found)  # both have their candidates, each in a file of its own


@pytest.mark.parametrize(
    ("models", "baseline", "toolkit", "message"),
    [
        ("toolkit", "toolkit", "1:1", "no model folders in it"),
        ("", "int8", "1:1", "int8: is for ctranslate2; --baseline is a model folder of opennmt-tf"),
        ("", "toolkit", "6:6", r"toolkit: its shape is 6:6, that of .*int8 1:1"),
    ],
)
def test_what_cannot_be_compared_with_marian(script, exported, models, baseline, toolkit, message):
    write_json(exported / "toolkit" / "model.json", DESCRIBED | {"engine": "opennmt-tf", "shape": toolkit})
    with pytest.raises(UserError, match=message):
        script("marian").check(exported / models, *described(exported / baseline))


def peer(engine, seconds, beam=1, **more):
    """A record of two runs."""
    rate = {"source_words_per_second": 60 / seconds[0], "source_words_per_second_min": 60 / max(seconds)}
    rate |= {"source_words_per_second_max": 60 / min(seconds), "text_seconds_runs": seconds, "runs": 2}
    where = {"test_set": "t", "sentences": 6, "cpu": "a CPU", "isa": "avx2", "shape": "1:1", "cores": [0]}
    how = {"engine": engine, "engine_label": ENGINES[engine].label, "compute_type": "int8", "beam_size": beam}
    how |= {"vocabulary_map": engine != "opennmt-tf"}
    return measured(**rate | where | how | {"others": 0.0, "noise": 0.1, "bleu": 30.0} | more)


def test_ratios_of_the_engines_are_those_of_runs_made_in_turn(script):
    marian = script("marian")
    toolkit = [peer("opennmt-tf", [40.0, 80.0], 4), peer("opennmt-tf", [20.0, 20.0])]
    other, converted = peer("marian", [2.0, 8.0]), peer("ctranslate2", [1.0, 2.0])
    wide, both = replaced(converted, forced_isa="AVX512", others=0.5), replaced(converted, cores=(0, 1))
    timed = [*toolkit, other, converted, wide, both, replace(converted, test_set="untimed")]
    rows = marian.ratios(timed)
    names = ["CTranslate2, int8, map", "CTranslate2, int8, map, AVX512"]
    assert [row["way"] for row in rows[2:5]] == ["Marian, int8, shortlist", *names] and len(rows) == 6
    assert rows[3]["times_faster"]["Marian"] == {"middle": 3.0, "low": 2.0, "high": 4.0, "mark": ""}
    assert rows[3]["times_faster"]["OpenNMT-tf, beam 4"]["middle"] == 40.0
    assert rows[5]["times_faster"] == {} and "Marian" not in rows[2]["times_faster"]  # nothing else on two cores
    assert [marian.cells(row)["× Marian"] for row in rows[3:5]] == ["3.00 (2.00 to 4.00)", "3.00 (2.00 to 4.00)~"]

    shown = {"ratios": rows[:5], "records": [record.as_json() for record in timed]}
    (axes,) = (picture := script("plot").marian_picture(shown)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [row["way"] for row in rows[:5]]
    assert [text.get_text() for text in axes.texts][3:] == ["60   ×40.0", "60~   ×40.0~"]
    below = " ".join(picture.get_supxlabel().split())
    assert "others, of the same shape (1:1)" in below and "~: other processes used the cores" in below


@pytest.mark.parametrize(
    ("name", "result", "kind", "shown"),
    [
        ("engine", "engine/ratios.json", "md", "| CTranslate2 |"),
        ("engine_recurrent", "engine/recurrent.json", "md", "native × faster"),
        ("engine", "engine/ratios.json", "svg", "target tokens per CPU second"),
        ("stream", "benchmarks/stream.json", "svg", "1,000,000 lines in 343 s on 2 cores"),
        ("marian", "benchmarks/marian.json", "svg", "CTranslate2, int8, map, AVX512"),
        ("stream", "benchmarks/stream.json", "md", None),
        ("engine_recurrent", "engine/recurrent.json", "svg", None),
    ],
    ids=lambda value: str(value).partition("/")[0],
)
def test_kept_results_are_shown(script, tmp_path, monkeypatch, name, result, kind, shown):
    path = tmp_path / f"x.{kind}"
    call = ["plot", name, "--result", str(ROOT / "results/reference" / result), "--output", str(path)]
    monkeypatch.setattr("sys.argv", call)
    refused = pytest.raises(UserError, match=rf"{name}\.py has no (table|picture)")
    with nullcontext() if shown else refused:
        script("plot").main()
    assert shown in path.read_text() if shown else not path.exists()


@pytest.mark.long
def test_the_stages_are_those_of_the_kept_benchmark(script, tmp_path, monkeypatch):
    """Plans of large studies read it."""
    stages = script("stages")
    monkeypatch.setattr(stages, "SHARDS", 2)
    made = stages.measured(PAIRS, 3000, tmp_path)
    kept = read_json(ROOT / "results/reference/benchmarks/stages.json")
    rules = [[name.rstrip("0123456789") for name in result["stages"]] for result in (made, kept)]
    assert rules[0] == rules[1] and made["per_pair"].keys() == kept["per_pair"].keys()
    assert all(stage["cpu_seconds"] > 0 and stage["peak_rss_bytes"] > 10**7 for stage in made["stages"].values())


def test_numbers_of_the_papers_texts_are_counted(script, tmp_path):
    pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
    claims = script("text_claims")
    assert claims.in_batches(["two tokens"] * 384) == {"384": 192, "8192": 384}
    for name, dropped in {"one": {"language": 30, "empty": 5}, "other": {"empty": 7}}.items():
        write_json(tmp_path / f"{name}.json", {"lines_in": 1000, "dropped": dropped})
    assert claims.language_share(tmp_path) == {"lines": 1000, "dropped": 30, "per_cent": 3.0}
    assert claims.over({"a": [2.0, 6.0, 3.0], "b": [1.0, 2.0, 3.0]}, "a", "b")["times_faster"] == 2.0
