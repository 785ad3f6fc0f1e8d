"""The speed and memory of counting phrases, against a plain Python extractor and fast_align.

The load repeats the real pairs of the mirror folder, in 32,000 pieces and aligned by fast_align. Each repetition
replaces some pieces, so that the number of n-grams and phrases keeps growing as in real text. Counting runs as in the
pipeline: one process per shard, two at a time on two cores, then one that merges.
"""

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from processes import CORES, run_all
from real_text import options, real_pairs, scratch

from corpora.alignment import FastAlign, aligned
from export.phrase_table import MAX_NGRAM, PhraseTable
from formats import records
from formats.spread import Spread
from measure import in_process, timing_loop
from measure.timing_loop import Repeats
from nmt_frontier import machine
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.machine import describe, load_average

PIECES = 32_000
SHARDS = 8
BLOCK = 20_000
REPLACED = 2  # pieces of each side of a pair
REPEATS = Repeats(runs=3, noise=0.1)  # of the plain extractor

Pair = tuple[list[str], list[str]]  # in pieces
Aligned = tuple[list[str], list[str], str]


def in_pieces(pairs: list[tuple[bytes, bytes]], folder: Path) -> tuple[list[Pair], list[str]]:
    """The pairs in pieces of a joint SentencePiece model trained on them, and its vocabulary."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(side.decode() for pair in pairs for side in pair),
        model_prefix=str(folder / "sentencepiece"),
        vocab_size=PIECES,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    sides = (model.encode([side.decode() for side in column], out_type=str) for column in zip(*pairs, strict=True))
    pieces = [model.id_to_piece(number) for number in range(3, model.get_piece_size())]
    return [pair for pair in zip(*sides, strict=True) if all(pair)], pieces


def load(pairs: list[Aligned], pieces: list[str], count: int) -> Iterator[bytes]:
    """``count`` aligned pairs as blocks of TSV, the same every time."""
    generator = np.random.default_rng(2)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        places = generator.integers(0, 1 << 30, (size, 2, REPLACED)).tolist()
        # Zipf's law: low numbers are frequent pieces
        others = np.minimum(generator.zipf(1.2, (size, 2, REPLACED)) - 1, len(pieces) - 1).tolist()
        lines = []
        for row in range(size):
            source, target, links = pairs[(start + row) % len(pairs)]
            sides = source, target = [*source], [*target]
            for side, where, what in zip(sides, places[row], others[row], strict=True):
                for place, number in zip(where, what, strict=True):
                    side[place % len(side)] = pieces[number]
            lines.append(f"{' '.join(source)}\t{' '.join(target)}\t{links}\n")
        yield "".join(lines).encode()


def counted(raw: Path, vocabulary: Path, folder: Path) -> dict[str, Any]:
    """Count and merge with one process a core; seconds, peak memory, entries."""
    shards = [str(folder / "shards" / str(k)) for k in range(1, SHARDS + 1)]
    shared = ["export.phrases", "--alignments", str(raw), "--vocabulary", str(vocabulary)]
    start = time.monotonic()
    peak = run_all([[*shared, "--shard", f"{k}/{SHARDS}", "--output", shard] for k, shard in enumerate(shards, 1)])
    extracted = time.monotonic()
    table = folder / "table"
    merging = ["export.phrase_table", "--shards", *shards, "--vocabulary", str(vocabulary), "--output", str(table)]
    merge_peak = run_all([merging])
    end = time.monotonic()
    pairs = records.count(raw)
    found = PhraseTable.load(table)
    result = {
        "pairs": pairs,
        "pairs_per_second": round(pairs / (end - start)),
        "extract_seconds": round(extracted - start, 2),
        "merge_seconds": round(end - extracted, 2),
        "extract_peak_rss_bytes": peak,
        "merge_peak_rss_bytes": merge_peak,
        "entries": len(found.phrases.keys),
        "phrases": int(found.phrases.counts.sum()),
        "table_bytes": sum(path.stat().st_size for path in table.rglob("*") if path.is_file()),
        "load_average": load_average(),
    }
    shutil.rmtree(folder)
    return result


def plain(pairs: list[Aligned]) -> Counter[tuple[str, ...]]:
    """The obvious program: dictionaries of tuples, phrase by phrase."""
    counts: Counter[tuple[str, ...]] = Counter()
    for source, target, alignment in pairs:
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        for start in range(len(source)):
            for end in range(start + 1, min(start + MAX_NGRAM, len(source)) + 1):
                inside = [j for i, j in links if start <= i < end]
                if not inside:
                    continue
                low, high = min(inside), max(inside)
                if all(start <= i < end for i, j in links if low <= j <= high):
                    counts.update((*source[start:end], word) for word in set(target[low : high + 1]))
    return counts


def plain_rate(pairs: list[Aligned]) -> dict[str, Any]:
    """Pairs per second of ``plain`` on one core, median and extremes, and the entries it kept."""
    machine.pin([CORES[1]])
    kept: list[int] = []
    way = partial(in_process.watched, lambda: kept.append(len(plain(pairs))), [CORES[1]])
    (usages,) = timing_loop.timed({"plain": way}, REPEATS, "plain extractor").values()
    rate = Spread.of(len(pairs) / usage.seconds for usage in usages)
    rounded = {"pairs_per_second": round(rate.middle, 1), "min": round(rate.low, 1), "max": round(rate.high, 1)}
    return rounded | {"runs": len(usages), "kept": kept[-1], "others": in_process.others(usages)}


def in_fast_align(pairs: list[Pair], folder: Path) -> tuple[list[Aligned], float, float]:
    """The pairs with their links, the seconds of training, and the pairs aligned per second."""
    start = time.monotonic()
    FastAlign.train(iter(pairs), folder)
    train_seconds = time.monotonic() - start
    aligner = FastAlign(folder)
    start = time.monotonic()
    alignments = list(aligned(iter(pairs), aligner))
    apply_rate = len(pairs) / (time.monotonic() - start)
    triples = [(source, target, links) for (source, target), (_, _, links) in zip(pairs, alignments, strict=True)]
    return triples, train_seconds, apply_rate


def measured(mirror: Path, sizes: list[int], real: int, plain_pairs: int, folder: Path) -> dict[str, Any]:
    """The result. sizes: pairs to count; real: pairs to align; plain_pairs: pairs for the plain extractor."""
    pairs, pieces = in_pieces(real_pairs(mirror)[:real], folder)
    vocabulary, raw = folder / "vocabulary.txt", folder / "aligned.tsv.zst"
    vocabulary.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    triples, train_seconds, apply_rate = in_fast_align(pairs, folder)

    records.write_blocks(raw, load(triples, pieces, BLOCK))
    counted(raw, vocabulary, folder / "first")  # compiles, once on a machine
    scaling = []
    for size in sizes:
        records.write_blocks(raw, load(triples, pieces, size))
        scaling.append(counted(raw, vocabulary, folder / "full"))
        print(f"{size:,} pairs: {scaling[-1]}", file=sys.stderr, flush=True)
    rival = plain_rate(triples[:plain_pairs])
    full = scaling[-1]["pairs_per_second"]
    return {
        "command": f"python benchmarks/vmap.py --sizes {' '.join(map(str, sizes))} --real-pairs {real}"
        f" --plain-pairs {plain_pairs}",
        "machine": describe(),
        "cores": len(CORES),
        "shards": SHARDS,
        "vocabulary": len(pieces),
        "real_pairs": len(pairs),
        "pieces_per_pair": round(sum(len(s) + len(t) for s, t in pairs) / len(pairs), 1),
        "scaling": scaling,
        "fast_align": {
            "train_seconds": round(train_seconds, 1),
            "train_threads": int(os.environ["OMP_NUM_THREADS"]),  # as corpora.alignment sets it
            "apply_pairs_per_second": round(apply_rate),
        },
        "plain Python extractor, one core": rival,
        "ratios": {
            "plain Python extractor, a core each": round(full / len(CORES) / rival["pairs_per_second"], 1),
            "applying fast_align, a core each": round(full / len(CORES) / apply_rate, 1),
            "training and applying fast_align on the real pairs, a core each": round(
                full / len(CORES) / (len(pairs) / (train_seconds + len(pairs) / apply_rate)), 1
            ),
        },
    }


def main() -> None:
    parser = options(__doc__, "10 GB for 10 million pairs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000], help="pairs")
    parser.add_argument("--real-pairs", type=int, default=200_000, help="that are aligned (default: %(default)s)")
    parser.add_argument("--plain-pairs", type=int, default=20_000, help="(default: %(default)s)")
    args = parser.parse_args()
    with scratch(args) as folder:
        result = measured(args.mirror, args.sizes, args.real_pairs, args.plain_pairs, folder)
    write_json(args.output, result)
    print(json.dumps(result["ratios"]))


if __name__ == "__main__":
    command(main)
