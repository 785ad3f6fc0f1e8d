"""What survives inside of a sentence with --protect: an item between two words, or a tag around one, of a drawn place.

No alignment of the references is known, so an item is put into the sources alone. The translations are scored without
it, as those of the unchanged sources are. Equal seeds draw equal items and places for all models.
"""

import argparse
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from findings.metrics import bleu
from findings.survival import survive
from formats import records
from measure import perturb
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import sha256, write_json
from nmt_frontier.text.items import KINDS
from nmt_frontier.translator import Translator

Item = tuple[str, str]  # the source, and what must survive, with spaces between


def between(make: Callable[[Random], str]) -> Callable[[list[str], Random], Item]:
    """An item after the first word or a later one."""

    def put(words: list[str], drawn: Random) -> Item:
        item, place = make(drawn), drawn.randrange(1, max(len(words), 2))
        return " ".join([*words[:place], item, *words[place:]]), item

    return put


def around(words: list[str], drawn: Random) -> Item:
    name, place = drawn.choice(perturb.TAGS), drawn.randrange(len(words))
    tagged = [*words[:place], f"<{name}>{words[place]}</{name}>", *words[place + 1 :]]
    return " ".join(tagged), f"<{name}> </{name}>"


WAYS = {
    "url": between(perturb.url),
    "number": between(perturb.number),
    "placeholder": between(lambda drawn: drawn.choice(perturb.PLACEHOLDERS)),
    "tag": around,
}


def without(items: str, line: str) -> str:
    """A translation without what was put in, and without the spaces around it."""
    for item in items.split(" "):
        line = line.replace(item, " " if not item.startswith("<") else "")
    return re.sub(" +", " ", line).strip()


def measured(
    translator: Translator, pairs: list[tuple[str, str]], metric: BLEU, seed: int
) -> dict[str, dict[str, float]]:
    """By what is put in: how many survive, in order where there are two, and BLEU without them."""
    references = [[target for _, target in pairs]]
    found: dict[str, dict[str, float]] = {}
    clean = [*translator.translate(source for source, _ in pairs)]
    found["nothing"] = {"bleu": metric.corpus_score(clean, references).score}
    for name, put in WAYS.items():
        drawn = Random(f"{seed} {name}")
        texts, kept = zip(*(put(source.split(" "), drawn) for source, _ in pairs), strict=True)
        lines = [*translator.translate(texts)]
        good = [_in_order(items.split(" "), line) for items, line in zip(kept, lines, strict=True)]
        rest = [without(items, line) for items, line in zip(kept, lines, strict=True)]
        found[name] = {"survived": sum(good), "bleu": metric.corpus_score(rest, references).score}
    return found


def _in_order(items: list[str], line: str) -> bool:
    return survive(items, line) and line.index(items[0]) <= line.index(items[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="folders; with symbols or without")
    parser.add_argument("--test-set", type=there, required=True, help="records, English-German")
    parser.add_argument(
        "--protect-missing", choices=["append", "keep"], help="as of nmt-frontier translate (default: neither)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    pairs = [*records.pairs(args.test_set)]
    rows: list[dict[str, Any]] = []
    metric = bleu("de")
    for model in args.models:
        with closing(Translator(model, protect=KINDS, protect_missing=args.protect_missing)) as translator:
            put_in = measured(translator, pairs, metric, args.seed)
        rows.append({"system": translator.description.system, "put_in": put_in})
        print(rows[-1])
    about = {
        "sentences": len(pairs),
        "sha256": sha256(args.test_set),
        "seed": args.seed,
        "missing": args.protect_missing,
    }
    write_json(args.output, about | {"signature": str(metric.get_signature()), "rows": rows})


if __name__ == "__main__":
    command(main)
