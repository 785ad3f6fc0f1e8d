"""How far the word aligners agree, each trained on the same pairs and applied to them."""

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

from tabulate import tabulate

from export.aligners import ALIGNERS, Links, Pair
from export.alignment import encoded
from formats.errors import UserError, command
from formats.files import write_json, write_text


def alignments(pairs: list[Pair], aligner: str) -> tuple[list[Links], float]:
    """The links of every pair, and the seconds that training and aligning took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ALIGNERS[aligner].train(iter(pairs), Path(folder))
        found = list(ALIGNERS[aligner](Path(folder)).align(pairs))
    return found, time.monotonic() - start


def unlinked(pairs: list[Pair], found: list[Links], side: int) -> float:
    """The share of the pieces of a side that no link touches."""
    linked = sum(len({link[side] for link in links}) for links in found)
    return 1 - linked / sum(len(pair[side]) for pair in pairs)


def agreement(one: list[Links], other: list[Links]) -> dict[str, float]:
    """Links that both have, as shares of those of either, and of both together (Dice)."""
    common = sum(len({*map(tuple, a)} & {*map(tuple, b)}) for a, b in zip(one, other, strict=True))
    sizes = [sum(map(len, found)) for found in (one, other)]
    return {
        "of_the_first": common / max(sizes[0], 1),
        "of_the_second": common / max(sizes[1], 1),
        "dice": 2 * common / max(sum(sizes), 1),
        "the_same_pairs": sum(sorted(map(tuple, a)) == sorted(map(tuple, b)) for a, b in zip(one, other, strict=True))
        / len(one),
    }


def compare(pairs: list[Pair]) -> dict[str, Any]:
    """Raises UserError for a corpus without pairs, or where an aligner is not installed."""
    if not pairs:
        raise UserError("no pairs to align")
    found = {aligner: alignments(pairs, aligner) for aligner in ALIGNERS}
    single = {
        aligner: {
            "links_per_pair": sum(map(len, links)) / len(pairs),
            "unlinked_source": unlinked(pairs, links, 0),
            "unlinked_target": unlinked(pairs, links, 1),
            "seconds": seconds,
        }
        for aligner, (links, seconds) in found.items()
    }
    couples = itertools.combinations(ALIGNERS, 2)
    both = [{"first": a, "second": b, **agreement(found[a][0], found[b][0])} for a, b in couples]
    return {"pairs": len(pairs), "aligners": single, "agreement": both}


def markdown(result: dict[str, Any]) -> str:
    single = [
        [
            name, f"{row['links_per_pair']:.2f}", f"{row['unlinked_source']:.1%}", f"{row['unlinked_target']:.1%}",
            f"{row['seconds']:.0f}",
        ]
        for name, row in result["aligners"].items()
    ]  # fmt: skip
    both = [
        [
            f"{row['first']}, {row['second']}", f"{row['of_the_first']:.1%}", f"{row['of_the_second']:.1%}",
            f"{row['dice']:.1%}", f"{row['the_same_pairs']:.1%}",
        ]
        for row in result["agreement"]
    ]  # fmt: skip
    tables = (
        tabulate(single, ["aligner", "links a pair", "source without", "target without", "seconds"], "pipe"),
        tabulate(both, ["links in both", "of the first", "of the second", "Dice", "pairs with the same links"], "pipe"),
    )
    return (
        f"# Word aligners\n\n{result['pairs']:,} pairs in subword units, trained and applied.\n\n"
        + "\n\n".join(tables)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="records of pairs")
    parser.add_argument("--sentencepiece", type=Path, required=True, help="model of the pieces")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    args = parser.parse_args()

    result = compare(list(encoded(args.corpus, args.sentencepiece, most=args.pairs)))
    write_json(args.json, result)
    write_text(args.markdown, markdown(result))


if __name__ == "__main__":
    command(main)
