"""Score distilled pairs with a reverse teacher: how probable the source is, given the translation.

Its score, the mean log-probability per token of the source, replaces the teachers' score in the third column of the
records.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.command_line import json_value
from common.errors import command
from common.files import read_json
from distill import parts
from distill.teacher import Teacher, teacher_options
from distill.tokenization import files, tokenizers
from formats import records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records of source, target and score")
    parser.add_argument("--model", type=Path, required=True, help="folder of the target-to-source teacher")
    parser.add_argument("--tokenization", type=json_value, help="JSON of its own tokenization (default: the study's)")
    teacher_options(parser)
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    sides = tokenizers(args.tokenization, args.sentencepiece, args.languages[::-1])
    reverse_teacher = Teacher(args.model, sides, args.threads, args.device, args.batch_tokens)

    def made(part: list[records.Record]) -> Iterator[records.Record]:
        scores = reverse_teacher.score((target, source) for source, target, _ in part)
        for (source, target, _), score in zip(part, scores, strict=True):
            yield source, target, f"{score:.4f}"

    def counts(_: int, checksum: str) -> dict[str, Any]:
        return read_json(records.info(args.input)) | {"sha256": checksum}

    key = parts.key(args, [args.input, args.model, args.sentencepiece, *files(args.tokenization)])
    what, total = f"score {records.name(args.output)}", records.count(args.input)
    parts.write(args.output, key, records.read(args.input), total, made, what, counts)


if __name__ == "__main__":
    command(main)
