"""Loops that the native engine ends: their number in lines of noise with and without it, and what ending them costs.

The noise is drawn with a seed from the words of a test set, from letters of many scripts, and from what people paste.
A loop is one of findings.loops where the source has none. Of the lines that had no loop, ``changed`` have another
translation, of which the file has examples: mostly the engine saw a loop that punctuation hides from findings.loops;
in beam search an ended hypothesis also leaves its place to another one. Both ways decode in turn, in this process, on
one core; the ratios divide the CPU time without by that with, run by run.
"""

import argparse
import os
import string
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import sacrebleu
from tabulate import tabulate

from findings.loops import looping
from formats import experiments, records
from formats.spread import Spread
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.translator import Translator

SCRIPTS = ((0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939), (0x3041, 0x3096),
           (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x1F600, 0x1F64F))  # fmt: skip
COMMON = string.ascii_letters + string.digits + string.punctuation
Draw = Callable[[Random, Sequence[str]], str]


def _letters(drawn: Random, _: Sequence[str]) -> str:
    words = ("".join(drawn.choices(string.ascii_lowercase, k=drawn.randint(1, 9))) for _ in range(drawn.randint(1, 12)))
    return " ".join(words)


def _symbols(drawn: Random, _: Sequence[str]) -> str:
    return "".join(drawn.choices(COMMON + " " * 12, k=drawn.randint(1, 60)))


def _script(drawn: Random, _: Sequence[str]) -> str:
    first, last = drawn.choice(SCRIPTS)
    return "".join(
        chr(drawn.randint(first, last)) if drawn.random() < 0.85 else " " for _ in range(drawn.randint(1, 30))
    )


def _words(drawn: Random, words: Sequence[str]) -> str:
    case = drawn.choice((str, str.upper, str.title))
    return case(" ".join(drawn.choices(words, k=drawn.randint(1, 25))))


def _twice(drawn: Random, words: Sequence[str]) -> str:
    phrase = " ".join(drawn.choices(words, k=drawn.randint(1, 3)))
    return " ".join([phrase] * drawn.randint(2, 3))


def _pasted(drawn: Random, words: Sequence[str]) -> str:
    word, other, number = drawn.choice(words), drawn.choice(words), drawn.randint(0, 99999)
    forms = ("https://{0}.org/{1}?{2}", "{0}@{1}.com", "<b>{0}</b> {1}", "{{{0}}}", "€{2}.10", "{0}_{1}_{2}",
             "{0}({1});", "[{0}]({1}) {2}", "{2}/{0}.{1}", "&{0}; {1} &lt;{2}&gt;", "#{0} @{1} {2}%")  # fmt: skip
    return drawn.choice(forms).format(word, other, number)


def _damaged(drawn: Random, words: Sequence[str]) -> str:
    line = " ".join(drawn.choices(words, k=drawn.randint(3, 15)))
    return "".join(drawn.choice(COMMON) if drawn.random() < 0.2 else letter for letter in line)


NOISE: dict[str, Draw] = {
    "letters": _letters, "symbols": _symbols, "scripts": _script, "words": _words, "twice": _twice, "pasted": _pasted,
    "damaged": _damaged,
}  # fmt: skip


def noise(words: Sequence[str], count: int, seed: int) -> list[str]:
    """Lines of all kinds in turn."""
    drawn, kinds = Random(seed), [*NOISE.values()]
    return [kinds[number % len(kinds)](drawn, words) for number in range(count)]


def seconds(translator: Translator, lines: Sequence[str]) -> float:
    before = time.process_time()
    for _ in translator.translate(lines):
        pass
    return time.process_time() - before


def measured(
    model: Path, beam_size: int, lines: list[str], test_set: list[records.Record], runs: int
) -> dict[str, Any]:
    """The record of a model with one beam."""
    clean, references = ([*side] for side in zip(*(record[:2] for record in test_set), strict=True))
    ways = {
        name: Translator(model, beam_size, workers=1, checksums=False, end_loops=ended)
        for name, ended in (("kept", False), ("ended", True))
    }
    outputs = {name: [*translator.translate(lines)] for name, translator in ways.items()}
    found = {
        name: [looping(output) and not looping(source) for source, output in zip(lines, texts, strict=True)]
        for name, texts in outputs.items()
    }
    pairs = [*zip(outputs["kept"], outputs["ended"], found["kept"], strict=True)]
    tested = {name: [*translator.translate(clean)] for name, translator in ways.items()}
    bleu = {name: sacrebleu.corpus_bleu(texts, [references]).score for name, texts in tested.items()}
    times = [[seconds(translator, clean) for translator in ways.values()] for _ in range(runs)]
    changed = [(kept, ended) for kept, ended, loop in pairs if kept != ended and not loop]
    return {
        "model": f"{model.parent.name}/{model.name}",
        "beam_size": beam_size,
        "lines": len(lines),
        "loops_kept": sum(found["kept"]),
        "loops": sum(found["ended"]),
        "ended": ways["ended"].counts["lines_looped"],
        "empty_kept": outputs["kept"].count(""),
        "empty": outputs["ended"].count(""),
        "changed": len(changed),
        "clean_lines": len(clean),
        "clean_changed": sum(kept != ended for kept, ended in zip(*tested.values(), strict=True)),
        "bleu_kept": bleu["kept"],
        "bleu": bleu["ended"],
        **Spread.of(kept / ended for kept, ended in times).fields("clean_ratio"),
        "examples": changed[:5],
        "left": [output for output, loop in zip(outputs["ended"], found["ended"], strict=True) if loop][:5],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="model folders")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--lines", type=positive, default=10_000, help="of noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=positive, default=5, help="of the test set")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--test-set", type=there, required=True, help="records")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    os.sched_setaffinity(0, {args.core})
    test_set = [*records.read(args.test_set)]
    lines = noise([word for record in test_set for word in record[0].split()], args.lines, args.seed)
    rows = [measured(model, beam, lines, test_set, args.runs) for model in args.models for beam in args.beam_sizes]
    write_json(args.output, {"seed": args.seed, "runs": args.runs, **experiments.here(), "rows": rows})
    print(
        tabulate(
            [{name: row[name] for name in row if name not in ("left", "examples")} for row in rows],
            headers="keys",
            floatfmt=".3f",
        )
    )


if __name__ == "__main__":
    command(main)
