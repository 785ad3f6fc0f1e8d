"""Translate test sets with one model folder, for reading and scoring, without timing.

Writes ``beam<size>.<test set>.txt`` for every beam size and test set into a folder, which appears whole or not at all.
"""

import argparse
import os
from pathlib import Path

from formats import records
from nmt_frontier.command_line import named_path, positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import atomic_path, write_text
from nmt_frontier.progress import progress
from nmt_frontier.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder")
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path of records")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", required=True)
    parser.add_argument("--threads", type=positive, default=1, help="cores to use (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    for pool in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):  # TensorFlow takes every core otherwise
        os.environ[pool] = str(args.threads)

    with atomic_path(args.output) as part:
        part.mkdir()
        for beam_size in args.beam_sizes:
            translator = Translator(
                args.model, beam_size, vocabulary_map=False, workers=args.threads, end_loops=False, copying=False
            )
            for name, path in args.test_sets:
                lines = translator.translate(record[0] for record in records.read(path))
                shown = progress(lines, f"{name}, beam {beam_size}", records.count(path), "sentence")
                write_text(part / f"beam{beam_size}.{name}.txt", "".join(f"{line}\n" for line in shown))


if __name__ == "__main__":
    command(main)
