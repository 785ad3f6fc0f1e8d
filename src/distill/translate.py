"""A teacher translates the source side of a shard: its n-best list for every sentence (Kim and Rush 2016).

Reads records (their first column is the source), writes candidates. A shard is the unit of resuming: it appears whole
or not at all.
"""

import argparse
import json
import os
from pathlib import Path

from distill import candidates
from distill.candidates import Candidates, ranked
from distill.teacher import Teacher
from distill.tokenization import tokenizers
from formats import records
from formats.errors import command
from formats.files import write_json
from formats.progress import progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records; the first column is translated")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts (default: all)")
    parser.add_argument("--model", type=Path, required=True, help="the teacher as a CTranslate2 folder")
    parser.add_argument("--sentencepiece", type=Path, nargs="?", help="the study's model, for one without its own")
    parser.add_argument("--tokenization", type=json.loads, help="JSON: the teacher's own, if it is another one")
    parser.add_argument("--languages", nargs=2, required=True, help="codes of the source and the target language")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--n-best", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="single-threaded translators")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--output", type=Path, required=True, help="candidates to write; counts go to a .json beside it"
    )
    args = parser.parse_args()

    sides = tokenizers(args.tokenization, args.sentencepiece, args.languages)
    teacher = Teacher(args.model, sides, args.threads, args.device)
    sources = (record[0] for record in records.read(args.input, args.shard))
    lists = teacher.translate(sources, args.beam_size, args.n_best)
    # strict: a shift between the sides is an error here, not noise later.
    again = (record[0] for record in records.read(args.input, args.shard))
    total = records.count(args.input, args.shard)
    pairs = progress(zip(again, lists, strict=True), f"translate {records.name(args.output)}", total, "sentence")
    lines, checksum = candidates.write(args.output, (Candidates(source, ranked(found)) for source, found in pairs))
    write_json(records.info(args.output), {"lines_out": lines, "sha256": checksum, **teacher.computed})


if __name__ == "__main__":
    command(main)
