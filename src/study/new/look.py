"""Look at the corpora of a new study: counts, lengths, duplicates, languages; dev and test sets from them.

The texts stream through the readers and rules of the pipeline, in bounded memory; duplicates are found on disk.

The training text stays as it is: cleaning drops every line of it that has a side of a held-out one, and counts them.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import langcodes
import numpy as np

from common.errors import UserError
from common.files import write_text
from common.progress import progress
from corpora import duplicates, rules
from corpora.download import CACHE
from corpora.funnel import KEPT, Funnel
from corpora.sources import source_of
from corpora.sources.source import CountedCorpus, languages
from corpora.text_features import Measured, characters
from formats.batches import Batch, indexed
from formats.records import Record
from study import config
from study.new.contents import identifier
from study.new.files import Corpus

SAMPLE = 10_000  # records that stand for a corpus where a look is costly, and of which held-out sets are made
LONGEST = 2000  # bytes of a record in the sample, which bounds its memory
IDENTIFIED = 500  # records of the sample whose languages are looked at
WRONG = 0.5  # share of another language from which on a side is not in the one that was said
CLOSE = 14  # langcodes.tag_distance up to which langid.py's mistake is none of the user's, as of Norwegian and Danish

_CANDIDATE = np.dtype([("priority", "f8"), ("source", "<u8"), ("target", "<u8")])

PAIRS = 1000  # of a set: more say little more of BLEU, and take time in every measurement
SHARE = 0.05  # of the training pairs, at most
FEWEST = 50  # pairs below which a set says nothing
RELIABLE = 0.85  # share of a side that langid.py must take for its language before it judges single lines of it


@dataclass
class Look:
    """What a corpus is made of.

    lines: of the text; read_errors: those that its reader left out, by reason. counts: those of corpora.funnel, as the
    cleaning of the study will have them but for languages, duplicates and held-out sets. words: of a line, the mean of
    each side. in_script: of the letters of a side, the share in a script of its language. repeats, near_repeats: kept
    records that were there before, and those that differ only in case, punctuation and numbers. sample: kept records in
    random order; occurrences: how many lines of the corpus have the same source, and the same target, int64[sample, 2].
    languages: labels of langid.py for each side, of ``identified`` records.
    """

    corpus: Corpus
    lines: int
    read_errors: dict[str, int]
    counts: dict[str, Any]
    words: list[float]
    in_script: list[float]
    repeats: int
    near_repeats: int
    sample: list[Record]
    occurrences: np.ndarray
    identified: int
    languages: list[Counter[str]] = field(default_factory=list)

    @property
    def kept(self) -> int:
        return self.counts["lines_out"] - self.repeats

    def dropped(self, reason: str) -> float:
        """The share of the lines that a rule drops."""
        return self.counts["dropped"].get(reason, 0) / self.lines

    def share(self, side: int, code: str) -> float:
        """Of the identified lines of a side, those that langid.py takes for this language."""
        return self.languages[side][code] / self.identified if self.identified else 0.0


def look(corpus: Corpus, pair: list[str], cleaning: dict[str, Any], invalid: str, seed: int) -> Look:
    """Read a corpus once. Raises UserError for bad files, and for a side in another language than was said."""
    entry = config.corpus({"role": corpus.role, "invalid": invalid, **corpus.source})
    codes = languages(entry, pair)
    settings = cleaning | {"langid": []} if corpus.role in ("train", "monolingual") else {}
    tables = characters(codes)
    funnel = Funnel(rules.chosen(settings, codes, [], tables))
    counted = CountedCorpus(str(corpus), entry)
    reservoir, sums = _Reservoir(seed), np.zeros((3, len(codes)), np.int64)  # words, letters, those of the script
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        keys, sides = Path(folder, "records.keys"), Path(folder, "sides.keys")
        files = [stack.enter_context(open(path, "wb")) for path in (keys, sides)]
        for batch in _batches(corpus, counted, entry, pair, seed):
            measured = Measured(batch, tables)
            rows = np.flatnonzero(funnel.sort_out(measured) == KEPT)
            of_sides = np.stack([measured.sides[0].folded, measured.sides[-1].folded], axis=1)
            files[0].write(np.stack([measured.hash[rows], measured.folded[rows]], axis=1).astype("<u8").tobytes())
            files[1].write(of_sides.astype("<u8").tobytes())
            sums += [
                [getattr(side, name).sum() for side in measured.sides] for name in ("words", "letters", "in_script")
            ]
            reservoir.add(batch, rows, of_sides)
        stack.close()
        counts = funnel.counts()
        _require_text(corpus, counts)
        repeats = [_repeats(keys, column, counts["lines_out"], Path(folder)) for column in (0, 1)]
        sample = reservoir.records()
        occurrences = np.stack([_occurrences(sides, column, reservoir.hashes(column)) for column in (0, 1)], axis=1)
    words, letters, in_script = sums
    looked = Look(
        corpus, counts["lines_in"] + sum(counted.dropped.values()), dict(counted.dropped), counts,
        (words / counts["lines_in"]).tolist(), (in_script / np.maximum(letters, 1)).tolist(), repeats[0],
        repeats[1] - repeats[0], sample, occurrences, min(len(sample), IDENTIFIED),
    )  # fmt: skip
    looked.languages = [Counter(identifier().labels(list(side))) for side in zip(*sample[:IDENTIFIED], strict=True)]
    _require_languages(looked, codes)
    return looked


def _batches(
    corpus: Corpus, counted: CountedCorpus, entry: dict[str, Any], pair: list[str], seed: int
) -> Iterator[Batch]:
    text = source_of(str(corpus), entry, pair).text(None, CACHE, seed)
    shown = progress(counted.lines(text.blocks()), f"reading {corpus}", size=lambda block: block.count(b"\n"))
    return (indexed(block) for block in shown if block)


def _require_text(corpus: Corpus, counts: dict[str, Any]) -> None:
    """Raises UserError where a dev or test set has an empty side, and where no line of another corpus is left."""
    if corpus.role not in ("train", "monolingual") and (empty := counts["dropped"]["empty"]):
        raise UserError(f"{corpus}: {empty:,} lines have an empty side; a {corpus.role} set is taken as it is, mend it")
    if not counts["lines_out"]:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in counts["dropped"].items() if count)
        raise UserError(f"{corpus}: of {counts['lines_in']:,} lines none is left by cleaning: {dropped}")


def _require_languages(looked: Look, codes: list[str]) -> None:
    """Raises UserError for a side that looks like another language, and not like a close relative of the right one."""
    for side, (name, code) in enumerate(zip(("source", "target"), codes, strict=False) if looked.identified else ()):
        label, count = looked.languages[side].most_common(1)[0]
        if label != code and count >= WRONG * looked.identified and langcodes.tag_distance(code, label) > CLOSE:
            swapped = len(codes) > 1 and label == codes[1 - side]
            raise UserError(
                f"{looked.corpus}: the {name} side looks like {label} ({100 * count / looked.identified:.0f} % of "
                f"{looked.identified:,} sampled lines), not {code}" + "; are the sides swapped?" * swapped
            )


def _repeats(path: Path, column: int, total: int, folder: Path) -> int:
    """How many of the records have a key that an earlier one has."""
    marks = duplicates.repeated(duplicates.read_keys([path], column), total, folder)
    return int(np.unpackbits(marks).sum())


def _occurrences(path: Path, column: int, hashes: np.ndarray) -> np.ndarray:
    """How many records have each of these hashes in a column: int64[hashes]."""
    wanted, places = np.unique(hashes, return_inverse=True)
    counts = np.zeros(len(wanted), np.int64)
    for keys in duplicates.read_keys([path], column):
        found = np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)
        counts += np.bincount(found[wanted[found] == keys], minlength=len(wanted))
    return counts[places]


class _Reservoir:
    """A uniform random sample in one pass: the records with the smallest random numbers."""

    def __init__(self, seed: int):
        self._random = np.random.default_rng(seed)
        self._chosen = np.empty(0, _CANDIDATE)
        self._records: list[Record] = []

    def add(self, batch: Batch, rows: np.ndarray, of_sides: np.ndarray) -> None:
        """rows: int64[n], those of the batch that may be drawn; of_sides: uint64[records, 2]."""
        short = rows[batch.ends[rows, -1] - batch.starts[rows, 0] <= LONGEST]
        new = np.empty(len(short), _CANDIDATE)
        new["priority"] = self._random.random(len(short))
        new["source"], new["target"] = of_sides[short].T
        if len(self._chosen) == SAMPLE:
            below = new["priority"] < self._chosen["priority"][-1]
            short, new = short[below], new[below]
        records = [*self._records, *(batch.record(row) for row in short)]
        chosen = np.concatenate([self._chosen, new])
        order = np.argsort(chosen["priority"], kind="stable")[:SAMPLE]
        self._chosen, self._records = chosen[order], [records[place] for place in order]

    def records(self) -> list[Record]:
        return self._records

    def hashes(self, column: int) -> np.ndarray:
        return self._chosen["target" if column else "source"]


@dataclass(frozen=True)
class HeldOut:
    """A set made of training lines. role: dev or test; origin: the corpora that the pairs are from."""

    role: str
    pairs: list[Record]
    origin: list[str]

    def write(self, folder: Path, pair: list[str]) -> None:
        """One file a language, ``<role>.<code>``, one sentence a line."""
        for side, code in enumerate(pair):
            write_text(folder / f"{self.role}.{code}", "".join(f"{record[side]}\n" for record in self.pairs))


def held_out(looks: Iterable[Look], roles: list[str], pair: list[str]) -> list[HeldOut]:
    """Sets of these roles, drawn from the training corpora by their sizes.

    A pair is eligible if each of its sides occurs once in its corpus, so that little is lost by leaving it out of the
    training, and if both look like their languages. Raises UserError if there are too few such pairs.
    """
    looks = [look for look in looks if look.corpus.role == "train"]
    kept = sum(look.kept for look in looks)
    size = min(PAIRS, int(SHARE * kept))
    sets: dict[str, list[Record]] = {role: [] for role in roles}
    used: set[str] = set()  # sides: corpora may overlap
    for look in looks:
        eligible = [record for record in _eligible(look, pair) if used.isdisjoint(record)]
        share = round(size * look.kept / kept)
        used.update(*eligible[: share * len(roles)])
        for number, role in enumerate(roles):
            sets[role] += eligible[number * share : (number + 1) * share]
    for role, pairs in sets.items():
        if len(pairs) < FEWEST:
            raise UserError(
                f"no {role} set among the files, and only {len(pairs)} of {kept:,} training pairs can be one"
                f"{_unread(looks)}; add more text, or files {role}.{pair[0]} and {role}.{pair[1]} of your own"
            )
    return [HeldOut(role, pairs, [look.corpus.name for look in looks]) for role, pairs in sets.items()]


def _unread(looks: Iterable[Look]) -> str:
    """What was lost when the texts were read, if anything."""
    lost = sum((Counter(look.read_errors) for look in looks), Counter())
    return "".join(f"; {count:,} lines were dropped ({reason})" for reason, count in lost.items())


def _eligible(look: Look, pair: list[str]) -> list[Record]:
    once = [record for record, counts in zip(look.sample, look.occurrences, strict=True) if (counts == 1).all()]
    if not all(identifies(look, side, code) for side, code in enumerate(pair)):
        return once
    labels = [identifier().labels([record[side] for record in once]) for side in (0, 1)]
    return [record for record, *found in zip(once, *labels, strict=True) if found == pair]


def identifies(look: Look, side: int, code: str) -> bool:
    """Whether langid.py knows a side well enough to judge its lines one by one."""
    return look.share(side, code) >= RELIABLE
