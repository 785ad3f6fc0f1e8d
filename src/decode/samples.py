"""Sentences for reading: source, reference, and what each system made of it, evenly over a test set."""

import argparse
import itertools
import random
from pathlib import Path
from typing import Any

import jinja2

from decode.measure import named_path
from formats import records
from formats.errors import UserError, command
from formats.files import write_json, write_text


def numbers(total: int, count: int, seed: int) -> list[int]:
    """One line drawn at random from each of ``count`` equal parts; all lines where there are no more than that."""
    generator = random.Random(seed)
    edges = [total * part // min(count, total) for part in range(min(count, total) + 1)]
    return [generator.randrange(start, end) for start, end in itertools.pairwise(edges)]


def read_output(path: Path, lines: int) -> list[str]:
    """A translation, a line a sentence. Raises UserError where its length is not that of the test set."""
    output = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(output) != lines:
        raise UserError(f"{path}: {len(output)} lines, but its test set has {lines}; decode it again")
    return output


def choose(test_set: Path, outputs: dict[str, Path], count: int, seed: int) -> list[dict[str, Any]]:
    """Samples: line (from 1), source, reference, and outputs by system."""
    pairs = list(records.read(test_set))
    if not pairs:
        raise UserError(f"{test_set}: a test set without sentences")
    read = {system: read_output(path, len(pairs)) for system, path in outputs.items()}
    return [
        {
            "line": number + 1,
            "source": pairs[number][0],
            "reference": pairs[number][1],
            "outputs": {system: lines[number] for system, lines in read.items()},
        }
        for number in numbers(len(pairs), count, seed)
    ]


def templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("decode", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def html(test_set: str, samples: list[dict[str, Any]]) -> str:
    return templates().get_template("samples.html.jinja").render(test_set=test_set, samples=samples)


def markdown(test_set: str, samples: list[dict[str, Any]]) -> str:
    """A small table for each sentence."""
    parts = [f"# {len(samples)} sentences of {test_set}\n"]
    for sample in samples:
        rows = {"source": sample["source"], "reference": sample["reference"], **sample["outputs"]}
        cells = (f"| {name} | {text.replace('|', chr(92) + '|')} |\n" for name, text in rows.items())
        parts.append(f"\n| line | {sample['line']} |\n|---|---|\n{''.join(cells)}")
    return "".join(parts)


def write(path: Path, test_set: str, samples: list[dict[str, Any]]) -> None:
    """Write samples in the format that the end of the name says. Raises UserError for another one."""
    if path.suffix == ".json":
        write_json(path, {"test_set": test_set, "samples": samples})
    elif path.suffix in TEXTS:
        write_text(path, TEXTS[path.suffix](test_set, samples))
    else:
        raise UserError(f"{path}: samples are written as {', '.join(TEXTS)} or .json")


TEXTS = {".md": markdown, ".html": html}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test-set", type=named_path, required=True, help="name=path of records")
    parser.add_argument("--outputs", type=named_path, nargs="+", required=True, help="system=path, in order of display")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .md, .html, .json")
    args = parser.parse_args()
    name, path = args.test_set
    samples = choose(path, dict(args.outputs), args.count, args.seed)
    for output in args.output:
        write(output, name, samples)


if __name__ == "__main__":
    command(main)
