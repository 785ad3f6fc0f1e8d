"""Records to the line-aligned files of subword pieces that OpenNMT-tf and fast_align read."""

import argparse
import contextlib
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import sentencepiece

from formats import records
from formats.errors import command
from formats.files import whole
from formats.progress import progress

BATCH = 10_000  # records a call to SentencePiece: large enough to keep its threads busy


def encode(paths: Iterable[Path], model: Path, columns: int, threads: int) -> Iterator[tuple[str, ...]]:
    """Yield the first columns of each record as pieces with single spaces between them."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    stream = itertools.chain.from_iterable(map(records.read, paths))
    while batch := list(itertools.islice(stream, BATCH)):
        sides = [*zip(*batch, strict=True)][:columns]
        encoded = [processor.encode(list(side), out_type=str, num_threads=threads) for side in sides]
        for pieces in zip(*encoded, strict=True):
            yield tuple(" ".join(side) for side in pieces)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=Path, nargs="+", required=True, help="records, one file after the other")
    parser.add_argument("--model", type=Path, required=True, help="SentencePiece model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--outputs", type=Path, nargs="+", required=True, help="one file a column, the first column first"
    )
    args = parser.parse_args()

    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(whole(path)) for path in args.outputs]
        files = [stack.enter_context(open(part, "w", encoding="utf-8")) for part in parts]
        for pieces in progress(encode(args.inputs, args.model, len(args.outputs), args.threads), "encoding"):
            for file, side in zip(files, pieces, strict=True):
                file.write(side + "\n")


if __name__ == "__main__":
    command(main)
