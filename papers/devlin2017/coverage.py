"""How much of a text its 8,000 most frequent words are, whose products Devlin 2017 computes beforehand (section 4).

Words are runs of letters and digits, and single marks. Of each side of the records: the words, how many differ, and the
share of those that are among the most frequent ones.
"""

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import Any

from formats import records
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json

WORD = re.compile(r"\w+|[^\w\s]")
MOST = 8_000


def covered(words: Counter[str], most: int) -> dict[str, Any]:
    total = sum(words.values())
    frequent = sum(count for _, count in words.most_common(most))
    return {"words": total, "different": len(words), "per_cent": round(100 * frequent / total, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=there, required=True, help="records of a corpus")
    parser.add_argument("--most", type=positive, default=MOST)
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    source, target = Counter[str](), Counter[str]()
    for pair in records.read(args.text):
        for words, side in zip((source, target), pair, strict=True):
            words.update(WORD.findall(side))
    found = {"most": args.most, "source": covered(source, args.most), "target": covered(target, args.most)}
    write_json(args.output, found)


if __name__ == "__main__":
    command(main)
