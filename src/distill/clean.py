"""Clean a corpus: every line is kept, or dropped for exactly one reason, and counted.

Dev and test sets are copied as they are; a line of theirs with an empty side is an error.
Language identification is a stage of its own (distill.identify), as it takes far longer than all the rest.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from distill import rules
from formats import records
from formats.errors import UserError, command
from formats.files import read_json, write_json
from formats.progress import progress

FILTERED_ROLES = ("train", "monolingual")
ROLES = (*FILTERED_ROLES, "dev", "test")


def registry(max_tokens: int, max_length_ratio: float, held_out: list[Path]) -> dict[str, rules.Rule]:
    """The rules, in the order in which they are asked."""
    return {
        "empty": rules.empty,
        "too_long": rules.too_long(max_tokens),
        "length_ratio": rules.length_ratio(max_length_ratio),
        "held_out": rules.held_out(held_out),
        "duplicate": rules.duplicate(),
    }


def complete(path: Path, corpus: Iterable[records.Record]) -> Iterator[records.Record]:
    """The records of a dev or test set. Raises UserError for one with an empty side."""
    for number, record in enumerate(corpus, 1):
        if rules.empty(record):
            raise UserError(
                f"{path}: line {number} has an empty side; dev and test sets are not filtered, mend the text"
            )
        yield record


def cleaned(
    source: Path, corpus: Iterable[records.Record], lines: int | None, funnel: rules.Funnel
) -> Iterator[records.Record]:
    """What passes the funnel. Raises UserError if ``corpus`` does not have the ``lines`` its JSON tells of."""
    yield from funnel.passed(corpus)
    if lines not in (None, funnel.lines_in):
        raise UserError(f"{source}: has {funnel.lines_in:,} lines, its JSON says {lines:,}; delete both, run again")
    rules.require_lines(source, funnel.counts())


def clean(source: Path, output: Path, role: str, filters: dict[str, rules.Rule]) -> None:
    """Write ``output`` and the JSON beside it, which continues the one beside ``source`` if there is one."""
    about = read_json(records.info(source)) if records.info(source).exists() else {"name": records.name(source)}
    lines = about.pop("lines", None)
    corpus = progress(records.read(source), f"clean {records.name(source)}", total=lines)
    if role not in FILTERED_ROLES:
        corpus = complete(source, corpus)
    funnel = rules.Funnel(filters)
    _, checksum = records.write(output, cleaned(source, corpus, lines, funnel))
    write_json(records.info(output), about | {"role": role} | funnel.counts() | {"sha256": checksum})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records, X.tsv.zst")
    parser.add_argument("--output", type=Path, required=True, help="records; counts go to the JSON beside them")
    parser.add_argument("--role", choices=ROLES, required=True)
    parser.add_argument("--max-tokens", type=int, default=100, help="a side, by whitespace (default: %(default)s)")
    parser.add_argument("--max-length-ratio", type=float, default=3.0, help="in characters (default: %(default)s)")
    parser.add_argument("--held-out", type=Path, nargs="*", default=[], help="all dev and test sets of the study")
    args = parser.parse_args()
    filtered = args.role in FILTERED_ROLES
    filters = registry(args.max_tokens, args.max_length_ratio, args.held_out) if filtered else {}
    clean(args.input, args.output, args.role, filters)


if __name__ == "__main__":
    command(main)
