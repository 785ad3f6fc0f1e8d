"""Drop the records whose scores are worse than the bounds, or not among the best, after all rules and duplicates.

The numbers of all records wait in files, eight bytes a score and record, and the worst of the best N is found by its
digits (corpora.scores.nth), so that memory does not grow but for a bit a record. Of equal scores the records with the
smallest hashes of their text are kept, however the corpus was divided. The output has the sides alone.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.document import argument
from corpora.duplicates import marked
from corpora.funnel import KEPT, Funnel, rejected_file, require_lines, verify_written
from corpora.rules import Dropped, Rows
from corpora.scores import Numbers, ascending, column, nth, number_of
from corpora.settings import Score
from corpora.text_features import Measured, characters
from formats import records
from formats.batches import Batch, batches
from formats.counts import Cleaned, Histogram, Scores, dropped_by_half
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import document, write_json
from nmt_frontier.progress import progress

LOW_SCORE = "low_score"  # the reason
HASHES = ".hashes"  # no name of a score begins with a dot
BINS = 40
CHUNK = 1 << 19  # records looked at at a time

Kept = NDArray[np.bool_]


class Numbered:
    """The scores of all records, in files. own: files of those that the text does not carry. folder: of these files.
    Raises UserError where a score has not as many numbers as there are records."""

    def __init__(self, source: Path, own: dict[str, list[Path]], bounds: dict[str, Score], sides: int, folder: Path):
        self.total = document(records.info(source), Cleaned, "not the counts of a corpus; delete it")["lines_out"]
        self._folder, self._bounds = folder, bounds
        self._best = next((name for name, score in bounds.items() if score.best), None)
        self._worst_kept = {name: score.bound for name, score in bounds.items() if score.bound is not None}
        carried = [name for name in bounds if name not in own]
        with ExitStack() as stack:
            files = {name: stack.enter_context(open(folder / name, "wb")) for name in bounds}
            hashes = stack.enter_context(open(folder / HASHES, "wb"))
            tables = characters([])
            for batch in progress(batches(source), f"scores {records.name(source)}", self.total, size=len):
                for place, name in enumerate(carried, sides):
                    files[name].write(column(batch, place).tobytes())
                if self._best:
                    hashes.write(Measured(batch, tables, sides).hash.tobytes())
            for name, shards in own.items():
                for batch in (batch for shard in shards for batch in batches(shard)):
                    files[name].write(column(batch, 0).tobytes())
        for name in bounds:
            if (found := (folder / name).stat().st_size // 8) != self.total:
                remedy = "delete corpora/scores of this corpus, run again"
                raise UserError(f"{source}: has {self.total:,} records, and {found:,} scores {name}; {remedy}")

    def _read(self, name: str, start: int) -> Numbers:
        return np.fromfile(self._folder / name, np.float64, CHUNK, offset=8 * start)

    def shown(self, row: int) -> list[str]:
        """The scores of a record, for people."""
        files = {name: self._folder / name for name in self._bounds}
        return [f"{name} {np.fromfile(file, np.float64, 1, offset=8 * row)[0]:.4g}" for name, file in files.items()]

    def _keys(self, start: int) -> NDArray[np.uint64]:
        """Of the score whose best are kept, the best first."""
        assert self._best
        keys = ascending(self._read(self._best, start))
        return ~keys if self._bounds[self._best].better == "high" else keys

    def _hashes(self, start: int) -> NDArray[np.uint64]:
        return np.fromfile(self._folder / HASHES, np.uint64, CHUNK, offset=8 * start)

    def _within(self, start: int) -> Kept:
        """Which records of a chunk no bound drops."""
        kept = np.ones(min(CHUNK, self.total - start), bool)
        for name in self._worst_kept:
            kept &= self._good(name, start)
        return kept

    def _good(self, name: str, start: int) -> Kept:
        """Which records of a chunk the bound of a score leaves."""
        numbers, worst = self._read(name, start), self._worst_kept[name]
        good: Kept = numbers >= worst if self._bounds[name].better == "high" else numbers <= worst
        return good

    def worse(self, scores: dict[str, Scores]) -> Iterator[str]:
        """What each bound would drop alone, for people. scores: those of counts."""
        for name, worst in self._worst_kept.items():
            dropped = sum(np.count_nonzero(~self._good(name, start)) for start in self._starts())
            yield (
                f"score {name}: {dropped:,} of {self.total:,} records are worse than the bound {worst:g}; "
                f"98 % of all lie from {scores[name]['low']:.4g} to {scores[name]['high']:.4g}"
            )

    def _starts(self) -> range:
        return range(0, self.total, CHUNK)

    def kept(self) -> Iterator[Kept]:
        """Which records are kept, chunk by chunk."""
        worst = self._worst()
        for start in self._starts():
            within = self._within(start)
            if worst is not None:
                within &= worst.kept(self._keys(start), self._hashes(start), within)
            yield within

    def _worst(self) -> "Worst | None":
        """What the last of the best has; None if all are kept that the bounds leave."""
        if self._best is None:
            return None
        found = nth(lambda: (self._keys(start)[self._within(start)] for start in self._starts()), self._most)
        if found is None:
            return None
        key, ties = found

        def tied() -> Iterator[NDArray[np.uint64]]:
            for start in self._starts():
                yield self._hashes(start)[self._within(start) & (self._keys(start) == np.uint64(key))]

        last = nth(tied, ties)
        assert last
        return Worst(key, *last)

    @property
    def _most(self) -> int:
        return (self._best and self._bounds[self._best].best) or 0

    def counts(self, marks: NDArray[np.uint8]) -> dict[str, Scores]:
        """The histograms. marks: which records were kept, in bits."""
        return {name: self._histogram(name, marks) for name in self._bounds}

    def _histogram(self, name: str, marks: NDArray[np.uint8]) -> Scores:
        ranks = (1 + self.total // 100, self.total - self.total // 100)
        found = (nth(lambda: (ascending(self._read(name, start)) for start in self._starts()), n) for n in ranks)
        low, high = (number_of(each[0]) for each in found if each)
        counts = np.zeros((2, BINS), np.int64)
        for start in self._starts():
            numbers = self._read(name, start)
            shares = (numbers / 2 - low / 2) / ((high / 2 - low / 2) or 1)  # of halves: a difference may be no number
            places = np.clip(shares * BINS, 0, BINS - 1).astype(np.int64)
            kept = marked(marks, start, len(numbers))
            counts += np.bincount(places, minlength=BINS), np.bincount(places[kept], minlength=BINS)
        before, after = counts.tolist()
        score = self._bounds[name]
        return Scores(low=low, high=high, before=before, after=after, better=score.better, bound=score.bound)


class Worst:
    """The last one of the best. key: of its score; hash: of its text; ties: records with both that are kept, the first
    ones."""

    def __init__(self, key: int, hash: int, ties: int):
        self._key, self._hash, self._ties = np.uint64(key), np.uint64(hash), ties

    def kept(self, keys: NDArray[np.uint64], hashes: NDArray[np.uint64], within: Kept) -> Kept:
        """Which of some records are at least as good, once for all of them, in order."""
        tied = keys == self._key
        same = np.flatnonzero(within & tied & (hashes == self._hash))
        good: Kept = (keys < self._key) | (tied & (hashes < self._hash))
        good[same[: self._ties]] = True
        self._ties -= min(self._ties, len(same))
        return good


def bound(
    source: Path, own: dict[str, list[Path]], bounds: dict[str, Score], output: Path, rejected: Path | None
) -> None:
    """Write what the bounds leave of ``source``, and its JSON. Raises UserError if nothing is left.

    own: files of the scores that the text does not carry. rejected: records that were dropped before.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    before = document(records.info(source), Cleaned, "not the counts of a corpus; delete it, run again")
    names = [*before["lengths"]]
    sides = len(names)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=output.parent, prefix=".scores."))
        numbered = Numbered(source, own, bounds, sides, Path(folder))
        marks = np.concatenate(
            [np.packbits(kept, bitorder="little") for kept in numbered.kept()] or [np.empty(0, "u1")]
        )
        position, tables = 0, characters([])  # position: the records before a batch

        def low_score(measured: Measured, rows: Rows) -> Dropped:
            return ~marked(marks, position, len(measured.batch))[rows]

        def shown(batch: Batch, row: int) -> records.Record:
            return *batch.first(sides).record(row), *numbered.shown(position + row)

        funnel = Funnel({LOW_SCORE: low_score}, names, shown)
        kept = stack.enter_context(records.writer(output))
        dropped = stack.enter_context(records.writer(rejected_file(output))) if rejected else None
        for batch in progress(batches(source), f"bounds {records.name(source)}", before["lines_out"], size=len):
            verdict = funnel.sort_out(Measured(batch, tables, sides))
            position += len(batch)
            kept.write(batch.first(sides).lines(np.flatnonzero(verdict == KEPT)))
            if dropped:
                rows = np.flatnonzero(verdict != KEPT)
                dropped.write(b"".join(records.line((LOW_SCORE, *batch.record(row))) for row in rows))
        if dropped and rejected:
            for text in records.frames(rejected):
                dropped.write(text)
        scores = numbered.counts(marks)
        for line in numbered.worse(scores):
            print(line, file=sys.stderr)
        counts = counted(before, funnel, scores)
        require_lines(output, counts)
    verify_written(output, counts["lines_out"], kept.sha256)
    for line in dropped_by_half(counts["name"], counts["lines_in"], counts["dropped"]):
        print(line, file=sys.stderr)
    write_json(records.info(output), {**counts, "sha256": kept.sha256})


def counted(before: Cleaned, funnel: Funnel, scores: dict[str, Scores]) -> Cleaned:
    """The counts of a corpus after its bounds."""
    after = funnel.counts()
    samples = {reason: [record for _, record in found] for reason, found in after["samples"].items()}
    lengths: dict[str, Histogram] = {
        side: {"in": before["lengths"].get(side, found)["in"], "out": found["out"]}
        for side, found in after["lengths"].items()
    }
    return {
        **before,
        "lines_out": after["lines_out"],
        "dropped": before["dropped"] | after["dropped"],
        "samples": before["samples"] | samples,
        "lengths": lengths,
        "scores": scores,
        "seconds": round(before["seconds"] + after["seconds"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records, the scores of their text behind the sides")
    bounds = "`score` of the corpus as JSON, those that the text carries in the order of the columns"
    parser.add_argument("--bounds", type=argument(dict[str, Score]), required=True, help=bounds)
    own = "the name of a score that the text does not carry, and its files, in order"
    parser.add_argument("--own", nargs="+", action="append", default=[], help=own)
    parser.add_argument("--rejected", type=there, help="records that were dropped before")
    parser.add_argument("--output", type=Path, required=True, help="records; counts go to the JSON beside them")
    args = parser.parse_args()
    files = {name: [there(path) for path in paths] for name, *paths in args.own}
    bound(args.input, files, args.bounds, args.output, args.rejected)


if __name__ == "__main__":
    command(main)
