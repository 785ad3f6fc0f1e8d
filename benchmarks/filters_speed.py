"""Pairs a second of one core for each filter of benchmarks/filters.py.

The commands of the pipeline read the first pairs of the study's text, so many for each as take seconds, and count their
own time: from the first pair to the last, without the start; cleaning reads and writes, too. bicleaner-hardrules counts
no time, so that its start is in it. All take turns; the median counts. Run this, and the server of embeddings with one
thread, on one core that nothing else uses: ``taskset -c 0``.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

from filters import LANGUAGE, MARK
from msgspec.structs import replace

from common.document import short
from corpora.settings import Cleaning
from formats import records
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.machine import describe, load_average
from study import config
from study.configuration import StudyConfiguration

NOISY, RULES, PUNCTUATION = "noisy", "rules", "punctuation"  # corpora of the study
PAIRS = {"embeddings": 100, "translation": 2000, "hardrules": 10_000}  # and of the others:
MOST = 60_000
Filters = dict[str, list[str]]  # the words of their commands, without input and output


def filters(args: argparse.Namespace, study: StudyConfiguration) -> Filters:
    """Those of the pipeline."""
    asked = study.corpora[RULES].cleaning
    cleanings = {
        "rules": asked,
        f"rules without {LANGUAGE}": replace(asked, langid=[]),
        MARK: study.corpora[PUNCTUATION].cleaning,
    }
    pieces = ["--sentencepiece", args.scores / "sentencepiece.model"]
    found = {name: cleaning(each, study) for name, each in cleanings.items()}
    found["alignment"] = ["scores.alignment", *pieces, "--probabilities", args.scores / "aligner"]
    if args.model:
        found["translation"] = ["scores.translation", "--models", args.model, args.model, *pieces, "--threads", "1"]
    if args.address:
        settings = {"address": args.address, "model": "multilingual-e5-small", "prefix": "query: ", "concurrency": 1}
        found["embeddings"] = ["scores.embeddings", json.dumps(settings)]
    return {name: [*map(str, words)] for name, words in found.items()}


def cleaning(rules: Cleaning, study: StudyConfiguration) -> list[str]:
    languages = ["--languages", study.source, study.target]
    return ["corpora.clean", *languages, "--rules", json.dumps(short(rules))]


def ours(words: list[str], source: Path, folder: Path) -> float:
    """Pairs a second of a command of the pipeline, as the JSON says that it leaves."""
    output = folder / "output.tsv.zst"
    subprocess.run([sys.executable, "-m", *words, "--input", source, "--output", output], check=True)
    counts = read_json(records.info(output))
    for path in folder.glob("output.*"):
        path.unlink()  # a score that is there is not computed again
    return float(counts["pairs_a_second"] if "pairs_a_second" in counts else counts["lines_in"] / counts["seconds"])


def hardrules(program: str, study: StudyConfiguration, source: Path, folder: Path) -> float:
    """Pairs a second of bicleaner-hardrules with one process, and its start."""
    text, output = folder / "text.tsv", folder / "hardrules.tsv"
    text.write_bytes(b"".join(records.line(record[:2]) for record in records.read(source)))
    off = ["--disable_lang_ident", "--disable_lm_filter", "--disable_porn_removal", "--run_all_rules", "-p", "1"]
    start = time.monotonic()
    subprocess.run([program, "-s", study.source, "-t", study.target, *off, text, output], check=True)
    return records.count(source) / (time.monotonic() - start)


def measured(timed: dict[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    """The rates of all runs, in turns."""
    found: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(runs):
        for name, run in timed.items():
            found[name].append(round(run(), 1))
            print(f"{name}: {found[name][-1]:,.1f} pairs a second", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=there, required=True, help="configuration of the study")
    parser.add_argument(
        "--text", type=there, required=True, help="its pairs before all bounds: unfiltered/noisy.tsv.zst"
    )
    parser.add_argument("--scores", type=there, required=True, help="its folder scores, with pieces and aligner")
    model = "folder of a native int8 model of the study's scores, for both directions; its weights do not matter"
    parser.add_argument("--model", type=there, help=model)
    parser.add_argument("--address", help="of a server with /embeddings")
    parser.add_argument("--hardrules", help="the program bicleaner-hardrules")
    parser.add_argument("--most", type=positive, default=MOST, help="pairs of a filter (default: %(default)s)")
    parser.add_argument("--runs", type=positive, default=3, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    study, before = config.read(args.config), load_average()
    with tempfile.TemporaryDirectory() as name:
        folder, timed, pairs = Path(name), dict[str, Callable[[], float]](), dict[str, int]()

        def first(name: str) -> Path:
            pairs[name] = min(PAIRS.get(name, MOST), args.most)
            path = folder / f"{pairs[name]}.tsv.zst"
            records.write(path, islice(records.read(args.text), pairs[name]))
            return path

        for name, words in filters(args, study).items():
            timed[name] = partial(ours, words, first(name), folder)
        if args.hardrules:
            timed["hardrules"] = partial(hardrules, args.hardrules, study, first("hardrules"), folder)
        rates = measured(timed, args.runs)
    rows = [
        {"filter": name, "pairs": pairs[name], "pairs_a_second": statistics.median(each), "runs": each}
        for name, each in rates.items()
    ]
    about = {"command": shlex.join(sys.argv), "machine": describe(), "load_average_before": before}
    write_json(args.output, {**about, "filters": rows})


if __name__ == "__main__":
    command(main)
