"""Translate text with a model folder, line by line, from standard input or a file of any length.

An empty line stays an empty line; a byte that is not UTF-8 is replaced by U+FFFD; both sides have equally many lines.
"""

import argparse
import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from decode import engines
from decode.engines import Search
from decode.pipeline import MAXIMUM_INPUT, Pipeline
from decode.tokenizer import Tokenizer
from formats.errors import UserError, command
from formats.progress import progress

REPLACEMENT = "\ufffd"


class Translator(Pipeline):
    """A model folder that translates text.

    >>> next(Translator("results/demo/models/tiny/int8").translate(["A dog runs."]))

    vocabulary_map: use the folder's map where it has one. Raises UserError for a folder that cannot be decoded.
    """

    def __init__(
        self,
        folder: str | Path,
        beam_size: int = 1,
        vocabulary_map: bool = True,
        workers: int = 1,
        batch_tokens: int = 512,
    ):
        folder = Path(folder)
        self.description = engines.describe(folder)
        self.search = Search(
            beam_size=beam_size, vocabulary_map=vocabulary_map and self.description["vocabulary_map"], workers=workers
        )
        self.engine = engines.load(folder, self.search)
        super().__init__(Tokenizer(folder), self.engine.translate, batch_tokens, workers)

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield one translation a line, in order; reads ahead one window only."""
        return itertools.chain.from_iterable(self.windows(lines))


def decoded(lines: Iterable[bytes], counts: Counter[str]) -> Iterator[str]:
    """Lines of bytes as text without line ends; what is not UTF-8 is replaced and counted."""
    for line in lines:
        text = line.decode("utf-8", errors="replace")
        counts["replaced"] += text.count(REPLACEMENT) - line.count(REPLACEMENT.encode())
        yield text.rstrip("\r\n")


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def decoding_options(parser: argparse.ArgumentParser) -> None:
    """The options of everything that decodes with one model folder."""
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--beam-size", type=positive, default=1, help="1 is greedy search")
    parser.add_argument("--no-vocabulary-map", dest="vocabulary_map", action="store_false")
    parser.add_argument("--workers", type=positive, default=1, help="batches decoded at a time, each on one thread")
    parser.add_argument("--batch-tokens", type=positive, default=512, help="largest batch, padding included")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    decoding_options(parser)
    parser.add_argument("--input", type=Path, help="text to translate; default: standard input")
    parser.add_argument("--output", type=Path, help="translation; default: standard output")
    args = parser.parse_args()
    if args.input and args.output and args.output.exists() and args.input.samefile(args.output):
        raise UserError(f"{args.output} is the input, too; write the translation to another file")

    counts: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open(args.input, "rb")) if args.input else sys.stdin.buffer
        translator = Translator(args.model, args.beam_size, args.vocabulary_map, args.workers, args.batch_tokens)
        target = stack.enter_context(open(args.output, "wb")) if args.output else sys.stdout.buffer
        lines = decoded(source, counts)
        if sys.stderr.isatty():
            lines = progress(lines, "translating")
        for outputs in translator.windows(lines):
            target.write("".join(f"{output}\n" for output in outputs).encode())
            target.flush()
    if counts["replaced"]:
        print(f"{counts['replaced']} broken bytes replaced by U+FFFD", file=sys.stderr)
    if cut := translator.counts["lines_cut"]:
        print(f"{cut} lines longer than {MAXIMUM_INPUT} pieces cut there", file=sys.stderr)


if __name__ == "__main__":
    command(main)
