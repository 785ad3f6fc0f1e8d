"""CPU time, memory and bytes of the text stages that no other benchmark times, for plans of large studies.

The text is that of cleaning.py, and the commands are those of the pipeline. CPU time is summed over threads; other
processes disturb it less than wall time.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from processes import Process
from real_text import LANGUAGES, load, options, real_pairs, scratch

from distill import n_best_lists
from distill.n_best_lists import NBestList, ScoredText
from formats import records
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.machine import describe, load_average
from study import rates

SHARDS = 8
PIECES = 32_000
N_BEST = 4
FEW = 100  # a small epoch has one in so many pairs
TIMES = 5  # measurements of the rates of this machine


def timed(module: str, *arguments: object) -> dict[str, float]:
    """Run a command of the pipeline: its CPU seconds, seconds and largest resident set in bytes."""
    process = Process(module, *arguments).wait()
    seconds = {"cpu_seconds": round(process.cpu_seconds, 2), "seconds": round(process.seconds, 2)}
    return seconds | {"peak_rss_bytes": process.peak}


def undisturbed() -> dict[str, float]:
    """The rates of one core of this machine (study.rates): the shortest of several, as other processes only add time.

    The rate of logits is a difference of two, so its shortest is too short: plans leave out trainings on CPUs.
    """
    several = [asdict(rates.measured(1, "float32")) for _ in range(TIMES)]
    return {name: min(each[name] for each in several) for name, value in several[0].items() if type(value) is float}


def shards(corpus: Path, folder: Path) -> list[Path]:
    """The shards that cleaning without rules makes of the corpus."""
    paths = [folder / f"{k}-of-{SHARDS}.tsv.zst" for k in range(1, SHARDS + 1)]
    for k, path in enumerate(paths, 1):
        shard = ["--shard", f"{k}/{SHARDS}", "--output", path]
        timed("corpora.clean", "--input", corpus, "--languages", *LANGUAGES, *shard)
    return paths


def lists(pairs: list[tuple[bytes, bytes]], count: int) -> Iterator[NBestList]:
    """N-best lists of other targets of the same pairs."""
    for number in range(count):
        source, target = pairs[number % len(pairs)]
        others = [ScoredText(f"{target.decode()} {place}", -place / 3) for place in range(N_BEST)]
        yield NBestList(source.decode(), others)


def measured(pairs: list[tuple[bytes, bytes]], size: int, folder: Path) -> dict[str, Any]:
    """Each stage: what it worked on, its time and memory. size: pairs; encoding and selecting take a third of them."""
    corpus, part, few, third = (folder / f"{name}.tsv.zst" for name in ("corpus", "part", "few", "third"))
    lines, checksum = records.write_blocks(corpus, load(pairs, size))
    write_json(records.info(corpus), {"name": "corpus", "lines": lines, "sha256": checksum, "dropped": {}})
    stages: dict[str, Any] = {}

    def stage(name: str, amounts: dict[str, int], module: str, *arguments: object) -> None:
        stages[name] = amounts | timed(module, *arguments)
        print(name, stages[name], file=sys.stderr, flush=True)

    drawn, some = lines // 6, lines // 3
    subset = ("corpora.subset", "--input", corpus, "--sample", drawn, "--output", part)
    stage("subset", {"read": lines, "drawn": drawn}, *subset)
    gathered = folder / "gathered.tsv.zst"
    stage("gather", {"read": lines}, "corpora.gather", "--inputs", *shards(corpus, folder), "--output", gathered)
    kept = records.count(gathered)
    draw = ("train.sample", "--corpora", gathered)
    stage("draw few", {"read": kept, "drawn": kept // FEW}, *draw, "--pairs", kept // FEW, "--output", few)
    stage("draw all", {"read": kept, "drawn": kept}, *draw, "--output", corpus)
    timed(*draw, "--pairs", some, "--output", third)
    model = folder / "sentencepiece.model"
    learn = ("train.vocabulary", "--corpora", third, "--languages", *LANGUAGES, "--pieces", PIECES, "--threads", 2)
    learn = (*learn, "--model", model, "--vocabulary", folder / "vocabulary.txt")
    for sentences in (some // 5, some // 2):
        amounts = {"read": 2 * some, "sentences": sentences}
        stage(f"vocabulary {sentences}", amounts, *learn, "--sentences", sentences)
    sides = [folder / "source", folder / "target"]
    stage("encode", {"read": some}, "train.encode", "--inputs", third, "--model", model, "--outputs", *sides)
    n_best_lists.write(folder / "n-best.tsv.zst", lists(pairs, some))
    chosen = ["--n-best-lists", folder / "n-best.tsv.zst", "--targets", "best", "--output", folder / "best.tsv.zst"]
    stage("select", {"read": some}, "distill.select", *chosen)
    texts = [path.read_bytes() for path in sides]
    pieces = sum(text.count(b" ") + text.count(b"\n") for text in texts)
    sizes = {"text_bytes": sum(map(len, records.frames(corpus))) / kept, "record_bytes": corpus.stat().st_size / kept}
    encoded = {"encoded_bytes": sum(map(len, texts)) / some, "pieces": pieces / some}
    return {"stages": stages, "per_pair": {name: round(value, 1) for name, value in (sizes | encoded).items()}}


def main() -> None:
    parser = options(__doc__, "5 GB for 3 million pairs")
    parser.add_argument("--pairs", type=int, default=3_000_000, help="(default: %(default)s)")
    args = parser.parse_args()
    with scratch(args) as folder:
        before = {"load_average_before": load_average(), "rates": undisturbed()}
        result = measured(real_pairs(args.mirror), args.pairs, folder)
    calls = f"python benchmarks/stages.py --pairs {args.pairs}"
    write_json(args.output, {"command": calls, "machine": describe(), **before, **result})
    print(json.dumps(result["per_pair"]))


if __name__ == "__main__":
    command(main)
