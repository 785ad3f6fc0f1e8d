"""A study whose text carries scores: from a table to the page of the corpora; a changed bound runs one job."""

import json
import sys

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
    assert sum(counts["dropped"].values()) + 100 == 300 and counts["dropped"]["low_score"]
    reasons = [record[0] for record in records.read(clean / "crawl.rejected.tsv.zst")]
    assert reasons.count("low_score") == counts["dropped"]["low_score"]
    page = (tmp_path / "results/test-tiny/report/corpora.html").read_text()
    assert "Histograms of scores" in page and "low score" in page
    target = "results/test-tiny/corpora/clean/crawl.tsv.zst"
    again = dry_run(target, "--configfile", study(tmp_path, 0.6), cwd=tmp_path)
    assert planned(again) == {"bound": 1}


@pytest.mark.long
def test_scores_of_the_study_are_computed_once(tmp_path):
    """The aligner and four small models are trained, a command makes embeddings; another bound runs one job."""
    pairs = list(grammar.generate("de", "test2", 300, 1))
    half = [target for _, target in pairs[:150]]
    noisy = [*zip((source for source, _ in pairs[:150]), half[7:] + half[:7], strict=True), *pairs[150:]]
    (tmp_path / "crawl.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in noisy))
    (tmp_path / "embed.py").write_text("import sys\nfor line in sys.stdin: print(len(line), line.count('e') + 1)")
    model = {
        "shape": {"encoder_layers": 1, "decoder_layers": 1, "units": 32, "ffn_units": 64, "heads": 2},
        "training": {"steps": 40, "batch_tokens": 256, "learning_rate": 0.01, "warmup_steps": 10, "threads": 1,
                     "checkpoint_steps": 20, "average_last": 2, "validation_steps": 40},
    }  # fmt: skip
    embeddings = {"command": f"{sys.executable} {tmp_path / 'embed.py'}", "measure": "cosine"}
    scores = {"trusted": ["grammar"], "shards": 2, "pieces": 300, "model": model, "embeddings": embeddings}
    scores["domain"] = {"near": ["grammar_english"]}
    bounds = {"alignment": {"best": 100}, "translation": {}, "embeddings": {}, "domain": {}}

    def study(**changes):
        corpora = {"crawl": {"role": "train", "file": str(tmp_path / "crawl.tsv"), "score": bounds | changes}}
        text = json.dumps({"extends": str(TINY), "corpora": corpora, "scores": scores})
        (tmp_path / "x.yaml").write_text(text)
        return tmp_path / "x.yaml"

    target = "results/test-tiny/corpora/clean/crawl.tsv.zst"
    succeeded(snakemake(target, "--configfile", study(), cwd=tmp_path))
    counts = read_json(tmp_path / "results/test-tiny/corpora/clean/crawl.json")
    assert counts["lines_out"] == 100 and {*counts["scores"]} == {*bounds}
    assert all(sum(each["before"]) > 250 for each in counts["scores"].values())
    kept = [*records.read(tmp_path / target)]
    assert sum(pair in pairs for pair in kept) > 90  # the shifted ones are worse
    again = dry_run(target, "--configfile", study(translation={"bound": 0.01}), cwd=tmp_path)
    assert planned(again) == {"bound": 1}
