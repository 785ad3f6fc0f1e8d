"""Switches of decoding: an engine takes or refuses each by name; records and resuming depend on them."""

import argparse
import itertools
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from cpus import pretend
from descriptions import described, redescribe
from measured import measured
from models import folders, sentences
from translation import run

from formats import ctranslate2_products, measurement, measurement_page
from formats.decoding_options import DecodingOptions
from measure import kept_runs
from measure import run as measure_run
from measure.configuration import Configuration
from nmt_frontier.command import decoding
from nmt_frontier.errors import UserError
from nmt_frontier.search import loading, switches
from nmt_frontier.search.engine import Search
from nmt_frontier.search.native import ISA
from nmt_frontier.search.switches import SWITCHES
from nmt_frontier.translator import LineTokenizer, Translator

OTHER = {name: {name: 3} if switch.unit else {"without": frozenset({name})} for name, switch in SWITCHES.items()}
ROOT, HERE = Path(__file__).parents[2], folders()
(INT8,) = described(HERE["int8"])
LINES = sentences(30, seed=6)
CT2_SETS = {"avx2": ["GENERIC", "AVX", "AVX2"], "amx": ["GENERIC", "AVX", "AVX2", "AVX512"]}


def trigrams(pieces):
    return Counter(zip(pieces, pieces[1:], pieces[2:], strict=False))


@pytest.mark.parametrize(("name", "known"), [("float32", "CTranslate2"), ("opennmt-tf", "OpenNMT-tf")])
def test_a_switch_that_an_engine_lacks_is_refused_by_name(name, known):
    had = {*switches.of_engine(loading.of(HERE[name]).name), *switches.of_pipeline()}
    for switch in set(SWITCHES) - had - {"map_per_sentence"}:  # its map is of the batch anyway
        with pytest.raises(UserError, match=f"{known} has no {switches.option(switch)}; leave it out"):
            loading.load(HERE[name], Search(**OTHER[switch]))
    with pytest.raises(UserError, match="has no --no-parallel-scan, --no-shared-cache; leave it out"):
        loading.load(HERE[name], Search(without=frozenset({"shared_cache", "parallel_scan"})))


def test_the_map_of_ctranslate2_is_always_of_the_batch():
    batch = [LineTokenizer(HERE["int8"]).encode(line) for line in LINES[:8]]
    searches = [Search(vocabulary_map=True, **more) for more in ({}, OTHER["map_per_sentence"])]
    own, shared = (loading.load(HERE["int8"], search).translate(batch) for search in searches)
    assert own == shared


def test_ctranslate2_blocks_ngrams(tmp_path):
    batch = [LineTokenizer(HERE["float32"]).encode(line) for line in LINES]
    free, blocked = (loading.load(HERE["float32"], Search(blocked_ngram=size)).translate(batch) for size in (0, 3))
    assert any(max(trigrams(pieces).values(), default=0) > 1 for pieces in free)
    assert all(max(trigrams(pieces).values(), default=1) == 1 for pieces in blocked)


def test_switches_are_options_and_change_the_key_of_resuming():
    plain = Translator(HERE["float32"]).settings
    assert {*SWITCHES, "isa"} - {"overlap"} <= set(plain)  # which changes no translation
    assert Translator(HERE["float32"], blocked_ngram=3).settings != plain
    assert Translator(HERE["float32"], without={"sorting"}).settings == {**plain, "sorting": False}
    assert Translator(HERE["float32"], without={"overlap"}).settings == plain


@pytest.mark.slow
def test_the_command_takes_switches_and_names_what_it_lacks():
    options = ["--no-sorting", "--no-overlap", "--threads", 2, "--blocked-ngram", 3]
    done = run("--model", HERE["float32"], *options, text="".join(f"{line}\n" for line in LINES).encode())
    expected = Translator(HERE["float32"], blocked_ngram=3).translate(LINES)
    assert done.stdout.decode().splitlines() == [*expected], done.stderr
    done = run("--model", HERE["float32"], "--no-remove-finished")
    assert done.returncode == 1 and b"CTranslate2 has no --no-remove-finished; leave it out\n" in done.stderr
    done = run("--model", HERE["opennmt-tf"], "--isa", "AVX2")
    assert done.stderr.decode().endswith("OpenNMT-tf has no --isa; leave it out\n")


def test_every_switch_has_a_name_and_a_place_in_tasks_and_records(tmp_path):
    plain = Configuration(INT8)
    plain_document = plain.task([], tmp_path / "run").document()
    record = measured(length_penalty=1.0, **plain.recorded)
    written = set(SWITCHES) & set(record.as_json())
    assert written == {"sorting", "overlap", "packed"}  # others only if they differ: older records lack them
    for switch, more in OTHER.items():
        changed, value = replace(plain, **more), more.get(switch, False)
        assert changed.name == f"{plain.name}.{switch}-{value}"
        document = changed.task([("t", tmp_path / "t")], tmp_path / "run").document()
        assert document["decoding"] == {**plain_document["decoding"], **more, "without": [*more.get("without", ())]}
        other = measured(length_penalty=1.0, **changed.recorded)
        assert other.as_json()[switch] == value and kept_runs.signature(other) != kept_runs.signature(record)
        assert measurement.Measurement.of(other.as_json()) == other


def test_names_and_signatures_of_several_switches_are_as_ever():
    """Their order is that of kept files."""
    more = {"isa": "AVX2", "batch_sentences": 1, "blocked_ngram": 3}
    every = Configuration(INT8, **more, without=frozenset(switches.flags()))
    assert every.name.removeprefix(Configuration(INT8).name) == (
        ".sorting-False.overlap-False.isa-AVX2.batch_sentences-1.map_per_sentence-False.remove_finished-False"
        ".shared_cache-False.blocked_ngram-3.parallel_scan-False.packed-False.piece_products-False"
        ".source_products-False.equal_states-False.polynomials-False"
    )
    signature = kept_runs.signature(measured(length_penalty=1.0, **every.recorded))
    assert signature.partition("isa:AVX2|")[2] == (
        "sorting:no|overlap:no|packed:no|map_per_sentence:no|remove_finished:no|shared_cache:no|parallel_scan:no"
        "|piece_products:no|source_products:no|equal_states:no|polynomials:no|blocked:3|runs:1"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "results/reference").glob("*/measurements.json")), ids=str)
def test_signatures_of_kept_records_are_as_ever(path):
    for record in measurement.read(path):
        assert kept_runs.signature(record) == record.signature


def test_every_option_is_told_to_a_run_and_in_names_or_signatures_and_records(tmp_path):
    other = {"beam_size": 4, "vocabulary_map": True, "batch_tokens": 64, "workers": 2, "threads": 2, "cores": (1, 2)}
    other |= {"sentences": 9, "batch_sentences": 16, "isa": "AVX2", "blocked_ngram": 3}
    other["without"] = frozenset({"sorting"})
    assert other.keys() == DecodingOptions().options.keys()
    plain = Configuration(INT8)
    record = measured(length_penalty=1.0, **plain.recorded)
    for name, value in other.items():
        changed = replace(plain, **{name: value})
        told, now = (each.task([], tmp_path).document()["decoding"] for each in (plain, changed))
        assert [key for key in told if told[key] != now[key]] == [name]
        found = measured(length_penalty=1.0, **changed.recorded)
        assert getattr(found.decoding, name) == value and measurement.Measurement.of(found.as_json()) == found
        assert (changed.name, kept_runs.signature(found)) != (plain.name, kept_runs.signature(record))


@pytest.fixture
def pretend_switch(monkeypatch):
    """One more entry of the table."""
    entry = switches.Switch("decode by hand", "whether pixies decoded", models="with wings")
    monkeypatch.setitem(SWITCHES, "pixie_dust", entry)
    for made in (measurement.cells, measurement.flat, measurement_page.schema):
        made.cache_clear()
    yield "pixie_dust"
    for made in (measurement.cells, measurement.flat, measurement_page.schema):
        made.cache_clear()


def test_an_entry_of_the_table_is_everywhere(pretend_switch, tmp_path):
    parser = argparse.ArgumentParser()
    decoding.add(parser)
    assert re.search(r"--no-pixie-dust\s+decode by hand \(with wings\)", parser.format_help())
    assert parser.parse_args(["--model", str(tmp_path), "--no-pixie-dust"]).without == ["pixie_dust"]
    plain, off = Configuration(INT8), frozenset({"pixie_dust"})
    changed = replace(plain, without=off)
    assert changed.name == f"{plain.name}.pixie_dust-False" and changed.task([], tmp_path).options["without"] == off
    with pytest.raises(UserError, match="CTranslate2 has no --no-pixie-dust; leave it out"):
        loading.load(HERE["int8"], Search(without=off))
    record = measured(length_penalty=1.0, **changed.recorded)
    assert "|pixie_dust:no|" in kept_runs.signature(record) and record.as_json()["pixie_dust"] is False
    assert "pixie_dust" not in measured(length_penalty=1.0, **plain.recorded).as_json()
    measurement.write(tmp_path / "m.json", [record])
    assert measurement.read(tmp_path / "m.json") == [record]
    assert "| `pixie_dust` | boolean |  | `true` | whether pixies decoded" in measurement_page.page()


def test_a_name_that_is_no_switch_is_an_error():
    for made in (Search, lambda **more: Configuration(INT8, **more), measured):
        with pytest.raises(ValueError, match="no switch has the name dust"):
            made(without=frozenset({"dust"}))


def test_the_documents_name_every_option():
    text = " ".join((ROOT / "docs/decoding.md").read_text().split())
    assert [name for name in SWITCHES if f"`{switches.option(name)}" not in text] == []


def test_the_variable_of_an_instruction_set_is_a_fact_of_the_engine(tmp_path, monkeypatch):
    for variable in (ctranslate2_products.ISA, ISA):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(ctranslate2_products, "widest", lambda: "AVX512")
    native = tmp_path / "native-int8"
    native.mkdir()
    (native / "model.json").write_text((HERE["int8"] / "model.json").read_text())
    redescribe(native, engine="native")
    assert Configuration(INT8).environment == {ctranslate2_products.ISA: "AVX512"}
    assert Configuration(INT8, isa="AVX2").environment == {ctranslate2_products.ISA: "AVX2"}
    read, toolkit = described(native, HERE["opennmt-tf"])
    assert Configuration(read).environment == {} and Configuration(read, isa="avx2").environment == {ISA: "avx2"}
    assert Configuration(toolkit, isa="AVX2").environment == {}
    monkeypatch.setenv(ISA, "portable")
    found = [loading.isa(folder, loading.of(folder)) for folder in (native, HERE["int8"], HERE["opennmt-tf"])]
    assert found == ["portable", "AVX512", None]


# The native engine


@pytest.fixture(scope="module")
def native():
    """A model folder in float32 with a map that depends on the source."""
    return pytest.importorskip("native").folders() / "float32"


SLOWER = [("remove_finished", 1), ("shared_cache", 1), ("shared_cache", 4), ("packed", 4), ("parallel_scan", 4)]


@pytest.mark.parametrize(("switch", "beam_size"), SLOWER)
def test_slower_switches_translate_the_same(native, switch, beam_size):
    options = {"workers": 1, "blocked_ngram": 2 * (switch == "parallel_scan")}
    translators = [Translator(native, beam_size, **options, without=off) for off in ((), {switch})]
    plain, slower = ([*translator.translate(LINES)] for translator in translators)
    assert plain == slower


def test_finished_sentences_are_kept_in_greedy_search_only(native):
    with pytest.raises(UserError, match="only greedy search keeps finished sentences"):
        loading.load(native, Search(4, without=frozenset({"remove_finished"})))


def test_the_switches_of_the_engine_are_those_of_the_table(native):
    from nmt_frontier import bindings as engine

    names = [name for name in switches.of_engine("native") if name in switches.flags()]
    assert sorted(engine.SWITCHES) == sorted(names)
    for bit, name in enumerate(engine.SWITCHES):
        loaded = loading.load(native, Search(without=frozenset({name, "overlap"})))
        assert engine._options(loaded._options).without == 1 << bit


def test_an_engine_with_other_switches_is_one_line(native, pretend_switch):
    with pytest.raises(
        UserError, match=r"of another version, with other switches \(pixie_dust\); install nmt-frontier again"
    ):
        loading.load(native, Search())


@pytest.mark.parametrize("part", ["INTERFACE", "_Options"])
def test_a_library_with_another_interface_is_one_line(native, part, monkeypatch):
    from nmt_frontier import bindings as engine

    other = {"INTERFACE": 1, "_Options": engine._Batch}
    monkeypatch.setattr(engine, part, other[part])
    with pytest.raises(ImportError, match=r"^engine.so is of another version than its package \(interf"):
        engine._load(Path(engine.__file__).with_name("engine.so"))


def test_every_function_of_the_interface_has_its_types(native):
    from nmt_frontier import bindings as engine

    stable, own = (
        {
            name: arguments.count(",") + (arguments not in ("", "void"))
            for name, arguments in re.findall(
                r"NMT_EXPORT [^(;]*?nmt_(\w+)\((.*?)\);", (ROOT / "engine/bindings" / header).read_text(), re.DOTALL
            )
        }
        for header in ("nmt_frontier.h", "c_api.h")
    )
    types = {name: returned_and_taken[1] for name, returned_and_taken in engine._RETURN.items()} | engine._FAIL
    taken = {name: len(arguments) + 2 * (name in engine._FAIL) for name, arguments in types.items()}
    assert own.items() <= taken.items() <= {**stable, **own}.items() and len(taken) > len(own)


def test_a_map_of_the_batch_has_more_candidates(native):
    """And a run reports the mean of the candidates in use."""
    means = {}
    for own in (True, False):
        translator = Translator(native, workers=1, batch_tokens=200, **({} if own else OTHER["map_per_sentence"]))
        means[own] = measure_run.about(translator, native, LINES, [])["candidates"]
        entries = translator.engine.read_map(native, [*itertools.chain.from_iterable(translator.pipeline.cut(LINES))])
        groups = [[[sentence] for sentence in batch] if own else [batch] for batch in translator.pipeline.cut(LINES)]
        sizes = [len(entries.candidates(group)) for parts in groups for group in parts]
        assert means[own] == pytest.approx(sum(sizes) / len(sizes))
    assert means[True] < means[False]


@pytest.mark.slow
def test_the_command_sets_the_instruction_set_of_the_native_engine(native):
    done = run("--model", native, "--isa", "portable", text=b"abc\n")
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1, done.stderr
    done = run("--model", native, "--isa", "AVX9000")
    assert done.returncode == 1 and b"error: NMT_ISA=AVX9000: this CPU has portable" in done.stderr


@pytest.mark.parametrize("mkl", ["0", "1"])
def test_a_wrong_set_for_ctranslate2_is_no_damaged_file(monkeypatch, mkl):
    """With oneMKL CTranslate2 reads the set when it decodes, not when it loads."""
    monkeypatch.setenv(ctranslate2_products.USE_MKL, mkl)
    done = run("--model", HERE["int8"], "--isa", "AVX9000")
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr.startswith(b"error: CT2_FORCE_CPU_ISA=AVX9000: this CPU has GENERIC")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("name", "expected"), CT2_SETS.items())
def test_the_sets_of_ctranslate2_are_those_of_the_cpu(tmp_path, monkeypatch, name, expected):
    pretend(name, tmp_path, monkeypatch)
    assert ctranslate2_products.sets() == expected
    monkeypatch.setenv(ctranslate2_products.ISA, "AVX512")
    if "AVX512" not in expected:
        with pytest.raises(UserError, match=r"CT2_FORCE_CPU_ISA=AVX512: this CPU has GENERIC, AVX, AVX2$"):
            loading.load(HERE["float32"], Search())
    monkeypatch.setattr(ctranslate2_products.platform, "machine", lambda: "aarch64")
    assert ctranslate2_products.sets() == ["GENERIC", "NEON"]


@pytest.mark.parametrize("error", [RuntimeError, ValueError, IndexError, MemoryError])
def test_what_an_engine_raises_while_it_decodes_is_one_line(monkeypatch, error):
    """As by CTranslate2 with oneMKL, after loading a model for a set that the CPU lacks."""

    def raised(*_, **__):
        raise error("Invalid CPU ISA:\n AVX9000")

    engine = loading.load(HERE["float32"], Search())
    monkeypatch.setattr(engine, "_translator", SimpleNamespace(translate_batch=raised))
    with pytest.raises(UserError) as refused:
        engine.translate([["a", "b"], ["a"]])
    size = "a batch of 2 sentences, the longest of 2 pieces"
    assert str(refused.value) == f"CTranslate2 failed at {size}: Invalid CPU ISA: AVX9000"
