"""Change the source of a corpus by rule, as people write, before a teacher translates it.

The teacher translates what was changed, so a pair stays true whatever the rule.

Every line is changed by one rule, drawn by the weights; a line that its rule cannot change is left out, and counted. A
mixture draws its epochs from the corpus as it is and from the changed one. Equal corpora, settings and seed give equal
bytes.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from common.document import argument
from findings.altered_text import doubled, without_final
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.sentence import NO_SPACES, sentence
from train.augmentation import MEANT, TOGETHER, check
from train.settings import SourceAugmentation

CUT = (1, 4)  # words of a fragment; as many times LETTERS in a script without spaces
LETTERS = 3

JOINED, FRAGMENT = "joined", "fragment"
CHANGES: dict[str, Callable[[Random, str], str]] = {
    **MEANT,
    "no_final_punctuation": lambda _, text: without_final(text),
    "doubled_punctuation": lambda _, text: doubled(text),
}
RULES = (*CHANGES, JOINED, FRAGMENT)
UNCHANGED = "unchanged"  # lines that their rule cannot change


def fragment(drawn: Random, text: str, language: str) -> str:
    """A few words that follow each other."""
    space = "" if language in NO_SPACES else " "
    words = text.split(space) if space else [text[place : place + LETTERS] for place in range(0, len(text), LETTERS)]
    first, size = drawn.randrange(len(words)), drawn.randint(*CUT)
    return without_final(space.join(words[first : first + size]))


def changed(
    blocks: Iterable[bytes], settings: SourceAugmentation, seed: int, counts: Counter[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the changed sources, and count them by rule, and those left out as UNCHANGED.

    The last lines of a block are joined with its first ones.
    """
    rules, weights = [*settings.source], [*settings.source.values()]
    space = "" if settings.language in NO_SPACES else " "
    for number, block in enumerate(blocks):
        drawn = Random(f"{seed} source augmentation {number}")
        lines = [line.split("\t") for line in block.decode().split("\n")[:-1]]
        for place, rule in enumerate(drawn.choices(rules, weights, k=len(lines))):
            source = lines[place][0]
            if rule == JOINED:
                following = range(place, place + drawn.randint(*TOGETHER))
                new = space.join(lines[row % len(lines)][0] for row in following)
            else:
                new = fragment(drawn, source, settings.language) if rule == FRAGMENT else CHANGES[rule](drawn, source)
            if (new := sentence(new)) and new != source:
                counts[rule] += 1
                yield (new,)
            else:
                counts[UNCHANGED] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=argument(SourceAugmentation), help="JSON of train.settings")
    parser.add_argument("--corpus", type=there, required=True, help="records, X.tsv.zst")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    check("source", args.settings.source, RULES)
    counts = Counter[str]()
    lines, checksum = records.write(args.output, changed(records.frames(args.corpus), args.settings, args.seed, counts))
    by_rule = {rule: counts[rule] for rule in args.settings.source}
    about = {"name": records.name(args.output), "corpus": records.name(args.corpus), "lines": lines}
    about |= {"sha256": checksum, "seed": args.seed, "changed": by_rule, UNCHANGED: counts[UNCHANGED]}
    write_json(records.info(args.output), about)


if __name__ == "__main__":
    command(main)
