"""Look at the corpora of a new study: counts, lengths, duplicates, languages; dev and test sets from them.

The texts stream through the readers and rules of the pipeline, in bounded memory; duplicates are found on disk. The
training text stays as it is: cleaning drops the lines that share a side with a held-out one, and counts them.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import langcodes
import numpy as np
from numpy.typing import NDArray

from common.document import Document
from corpora import duplicates, rules
from corpora.download import CACHE
from corpora.funnel import KEPT, Funnel
from corpora.language_codes import means
from corpora.settings import SIDES
from corpora.sources import source_of
from corpora.sources.source import CountedCorpus, languages
from corpora.text_features import Measured, characters
from formats.batches import Batch, indexed
from formats.counts import Shard
from formats.records import Record
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_text
from nmt_frontier.progress import progress
from study import config
from study.new.contents import identifier
from study.new.pairing import FoundCorpus
from study.new.scores import Carried, carried

SAMPLE = 10_000  # records of a corpus that are looked at more closely, and from which held-out sets are drawn
LONGEST = 2000  # bytes of a record in the sample, which bounds its memory
IDENTIFIED = 500  # records of the sample whose languages are looked at
WRONG = 0.5  # share of another language from which on a side is not in its declared one
CLOSE = 14  # langcodes.tag_distance up to which langid.py confuses languages, such as Norwegian and Danish
PAIRS = 1000  # of a set: more make BLEU hardly more precise, and take time in every measurement
SHARE = 0.05  # of the training pairs, at most
FEWEST = 50  # pairs of the smallest useful set
RELIABLE = 0.85  # share of a side that langid.py must take for its language before it judges single lines of it


_CANDIDATE = np.dtype([("priority", "f8"), ("source", "<u8"), ("target", "<u8")])


@dataclass
class Look:
    """Statistics of a corpus."""

    corpus: FoundCorpus
    lines: int
    read_errors: dict[str, int]  # lines that the reader left out, by reason
    problems: list[str]  # the first of them
    remarks: list[str]  # of corpora.sources.source
    counts: Shard  # of corpora.funnel, as in the study but for languages, duplicates and held-out sets
    words: list[float]  # the mean of a line, for each side
    in_script: list[float]  # the share of the letters of each side in a script of its language
    repeats: int  # kept records that equal an earlier one
    near_repeats: int  # others that differ from an earlier one only in case, punctuation and numbers
    sample: list[Record]  # kept records in random order
    occurrences: NDArray[Any]  # lines of the corpus with the same source, and with the same target: int64[sample, 2]
    identified: int  # records whose languages were identified
    scores: list[Carried] = field(default_factory=list)
    languages: list[Counter[str]] = field(default_factory=list)  # labels of langid.py for each side of these

    @property
    def kept(self) -> int:
        return self.counts["lines_out"] - self.repeats

    def share(self, column: int, code: str) -> float:
        """The share of the identified lines of a side that langid.py takes for this language. column: of the side."""
        found = sum(count for label, count in self.languages[column].items() if means(label, code))
        return found / self.identified if self.identified else 0.0

    def known(self, pair: list[str]) -> list[str]:
        """That share for each side, for people."""
        codes = [pair[side] for side in self.corpus.sides]
        return [f"{percent(self.share(column, code))} {code}" for column, code in enumerate(codes)]


def look(corpus: FoundCorpus, pair: list[str], cleaning: Document, invalid: str, seed: int) -> Look:
    """Read a corpus once. Raises UserError for bad files, and for a side in another language than declared."""
    entry = config.corpus({"role": corpus.role, "invalid": invalid, "cleaning": cleaning, **corpus.source})
    codes = languages(entry, pair)
    tables = characters(codes)
    funnel = Funnel(rules.chosen(entry.cleaning if corpus.trains else None, codes, [], tables))
    counted = CountedCorpus(str(corpus), entry)
    reservoir, sums = _Reservoir(seed), np.zeros((3, len(codes)), np.int64)  # words, letters, those of the script
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        keys, sides = Path(folder, "records.keys"), Path(folder, "sides.keys")
        files = [stack.enter_context(open(path, "wb")) for path in (keys, sides)]
        read = source_of(str(corpus), entry, pair).text(None, CACHE, seed)
        shown = progress(counted.lines(read), f"reading {corpus}", size=lambda block: block.count(b"\n"))
        for batch in (indexed(block) for block in shown if block):
            measured = Measured(batch, tables)
            rows = np.flatnonzero(funnel.sort_out(measured) == KEPT)
            of_sides = np.stack([measured.sides[0].folded, measured.sides[-1].folded], axis=1)
            files[0].write(np.stack([measured.hash[rows], measured.folded[rows]], axis=1).astype("<u8").tobytes())
            files[1].write(of_sides.astype("<u8").tobytes())
            names = ("words", "letters", "in_script")
            sums += [[getattr(side, name).sum() for side in measured.sides] for name in names]
            reservoir.add(batch, rows, of_sides)
        stack.close()
        counts = funnel.counts()
        _require_text(corpus, counts)
        repeats = [_repeats(keys, column, counts["lines_out"], Path(folder)) for column in (0, 1)]
        hashes = (reservoir.chosen["source"], reservoir.chosen["target"])
        occurrences = np.stack([_occurrences(sides, column, hashes[column]) for column in (0, 1)], axis=1)
    words, letters, in_script = sums
    looked = Look(
        corpus, counts["lines_in"] + sum(counted.dropped.values()), dict(counted.dropped), read.unread.problems,
        counted.remarks, counts, (words / counts["lines_in"]).tolist(), (in_script / np.maximum(letters, 1)).tolist(),
        repeats[0], repeats[1] - repeats[0], reservoir.records, occurrences, min(len(reservoir.records), IDENTIFIED),
    )  # fmt: skip
    looked.scores = carried(corpus, pair)
    sides_of_sample = zip(*looked.sample[:IDENTIFIED], strict=True)
    looked.languages = [Counter(identifier().labels(list(side))) for side in sides_of_sample]
    _require_languages(looked, codes)
    return looked


def _require_text(corpus: FoundCorpus, counts: Shard) -> None:
    """Raises UserError if a dev or test set has an empty side, or if cleaning leaves no line."""
    if not corpus.trains and (empty := counts["dropped"]["empty"]):
        raise UserError(f"{corpus}: {empty:,} lines have an empty side; a {corpus.role} set is taken as it is, mend it")
    if not counts["lines_out"]:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in counts["dropped"].items() if count)
        raise UserError(f"{corpus}: of {counts['lines_in']:,} lines none is left by cleaning: {dropped}")


def _require_languages(looked: Look, codes: list[str]) -> None:
    """Raises UserError for a side that looks like another language, unless that is a close relative."""
    for column, (side, code) in enumerate(zip(looked.corpus.sides, codes, strict=True) if looked.identified else ()):
        label, count = looked.languages[column].most_common(1)[0]
        close = means(label, code) or langcodes.tag_distance(code, label) <= CLOSE
        if count >= WRONG * looked.identified and not close:
            sampled = f"{100 * count / looked.identified:.0f} % of {looked.identified:,} sampled lines"
            swapped = "; are the sides swapped?" * (len(codes) > 1 and means(label, codes[1 - side]))
            raise UserError(
                f"{looked.corpus}: the {SIDES[side]} side looks like {label} ({sampled}), not {code}{swapped}"
            )


def _repeats(path: Path, column: int, total: int, folder: Path) -> int:
    """How many records have the key of an earlier one."""
    marks = duplicates.repeated(duplicates.read_keys([path], column), total, folder)
    return int(np.unpackbits(marks).sum())


def _occurrences(path: Path, column: int, hashes: NDArray[Any]) -> NDArray[Any]:
    """The number of records with each of these hashes in a column: int64[hashes]."""
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
        self.chosen = np.empty(0, _CANDIDATE)
        self.records: list[Record] = []

    def add(self, batch: Batch, rows: NDArray[Any], of_sides: NDArray[Any]) -> None:
        """rows: int64[n], those of the batch that may be drawn; of_sides: uint64[records, 2]."""
        short = rows[batch.ends[rows, -1] - batch.starts[rows, 0] <= LONGEST]
        new = np.empty(len(short), _CANDIDATE)
        new["priority"] = self._random.random(len(short))
        new["source"], new["target"] = of_sides[short].T
        if len(self.chosen) == SAMPLE:
            below = new["priority"] < self.chosen["priority"][-1]
            short, new = short[below], new[below]
        records = [*self.records, *(batch.record(row) for row in short)]
        chosen = np.concatenate([self.chosen, new])
        order = np.argsort(chosen["priority"], kind="stable")[:SAMPLE]
        self.chosen, self.records = chosen[order], [records[place] for place in order]


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
    """Sets of these roles, drawn from the training corpora in proportion to their sizes.

    A pair is eligible if each side occurs once in its corpus, so that the training loses little by it, and if both look
    like their languages. Raises UserError if there are too few such pairs.
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
            lost = sum((Counter(look.read_errors) for look in looks), Counter())
            unread = "".join(f"; {count:,} lines were dropped ({reason})" for reason, count in lost.items())
            raise UserError(
                f"no {role} set among the files, and only {len(pairs)} of {kept:,} training pairs can be one"
                f"{unread}; add more text, or files {role}.{pair[0]} and {role}.{pair[1]} of your own"
            )
    return [HeldOut(role, pairs, [look.corpus.name for look in looks]) for role, pairs in sets.items()]


def _eligible(look: Look, pair: list[str]) -> list[Record]:
    once = [record for record, counts in zip(look.sample, look.occurrences, strict=True) if (counts == 1).all()]
    if not all(identifies(look, side, code) for side, code in enumerate(pair)):
        return once
    labels = [identifier().labels([record[side] for record in once]) for side in (0, 1)]
    return [record for record, *found in zip(once, *labels, strict=True) if all(map(means, found, pair))]


def identifies(look: Look, column: int, code: str) -> bool:
    """Whether langid.py identifies a side well enough to judge its lines one by one."""
    return look.share(column, code) >= RELIABLE


def percent(share: float, digits: int = 0) -> str:
    """The share in per cent; a positive one that rounds to 0 is given as below the last digit."""
    least = 10.0**-digits
    return f"< {least:.{digits}f} %" if 0 < 100 * share < least / 2 else f"{100 * share:.{digits}f} %"
