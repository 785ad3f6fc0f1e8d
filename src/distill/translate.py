"""Translate the source side of a shard with a teacher: an n-best list for every sentence (Kim and Rush 2016).

Several native models of one vocabulary and one tokenization are one teacher: their probabilities are averaged at every
step. distill.rescore is for those that cannot.

The lists of a shard appear whole or not at all; an interrupted job continues after its last whole part (distill.parts).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from distill import n_best_lists, parts
from distill.n_best_lists import NBestList, ranked
from distill.parts import Written
from distill.settings import TranslationSettings
from distill.teacher import Teacher, teacher_options
from distill.teacher_engines import Arithmetic, installed
from distill.tokenization import files, tokenizers
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command


class TranslatedShard(Written, Arithmetic):
    """The JSON beside the translations."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records; the first column is translated")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    models = "folder of the teacher, as distill.teacher takes it; several native ones translate token by token"
    parser.add_argument("--model", dest="models", type=there, nargs="+", required=True, help=models)
    teacher_options(parser)
    parser.add_argument("--output", type=Path, required=True, help="n-best lists; counts go to a JSON beside them")
    args = parser.parse_args()

    stand_ins = vars(args).pop("stand_ins")
    if len(args.models) == 1:  # CTranslate2 stands in for no ensemble, as it decodes with one model
        args.models = installed(args.models, stand_ins)  # the key of the parts has what was chosen
    model, *others = args.models
    asked: TranslationSettings = args.settings
    ways = [(tokenization, asked.prefix(number)) for number, tokenization in enumerate(asked.tokenizations)]
    if different := [path for path, way in zip(args.models, ways, strict=True) if way != ways[0]]:
        differs = f"has another tokenization or prefix than {model}"
        raise UserError(f"{different[0]}: {differs}; they cannot translate together")
    tokenization, prefix = ways[0]
    sides = tokenizers(tokenization, args.sentencepiece, asked.languages)
    teacher = Teacher(model, sides, args.threads, asked.device, args.batch_tokens, prefix, others)
    sources = (record[0] for record in records.read(args.input, args.shard))

    def made(part: list[str]) -> Iterator[records.Record]:
        sampling = asked.sampling.of_engine if asked.sampling else None
        hypotheses = teacher.translate(part, asked.beam_size, asked.n_best, sampling)
        # strict: a shift between the sides is an error here, not noise later
        return (n_best_lists.record(NBestList(*row)) for row in zip(part, map(ranked, hypotheses), strict=True))

    def counts(lines: int, checksum: str) -> TranslatedShard:
        return {"lines_out": lines, "sha256": checksum, **teacher.arithmetic}

    key = parts.key(args, [args.input, *args.models, args.sentencepiece, *files(tokenization)])
    what, total = f"translate {records.name(args.output)}", records.count(args.input, args.shard)
    parts.write(args.output, key, sources, total, made, what, counts)


if __name__ == "__main__":
    command(main)
