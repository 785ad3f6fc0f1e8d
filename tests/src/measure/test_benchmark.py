"""Records are complete and right, and nothing is measured twice or confused."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from descriptions import described, redescribe
from measured import measured, replaced
from models import folders, sentences

from findings import comparison
from findings.cost import prices
from formats import ctranslate2_loading, experiments, records
from formats.decoding_options import DecodingOptions
from formats.measurement import Measurement
from measure import benchmark, kept_runs, protocol, run
from measure.task import RunTask
from nmt_frontier import cpu, machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.search.native import Native
from nmt_frontier.translator import Translator

pytestmark = pytest.mark.slow

FIELDS = """
    study system role shape parameters engine engine_label engine_version compute_type effective_compute_type
    beam_size batch_tokens vocabulary_map workers test_set runs peak_rss_bytes model_bytes source_words target_tokens
    core_seconds_per_million_words usd_per_million_words price cpu isa commit signature speed_only
    tokenization_seconds detokenization_seconds output output_identical
"""
# Fields with a median, a minimum and a maximum
SPREADS = "load_seconds decode_seconds total_seconds target_tokens_per_second source_words_per_second".split()  # noqa: SIM905
# The module ``nmt_frontier.machine`` of another computer.
OTHER_MACHINE = SimpleNamespace(**vars(machine) | {"describe": lambda: {**machine.describe(), "cpu": "another"}})
OF_PROTOCOL = ("key", "load_average", "measured_at")  # not written by measure.run
SOURCES = sentences(12, seed=3)
LINES = {"first": SOURCES, "second": SOURCES[:5]}  # by test set
CORE = min(os.sched_getaffinity(0))
PRICE = prices()["m7i.large"] | {"usd_per_hour": 0.2, "cores": 4, "cpus": [machine.describe()["cpu"]]}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A benchmark of two formats on two test sets."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("float32", "int8"):
        shutil.copytree(folders()[name], folder / "models" / name)
    for name, lines in LINES.items():
        records.write(folder / f"{name}.tsv.zst", zip(lines, lines, strict=True))
    timed(folder)
    shutil.copytree(folder / "decoding/tiny", folder / "kept")
    return folder


@pytest.fixture
def found(study):
    return json.loads((study / "decoding/tiny.json").read_text())


@pytest.fixture
def copy(study, tmp_path):
    return shutil.copytree(study, tmp_path / "copy")


def timed(folder, noise=1, *options):
    """Records of a benchmark; by default others may use all of the cores."""
    sys.argv = ["benchmark", "--models", *(str(folder / "models" / name) for name in ("float32", "int8"))]
    sys.argv += ["--test-sets", *(f"{name}={folder}/{name}.tsv.zst" for name in ("first", "second"))]
    sys.argv += ["--beam-sizes", "1", "2", "--runs", "2", "--cores", str(CORE), "--price", json.dumps(PRICE)]
    sys.argv += ["--batch-tokens", "64", "--study", "s", "--noise", str(noise), "--sentence-by-sentence"]
    sys.argv += ["--translations", str(folder / "decoding/tiny"), "--output", str(folder / "decoding/tiny.json")]
    sys.argv += options
    with pytest.MonkeyPatch.context() as patch:  # all are timed again, however long each run took
        patch.setattr(benchmark, "contenders", lambda runs, shared: runs)
        benchmark.main()
    return json.loads((folder / "decoding/tiny.json").read_text())


def conditions(folder, runs=1, test_sets=()):
    paths = {"translations": folder, "output": folder / "x.json"}
    return protocol.Benchmark(runs=runs, noise=1.0, test_sets=list(test_sets), price=None, study="s", **paths)


def test_records(found):
    keys = {(r["compute_type"], r["beam_size"], r["vocabulary_map"], r["test_set"]) for r in found}
    assert len(found) == len(keys) == 2 * 2 * 2 * 2
    for record in found:
        assert set(FIELDS.split()) <= set(record)
        assert record["runs"] == (2 if record["test_set"] == "first" else 1)
        assert record["source_words"] == sum(len(line.split()) for line in LINES[record["test_set"]])
        assert record["output_identical"] and not record["speed_only"] and record["study"] == "s"
        for name in SPREADS:
            assert 0 < record[f"{name}_min"] <= record[name] <= record[f"{name}_max"]
        assert record["peak_rss_bytes"] > 10_000_000
        core_seconds = record["core_seconds_per_million_words"]
        assert core_seconds == pytest.approx(record["text_seconds"] * 1e6 / record["source_words"])
        assert record["usd_per_million_words"] == pytest.approx(core_seconds / 3600 * 0.2 / 4)
        assert record["price"].startswith("0.2 USD an hour for 4 virtual cores, AWS m7i.large")
        assert "|batch:64t|" in record["signature"] and "|workers:1|cores:1|" in record["signature"]


def test_what_explains_the_times_is_counted_in_the_first_run(study):
    name = study / "decoding/tiny/runs/tiny.int8.beam1.map"
    first, again = (json.loads(Path(f"{name}.{number}.json").read_text())["test_sets"]["first"] for number in (1, 2))
    assert first["candidates"] and first["reference_tokens"] == first["source_tokens"] == again["source_tokens"]
    assert again["candidates"] is None and again["reference_tokens"] is None


def test_the_fastest_way_has_the_time_of_a_single_sentence(study, found):
    (fastest,) = [record for record in found if "sentence_seconds" in record]
    way = ("test_set", "compute_type", "beam_size", "vocabulary_map", "batch_sentences")
    assert [fastest[name] for name in way] == ["first", "int8", 1, True, None]
    name = "tiny.int8.beam1.map.overlap-False.batch_sentences-1"
    run = json.loads((study / f"decoding/tiny/runs/{name}.1.json").read_text())
    assert fastest["sentence_seconds"] == run["test_sets"]["first"]["text_seconds"] / len(SOURCES)
    assert list(run["test_sets"]) == ["first"]


def test_the_dev_set_is_decoded_once_and_its_records_have_another_split(copy):
    found = timed(copy, 1, "--dev", f"val={copy}/second.tsv.zst")
    splits = {(record["test_set"], record["split"]) for record in found}
    assert splits == {("first", "test"), ("second", "test"), ("val", "dev")}
    on_dev = [record for record in found if record["split"] == "dev"]
    assert len(on_dev) == 2 * 2 * 2 and {record["runs"] for record in on_dev} == {1}
    assert all((copy / "decoding" / record["output"]).read_text().count("\n") == 5 for record in on_dev)


def test_outputs_are_those_of_the_translator(study, found):
    for record in found:
        model = study / "models" / record["compute_type"]
        translator = Translator(model, record["beam_size"], vocabulary_map=record["vocabulary_map"], batch_tokens=64)
        outputs = (study / "decoding" / record["output"]).read_text(encoding="utf-8")
        assert outputs == "".join(f"{line}\n" for line in translator.translate(LINES[record["test_set"]]))
        assert record["target_tokens"] == translator.counts["target_tokens"]
        assert record["reference_tokens"] == record["source_tokens"] == translator.counts["source_tokens"]
        always_on = (model / "vmap.txt").read_text().split("\t")[1].split()
        assert record["candidates"] == (len(always_on) + 3 if record["vocabulary_map"] else None)

    # The size of the map counts only where it is used.
    sizes = {(r["compute_type"], r["vocabulary_map"]): r["model_bytes"] for r in found}
    for name in ("float32", "int8"):
        map_bytes = (study / "models" / name / "vmap.txt").stat().st_size
        assert sizes[name, True] - sizes[name, False] == map_bytes
    assert sizes["int8", False] < sizes["float32", False]


class Runs:
    """Stands in for subprocess.run: ``made`` has the measurements, which find what the first one of their name found.

    others: shares of other processes that the next measurements find, 0 after these. kept: of the first measurements.
    """

    def __init__(self, kept):
        self.made, self.others, self.kept, self._run = [], [], kept, subprocess.run

    def __call__(self, command, **options):
        if "measure.run" not in command:
            return self._run(command, **options)
        self.made.append(task := RunTask.read(Path(command[-1])))
        self.replay(task)
        return subprocess.CompletedProcess(command, 0)

    def replay(self, task):
        output = task.output
        run = json.loads((self.kept / "runs" / output.name).read_text())
        share = self.others.pop(0) if self.others else 0.0
        for row in run["test_sets"].values():
            row["others"] = share
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps({name: value for name, value in run.items() if name not in OF_PROTOCOL}))
        if begin := task.translations:
            for path in self.kept.glob(f"{begin.name}.*.txt"):
                shutil.copy(path, begin.parent)

    def of(self, folder, *options):
        """The measurements of a benchmark."""
        self.made.clear()
        timed(folder, *options)
        return [*self.made]


@pytest.fixture
def runs(study, monkeypatch):
    runs = Runs(study / "kept")
    monkeypatch.setattr(subprocess, "run", runs)
    return runs


def test_a_disturbed_run_is_made_again_and_else_is_no_result(copy, runs, capsys):
    def again(*others, fresh=True):
        if fresh:
            shutil.rmtree(copy / "decoding")
        runs.others += others
        runs.made.clear()
        return timed(copy, 0.1, "--beam-sizes", "1"), len(runs.made)

    found, made = again()
    assert not any(record["noisy"] for record in found)
    found, repeated = again(0.5, 0.3)  # the first configuration: the third measurement is quiet
    assert repeated == made + 2 and found[0]["others"] == 0 and not any(record["noisy"] for record in found)
    found, _ = again(0.5, 0.3, 0.4, 0.6)
    assert found[0]["noisy"] and found[0]["others"] == 0.3 and not found[2]["noisy"]
    assert "others used 30% of the cores" in capsys.readouterr().err
    quiet, made = again(fresh=False)  # only the disturbed run is not kept
    assert made == 1 and not any(record["noisy"] for record in quiet)
    scored = [replaced(Measurement.of(record), bleu=20.0) for record in found]
    assert comparison.drawn(scored) == [record for record in scored if not record.noisy]


def test_finished_runs_are_used_again(study, runs):
    before = (study / "decoding/tiny.json").read_bytes()
    assert runs.of(study) == []
    assert (study / "decoding/tiny.json").read_bytes() == before


def test_what_changed_is_measured_again(study, runs):
    (study / "decoding/tiny/tiny.int8.beam1.first.txt").write_text("something else\n")
    (task,) = runs.of(study)
    assert task.translations  # the first run, which writes the translations
    entries = study / "models/int8/vmap.txt"
    os.utime(entries)
    assert runs.of(study) == []  # the same bytes
    always_on = entries.read_text().removeprefix("\t").split()
    entries.write_text("\t" + " ".join(reversed(always_on)) + "\n")
    tasks = runs.of(study)
    assert len(tasks) == 2 * 2 + 1  # runs and beams, with the map only, and single sentences
    assert all(task.decoding.vocabulary_map for task in tasks)
    assert sum(task.decoding.batch_sentences is not None for task in tasks) == 1


def test_a_run_ends_with_its_code_its_libraries_its_machine_and_its_settings(study, runs, monkeypatch, tmp_path):
    path = study / "decoding/tiny/runs/tiny.int8.beam1.2.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in kept.items() if name != "load_seconds"}))
    assert len(runs.of(study)) == 1 and json.loads(path.read_text())["load_seconds"]
    path.write_text(json.dumps(kept | {"code": dict.fromkeys(kept["code"], "another")}))
    assert len(runs.of(study)) == 1 and kept["code"]
    made = shutil.copytree(path.parent, tmp_path / "runs")
    (study / "models/int8/tuned.json").write_text("{}")
    assert runs.of(study)
    (study / "models/int8/tuned.json").unlink()
    assert len(kept_runs.built()) == bool(Native.supported())
    changes = {"versions": lambda: ["another"], "machine": OTHER_MACHINE, "built": lambda: ["another library"]}
    for name, change in changes.items():
        shutil.copytree(made, path.parent, dirs_exist_ok=True)
        assert not runs.of(study)
        with monkeypatch.context() as other:
            other.setattr(kept_runs, name, change)
            assert runs.of(study)


def test_runs_are_interleaved(study, runs):
    shutil.rmtree(study / "decoding/tiny/runs")
    outputs = [task.output.name.removesuffix(".json") for task in runs.of(study)]
    first, single, second = outputs[:8], outputs[8], outputs[9:]
    assert single == "tiny.int8.beam1.map.overlap-False.batch_sentences-1.1"
    assert [name.removesuffix(".1") for name in first] == [name.removesuffix(".2") for name in second]
    assert len(set(first)) == 8


def test_a_failed_measurement_ends_the_benchmark(copy, capfd):
    shutil.rmtree(copy / "decoding")
    (copy / "models/float32/model.bin").write_bytes(b"")
    with pytest.raises(UserError, match=r"measuring .*float32 failed with status 1; see above"):
        timed(copy)
    assert "CTranslate2 cannot load this model" in capfd.readouterr().err
    assert not (copy / "decoding/tiny.json").exists()


def test_the_baseline_has_its_own_beams_and_wrong_folders_are_not_measured(tmp_path):
    found = benchmark.configurations(described(folders()["opennmt-tf"], folders()["int8"]), [1, 4], [4])
    ways = ("int8.beam1", "int8.beam1.map", "int8.beam4", "int8.beam4.map", "opennmt-tf.beam4")
    assert [configuration.name for configuration in found] == [f"tiny.{way}" for way in ways]
    with pytest.raises(UserError, match="two configurations of one name"):
        protocol.measured(benchmark.configurations(described(*[folders()["int8"]] * 2), [1], [1]), None)

    redescribe(shutil.copytree(folders()["int8"], tmp_path / "int8"), role=None, shape=None)
    with pytest.raises(UserError, match=r"int8: its model\.json has no role, shape; every measurement names them"):
        protocol.measured(benchmark.configurations(described(tmp_path / "int8"), [1], [1]), None)


ROLES = {"teacher": "teacher", "deep": "student", "deep-original": "control"}  # by system


def test_systems_take_turns_and_all_may_be_timed_often(tmp_path):
    models = [tmp_path / system / name for system in ROLES for name in ("float32", "int8")]
    for model in models:
        shutil.copytree(folders()[model.name], model)
        redescribe(model, system=model.parent.name, role=ROLES[model.parent.name])
    todo = benchmark.configurations(described(*models), [1], [4])
    ways = ("float32.beam1", "float32.beam1.map", "int8.beam1", "int8.beam1.map")
    assert [configuration.name for configuration in todo] == [f"{system}.{way}" for way in ways for system in ROLES]
    assert [protocol.times(configuration, 3) for configuration in todo] == [3] * 12
    made = protocol.Runs(conditions(tmp_path, test_sets=[("test", tmp_path / "a"), ("val", tmp_path / "b")]))
    for one in todo:  # the teacher's dev set, too
        assert [name for name, _ in made.test_sets(one, 1)] == ["test", "val"]
        assert [name for name, _ in made.test_sets(one, 2)] == ["test"]
    assert [name for name, _ in made.test_sets(replace(todo[0], baseline=True), 1)] == ["test"]


def test_single_sentences_are_those_of_students_in_their_fastest_ways(tmp_path):
    formats = {"opennmt-tf": "opennmt-tf", "float32": "ctranslate2", "int8": "ctranslate2", "native-int8": "native"}
    models = [tmp_path / system / name for system in ROLES for name in formats]
    for model in models:
        name, system = model.name, model.parent.name
        about = {"quantization": "int8" if "int8" in name else "float32", "vocabulary_map": name != "opennmt-tf"}
        about |= {"engine": formats[name], "system": system, "role": ROLES[system]}
        model.mkdir(parents=True)
        write_json(model / "model.json", about | {"format": 1, "shape": "1:1 d16 ff32 h2", "parameters": 1234})
    todo = benchmark.configurations(described(*models), [1, 4], [4])
    found = benchmark.alone([replace(one, workers=2) for one in todo], "first")
    end = "beam1.map.overlap-False.batch_sentences-1"
    assert [one.name for one in found] == [f"deep.int8.{end}", f"deep.native-int8.{end}"]
    assert {(one.test_sets, one.workers, protocol.times(one, 3)) for one in found} == {(("first",), 1, 1)}
    without = [one for one in models if one.parent.name != "deep"]  # a study of corpora that were distilled elsewhere
    todo = benchmark.configurations(described(*without), [1], [4])
    assert {protocol.times(one, 3) for one in todo if one.baseline} == {1}
    assert {one.label for one in benchmark.alone(todo, "first")} == {"deep-original"}


def test_folders_of_an_engine_that_is_not_installed_are_left_out(tmp_path, monkeypatch, capsys):
    models = [tmp_path / name for name in ("int8", "native-int8")]
    for model, engine in zip(models, ("ctranslate2", "native"), strict=True):
        write_json(model / "model.json", {"engine": engine, "quantization": "int8", "vocabulary_map": False})
    monkeypatch.setattr(Native, "supported", classmethod(lambda cls: [*cls.types]))
    found = described(*models)
    assert benchmark.installed(found) == found and not capsys.readouterr().err
    monkeypatch.setattr(Native, "supported", classmethod(lambda cls: []))
    assert benchmark.installed(found) == found[:1]
    assert capsys.readouterr().err == f"not measured, their engine is not installed: {models[1]}\n"


def test_a_disturbed_time_of_a_single_sentence_is_none():
    way = {"compute_type": "int8", "vocabulary_map": True}
    fast, slow = measured(**way), measured(compute_type="float32")
    single = measured(**way, batch_sentences=1, sentences=50, text_seconds=2.0)
    other = measured(**way, test_set="u")
    assert benchmark.joined([fast, slow, other, single]) == [replaced(fast, sentence_seconds=0.04), slow, other]
    assert benchmark.joined([fast, replace(single, noisy=True)]) == [fast]


def one_run(decode_seconds, output="x", load_seconds=0.5, compute_type="int8"):
    row = {"sentences": 1, "source_words": 100, "source_tokens": 150, "target_tokens": 200, "output_sha256": output}
    row |= {"reference_tokens": 190, "candidates": None, "tokenization_seconds": 0.1, "detokenization_seconds": 0.1}
    row |= {"text_seconds": decode_seconds + 0.2, "cpu_seconds": 2 * decode_seconds, "joules": None, "others": 0.01}
    run = {"load_seconds": load_seconds, "warmup_seconds": 0.2, "checksum_seconds": 0.1, "load_average": 1.0}
    run |= {"peak_rss_bytes": int(decode_seconds), "measured_at": "2026-01-01T00:00:00+00:00", "key": "x"}
    run |= {"engine_version": "1", "effective_compute_type": compute_type, "forced_isa": None}
    run |= {"test_sets": {"t": row | {"decode_seconds": decode_seconds}}}
    return msgspec.convert(run, kept_runs.KeptRun)


def test_a_type_that_is_slow_is_measured_once(tmp_path, monkeypatch):
    made = []

    def run(self, configuration, number):
        made.append((configuration.model.path.name, number))
        return one_run(1.0, compute_type=configuration.model.path.name)

    monkeypatch.setattr(protocol.Runs, "run", run)
    monkeypatch.setattr(ctranslate2_loading, "fast", lambda kind: kind != "int8")
    todo = benchmark.configurations(described(folders()["float32"], folders()["int8"]), [1], [])
    todo = [configuration for configuration in todo if not configuration.vocabulary_map]
    records.write(tmp_path / "t.tsv.zst", [("a dog .", "ein Hund .")])
    found = protocol.measured(todo, conditions(tmp_path, runs=3, test_sets=[("t", tmp_path / "t.tsv.zst")]))
    assert {record.timing.source_tokens_moses for record in found} == {3}
    assert made == [("float32", 1), ("int8", 1), ("float32", 2), ("float32", 3)]
    assert [record.timing.runs for record in found] == [3, 1]
    assert [record.signature.split("|")[-1] for record in found] == ["runs:3", "runs:1"]


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu, "CPUINFO", tmp_path / "cpuinfo")
    return tmp_path / "cpuinfo"


@pytest.mark.parametrize(("vendor", "fast"), [("GenuineIntel", True), ("AuthenticAMD", False)])
def test_int16_is_fast_on_intel_alone(cpuinfo, vendor, fast):
    cpuinfo.write_text(f"vendor_id\t: {vendor}\n")
    assert ctranslate2_loading.fast("int16") == fast
    assert [*map(ctranslate2_loading.fast, ("float32", "int8", "int4"))] == [True, True, False]


def test_medians_and_extremes():
    found = kept_runs.timing([one_run(2.0), one_run(4.0, load_seconds=0.7), one_run(10.0)], "t")
    assert found.decode_seconds == (4.0, 2.0, 10.0) and found.target_tokens_per_second == (50, 20, 100)
    assert found.total_seconds.middle == pytest.approx(0.7 + 4.2)
    assert found.source_words_per_second.middle == pytest.approx(100 / 4.2)  # with tokenization, without loading
    assert found.peak_rss_bytes == 10 and found.cpu_seconds == 8.0
    assert found.joules is None and found.others == 0.01
    assert found.output_identical
    assert not kept_runs.timing([one_run(1.0), one_run(1.0, output="y")], "t").output_identical


def test_signature():
    record = measured(engine_version="4.8.5", batch_tokens=512, length_penalty=1.0, vocabulary_map=True, cores=[0])
    record = replaced(record, isa="avx512", runs=3)
    common = "engine:ctranslate2|v:4.8.5|type:int8|beam:1|lp:1|batch:512t|map:yes|workers:1|cores:1|isa:avx512"
    assert kept_runs.signature(record) == f"{common}|runs:3"
    assert kept_runs.signature(replaced(record, forced_isa="AVX2")) == f"{common}|forced:avx2|runs:3"


@pytest.mark.parametrize(
    ("flags", "isa"),
    [
        ("sse avx avx2 fma", "avx2"),
        ("avx2 avx512f avx512bw", "avx512"),
        ("avx2 avx512f avx512bw avx512_vnni amx_tile amx_int8", "amx"),
        ("avx2 avx512f avx512bw avx512_vnni", "avx512-vnni"),
        ("avx2 avx512f", "avx2"),
        ("avx2 avx_vnni", "avx2-vnni"),
    ],
)
def test_machine(cpuinfo, monkeypatch, flags, isa):
    cpuinfo.write_text(f"processor\t: 0\nmodel name\t: A: CPU\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
    monkeypatch.setenv("CT2_FORCE_CPU_ISA", "AVX2")
    assert experiments.here() == {"cpu": "A: CPU", "isa": isa, "forced_isa": "AVX2"}


def test_peak_memory_is_that_of_this_process():
    held = bytearray(b"x") * 200_000_000  # Linux counts it in the ru_maxrss of the processes started from here
    program = "from measure.timing_loop import peak_rss_bytes; block = bytearray(b'x') * {}; print(peak_rss_bytes())"
    peaks = [
        int(subprocess.run([sys.executable, "-c", program.format(size)], capture_output=True, check=True).stdout)
        for size in (0, 100_000_000)
    ]
    assert 1_000_000 < peaks[0] < len(held)
    assert peaks[1] - peaks[0] == pytest.approx(100_000_000, rel=0.1)


@pytest.mark.parametrize("core", [4000, -1])
def test_a_core_that_does_not_exist(core):
    with pytest.raises(UserError, match=rf"cores {core} cannot be used; this process may use \d"):
        machine.pin([core])


def test_an_empty_test_set(tmp_path):
    records.write(tmp_path / "x.tsv.zst", [])
    with pytest.raises(UserError, match=r"x\.tsv\.zst: a test set without sentences"):
        run.sources(tmp_path / "x.tsv.zst")


def test_a_task_is_read_as_it_was_written(tmp_path):
    names = {"cores": (0, 1), "without": frozenset({"sorting", "packed"}), "sentences": 9, "blocked_ngram": 3}
    how = DecodingOptions(beam_size=4, vocabulary_map=True, **names)
    task = RunTask(Path("m"), how, [("t", Path("t.tsv.zst"))], Path("run.json"), Path("x"))
    command = task.command(tmp_path / "task.json")
    assert RunTask.read(Path(command[-1])) == task
    write_json(tmp_path / "task.json", task.document() | {"decoding": {"cores": 0}})
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    problem = "(Expected `array`, got `int` - at `$.decoding.cores`)"
    assert done.stderr.endswith(f"not a task of measure.run {problem}; measure.task describes it\n")


def test_test_sets_have_names(tmp_path):
    command = [sys.executable, "-m", "measure.benchmark", "--models", str(folders()["int8"]), "--translations", "x"]
    command += ["--output", "x", "--test-sets", "x.tsv.zst"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'x.tsv.zst' is not of the form name=path" in done.stderr
