"""Turn records into the line-aligned files of subword pieces that OpenNMT-tf and fast_align read."""

import argparse
import contextlib
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import atomic_path
from nmt_frontier.progress import progress
from nmt_frontier.text import tokenizers

CALL_RECORDS = 10_000  # records per call of SentencePiece, enough to keep its threads busy


def encode(paths: Iterable[Path], model: Path, columns: int, threads: int) -> Iterator[tuple[str, ...]]:
    """Yield the first ``columns`` columns of each record as pieces separated by single spaces."""
    processor = tokenizers.pieces(model)
    stream = itertools.chain.from_iterable(map(records.read, paths))
    while batch := list(itertools.islice(stream, CALL_RECORDS)):
        sides = [*zip(*batch, strict=True)][:columns]
        encoded = [processor.encode(list(side), out_type=str, num_threads=threads) for side in sides]
        for pieces in zip(*encoded, strict=True):
            yield tuple(" ".join(side) for side in pieces)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=there, nargs="+", required=True, help="records to encode, file after file")
    parser.add_argument("--model", type=there, required=True, help="SentencePiece model")
    parser.add_argument("--threads", type=int, default=1, help="threads of SentencePiece (default: %(default)s)")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="text to write, one file per column")
    args = parser.parse_args()

    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(atomic_path(path)) for path in args.outputs]
        files = [stack.enter_context(open(part, "w", encoding="utf-8")) for part in parts]
        for pieces in progress(encode(args.inputs, args.model, len(args.outputs), args.threads), "encoding"):
            for file, side in zip(files, pieces, strict=True):
                file.write(side + "\n")


if __name__ == "__main__":
    command(main)
