"""Translate the source side of a shard with a teacher: an n-best list for every sentence (Kim and Rush 2016).

A shard is the unit of resuming: its n-best lists appear whole or not at all.
"""

import argparse
import json
from pathlib import Path

from common.errors import command
from common.files import write_json
from common.progress import progress
from distill import n_best_lists
from distill.n_best_lists import NBestList, ranked
from distill.teacher import Teacher, teacher_options
from distill.tokenization import tokenizers
from formats import records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records; the first column is translated")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    parser.add_argument("--model", type=Path, required=True, help="folder of the teacher, as distill.teacher takes it")
    parser.add_argument("--tokenization", type=json.loads, help="JSON of its own tokenization (default: the study's)")
    teacher_options(parser)
    parser.add_argument("--beam-size", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--n-best", type=int, default=1, help="hypotheses per sentence (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, required=True, help="n-best lists to write; counts go to a JSON beside them"
    )
    args = parser.parse_args()

    sides = tokenizers(args.tokenization, args.sentencepiece, args.languages)
    teacher = Teacher(args.model, sides, args.threads, args.device, args.batch_tokens)
    sources = (record[0] for record in records.read(args.input, args.shard))
    hypotheses = teacher.translate(sources, args.beam_size, args.n_best)
    # The sources are read twice. strict: a shift between the sides is an error here, not noise later.
    sources_again = (record[0] for record in records.read(args.input, args.shard))
    lists = (NBestList(*row) for row in zip(sources_again, map(ranked, hypotheses), strict=True))
    total = records.count(args.input, args.shard)
    lists = progress(lists, f"translate {records.name(args.output)}", total, "sentence")
    lines, checksum = n_best_lists.write(args.output, lists)
    write_json(records.info(args.output), {"lines_out": lines, "sha256": checksum, **teacher.arithmetic})


if __name__ == "__main__":
    command(main)
