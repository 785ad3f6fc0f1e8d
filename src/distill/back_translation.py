"""Make training pairs of back-translations: a sentence as the target, its best translation as the source.

The sentences are real text of the target language, which a backward teacher has translated (Sennrich et al. 2016, arXiv
1511.06709). If asked, a source gets noise (Edunov et al. 2018, arXiv 1808.09381, section 3.1), so that a teacher cannot
rely on the regular text of a model, and begins with a tag that tells it from real text (Caswell et al. 2019, arXiv
1906.06442).

The noise of a sentence depends on the seed and its text alone, neither on shards nor on the order. Sentences that have
no translation are dropped and counted.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from random import Random

from common.document import argument
from distill import n_best_lists
from distill.n_best_lists import NBestList
from distill.select import Selector
from distill.settings import BLANK, BackTranslationSettings, Noise
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress
from nmt_frontier.sentence import NO_SPACES


def noisy(words: list[str], noise: Noise, drawn: Random) -> list[str]:
    """Some words left out, though never all, some replaced by BLANK, and all moved by up to ``noise.swap`` places."""
    kept = [word for word in words if drawn.random() >= noise.delete] or drawn.sample(words, 1)
    blanked = [BLANK if drawn.random() < noise.blank else word for word in kept]
    # A word sorts before one that stands more than ``swap`` places behind it, whatever is drawn.
    places = [place + drawn.random() * (noise.swap + 1) for place in range(len(blanked))]
    return [word for _, word in sorted(zip(places, blanked, strict=True), key=lambda pair: pair[0])]


def pairs(lists: Iterator[NBestList], asked: BackTranslationSettings, selection: Selector) -> Iterator[records.Record]:
    """Yield source and target of each sentence that has a translation; ``selection`` counts them."""
    space = "" if asked.language in NO_SPACES else " "
    for sentence, translation, _ in selection.best(lists):
        source = translation
        if asked.noise:
            words = [*filter(None, translation.split(space))] if space else [*translation]
            source = space.join(noisy(words, asked.noise, Random(f"{asked.seed} back-translation {sentence}")))
        yield (f"{asked.tag} {source}" if asked.tag else source), sentence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=argument(BackTranslationSettings), help="JSON of distill.settings")
    parser.add_argument("--n-best-lists", type=there, required=True, help="made by distill.translate")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    selection, total = Selector(), records.count(args.n_best_lists)
    lists = progress(n_best_lists.read(args.n_best_lists), f"pair {records.name(args.output)}", total, "sentence")
    _, checksum = records.write(args.output, pairs(lists, args.settings, selection))
    write_json(records.info(args.output), selection.counts("best") | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
