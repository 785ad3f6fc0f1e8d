"""The speed of a teacher behind HTTP as a record, so that it can stand in a front beside students: a language model on
this machine, that was asked for one text after the other (``concurrency: 1``).

Its time is the sum of the seconds of all answers that distill.ask counted, failed ones included, and its words those of
the texts. Its cores are those that its server was kept on. measure.score adds BLEU, to this record and to others.
"""

import argparse
import os
from pathlib import Path
from typing import TypedDict

from findings.comparison import HTTP
from findings.cost import cost
from formats import measurement, records
from formats.measurement import Conditions, Decoding, Measurement, System, Timing
from formats.spread import Spread
from measure import protocol, source_tokens
from nmt_frontier import machine
from nmt_frontier.command_line import named_path, positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, typed

LABEL = "language model, behind HTTP"


class Answers(TypedDict):
    """What distill.ask counted; it is beside its n-best lists."""

    models: dict[str, int]
    output_tokens: int
    seconds: float


def timing(answers: Answers, words: int, moses: int) -> Timing:
    """Of the single run. Tokens are those of the language model, in all its answers."""
    seconds = answers["seconds"]
    return Timing(
        source_words=words,
        source_tokens_moses=moses,
        target_tokens=answers["output_tokens"],
        text_seconds=Spread.of([seconds]),
        target_tokens_per_second=Spread.of([answers["output_tokens"] / seconds]),
        source_words_per_second=Spread.of([words / seconds]),
        text_seconds_runs=(seconds,),
        others=None,
    )


def record(args: argparse.Namespace) -> Measurement:
    """Raises UserError for counts of no answers, and for another number of translations than of texts."""
    test_set, texts = args.test_set
    answers = typed(read_json(args.answers), Answers, f"{args.answers}: not beside n-best lists of distill.ask")
    if not answers["seconds"]:
        raise UserError(f"{args.answers}: counts no seconds of answers; there is nothing to time")
    sources, here = records.sources(texts), machine.describe()
    records.read_output(args.translations, len(sources))
    words = sum(len(source.split()) for source in sources)
    spent = cost(answers["seconds"], len(args.cores), words, None, here["cpu"], here["isa"])
    shape, output = " and ".join(answers["models"]), os.path.relpath(args.translations, args.output.parent)
    return Measurement(
        study=args.study,
        system=System(name=args.system, role="imported", shape=shape, parameters=args.parameters),
        decoding=Decoding(
            engine=HTTP,
            engine_label=LABEL,
            compute_type=args.compute_type,
            isa=here["isa"],
            batch_tokens=None,
            cores=tuple(args.cores),
            sentences=len(sources),
            output=output,
        ),
        test_set=test_set,
        timing=timing(answers, words, source_tokens.moses(texts, None, args.source_language)),
        conditions=Conditions(price=spent.price, commit=protocol.commit(), cpu=here["cpu"]),
        core_seconds_per_million_words=spent.core_seconds_per_million_words,
        usd_per_million_words=spent.usd_per_million_words,
        split="test",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=there, required=True, help="JSON of distill.ask beside its n-best lists")
    parser.add_argument("--translations", type=there, required=True, help="text of distill.n_best_lists")
    parser.add_argument("--test-set", type=named_path, required=True, help="name=path of the records that it was asked")
    parser.add_argument("--study", required=True, help="name of the study")
    parser.add_argument("--system", required=True, help="name of the language model in tables and pictures")
    parser.add_argument("--parameters", type=positive, required=True, help="of the language model")
    parser.add_argument("--compute-type", required=True, help="of its weights, such as q4_k_m")
    parser.add_argument("--cores", type=int, nargs="+", default=[0], help="those that its server was kept on")
    parser.add_argument("--source-language", default="en", help="of the texts, to count their tokens")
    parser.add_argument("--output", type=Path, required=True, help="JSON list of one record to write")
    args = parser.parse_args()
    found = record(args)
    measurement.write(args.output, [found])
    speed = found.timing.source_words_per_second.middle
    print(f"{found.system.name}: {speed:.2f} source words a second on {len(args.cores)} cores")


if __name__ == "__main__":
    command(main)
