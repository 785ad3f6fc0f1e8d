"""How far the word aligners agree, each trained on the same pairs and applied to them."""

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

from tabulate import tabulate

from common.errors import UserError, command
from common.files import write_json, write_text
from export.aligners import ALIGNERS, Links, Pair
from export.alignment import encoded


def align(pairs: list[Pair], aligner: str) -> tuple[list[Links], float]:
    """Train and apply an aligner. Returns the links of each pair, and the seconds that both took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ALIGNERS[aligner].train(iter(pairs), Path(folder))
        alignments = list(ALIGNERS[aligner](Path(folder)).align(pairs))
    return alignments, time.monotonic() - start


def unlinked(pairs: list[Pair], alignments: list[Links], side: int) -> float:
    """The share of the pieces of a side (0: source, 1: target) that no link touches."""
    linked = sum(len({link[side] for link in links}) for links in alignments)
    return 1 - linked / sum(len(pair[side]) for pair in pairs)


def agreement(first: list[Links], second: list[Links]) -> dict[str, float]:
    """Compare the links that two aligners give to the same pairs.

    of_the_first, of_the_second: common links as a share of those of either; dice: 2 * common / (first + second);
    the_same_pairs: share of pairs with equal links.
    """
    pairs = list(zip(first, second, strict=True))
    common = sum(len({*map(tuple, a)} & {*map(tuple, b)}) for a, b in pairs)
    sizes = [sum(map(len, alignments)) for alignments in (first, second)]
    equal = sum(sorted(map(tuple, a)) == sorted(map(tuple, b)) for a, b in pairs)
    return {
        "of_the_first": common / max(sizes[0], 1),
        "of_the_second": common / max(sizes[1], 1),
        "dice": 2 * common / max(sum(sizes), 1),
        "the_same_pairs": equal / len(pairs),
    }


def compare(pairs: list[Pair]) -> dict[str, Any]:
    """Apply all aligners to the pairs, and compare each two of them.

    Raises UserError for a corpus without pairs, and for an aligner that is not installed.
    """
    if not pairs:
        raise UserError("no pairs to align")
    results = {aligner: align(pairs, aligner) for aligner in ALIGNERS}
    aligners = {
        aligner: {
            "links_per_pair": sum(map(len, alignments)) / len(pairs),
            "unlinked_source": unlinked(pairs, alignments, 0),
            "unlinked_target": unlinked(pairs, alignments, 1),
            "seconds": seconds,
        }
        for aligner, (alignments, seconds) in results.items()
    }
    agreements = [
        {"first": first, "second": second, **agreement(results[first][0], results[second][0])}
        for first, second in itertools.combinations(ALIGNERS, 2)
    ]
    return {"pairs": len(pairs), "aligners": aligners, "agreement": agreements}


def markdown(result: dict[str, Any]) -> str:
    """The result of ``compare`` as two tables."""
    aligners = [
        [
            name, f"{row['links_per_pair']:.2f}", f"{row['unlinked_source']:.1%}", f"{row['unlinked_target']:.1%}",
            f"{row['seconds']:.0f}",
        ]
        for name, row in result["aligners"].items()
    ]  # fmt: skip
    agreements = [
        [
            f"{row['first']}, {row['second']}", f"{row['of_the_first']:.1%}", f"{row['of_the_second']:.1%}",
            f"{row['dice']:.1%}", f"{row['the_same_pairs']:.1%}",
        ]
        for row in result["agreement"]
    ]  # fmt: skip
    agreement_columns = ["links in both", "of the first", "of the second", "Dice", "pairs with the same links"]
    tables = (
        tabulate(aligners, ["aligner", "links a pair", "source without", "target without", "seconds"], "pipe"),
        tabulate(agreements, agreement_columns, "pipe"),
    )
    title = f"# Word aligners\n\n{result['pairs']:,} pairs in subword units, trained and applied.\n\n"
    return title + "\n\n".join(tables) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="records of pairs")
    parser.add_argument("--sentencepiece", type=Path, required=True, help="model that cuts the pairs into pieces")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    args = parser.parse_args()

    result = compare(list(encoded(args.corpus, args.sentencepiece, most=args.pairs)))
    write_json(args.json, result)
    write_text(args.markdown, markdown(result))


if __name__ == "__main__":
    command(main)
