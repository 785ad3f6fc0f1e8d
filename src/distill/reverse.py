"""Score distilled pairs with a model of the other direction: how probable the source is, given the translation.

The third column of the records, the teachers' score, is replaced by the reverse model's: mean log-probability a token.
"""

import argparse
import json
import os
from pathlib import Path

from distill.teacher import Teacher
from distill.tokenization import tokenizers
from formats import records
from formats.errors import command
from formats.files import read_json, write_json
from formats.progress import progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, required=True, help="records of source, target and score")
    parser.add_argument("--model", type=Path, required=True, help="target-to-source model, a CTranslate2 folder")
    parser.add_argument("--sentencepiece", type=Path, nargs="?", help="the study's model, for one without its own")
    parser.add_argument("--tokenization", type=json.loads, help="JSON: the model's own, if it is another one")
    parser.add_argument("--languages", nargs=2, required=True, help="codes of the source and the target of the study")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="single-threaded translators")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a .json beside it")
    args = parser.parse_args()

    sides = tokenizers(args.tokenization, args.sentencepiece, args.languages[::-1])
    model = Teacher(args.model, sides, args.threads, args.device)
    scores = model.score((target, source) for source, target, _ in records.read(args.input))
    pairs = zip(records.read(args.input), scores, strict=True)
    shown = progress(pairs, f"score {records.name(args.output)}", records.count(args.input), "pair")
    scored = ((source, target, f"{score:.4f}") for (source, target, _), score in shown)
    _, checksum = records.write(args.output, scored)
    write_json(records.info(args.output), read_json(records.info(args.input)) | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
