"""Translate text with a model folder, line by line, from standard input or a file of any length.

An empty line stays empty; a byte that is not UTF-8 is replaced by U+FFFD; both sides have equally many lines. Reading,
tokenizing, decoding and writing overlap, in bounded memory. A killed translation into a file continues with
``--resume`` and ends with the same bytes.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from common import cpu
from common.command_line import positive
from common.errors import UserError, command
from common.progress import progress
from decode import engines, resume
from decode.oom_watchdog import guarded
from decode.pipeline import GPU, MANY_CORES, MAXIMUM_INPUT, ONE_CORE
from decode.translator import Translator

REPLACEMENT = "\ufffd"
SWITCHED_OFF = {
    "sorting": "fill batches in the order of the text",
    "overlap": "run one stage after the other",
    "map_per_sentence": "candidates of the vocabulary map are those of all sentences of a batch together",
    "remove_finished": "decode finished sentences until their batch ends",
    "shared_cache": "copy the encoder's keys and values to every beam",
    "parallel_scan": "look for blocked n-grams one place after the other",
    "packed": "lay weights out for every matrix product anew",
    "piece_products": "compute the products of every piece with a recurrent first layer",
    "source_products": "compute the attention's products of the source at each step, with layers on top",
    "equal_states": "compute the products of a state for each hypothesis that has it, with layers on top",
    "polynomials": "compute sigmoid and tanh by the C library",
}


def decoding_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that decodes with one model folder; ``loaded`` takes them."""
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
    switches(parser.add_argument_group("switches", "to see what each of them is worth; not every engine has all"))


def switches(group: argparse._ArgumentGroup) -> None:
    """Add what makes decoding fast as options that switch it off, and what else an engine may be told."""
    group.add_argument("--threads", type=positive, default=1, help="of each worker, which share its batch")
    group.add_argument("--isa", metavar="SET", help="instruction set that the engine is to use, in the engine's words")
    group.add_argument("--blocked-ngram", type=positive, default=0, metavar="N", help="no n-gram of N pieces twice")
    for name, text in SWITCHED_OFF.items():
        group.add_argument(f"--no-{name.replace('_', '-')}", dest=name, action="store_false", help=text)


def loaded(args: argparse.Namespace, **options: Any) -> Translator:
    """The translator of ``decoding_options``; options: arguments of Translator that go before them.

    Raises UserError for a folder that cannot be decoded in this way.
    """
    if args.isa:
        if not (variable := engines.of(args.model).isa_variable):
            raise UserError(f"{args.model}: {engines.of(args.model).label} cannot be told --isa; leave it out")
        os.environ[variable] = args.isa  # an engine reads it when it loads its first model
    names = ("beam_size", "vocabulary_map", "workers", "batch_tokens", "long_lines", "device", "checksums", "threads")
    told = {name: getattr(args, name) for name in (*names, "blocked_ngram", *SWITCHED_OFF)}
    return Translator(args.model, **{**told, **options})


def decoded(line: bytes) -> str:
    """A line as text without its line break; what is not UTF-8 is replaced."""
    return line.decode("utf-8", errors="replace").rstrip("\r\n")


def replaced(line: bytes) -> int:
    """Number of replacement characters that decoding adds to a line."""
    return line.decode("utf-8", errors="replace").count(REPLACEMENT) - line.count(REPLACEMENT.encode())


def translate(translator: Translator, source: BinaryIO, target: BinaryIO | resume.Output) -> Counter[str]:
    """Translate all of ``source``, window by window.

    Return how many bytes were replaced and how many lines were cut or split; of an output that was resumed, in all its
    runs together.
    """
    counts: Counter[str] = Counter()
    unwritten: deque[bytes] = deque()  # lines read whose translations are not written yet

    def lines() -> Iterator[str]:
        for line in source:
            unwritten.append(line)
            yield decoded(line)

    for outputs in translator.windows(progress(lines(), "translating") if sys.stderr.isatty() else lines()):
        text = "".join(f"{output}\n" for output in outputs).encode()
        window = [unwritten.popleft() for _ in outputs]
        counts["replaced"] += sum(map(replaced, window))
        if isinstance(target, resume.Output):
            target.write(text, b"".join(window), counts + translator.counts)
        else:
            target.write(text)
            target.flush()
    return target.counts if isinstance(target, resume.Output) else counts + translator.counts


def report(counts: Counter[str]) -> None:
    """Say on standard error how the input was changed."""
    if replacements := counts["replaced"]:
        print(f"{replacements} broken bytes replaced by U+FFFD", file=sys.stderr)
    for change in ("cut", "split"):
        if lines := counts[f"lines_{change}"]:
            print(f"{lines} lines longer than {MAXIMUM_INPUT} pieces {change} there", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    decoding_options(parser)
    parser.add_argument("--input", type=Path, help="text to translate; default: standard input")
    parser.add_argument("--output", type=Path, help="translation; default: standard output")
    parser.add_argument("--resume", action="store_true", help="go on with an output that was not finished")
    args = parser.parse_args()

    if args.resume and not args.output:
        raise UserError("--resume needs --output: only a file can be gone on with")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the stack below notes progress
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open(args.input, "rb")) if args.input else sys.stdin.buffer
        if args.output and args.output.exists() and os.path.samestat(args.output.stat(), os.fstat(source.fileno())):
            raise UserError(f"{args.output} is the input, too; write the translation to another file")
        translator = loaded(args)
        stack.callback(translator.close)
        if translator.engine.int8_saturates:
            print(cpu.warning(args.model), file=sys.stderr)
        target: BinaryIO | resume.Output = sys.stdout.buffer
        if args.output:
            key = resume.key(args.model, translator.settings)
            target = stack.enter_context(resume.output(args.output, key, args.resume, source))
        report(translate(translator, source, target))


if __name__ == "__main__":
    guarded(
        lambda: command(main),
        "what was written is whole lines in order: lower --workers or --batch-tokens; --output goes on with --resume",
    )
