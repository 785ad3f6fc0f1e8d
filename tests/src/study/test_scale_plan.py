"""Plans for clusters: jobs as the rules divide the work, hours that no schedule can beat, the kept plan; job limits."""

import copy
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.cost import prices
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from report import scale_plan as report
from study import config, scale_plan, workload
from study.configuration import typed
from study.job_limits import DAY, Requests
from study.jobs import Jobs, Node, critical_path, jobs, least_seconds, work_seconds
from study.rates import SHIPPED, shipped
from study.workload import StudyStage, Work

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
import shipped_rates  # noqa: E402

KEPT = ROOT / "results/reference/cluster"
FOLDER = ROOT / shipped_rates.BENCHMARKS
NODE = Node(cores=4, gpus=2, usd_per_hour=1.0)


def group(name, number, seconds, cores=1, gpus=0, after=()):
    return Jobs(name, StudyStage.CLEANING, number, seconds, cores, gpus, after)


def plan(study, sizes=(1, 8, 64), node="p4d.24xlarge"):
    return scale_plan.plan(typed(study), prices()[node], list(sizes), shipped())


def load(name):
    return config.load(ROOT / f"configs/{name}.yaml")


@pytest.mark.parametrize(
    ("groups", "nodes", "work", "path"),
    [
        ([group("a", 8, 10)], 1, 20, "a"),  # four cores
        ([group("a", 8, 10)], 2, 10, "a"),
        ([group("a", 9, 10)], 2, 11.25, "a"),  # a bound: every schedule takes 20
        ([group("a", 4, 10, gpus=1)], 1, 20, "a"),  # two GPUs
        ([group("a", 2, 10, cores=3)], 1, 15, "a"),
        ([group("a", 2, 10, cores=None), group("b", 4, 10)], 1, 30, "a"),  # alone on a node
        ([group("a", 2, 10, cores=None), group("b", 4, 10, gpus=2)], 1, 60, "a"),  # with its GPUs, too
        ([group("a", 1, 10), group("b", 1, 5, after=["a"]), group("c", 1, 12)], 1, 6.75, "ab"),
        ([group("a", 4, 10), group("b", 1, 5, after=["a", "not there"])], 9, 1.25, "ab"),
        ([group("c", 3, 1, after=["b", "a"]), group("b", 1, 5, after=["a"]), group("a", 1, 10)], 9, 0.5, "abc"),
        ([group("a", 1, 10), group("b", 1, 10), group("c", 1, 1, after="ba")], 1, 5.25, "bc"),
        ([group("a", 0, 10)], 1, 0, ""),
    ],
)
def test_the_bound_is_the_larger_of_the_work_and_the_critical_path(groups, nodes, work, path):
    chain = critical_path(groups)
    assert "".join(each.name for each in chain) == path and work_seconds(groups, NODE, nodes) == pytest.approx(work)
    assert least_seconds(groups, NODE, nodes) == pytest.approx(max(work, sum(each.seconds for each in chain)))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 50), st.sampled_from([1, 2, 4, None]), st.integers(0, 2))),
    st.integers(1, 5),
)
def test_no_cluster_is_faster_than_its_longest_job_or_slower_than_one_job_at_a_time(shapes, nodes):
    groups = [
        group(str(place), number, seconds, cores, gpus, after=[str(place - 1)] if place % 3 == 2 else [])
        for place, (number, seconds, cores, gpus) in enumerate(shapes)
    ]
    least = least_seconds(groups, NODE, nodes)
    of_all = sum(each.number * each.seconds for each in groups)
    assert max([0, *(each.seconds for each in groups)]) <= least <= of_all + 1e-9
    assert least_seconds(groups, NODE, nodes + 1) <= least


@pytest.mark.parametrize("needs", [{"cores": 5}, {"gpus": 3}])
def test_a_job_that_fits_no_node_is_an_error(needs):
    with pytest.raises(UserError, match=r"big needs .* the node has 4 and 2; give another --node"):
        least_seconds([group("big", 1, 1, **needs)], NODE, 8)


def test_the_jobs_are_those_that_snakemake_ran():
    """Of every rule that the plan has, as many as the log of the demo counts."""
    log = (ROOT / "results/reference/layers/run.log").read_text().partition("Select jobs")[0]
    ran = {rule: int(number) for rule, number in re.findall(r"^(\w+) +(\d+)$", log, re.MULTILINE)}
    counted = {}
    for each in jobs(Work(typed(load("demo")), shipped().rates), shipped().text):
        rule = each.name.partition(" ")[0]
        counted[rule] = counted.get(rule, 0) + each.number
    for rule in ("train", "export", "report"):  # of several rules, or of many
        counted.pop(rule)
    assert len(counted) > 12 and counted == {rule: ran[rule] for rule in counted}


def test_every_group_waits_for_groups_that_are_there():
    """But for subsets of corpora that are taken whole, and trainings that nothing starts from."""
    for name in ("wngt2020", "demo", "multi30k", "marian-wnmt2018"):
        groups = jobs(Work(typed(load(name)), shipped().rates), shipped().text)
        names = {each.name for each in groups}
        waited = {other for each in groups for other in each.after} - names
        assert {other.partition(" ")[0] for other in waited} <= {"subset", "train", "rescore_shard"}, waited
        assert len(names) == len(groups)


def edited(change):
    study = copy.deepcopy(load("wngt2020"))
    change(study)
    return study


def sharded(number, section="distillation"):
    return edited(lambda study: study[section].update(shards=number))


def of(stage, made):
    return next(row for row in made["stages"] if row["stage"] == stage)


def test_more_shards_are_more_and_shorter_jobs_of_the_same_work():
    few, many = (of(StudyStage.TRANSLATION, plan(sharded(n), [1])) for n in (100, 200))
    assert many["jobs"] == 2 * few["jobs"]
    assert many["longest_job_hours"] == pytest.approx(few["longest_job_hours"] / 2, rel=0.01)
    assert many["gpu_hours"] == pytest.approx(few["gpu_hours"], rel=0.01)


def test_the_shards_of_the_paper_are_enough_for_64_nodes():
    """As in docs/cluster.md: the critical path through distillation is shorter than its work."""
    made = plan(load("wngt2020"), [64])
    path = [job["hours"] for job in made["critical_path"] if "_shard" in job["job"]]
    work = sum(of(stage, made)["gpu_hours"] for stage in (StudyStage.TRANSLATION, StudyStage.RESCORING)) / (64 * 8)
    assert [f"{sum(path):.1f}", f"{work:.1f}"] == ["7.4", "10.9"]
    made = (plan(study, [64]) for study in (sharded(2, "alignment"), load("wngt2020")))
    two, usual = (of(StudyStage.ALIGNMENT, each)["hours"]["64"] for each in made)
    assert two > 4 * usual


def test_one_training_gains_nothing_by_nodes_and_shards_do():
    made = plan(load("wngt2020"))
    students, shards = of(StudyStage.STUDENTS, made), of(StudyStage.TRANSLATION, made)
    assert students["hours"]["1"] == students["hours"]["64"] == students["longest_job_hours"]
    assert shards["hours"]["1"] > 7 * shards["hours"]["8"] and students["assumed"] and shards["assumed"]
    assert made["hours"]["1"] > made["hours"]["8"] > made["hours"]["64"] >= students["hours"]["64"]
    assert made["hours"]["64"] == pytest.approx(sum(job["hours"] for job in made["critical_path"]), rel=1e-3)
    assert made["hours"]["8"] == made["work_hours"]["8"] > 1.5 * made["hours"]["64"]


def test_several_gpus_share_a_training():
    """The same updates: a batch of a quarter on each of four GPUs."""

    def four(study):
        for student in study["students"].values():
            phases = (student["training"], *student["training"]["then"])
            [phase.update(batch_tokens=6250) for phase in phases if phase.get("batch_tokens")]
            student["training"].update(gpus=4)

    one, several = (of(StudyStage.STUDENTS, plan(study, [1])) for study in (load("wngt2020"), edited(four)))
    assert several["gpu_hours"] == pytest.approx(one["gpu_hours"], rel=0.001)
    assert several["longest_job_hours"] == pytest.approx(one["longest_job_hours"] / 4, rel=0.001)
    hours = [plan(study, [64])["hours"]["64"] for study in (load("wngt2020"), edited(four))]
    assert [f"{each:.0f}" for each in hours] == ["58", "29"]  # as in docs/cluster.md


def test_a_teacher_from_elsewhere_counts_by_its_parameters():
    larger = edited(lambda study: [entry.update(parameters=10**9) for entry in study["teachers"].values()])
    ratio = 1e9 / load("wngt2020")["teachers"]["wmt19-1"]["parameters"]
    for stage in (StudyStage.TRANSLATION, StudyStage.RESCORING):
        hours = [of(stage, plan(study, [1]))["gpu_hours"] for study in (larger, load("wngt2020"))]
        assert hours[0] == pytest.approx(ratio * hours[1], rel=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda study: study["teachers"]["wmt19-2"].update(parameters=None), "the size of teacher wmt19-2; set"),
        (lambda study: study["students"]["6-3"]["training"].update(device="cpu"), "wngt2020: trained on CPUs: 6-3; p"),
        (lambda study: study["corpora"]["rapid"].update(lines=None), "the size of rapid; set lines or parameters"),
    ],
)
def test_what_has_no_size_or_no_rate_is_an_error(change, message):
    with pytest.raises(UserError, match=message):
        plan(edited(change))


def test_a_plan_refuses_types_that_no_machine_has(tmp_path):
    path = tmp_path / "study.yaml"
    for key, name in (("decoding", "compute_types: [int9]"), ("distillation", "compute_type: int9")):
        path.write_text(f"extends: {ROOT}/configs/wngt2020.yaml\nstudy: x\n{key}: {{{name}}}\n")
        message = rf"{key}\.compute_type.*'int9' is not supported; supported: float32, int16"
        with pytest.raises(UserError, match=message):
            config.load(path)


def test_a_study_on_gpus_needs_nodes_with_gpus():
    with pytest.raises(UserError, match="needs 1 cores and 1 GPUs, the node has 2 and 0; give another --node"):
        plan(load("wngt2020"), node="m7i.large")


def test_a_missing_benchmark_is_named_with_its_script(tmp_path):
    for name in ("corpora", "vmap"):
        shutil.copy(FOLDER / f"{name}.json", tmp_path)
    with pytest.raises(UserError, match=r"stages\.json: no such benchmark; make it with benchmarks/stages\.py"):
        shipped_rates.shipped(tmp_path)
    assert all((ROOT / "benchmarks" / script).exists() for script in shipped_rates.SCRIPTS.values())


def test_every_rate_has_its_file_and_its_cpu():
    for rate in shipped().text.values():
        assert rate.seconds > 0 and rate.cpu == read_json(ROOT / rate.file)["machine"]["cpu"]


def test_two_runs_give_the_rates_of_reading_and_drawing():
    few, many = ({"read": 1000, "drawn": n, "cpu_seconds": 1000 * 0.02 + n * 0.05} for n in (10, 500))
    assert shipped_rates.solved(few, many, "drawn") == pytest.approx((0.02, 0.05))
    with pytest.raises(UserError, match="more drawn took no longer; run"):
        shipped_rates.solved(few, many | {"cpu_seconds": few["cpu_seconds"]}, "drawn")


def test_bytes_of_a_pair_are_the_measured_ones():
    per_pair = read_json(FOLDER / "stages.json")["per_pair"]
    assert pytest.approx(per_pair["record_bytes"], rel=0.05) == workload.RECORD_BYTES
    assert pytest.approx(per_pair["encoded_bytes"], rel=0.05) == workload.PIECES_BYTES


def test_the_shipped_rates_follow_from_the_kept_benchmarks(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert shipped_rates.shipped(shipped_rates.BENCHMARKS) == read_json(SHIPPED)


def test_the_kept_plan_follows_from_the_shipped_rates():
    again = scale_plan.plan(typed(load("wngt2020")), prices()["p4d.24xlarge"], [1, 8, 64], shipped())
    kept = read_json(KEPT / "scale_plan.json")
    assert json.loads(json.dumps(again)) == kept


def test_a_teacher_that_translates_natively_takes_less_of_a_plan(tmp_path):
    hours = {}
    for engine in ("ctranslate2", "native"):
        section = {"device": "cpu", "compute_type": None, "engine": engine}
        path = tmp_path / "study.yaml"
        path.write_text(json.dumps({"extends": str(ROOT / "configs/wngt2020.yaml"), "distillation": section}))
        hours[engine] = of(StudyStage.TRANSLATION, plan(config.load(path)))["core_hours"]
    assert hours["native"] == pytest.approx(workload.NATIVE_TEACHER["int8"] * hours["ctranslate2"], rel=1e-3)


def test_the_page_has_the_table_of_the_kept_plan():
    assert report.stages(read_json(KEPT / "scale_plan.json")) in (ROOT / "docs/cluster.md").read_text()


def test_what_follows_from_an_assumed_speed_is_marked():
    kept = read_json(KEPT / "scale_plan.json")
    rows = {line.split("|")[1].strip(): line for line in report.stages(kept).splitlines()}
    for stage in kept["stages"]:
        assert ("~" in rows[stage["stage"]]) == (stage["gpu_hours"] > 0), stage["stage"]
    assert "~" in rows["all, at least"] and "which is assumed: 20 TFLOP/s" in report.note(kept)
    assert "From 13 nodes on, more nodes do not lower the bound" in report.note(kept)  # as docs/cluster.md says


def requests(name, **changes):
    return Requests(typed(config.load(ROOT / f"configs/{name}.yaml") | changes))


def test_larger_studies_ask_for_more():
    offline, large = requests("offline"), requests("wngt2020")
    assert offline.minutes("rescore_shard") == offline.minutes("clean") == 60
    assert large.minutes("rescore_shard") > 300 and large.minutes("benchmark") > DAY
    assert large.minutes("of no plan") == 60
    assert offline.teacher_megabytes("teacher") < 20 < 1349 == large.teacher_megabytes("wmt19-1")
    teachers = config.load(ROOT / "configs/wngt2020.yaml")["teachers"]
    for parameters, megabytes in ((10**9, 5000), (None, 1000)):
        other = teachers | {"wmt19-1": teachers["wmt19-1"] | {"parameters": parameters}}
        assert requests("wngt2020", teachers=other).teacher_megabytes("wmt19-1") == megabytes


def test_fewer_shards_ask_for_more():
    distillation = config.load(ROOT / "configs/wngt2020.yaml")["distillation"]
    halved = distillation | {"shards": distillation["shards"] // 2}
    more = requests("wngt2020", distillation=halved).minutes("rescore_shard")
    assert more == pytest.approx(2 * requests("wngt2020").minutes("rescore_shard"), rel=0.01)


def test_what_is_not_known_counts_as_a_day():
    corpora = config.load(ROOT / "configs/offline.yaml")["corpora"]
    corpora["grammar"] |= {"builtin": None, "lines": None}
    assert requests("offline", corpora=corpora).minutes("clean") == DAY
