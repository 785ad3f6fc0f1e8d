"""What jobs on a cluster ask for follows from the size of the study."""

import pytest
from snakefile import ROOT

from common.errors import UserError
from study import config, rates
from study.job_limits import DAY, Requests

BENCHMARKS = ROOT / rates.BENCHMARKS


def requests(name, **changes):
    return Requests(config.load(ROOT / f"configs/{name}.yaml") | changes, BENCHMARKS)


def test_larger_studies_ask_for_more():
    offline, large = requests("offline"), requests("wngt2020")
    assert offline.minutes("rescore_shard") == offline.minutes("clean") == 60
    assert large.minutes("rescore_shard") > 300 and large.minutes("benchmark") > DAY
    assert large.minutes("of no plan") == 60
    assert offline.teacher_megabytes("teacher") < 20 < 1349 == large.teacher_megabytes("wmt19-1")
    teachers = config.load(ROOT / "configs/wngt2020.yaml")["teachers"]
    for parameters, megabytes in ((1e9, 5000), (None, 1000)):
        other = teachers | {"wmt19-1": teachers["wmt19-1"] | {"parameters": parameters}}
        assert requests("wngt2020", teachers=other).teacher_megabytes("wmt19-1") == megabytes


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
