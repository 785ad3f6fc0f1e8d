"""From candidates to training pairs: the teachers' best translation, or the one closest to the original target.

best: sequence-level knowledge distillation (Kim and Rush 2016). interpolated: of the n-best list the translation with
the highest sentence BLEU against the original target (Kim and Rush 2016, section 3.3, as in Marian at WNMT 2018), the
one the teachers like best where two are equal. Sentence BLEU is sacreBLEU's: 13a, exponential smoothing, effective
order (of a sentence of three tokens only n-grams up to three count).

Writes records of three columns: source, target, score (the teachers' mean log-probability of a token). Sentences for
which no teacher has words are dropped and counted, and so are those that are too long for it (distill.teacher).
"""

import argparse
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from sacrebleu.metrics import BLEU

from distill import candidates
from distill.candidates import Candidate, Candidates
from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

SAMPLES = 20  # sources without a translation that are kept to be looked at
TARGETS = ("best", "interpolated")

SENTENCE_BLEU = BLEU(effective_order=True)


def closest(translations: list[Candidate], reference: str) -> tuple[Candidate, float]:
    """The translation with the highest sentence BLEU, and that; of equal ones the first."""
    scored = [
        (SENTENCE_BLEU.sentence_score(candidate.text, [reference]).score, candidate) for candidate in translations
    ]
    bleu, candidate = max(scored, key=lambda pair: pair[0])
    return candidate, bleu


class Selection:
    """Chooses a translation for each sentence, and counts."""

    def __init__(self) -> None:
        self.kept, self.not_first, self.bleu = 0, 0, 0.0
        self.empty = 0
        self.samples: list[tuple[int, tuple[str]]] = []  # of the sources without a translation

    def best(self, lists: Iterator[Candidates]) -> Iterator[records.Record]:
        for number, entry in enumerate(lists, 1):
            if self._found(number, entry):
                yield self._record(entry.source, entry.translations[0])

    def interpolated(self, lists: Iterator[Candidates], pairs: Iterator[records.Record]) -> Iterator[records.Record]:
        """``pairs`` are the records that were translated. Raises UserError where they are about other sentences."""
        for number, (entry, pair) in enumerate(zip_longest(lists, pairs), 1):
            translated, source = (side and side[0] for side in (entry, pair))
            if translated != source:
                raise UserError(f"record {number}: candidates of another corpus: {translated!r}, not {source!r}")
            reference = pair[1]
            if self._found(number, entry):
                chosen, bleu = closest(entry.translations, reference)
                self.not_first += chosen is not entry.translations[0]
                self.bleu += bleu
                yield self._record(source, chosen)

    def _found(self, number: int, entry: Candidates) -> bool:
        if not entry.translations:
            self.empty += 1
            if len(self.samples) < SAMPLES:
                self.samples.append((number, (entry.source,)))
        return bool(entry.translations)

    def _record(self, source: str, chosen: Candidate) -> records.Record:
        self.kept += 1
        return source, chosen.text, f"{chosen.score:.4f}"

    def counts(self, targets: str) -> dict:
        about = {
            "lines_in": self.kept + self.empty,
            "lines_out": self.kept,
            "dropped": {"empty_translation": self.empty},
            "samples": {"empty_translation": self.samples},
        }
        if targets == "interpolated":  # of the lines kept: another choice than the teachers', sum of sentence BLEU
            about["sums"] = {"not_first": self.not_first, "sentence_bleu": self.bleu}
        return about


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=Path, required=True)
    parser.add_argument("--targets", choices=TARGETS, required=True)
    parser.add_argument("--corpus", type=Path, help="records that were translated; interpolated needs their targets")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all)")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a .json beside it")
    args = parser.parse_args()

    selection = Selection()
    total = records.count(args.candidates)
    lists = progress(candidates.read(args.candidates), f"select {records.name(args.output)}", total, "sentence")
    if args.targets == "best":
        chosen = selection.best(lists)
    elif args.corpus:
        chosen = selection.interpolated(lists, records.read(args.corpus, args.shard))
    else:
        raise UserError("--targets interpolated needs --corpus")
    _, checksum = records.write(args.output, chosen)
    write_json(records.info(args.output), selection.counts(args.targets) | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
