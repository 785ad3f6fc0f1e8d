"""What jobs on a cluster ask for follows from the size of the study."""

import pytest
from snakefile import ROOT

from common.errors import UserError
from study import benchmarked, config
from study.requests import DAY, Requests

BENCHMARKS = ROOT / benchmarked.FOLDER


def requests(name, **changes):
    return Requests(config.load(ROOT / f"configs/{name}.yaml") | changes, BENCHMARKS)


def test_larger_studies_ask_for_more():
    offline, large = requests("offline"), requests("wngt2020")
    assert offline.minutes("rescore_shard") == offline.minutes("clean") == 60
    assert large.minutes("rescore_shard") > 300 and large.minutes("benchmark") > DAY
    assert large.minutes("of no plan") == 60
    assert offline.teacher_megabytes("teacher") < 20 < 1000 == large.teacher_megabytes("reverse")
    reverse = next(iter(config.load(ROOT / "configs/wngt2020.yaml")["teachers"].values()))
    reverse |= {"parameters": 1e9, "shape": None}
    assert requests("wngt2020", reverse_teacher=reverse).teacher_megabytes("reverse") == 5000


def test_a_reverse_teacher_asks_for_the_time_of_its_own_work():
    """It counts as a large model; `all` gives it every hypothesis to score."""
    study = config.load(ROOT / "configs/wngt2020.yaml")
    distillation = study["distillation"] | {"device": "cpu", "compute_type": "int8"}

    def minutes(targets):
        mixtures = {"distilled": study["mixtures"]["distilled"] | {"targets": targets}}
        return requests("wngt2020", distillation=distillation, mixtures=mixtures).minutes("reverse_shard")

    assert 600 < minutes("best") < minutes("all") and requests("offline").minutes("reverse_shard") == 60


def test_fewer_shards_ask_for_more():
    study = config.load(ROOT / "configs/wngt2020.yaml")
    halved = study["distillation"] | {"shards": study["distillation"]["shards"] // 2}
    more = Requests(study | {"distillation": halved}, BENCHMARKS).minutes("rescore_shard")
    assert more == pytest.approx(2 * requests("wngt2020").minutes("rescore_shard"), rel=0.01)


def test_what_is_not_known_counts_as_a_day():
    study = config.load(ROOT / "configs/offline.yaml")
    corpora = study["corpora"] | {"grammar": study["corpora"]["grammar"] | {"builtin": None, "lines": None}}
    assert Requests(study | {"corpora": corpora}, BENCHMARKS).minutes("clean") == DAY


def test_benchmarks_that_are_not_there_are_told(tmp_path):
    with pytest.raises(UserError, match="no such benchmark"):
        Requests(config.load(ROOT / "configs/offline.yaml"), tmp_path)
