"""Translate text with a model folder, line by line, from standard input or a file of any length.

An empty line stays an empty line; a byte that is not UTF-8 is replaced by U+FFFD; both sides have equally many lines.
Reading, tokenizing, decoding and writing overlap, in bounded memory. A killed translation into a file goes on with
``--resume``, and ends with the same bytes.
"""

import argparse
import contextlib
import itertools
import json
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

from decode import engines, resume, tune
from decode.engines import Search
from decode.guard import guarded
from decode.pipeline import MAXIMUM_INPUT, LongLines, Pipeline
from decode.tokenizer import Tokenizer
from formats import cpu
from formats.errors import UserError, command
from formats.progress import progress

REPLACEMENT = "\ufffd"
ONE_CORE, MANY_CORES, GPU = 512, 256, 6000  # tokens of a batch, WNGT 2020, section 4.2


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


class Translator(Pipeline):
    """A model folder that translates text.

    >>> next(Translator("results/demo/models/tiny/int8").translate(["A dog runs."]))

    vocabulary_map: use the folder's map where it has one. workers: batches decoded at a time; one for each core
    unless given, one on a GPU. batch_tokens: if not given, what was found for this machine (decode.tune), else the
    paper's. threads: of each worker. long_lines: what has more than MAXIMUM_INPUT pieces is cut there, or split into
    parts that are translated one by one. checksums: look for damaged files first. Raises UserError for a folder that
    cannot be decoded.
    """

    def __init__(
        self,
        folder: str | Path,
        beam_size: int = 1,
        vocabulary_map: bool = True,
        workers: int | None = None,
        batch_tokens: int | None = None,
        long_lines: LongLines = "cut",
        overlap: bool = True,
        sorting: bool = True,
        threads: int = 1,
        batch_sentences: int | None = None,
        device: Literal["cpu", "cuda"] = "cpu",
        checksums: bool = True,
    ):
        folder = Path(folder)
        workers = workers or (cores() if device == "cpu" else 1)
        batch_tokens = batch_tokens or best_batch(folder, beam_size, workers, device)
        self.description = engines.describe(folder)
        self.search = Search(
            beam_size=beam_size,
            vocabulary_map=vocabulary_map and self.description["vocabulary_map"],
            workers=workers,
            threads=threads,
            device=device,
        )
        self.engine = engines.load(folder, self.search, checksums)
        switches = {"overlap": overlap, "sorting": sorting, "batch_sentences": batch_sentences}
        super().__init__(Tokenizer(folder), self.engine.translate, batch_tokens, workers, long_lines, **switches)

    @property
    def settings(self) -> dict[str, Any]:
        """All but the model folder that a translation depends on."""
        own = {"batch_tokens": self.batch_tokens, "long_lines": self.long_lines, "isa": os.environ.get(cpu.ISA)}
        own |= {"library": self.engine.library, "int8_saturates": self.engine.int8_saturates}
        return {**vars(self.search), **own, "engine": self.engine.name, "version": self.engine.version}

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield one translation a line, in order; reads ahead two windows only."""
        return itertools.chain.from_iterable(self.windows(lines))


def best_batch(folder: Path, beam_size: int, workers: int, device: str) -> int:
    """Tokens of a batch: as found for this machine, whose instruction set is then asked for, too; else the paper's."""
    if device == "cuda":
        return GPU
    if workers == cores() and (found := tune.known(folder, beam_size)):
        if found["isa"]:
            os.environ.setdefault(cpu.ISA, found["isa"])  # CTranslate2 reads it when it loads its first model
        return found["batch_tokens"]
    return ONE_CORE if workers == 1 else MANY_CORES


def decoded(line: bytes) -> str:
    """A line as text without its end; what is not UTF-8 is replaced."""
    return line.decode("utf-8", errors="replace").rstrip("\r\n")


def replaced(line: bytes) -> int:
    """How many broken bytes of a line are replaced."""
    return line.decode("utf-8", errors="replace").count(REPLACEMENT) - line.count(REPLACEMENT.encode())


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def decoding_options(parser: argparse.ArgumentParser) -> None:
    """The options of everything that decodes with one model folder."""
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--beam-size", type=positive, default=1, help="1 is greedy search")
    parser.add_argument("--no-vocabulary-map", dest="vocabulary_map", action="store_false")
    parser.add_argument("--workers", type=positive, help="batches decoded at a time, a thread each (default: cores)")
    parser.add_argument(
        "--batch-tokens",
        type=positive,
        help=f"largest batch, with padding (default: {ONE_CORE}; {MANY_CORES} if many workers; {GPU} on a GPU)",
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-checksums", dest="checksums", action="store_false", help="load damaged files, too")
    parser.add_argument("--long-lines", choices=["cut", "split"], default="cut", help=f"of over {MAXIMUM_INPUT} pieces")


def translate(translator: Translator, source: BinaryIO, target: BinaryIO | resume.Output) -> Counter[str]:
    """Translate all of ``source``, window by window; counts of what was done to its lines."""
    counts: Counter[str] = Counter()
    ahead: deque[bytes] = deque()  # lines that were read, but not yet written

    def lines() -> Iterator[str]:
        for line in source:
            ahead.append(line)
            yield decoded(line)

    for outputs in translator.windows(progress(lines(), "translating") if sys.stderr.isatty() else lines()):
        text = "".join(f"{output}\n" for output in outputs).encode()
        read = [ahead.popleft() for _ in outputs]
        counts["replaced"] += sum(map(replaced, read))
        if isinstance(target, resume.Output):
            target.write(text, b"".join(read), counts + translator.counts)
        else:
            target.write(text)
            target.flush()
    return target.counts if isinstance(target, resume.Output) else counts + translator.counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    decoding_options(parser)
    parser.add_argument("--input", type=Path, help="text to translate; default: standard input")
    parser.add_argument("--output", type=Path, help="translation; default: standard output")
    parser.add_argument("--resume", action="store_true", help="go on with an output that was not finished")
    parser.add_argument("--tune", type=Path, metavar="TEXT", help="only find the fastest settings on this machine")
    args = parser.parse_args()
    if args.resume and not args.output:
        raise UserError("--resume needs --output: only a file can be gone on with")
    if args.tune:
        given = [name for name, value in vars(args).items() if value != parser.get_default(name)]
        if more := [name for name in given if name not in ("model", "beam_size", "tune")]:
            raise UserError(
                f"--tune decodes on all cores, and only to measure; leave out --{more[0].replace('_', '-')}"
            )
        with open(args.tune, "rb") as source:
            print(json.dumps(tune.tune(args.model, map(decoded, source), args.beam_size)))
        return

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what is written is noted
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open(args.input, "rb")) if args.input else sys.stdin.buffer
        if args.output and args.output.exists() and os.path.samestat(args.output.stat(), os.fstat(source.fileno())):
            raise UserError(f"{args.output} is the input, too; write the translation to another file")
        translator = Translator(
            args.model,
            args.beam_size,
            args.vocabulary_map,
            args.workers,
            args.batch_tokens,
            args.long_lines,
            device=args.device,
            checksums=args.checksums,
        )
        stack.callback(translator.close)
        if translator.engine.int8_saturates:
            print(cpu.warning(args.model), file=sys.stderr)
        target: BinaryIO | resume.Output = sys.stdout.buffer
        if args.output:
            key = resume.key(args.model, translator.settings)
            target = stack.enter_context(resume.output(args.output, key, args.resume, source))
        tell(translate(translator, source, target))


def tell(counts: Counter[str]) -> None:
    """What was done to the input, on standard error."""
    if replaced := counts["replaced"]:
        print(f"{replaced} broken bytes replaced by U+FFFD", file=sys.stderr)
    for what in ("cut", "split"):
        if lines := counts[f"lines_{what}"]:
            print(f"{lines} lines longer than {MAXIMUM_INPUT} pieces {what} there", file=sys.stderr)


if __name__ == "__main__":
    guarded(
        lambda: command(main),
        "what was written is whole lines in order: lower --workers or --batch-tokens; --output goes on with --resume",
    )
