"""The estimate of time and disk: it grows with a study, and shrinks on a faster machine."""

import copy
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import cpus
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from nmt_frontier import cpu
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from study import config, rates
from study.configuration import typed
from study.estimate import estimate, makespan, wall_seconds
from study.jobs import jobs
from study.rates import Rates, shipped
from study.rates.__main__ import main
from study.resources import LONGEST, TOKENS, distillation_resources, operations, trained_tokens, training_resources
from study.systems import systems
from study.workload import MEAN, StudyStage, Work
from train.settings import PhaseSection

ROOT = Path(__file__).parents[3]
SEVERAL_TEACHERS = config.load(ROOT / "tests/studies/several-teachers.yaml")
RATES = Rates(product=1 / 40e9, logit=5e-10, decoded=1e-5, tensorflow=5.0, python=0.3)


def core_minutes(study, stage, measured=RATES):
    minutes = re.findall(rf"{stage}.* ([\d,.]+) core-minutes", estimate(typed(study), 2, measured))
    return sum(float(number.replace(",", "")) for number in minutes)


def edited(change):
    study = copy.deepcopy(SEVERAL_TEACHERS)
    change(study)
    return study


def test_epochs_are_as_long_as_the_steps_they_make():
    training = next(iter(typed(SEVERAL_TEACHERS).students.values())).training
    common = structs.replace(
        training, batch_tokens=2000, batch_sentences=None, accumulate=1, threads=1, gpus=1, then=[]
    )
    steps, epochs = structs.replace(common, steps=100, epochs=None), structs.replace(common, steps=None, epochs=2)
    pairs = 100 * 2000 // TOKENS // 2
    assert trained_tokens(steps, pairs) == pytest.approx(trained_tokens(epochs, pairs))
    sentences = structs.replace(steps, batch_tokens=None, batch_sentences=2000 // TOKENS)
    assert trained_tokens(sentences, pairs) == pytest.approx(trained_tokens(steps, pairs))
    both = structs.replace(steps, then=[PhaseSection(epochs=2, accumulate=16)])
    assert trained_tokens(both, pairs) == pytest.approx(2 * trained_tokens(steps, pairs))
    # On two GPUs, two phases: twice as many batches in as many steps, but no longer epochs.
    assert trained_tokens(structs.replace(both, gpus=2), pairs) == pytest.approx(3 * trained_tokens(steps, pairs))


def test_a_piece_passes_half_of_the_weights_that_are_multiplied():
    shape = {"encoder_layers": 2, "decoder_layers": 2, "units": 64, "ffn_units": 256, "heads": 4}
    shared = operations(shape | {"share_embeddings": True}, 1000)
    assert operations(shape, 1000) == shared  # the embeddings, apart or not, are looked up
    assert operations(shape | {"ffn_units": 257}, 1000) - shared == 3 * 4 * (2 * 64 + 1)
    assert operations({"model": "TransformerBaseRelative"}, 1000) is None


def test_seeds_are_trained_and_not_timed():
    one_seed = edited(lambda study: study["students"]["deep"].update(seeds=[1]))
    assert core_minutes(SEVERAL_TEACHERS, "training") > 1.2 * core_minutes(one_seed, "training")
    assert core_minutes(SEVERAL_TEACHERS, "decoding") == core_minutes(one_seed, "decoding")


def test_every_teacher_translates():
    one = edited(lambda study: study["teachers"].pop("narrow"))
    assert core_minutes(SEVERAL_TEACHERS, "distillation") > 1.2 * core_minutes(one, "distillation")


def test_an_ensemble_takes_longer_than_its_teachers_and_is_not_rescored():
    def change(study, ensemble):
        study["distillation"].update(engine="native", compute_type="int8", n_best=8)
        for mixture in study["mixtures"].values():
            mixture.update(teacher=None, ensemble="rescoring" if mixture["targets"] == "original" else ensemble)

    together, rescored = (
        Work(typed(edited(lambda study, way=way: change(study, way))), RATES) for way in ("token_by_token", "rescoring")
    )
    assert together.translators("captions") == ["token-ensemble"] and not together.rescores
    assert rescored.translators("captions") == ["wide", "narrow"] and rescored.rescores
    seconds = [
        work.translation_seconds(name, 1000) for work in (together, rescored) for name in work.translators("captions")
    ]
    mean = 1000 * TOKENS * 8 * 2 * 4000 * MEAN  # of two models, with a beam of 8 and 4,000 pieces
    assert seconds[0] == pytest.approx(sum(seconds[1:]) + mean) and sum(seconds[1:]) > 0
    assert (
        together.disk()[StudyStage.TRANSLATION]
        == rescored.disk()[StudyStage.TRANSLATION] / 2
        > together.disk()[StudyStage.RESCORING]
    )
    translating = next(
        group for group in jobs(together, shipped().text) if group.name == "translate_shard token-ensemble captions"
    )
    assert {"train wide", "train narrow"} <= {*translating.after}


def test_teaching_word_by_word_takes_time_and_disk():
    def change(study):
        study["distillation"].update(engine="native", compute_type="int8")
        study["students"]["deep"].update(words={"teacher": "wide", "k": 8, "weight": 0.5})

    plain, taught = SEVERAL_TEACHERS, edited(change)
    native = edited(lambda study: study["distillation"].update(engine="native", compute_type="int8"))
    assert core_minutes(taught, "distillation") > core_minutes(native, "distillation")
    works = [Work(typed(study), RATES) for study in (plain, taught)]
    assert [work.disk()[StudyStage.WORDS] > 0 for work in works] == [False, True]
    mixtures = taught["students"]["deep"]["mixtures"]  # each for all seeds of the student
    assert works[1].words == {("wide", mixture, 8) for mixture in mixtures}


def test_what_nobody_learns_from_is_not_translated():
    def only(mixture):
        return mixture.update(weights={name: 1 for name in list(SEVERAL_TEACHERS["corpora"])[:1]})

    whole = edited(lambda study: study["mixtures"].update(unused=study["mixtures"]["distilled"] | {"targets": "all"}))
    assert core_minutes(whole, "distillation") == core_minutes(SEVERAL_TEACHERS, "distillation")
    less = edited(lambda study: [only(mixture) for mixture in study["mixtures"].values()])
    assert core_minutes(less, "distillation") < 0.9 * core_minutes(SEVERAL_TEACHERS, "distillation")
    trained = "training on translations"
    assert core_minutes(less, trained) == core_minutes(SEVERAL_TEACHERS, trained)


def test_a_backward_teacher_is_trained_and_translates_what_is_drawn():
    """Students of whom nobody asks it see none of its pairs, and an epoch is as long as what is drawn."""

    def back(study):
        study["corpora"]["german"] = study["corpora"]["captions"] | {"role": "monolingual_target", "max_lines": 9000}
        study["mixtures"]["back"] = study["mixtures"]["original"] | {"weights": {"multi30k": 1, "german": 1}}
        teacher = copy.deepcopy(study["teachers"]["narrow"])
        study["back_translation"] = {"teacher": teacher, "beam_size": 2, "sampling": None, "noise": None, "tag": None}

    idle, used = copy.deepcopy(SEVERAL_TEACHERS), None
    back(idle)
    used = copy.deepcopy(idle)
    used["teachers"]["narrow"]["mixture"] = "back"
    assert "back-translation" not in estimate(typed(SEVERAL_TEACHERS), 2, RATES) + estimate(typed(idle), 2, RATES)
    work = Work(typed(used), RATES)
    assert work.back_translated == ["german"] and work.epoch("back") == 38_000 and work.epoch("original") == 29_000
    assert work.pairs == Work(typed(SEVERAL_TEACHERS), RATES).pairs
    narrow = next(system for system in work.trained if system.name == "narrow")
    expected = work.training_seconds(narrow) + work.translation_seconds("narrow", 9000)
    assert core_minutes(used, "back-translation") == pytest.approx(expected / 60, abs=0.1)
    groups = {group.name: group for group in jobs(work, shipped().text)}
    assert groups["train backward"].after[0] == "encode original" and groups["train narrow"].after[0] == "encode back"
    assert "gather_back_translation german" in groups["sample back"].after
    assert groups["translate_shard backward german"].after == ["gather_clean german", "train backward"]
    names = [group.name for group in jobs(Work(typed(idle), RATES), shipped().text)]
    assert "clean german" in names and not any("back" in name for name in names)
    used["distillation"] |= {"device": "cuda", "engine": "ctranslate2", "compute_type": "float16"}
    on_gpu = estimate(typed(used), 2, RATES)
    assert "back-translation, on GPUs" in on_gpu and core_minutes(used, "back-translation") < expected / 60
    assert work.disk()[StudyStage.BACK_TRANSLATION] > 0 == Work(typed(idle), RATES).disk()[StudyStage.BACK_TRANSLATION]


def test_more_cores_than_shards_are_not_used():
    def seconds(shards):
        study = edited(lambda study: study["distillation"].update(shards=shards))
        return wall_seconds(Work(typed(study), RATES), 64)

    assert seconds(1) > seconds(4) > seconds(64)


def test_an_epoch_is_as_long_as_its_mixture():
    def epochs(study):
        for student in study["students"].values():
            student["training"].update(steps=None, epochs=2)

    def every(study):
        epochs(study)
        [mixture.update(targets="all") for mixture in study["mixtures"].values() if mixture["targets"] != "original"]

    best, of_all = (Work(typed(edited(change)), RATES) for change in (epochs, every))
    times = SEVERAL_TEACHERS["distillation"]["n_best"]
    assert times > 1 and of_all.epoch("distilled") == times * best.epoch("distilled")


def test_an_epoch_with_copies_inside_waits_for_the_alignment():
    def sample(places):
        augmentation = {"both_sides": {"url": 0.5}, "meant": {}, "source": {}, "places": places}
        study = edited(lambda study: study["mixtures"]["distilled"].update(augmentation=augmentation))
        found = {group.name: group for group in jobs(Work(typed(study), RATES), shipped().text)}
        return found["sample distilled"], found["sample original"]

    (edges, original), (aligned, same) = sample("edges"), sample("aligned")
    assert {*aligned.after} - {*edges.after} == {"alignment_probabilities"} and aligned.seconds > edges.seconds
    assert {*same.after} == {*original.after} and same.seconds == original.seconds


def test_timing_counts_and_grows_with_the_timed_set():
    def seconds(change):
        return wall_seconds(Work(typed(edited(change)), RATES), 2)

    def dev_first(study):
        study["corpora"] = dict(sorted(study["corpora"].items(), key=lambda item: item[1]["role"] != "dev"))

    once, often = (seconds(lambda study, runs=runs: study["decoding"].update(runs=runs)) for runs in (1, 4))
    assert often > once

    def shorter(study):
        val = next(entry for entry in study["corpora"].values() if entry["role"] == "dev")
        val["max_lines"] = 10

    work, less = Work(typed(SEVERAL_TEACHERS), RATES), Work(typed(edited(shorter)), RATES)
    assert all(less.timing_seconds(system) < work.timing_seconds(system) for system in work.measured)  # teachers, too
    assert seconds(dev_first) == pytest.approx(seconds(lambda study: None))


@pytest.mark.parametrize(("compute_type", "share"), [("float32", 0.8), ("int8", 0.5)])
def test_teachers_translate_faster_in_the_native_engine(compute_type, share):
    def minutes(engine):
        def change(study):
            study["distillation"].update(engine=engine, compute_type=compute_type)
            for mixture in study["mixtures"].values():  # to compare hypotheses takes a time of its own
                mixture["targets"] = mixture["targets"].replace("interpolated", "best")

        return core_minutes(edited(change), "distillation")

    assert minutes("native") == pytest.approx(share * minutes("ctranslate2"), rel=0.05)


@pytest.mark.parametrize(
    ("rate", "stage"),
    [("product", "training"), ("logit", "training"), ("decoded", "distillation"), ("tensorflow", "decoding")],
)
def test_a_slower_machine_takes_longer(rate, stage):
    slower = replace(RATES, **{rate: 3 * getattr(RATES, rate)})
    assert core_minutes(SEVERAL_TEACHERS, stage, slower) > core_minutes(SEVERAL_TEACHERS, stage)


@given(st.lists(st.floats(0, 1e6), max_size=20), st.integers(1, 8))
def test_jobs_side_by_side_take_as_long_as_they_must(jobs, cores):
    wall = makespan(jobs, cores)
    least = max(max(jobs, default=0), sum(jobs) / cores)
    assert least <= wall * (1 + 1e-9) and wall <= 2 * least + 1e-6  # Graham 1966: less than twice the optimum


def test_a_training_on_several_threads_ends_sooner_where_there_are_cores_for_them():
    def seconds(threads, cores):
        study = copy.deepcopy(SEVERAL_TEACHERS)
        for entry in (*study["teachers"].values(), *study["students"].values()):
            entry["training"]["threads"] = threads
        return wall_seconds(Work(typed(study), RATES), cores)

    assert seconds(8, 64) < 0.5 * seconds(1, 64)
    assert seconds(8, 1) > seconds(1, 1)  # threads that wait for each other are work, too


def test_wide_trainings_take_less_time_with_amx(tmp_path, monkeypatch):
    def training(units, precision=None):
        def change(study):
            for entry in study["students"].values():
                entry["shape"] = study["teachers"]["wide"]["shape"] | {"units": units}
                entry["training"]["precision"] = precision

        return core_minutes(edited(change), "training on translations")

    cpus.pretend("avx512-vnni", tmp_path, monkeypatch)
    slow, narrow = training(512), training(256)
    assert training(512, "bfloat16") == slow
    cpus.pretend("amx", tmp_path, monkeypatch)
    assert training(512) == training(512, "bfloat16") == pytest.approx(slow / 1.92, rel=0.02)
    assert training(512, "float32") == slow and training(256) == narrow


def test_it_names_the_targets_that_are_not_counted():
    assert "what only maps, speed and search make is not counted" in estimate(typed(SEVERAL_TEACHERS), 2, RATES)
    without = edited(lambda study: study["speed"].update(systems=[]))
    assert estimate(typed(SEVERAL_TEACHERS), 2, RATES) == estimate(typed(without), 2, RATES)


def resources(name, change=lambda study: None):
    study = edited(change)
    return training_resources(typed(study), next(system for system in systems(typed(study)) if system.name == name))


def of_training(**keys):
    return lambda study: [entry["training"].update(keys) for entry in study["students"].values()]


def test_a_training_asks_for_the_memory_of_its_size():
    request = resources("deep-seed1")
    assert request["gpu"] == 0 and request["mem_mb"] > 1000
    larger = [
        lambda study: study["vocabulary"].update(pieces=32000),
        lambda study: study["students"]["deep"]["shape"].update(units=1024),
        lambda study: study["distillation"].update(epoch_pairs=5_000_000),
        of_training(batch_tokens=25000),
        of_training(batch_tokens=None, batch_sentences=500),  # the longest ones
        of_training(gpus=2),  # copies of the model
    ]
    assert all(resources("deep-seed1", change)["mem_mb"] > request["mem_mb"] for change in larger)
    longer = resources("deep-seed1", of_training(steps=2_000_000))
    assert request["runtime"] < longer["runtime"] <= LONGEST


def test_a_training_on_a_gpu_asks_for_one_and_is_counted_in_its_hours():
    change = of_training(device="cuda")
    request = resources("deep-seed1", change)
    assert request["gpu"] == 1 and request["runtime"] == LONGEST
    # The activations of a batch are in the GPU's memory.
    assert request == resources("deep-seed1", lambda study: (change(study), of_training(batch_tokens=25000)(study)))
    four = resources("deep-seed1", of_training(device="cuda", gpus=4))
    assert four["gpu"] == 4 and four["mem_mb"] > request["mem_mb"]
    on_gpus = r"training, on GPUs +[\d.]+ hours of a GPU that sustains 20 TFLOP/s"
    assert re.search(on_gpus, estimate(typed(edited(change)), 2, RATES))
    assert core_minutes(edited(change), "training") < core_minutes(SEVERAL_TEACHERS, "training")


def test_a_shard_on_a_gpu_asks_for_one():
    on_gpu = distillation_resources(typed(edited(lambda study: study["distillation"].update(device="cuda"))))
    assert distillation_resources(typed(SEVERAL_TEACHERS)) == {"mem_mb": 0, "gpu": 0}
    assert on_gpu["gpu"] == 1 and on_gpu["mem_mb"] > 0


@pytest.mark.parametrize("name", ["wngt2020", "opennmt-wnmt2018", "marian-wnmt2018"])
def test_the_papers_trainings_ask_for_gpus(name):
    study = config.load(ROOT / f"configs/{name}.yaml")
    requests = [training_resources(typed(study), system) for system in systems(typed(study)) if system.shape]
    assert requests and all(request["gpu"] == 1 and request["mem_mb"] > 5000 for request in requests)
    assert "hours of a GPU" in estimate(typed(study), 2, RATES)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The file of this machine's rates, which is not there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NMT_FRONTIER_RATES")
    return tmp_path / f"nmt-frontier/rates-{cpu.kind()}.json"


@pytest.fixture
def measured(monkeypatch):
    """The measurements, which take no time."""
    done = []

    def measure(cores, compute_type):
        done.append(replace(RATES, product=RATES.product * (1 + len(done)), cpu="Abacus"))
        return done[-1]

    monkeypatch.setattr(rates, "measured", measure)
    monkeypatch.setattr(rates.machine, "others_at_work", lambda: 0)
    return done


def test_an_estimate_says_which_rates_it_follows_from(cache, measured, monkeypatch, capsys):
    def from_line():
        return re.findall("  from (.*)", estimate(typed(SEVERAL_TEACHERS), 2, rates.known()))

    shipped = rates.shipped().rates
    assert rates.own() is None and rates.known() == shipped
    assert from_line() == [
        f"rates that ship with the package ({shipped.cpu}); to measure this machine: python -m study.rates"
    ]
    rates.measure()
    assert rates.known() == replace(RATES, cpu="Abacus", origin=f"rates measured on Abacus ({cache})")
    said = capsys.readouterr().err
    assert from_line() == [rates.known().origin] and "a quarter of a minute" in said and "busy" not in said
    monkeypatch.setattr(rates.machine, "others_at_work", lambda: 2 * os.cpu_count())
    rates.measure()
    assert re.search(r"is busy \(\d+ others at work\), so estimates will be too long; measure", capsys.readouterr().err)


@pytest.mark.parametrize("fact", ["flags", "model"])  # virtual machines hide the name
def test_rates_of_another_cpu_are_not_used(fact, cache, measured, tmp_path, monkeypatch):
    one, other = ({"model name": "AMD EPYC", "model": "17", "flags": "avx2"} | {fact: of} for of in ("2", "2 3"))
    monkeypatch.setattr(cpu, "facts", lambda: one)
    first = rates.measured_once()
    monkeypatch.setattr(cpu, "facts", lambda: other)
    (tmp_path / "nmt-frontier/rates.json").write_text("of 0.9.0")
    assert rates.own() is None
    second = rates.measured_once()
    assert second == rates.known() != first
    monkeypatch.setattr(cpu, "facts", lambda: one)
    assert rates.known() == rates.measured_once() == first and len(measured) == 2


def test_the_demo_measures_a_machine_once(cache, measured, monkeypatch):
    demo = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert demo.index("-m study.rates --once") < demo.index("snakemake all")
    monkeypatch.setattr(sys, "argv", ["study.rates", "--once"])
    main()
    main()
    assert len(measured) == 1
    monkeypatch.setattr(sys, "argv", ["study.rates"])
    main()
    assert len(measured) == 2 and rates.known().product == measured[1].product


def test_rates_are_the_means_of_all_processes(monkeypatch):
    class Pool(ThreadPoolExecutor):
        def __init__(self, cores, context):
            super().__init__(cores)

    numbers = iter([(1.0, 0.0, 3.0, 4.0, 5.0), (3.0, 2.0, 3.0, 4.0, 5.0)])
    monkeypatch.setattr(rates, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(rates, "_of_process", lambda compute_type: next(numbers))
    assert rates.measured(2, "int8") == Rates(2.0, 1.0, 3.0, 4.0, 5.0, cpu=rates.machine.describe()["cpu"])
    with pytest.raises(UserError, match="measuring how fast this machine is failed: "):
        rates.measured(1, "int8")  # no further numbers


def test_rates_of_another_machine_are_taken_from_their_file(tmp_path, monkeypatch):
    path = tmp_path / "rates.json"
    monkeypatch.setenv("NMT_FRONTIER_RATES", str(path))
    path.write_text(json.dumps({name: value for name, value in asdict(RATES).items() if name != "origin"}))
    assert replace(rates.known(), origin="") == RATES
    for text in ("{", '{"product": 1e-9}'):
        path.write_text(text)
        with pytest.raises(UserError, match=r"rates.json: no rates of a machine \(.*; measure them again: python"):
            rates.known()
    path.unlink()
    with pytest.raises(UserError, match="No such file"):
        rates.known()


@pytest.mark.slow
def test_rates_are_measured(cache, monkeypatch):
    """By the command, on one core."""
    monkeypatch.setattr(rates.machine, "cores", lambda: (0,))
    found = rates.measure()
    assert read_json(cache).keys() == {"product", "logit", "decoded", "tensorflow", "python", "cpu"}
    assert all(value > 0 for name, value in read_json(cache).items() if name not in ("logit", "cpu"))
    assert 1e-12 < found.product < 1e-8  # between a gigaflop a second and a thousand of them
