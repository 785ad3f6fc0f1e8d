"""Count the phrase pairs and the links of one shard of aligned pairs.

A phrase pair is consistent if no link leaves it (Och and Ney 2004). Target phrases are minimal here: they reach from
the first to the last piece that is linked to the source n-gram. Och and Ney also extend them by the unaligned words at
their edges; here the most frequent unaligned pieces are always on in the map instead (export.vocabulary_map).

The vocabulary map needs only the pieces of the target phrases, so the counted keys are (source n-gram, target piece),
each once a phrase pair. A key holds an n-gram of at most three pieces and a target piece as four 16-bit numbers in 64
bits. Piece numbers start at 1; 0 fills the place of a shorter n-gram.

The command writes a folder of segments (export.sorted_counts), which export.phrase_table merges with those of the other
shards.
"""

import argparse
from pathlib import Path

from common.errors import UserError, command
from common.files import atomic_path
from common.progress import progress
from export.phrase_extraction import MAX_LENGTH, extract, piece_index
from export.phrase_table import TargetCounts
from export.sorted_counts import SegmentWriter
from formats import opennmt_vocabulary, records
from formats.batches import Batch, batches


class PhraseCounter:
    """Counts batches of ``source pieces<TAB>target pieces<TAB>alignment`` into a folder."""

    def __init__(self, folder: Path, pieces: list[str]):
        self.index = piece_index(pieces)
        self.targets = TargetCounts.zeros(len(pieces))
        self.phrases, self.links = SegmentWriter(folder / "phrases"), SegmentWriter(folder / "links")
        self._folder = folder

    def add(self, batch: Batch) -> None:
        """Raises ValueError(row) for a row whose alignment does not fit its pieces."""
        phrases, links = self.phrases, self.links
        row = 0
        while row < len(batch):
            row, phrases.used, links.used, well_formed = extract(
                batch, row, self.index, self.targets, phrases.keys, phrases.used, links.keys, links.used
            )
            if not well_formed:
                raise ValueError(row)
            if row < len(batch):  # the next pair may not fit
                if not (phrases.used or links.used):
                    raise ValueError(row)  # more links than any pair has
                phrases.flush()
                links.flush()

    def finish(self) -> None:
        self.phrases.flush()
        self.links.flush()
        self.targets.save(self._folder)


def count(path: Path, pieces: list[str], output: Path, shard: records.Shard | None = None) -> None:
    """Count a file of export.alignment, or a shard of it, into a new folder.

    Raises UserError for a record that is no aligned pair, and for too large a vocabulary.
    """
    with atomic_path(output) as part:
        part.mkdir(parents=True)
        counter, previous = PhraseCounter(part, pieces), 0
        for batch in progress(batches(path, shard), "extracting phrases", unit="pair", size=len):
            if batch.starts.shape[1] != 3:
                raise UserError(f"{path}: not source<TAB>target<TAB>links; make it with export.alignment")
            try:
                counter.add(batch)
            except ValueError as error:
                of = f" of shard {shard[0]}/{shard[1]}" if shard else ""
                raise UserError(
                    f"{path}: record {previous + error.args[0] + 1}{of} is no aligned pair: a link outside the pair,"
                    f" or a side of more than {MAX_LENGTH:,} pieces; delete it, run again"
                ) from None
            previous += len(batch)
        counter.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alignments", type=Path, required=True, help="records of export.alignment")
    parser.add_argument("--shard", type=records.shard, help="K/N: only this part of them")
    parser.add_argument("--vocabulary", type=Path, required=True, help="one piece a line")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()

    pieces = opennmt_vocabulary.read(args.vocabulary)
    count(args.alignments, pieces, args.output, args.shard)


if __name__ == "__main__":
    command(main)
