"""Python's part of single sentences: CPU microseconds from text to text, and of the native engine's calls alone.

Each line is a batch, as in latency. ``text`` is nmt-frontier translate's way from line to line; ``calls`` are those of
nmt_frontier.bindings.Worker.translate in it, with numbers in and numbers out. Both translate the same lines in turn, in
this process, on one core, by one worker; the difference, run by run, is tokenizer, pipeline and detokenizer. To compare
two versions, run the same command with each in turn.
"""

import argparse
from pathlib import Path
from typing import Any

from formats.records import sources
from formats.spread import Spread
from measure import in_process
from measure.in_process import Session
from nmt_frontier import limits
from nmt_frontier.bindings import Model, Options, Worker
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search.native import Native
from nmt_frontier.translator import LineTokenizer, Translator

MICROSECONDS = 1e6


def compared(folder: Path, session: Session) -> dict[str, Any]:
    """The record of a model folder."""
    lines = [line for line in sources(session.test_set)[: session.sentences] if line.strip()]
    translator = Translator(folder, workers=1, batch_sentences=1, checksums=False)
    vocabulary, encode = Vocabulary.read(folder), LineTokenizer(folder).encode
    numbers = [vocabulary.numbers(encode(line)) for line in lines]
    mapped, longest = translator.search.vocabulary_map, limits.longest_output(translator.description)
    files = folder / Native.weights, folder / Native.map_file if mapped else None
    worker = Worker(Model(*files, texts=vocabulary.texts()))
    options = Options(longest=longest, vocabulary_map=mapped)
    begins = [vocabulary.beginning] if vocabulary.beginning else None
    calls = {
        "text": lambda: [*translator.translate(lines)],
        "calls": lambda: [worker.translate([sentence], options, begins) for sentence in numbers],
    }
    usages = in_process.timed(calls, session, [session.core], folder.name)
    translator.close()
    times = {name: [usage.cpu_seconds * MICROSECONDS / len(lines) for usage in used] for name, used in usages.items()}
    times["python"] = [text - call for text, call in zip(times["text"], times["calls"], strict=True)]
    spreads = {field: value for name, spent in times.items() for field, value in Spread.of(spent).fields(name).items()}
    about = {"model": folder.parent.name, "compute_type": translator.description.quantization, "lines": len(lines)}
    every = [usage for used in usages.values() for usage in used]
    return about | spreads | {"others": in_process.others(every)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="model folders of the native engine")
    in_process.options(parser)
    args = parser.parse_args()
    session, shared = in_process.prepared(args)
    rows = [compared(folder, session) | shared for folder in args.models]
    write_json(args.output, rows)
    for row in rows:
        print(row["model"], *(f"{name} {Spread.read(row, name):.0f}" for name in ("text", "calls", "python")), sep=", ")


if __name__ == "__main__":
    command(main)
