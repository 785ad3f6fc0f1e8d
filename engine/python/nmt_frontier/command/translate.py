"""Translate text with a model folder, line by line; a killed translation can be resumed.

An empty line stays empty; a byte that is not UTF-8 is replaced by U+FFFD; each line becomes one, or with
``--samples`` so many. UTF-16 with a byte order mark is read, too, and lines that end in carriage returns alone.
Reading, tokenizing, decoding and writing overlap; memory is bounded, but for the longest line. A killed translation
into a file continues with ``--resume`` and ends with the same bytes.

An unfinished output has a file ``<output>.progress`` beside it: how much of the input was read, with its checksum, and
how much of the output was written, both at the end of a window. Windows are independent, so the rest of the output is
the same as without the kill.
"""

import argparse
import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, cast

from nmt_frontier.command import decoding
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.model.model_folder import checksum
from nmt_frontier.progress import progress
from nmt_frontier.search.pipeline import NAMED
from nmt_frontier.text import options as text_options
from nmt_frontier.text.encodings import utf8_lines
from nmt_frontier.text.items import KINDS
from nmt_frontier.translator import Translator

SECONDS = 1.0  # between two notes of the progress: the work lost by a kill

Key = dict[str, Any]  # what a translation depends on, by name


class Progress(TypedDict):
    """How far a translation has come, as noted beside its output."""

    key: Key
    read: int  # bytes of the input in UTF-8
    written: int  # bytes of the output
    counts: dict[str, int]  # of changed lines
    input: str  # checksum of what was read


REPLACEMENT = "\ufffd"


def progress_key(models: Iterable[Path], settings: Mapping[str, object]) -> Key:
    """The settings and a checksum of the model folders, as JSON stores them."""
    key: Key = json.loads(json.dumps({"model": checksum(models), **settings}))
    return key


class Output:
    """A file written window by window, with its progress in another file.

    counts: changes to the lines written so far, over all runs.
    """

    def __init__(self, file: BinaryIO, path: Path, progress: Progress, read: "hashlib._Hash"):
        self._file, self._path = file, path
        self._before = Counter(progress["counts"])
        self._done = progress, read
        self._noted = time.monotonic()

    @property
    def counts(self) -> Counter[str]:
        return Counter(self._done[0]["counts"])

    def write(self, text: bytes, read: bytes, counts: Counter[str]) -> None:
        """Write the translation of a window, whole or not at all.

        read: the input of the window; counts: of this run, including this window.
        """
        rest, (progress, digest) = memoryview(text), self._done
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(progress["written"])  # on a full disk, leave no partial line
            raise
        digest = digest.copy()
        digest.update(read)
        progress = {
            **progress,
            "read": progress["read"] + len(read),
            "written": progress["written"] + len(text),
            "counts": self._before + counts,
        }
        # One assignment: a signal between two would note input as read whose translation is not written.
        self._done = progress, digest
        if time.monotonic() - self._noted > SECONDS:
            self.note()

    def note(self) -> None:
        """Note the progress once the output is on the disk."""
        os.fsync(self._file.fileno())
        progress, digest = self._done
        write_json(self._path, {**progress, "input": digest.hexdigest()})
        self._noted = time.monotonic()


@contextmanager
def resumable_output(path: Path, key: Key, resume: bool, source: BinaryIO) -> Iterator[Output]:
    """Open an output at its start, or where an earlier run stopped, and skip the input that was translated.

    Raises UserError if there is nothing to resume, or if the input has changed.
    """
    notes = path.with_name(f"{path.name}.progress")
    progress = Progress(key=key, read=0, written=0, counts={}, input=hashlib.sha256().hexdigest())
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: not a file; leave out --output to write to standard output")
    if resume and notes.exists():
        progress = _noted(notes, path, key)
    elif resume and path.exists():
        raise UserError(f"{path}: no {notes.name} beside it: it is finished; delete it to translate again")
    else:
        write_json(notes, progress)  # first: an output without it is finished
    read = _skip(source, progress, path)
    with open(path, "r+b" if progress["written"] else "wb", buffering=0) as file:
        file.truncate(progress["written"])
        file.seek(progress["written"])
        result = Output(file, notes, progress, read)
        try:
            yield result
        finally:
            result.note()
    notes.unlink()


def _noted(notes: Path, path: Path, key: Key) -> Progress:
    """The progress of an earlier run. Raises UserError if it belongs to another output or key."""
    try:
        found = read_json(notes)
        if changed := _changes(found["key"], key):
            raise UserError(
                f"{path} was begun with {changed}; go on with the same, or delete it and {notes.name} to begin anew"
            )
        progress = Progress(
            key=found["key"],
            read=found["read"],
            written=found["written"],
            counts=found["counts"],
            input=found["input"],
        )
        if progress["written"] and path.stat().st_size < progress["written"]:
            raise UserError(f"{path}: is shorter than in {notes.name}; delete both to begin anew")
    except FileNotFoundError:
        raise UserError(f"{path}: is missing, but {notes.name} is there; delete that to begin anew") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{notes}: damaged ({error}); delete it and {path.name} to begin anew") from None
    return progress


def _changes(before: Key, now: Key) -> str:
    """The differences between two keys, as text."""
    before, now = map(text_options.complete, (before, now))
    names = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    values = (f"{name} {before.get(name)}, not {now.get(name)}" for name in names if name != "model")
    return "; ".join([*["another model"] * ("model" in names), *values])


def _skip(source: BinaryIO, progress: Progress, path: Path) -> "hashlib._Hash":
    """Skip the input that earlier runs translated; return its checksum, to be continued."""
    read, left = hashlib.sha256(), progress["read"]
    while left and (block := source.read(min(left, 1 << 20))):
        read.update(block)
        left -= len(block)
    if left:
        raise UserError(f"the input ends {left:,} bytes before the place to go on from; give the same input")
    if read.hexdigest() != progress["input"]:
        raise UserError(f"the input is not the one {path} was begun with; give the same, or begin without --resume")
    return read


def decoded(line: bytes) -> str:
    """A line as text without its line break; invalid UTF-8 is replaced."""
    return line.decode("utf-8", errors="replace").rstrip("\r\n")


def replaced(line: bytes) -> int:
    """Number of replacement characters that decoding adds to a line."""
    return line.decode("utf-8", errors="replace").count(REPLACEMENT) - line.count(REPLACEMENT.encode())


def translate(translator: Translator, source: BinaryIO, target: BinaryIO | Output) -> Counter[str]:
    """Translate all of ``source``, window by window.

    Return how many bytes were replaced and lines cut or split; for a resumed output, over all runs.
    """
    counts: Counter[str] = Counter()
    translator.pipeline.lines_before = target.counts["lines"] if isinstance(target, Output) else 0
    unwritten: deque[bytes] = deque()  # lines that were read and whose translations are not written yet

    def lines() -> Iterator[str]:
        for line in source:
            unwritten.append(line)
            yield decoded(line)

    for outputs in translator.windows(progress(lines(), "translating") if sys.stderr.isatty() else lines()):
        text = "".join(f"{output}\n" for output in outputs).encode()
        window = [unwritten.popleft() for _ in outputs[:: translator.search.samples]]
        counts["replaced"] += sum(map(replaced, window))
        if isinstance(target, Output):
            target.write(text, b"".join(window), counts + translator.counts)
        else:
            target.write(text)
            target.flush()
    return target.counts if isinstance(target, Output) else counts + translator.counts


def report(counts: Counter[str], longest_input: int, longest_output: int) -> None:
    """Print changes to the input, and what ended translations early, on standard error."""
    if replacements := counts["replaced"]:
        print(f"{replacements} broken bytes replaced by U+FFFD", file=sys.stderr)
    for change in ("cut", "split"):
        if lines := counts[f"lines_{change}"]:
            where = named(counts, f"lines_{change}")
            print(f"{lines} lines longer than {longest_input} pieces {change} there{where}", file=sys.stderr)
    if lines := counts["lines_limited"]:
        print(
            f"{lines} translations cut off at {longest_output} pieces{named(counts, 'lines_limited')}",
            file=sys.stderr,
        )
    if lines := counts["lines_looped"]:
        where = named(counts, "lines_looped")
        print(f"{lines} translations repeated themselves and were ended{where}", file=sys.stderr)
    if lines := counts["lines_recased"]:
        print(f"{lines} lines in capitals were translated without them", file=sys.stderr)
    if kept := protected(counts):
        print(kept, file=sys.stderr)


def named(counts: Counter[str], what: str) -> str:
    """The numbers of the first lines that were counted as this, if they are known."""
    numbers = sorted(int(name.removeprefix(f"{what}: ")) for name in counts if name.startswith(f"{what}: "))[:NAMED]
    more = ", ..." if counts[what] > len(numbers) else ""
    return f": line{'s' * (counts[what] > 1)} {', '.join(map(str, numbers))}{more}" if numbers else ""


def protected(counts: Counter[str]) -> str:
    """What was protected, by kind, and what the model lost or repeated; nothing if nothing was."""
    found = [
        name.removeprefix("protected_") for name, count in counts.items() if name.startswith("protected_") and count
    ]
    parts = []
    for kind in sorted(found, key=[*KINDS, "symbol", "markup"].index):
        failed = [f"{counts[f'{name}_{kind}']:,} {name}" for name in ("lost", "repeated") if counts[f"{name}_{kind}"]]
        parts.append(f"{kind} {counts[f'protected_{kind}']:,}" + (f" ({', '.join(failed)})" if failed else ""))
    return f"protected: {'; '.join(parts)}" if parts else ""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="nmt-frontier translate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    decoding.add(parser)
    parser.add_argument("--input", type=there, help="text to translate; default: standard input")
    parser.add_argument("--encoding", help="of the text, by its name in Python; default: UTF-8, or by its mark")
    parser.add_argument("--output", type=Path, help="translation; default: standard output")
    parser.add_argument("--resume", action="store_true", help="go on with an output that was not finished")
    args = parser.parse_args(arguments)

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
        translator = decoding.translator(args)
        pipeline = translator.pipeline
        stack.callback(translator.close)
        if warning := translator.engine.warning(args.model):
            print(warning, file=sys.stderr)
        text = utf8_lines(cast(BufferedReader, source), str(args.input or "standard input"), args.encoding)
        target: BinaryIO | Output = sys.stdout.buffer
        if args.output:
            key = progress_key([args.model, *args.others], translator.settings)
            target = stack.enter_context(resumable_output(args.output, key, args.resume, text))
        report(translate(translator, text, target), pipeline.longest_input, pipeline.longest_output)
