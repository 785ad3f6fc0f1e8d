"""Translate text with a model folder, line by line, from standard input or a file of any length.

An empty line stays empty; a byte that is not UTF-8 is replaced by U+FFFD; both sides have equally many lines. Reading,
tokenizing, decoding and writing overlap; memory is bounded, but for the longest line. A killed translation into a file
continues with ``--resume`` and ends with the same bytes.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from common import cpu
from common.errors import UserError, command
from common.progress import progress
from decode import resume
from decode.oom_watchdog import guarded
from decode.options import decoding_options, loaded
from decode.translator import Translator

REPLACEMENT = "\ufffd"


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


def report(counts: Counter[str], longest_input: int) -> None:
    """Say on standard error how the input was changed."""
    if replacements := counts["replaced"]:
        print(f"{replacements} broken bytes replaced by U+FFFD", file=sys.stderr)
    for change in ("cut", "split"):
        if lines := counts[f"lines_{change}"]:
            print(f"{lines} lines longer than {longest_input} pieces {change} there", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    decoding_options(parser)
    parser.add_argument("--input", type=Path, help="text to translate; default: standard input")
    parser.add_argument("--output", type=Path, help="translation; default: standard output")
    parser.add_argument("--resume", action="store_true", help="go on with an output that was not finished")
    args = parser.parse_args()

    if args.resume and not args.output:
        raise UserError("--resume needs --output: only a file can be gone on with")
    if not args.input and sys.stdin is None:
        raise UserError("standard input is closed; name the text with --input")
    if not args.output and sys.stdout is None:
        raise UserError("standard output is closed; name a file with --output")
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
        report(translate(translator, source, target), translator.longest_input)


if __name__ == "__main__":
    guarded(
        lambda: command(main),
        "what was written is whole lines in order: lower --workers or --batch-tokens; with the native engine,"
        " --output goes on with --resume",
    )
