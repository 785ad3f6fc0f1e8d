"""A study whose text carries scores: from a table to the page of the corpora; a changed bound runs one job."""

import json

import pytest
from snakefile import TINY, dry_run, planned, snakemake, succeeded

from corpora import grammar
from formats import records
from nmt_frontier.files import read_json

pytestmark = pytest.mark.slow


def study(folder, bound):
    """The tiny study, with a corpus more."""
    score = {"quality": {"column": 2, "bound": bound}, "order": {"column": 3, "better": "low", "best": 100}}
    corpora = {"crawl": {"role": "train", "file": str(folder / "crawl.tsv"), "score": score}}
    (folder / "x.yaml").write_text(json.dumps({"extends": str(TINY), "keep_rejected": True, "corpora": corpora}))
    return folder / "x.yaml"


def test_a_changed_bound_runs_one_job(tmp_path):
    pairs = list(grammar.generate("de", "test2", 300, 1))
    rows = [f"{source}\t{target}\t{number % 10 / 10}\t{number}" for number, (source, target) in enumerate(pairs)]
    (tmp_path / "crawl.tsv").write_text("\n".join(rows) + "\n")
    succeeded(snakemake("corpora", "--configfile", study(tmp_path, 0.5), cwd=tmp_path))
    clean = tmp_path / "results/test-tiny/corpora/clean"
    counts = read_json(clean / "crawl.json")
    kept = [*records.read(clean / "crawl.tsv.zst")]
    assert len(kept) == 100 and {*kept} <= {*pairs}
    assert counts["dropped"]["low_score"] + 100 + counts["dropped"]["duplicate"] == 300
    reasons = [record[0] for record in records.read(clean / "crawl.rejected.tsv.zst")]
    assert reasons.count("low_score") == counts["dropped"]["low_score"]
    page = (tmp_path / "results/test-tiny/report/corpora.html").read_text()
    assert "Histograms of scores" in page and "low score" in page
    target = "results/test-tiny/corpora/clean/crawl.tsv.zst"
    again = dry_run(target, "--configfile", study(tmp_path, 0.6), cwd=tmp_path)
    assert planned(again) == {"bound": 1}
