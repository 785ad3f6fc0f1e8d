"""Which target words the source n-grams bring: the counts of all shards of export.phrases as one table on disk."""

import argparse
from pathlib import Path
from typing import NamedTuple

from export import runs
from export.phrases import Words
from formats.errors import UserError, command
from formats.files import whole
from formats.progress import progress


class PhraseTable(NamedTuple):
    """Counts over a corpus of aligned pairs, mapped into memory.

    pieces: the vocabulary; number n is pieces[n - 1]. phrases: keys of three source pieces and a target word, 16 bits
    each, shorter n-grams first. links: keys of a source and a target piece. words: the target side alone.
    """

    pieces: list[str]
    phrases: runs.Counts
    links: runs.Counts
    words: Words

    @classmethod
    def load(cls, folder: Path) -> "PhraseTable":
        pieces = (folder / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
        counts = (runs.Counts.load(folder / name) for name in ("phrases", "links"))
        return cls(pieces, *counts, Words.load(folder / "words.npz"))


def merge(shards: list[Path], vocabulary: Path, output: Path) -> None:
    """Sum the counts of the shards into a new folder. Raises UserError for a vocabulary of another size."""
    pieces = vocabulary.read_text(encoding="utf-8").splitlines()
    words = Words.none(len(pieces))
    for shard in shards:
        for total, part in zip(words, Words.load(shard / "words.npz"), strict=True):
            if len(part) != len(total):
                raise UserError(
                    f"{shard}: counted with a vocabulary of {len(part) - 1:,} pieces, {vocabulary} has {len(pieces):,}"
                )
            total += part
    with whole(output) as folder:
        for name in ("phrases", "links"):
            counts = [run for shard in shards for run in sorted((shard / name).iterdir())]
            runs.write(
                folder / name, progress(runs.merge(counts), f"merging {name}", unit="key", size=lambda b: len(b.keys))
            )
        words.save(folder / "words.npz")
        (folder / "vocabulary.txt").write_bytes(vocabulary.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=Path, nargs="+", required=True, help="folders of export.phrases")
    parser.add_argument("--vocabulary", type=Path, required=True, help="one piece a line")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    merge(args.shards, args.vocabulary, args.output)


if __name__ == "__main__":
    command(main)
