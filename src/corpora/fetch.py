"""Get a corpus from the mirror folder, the download cache, the network or the grammar, and write it as records.

The text is read once; its checksum is computed on the way and compared before the records appear.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common.document import argument
from corpora.archives import Unreadable
from corpora.availability import unknown_checksums
from corpora.download import CACHE
from corpora.settings import Corpus
from corpora.sources import source_of
from corpora.sources.source import CountedCorpus, Text
from corpora.sources.stored import MIRROR, mirror_folder
from formats import records
from formats.counts import Fetched
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress


class Provenance(NamedTuple):
    """Origins of a text. The rest fills up as it is read: dropped lines and samples of them by reason, checksums by
    language, remarks for people."""

    origins: list[str]
    dropped: dict[str, int]
    checksums: dict[str, str]
    samples: dict[str, list[records.Record]]
    remarks: list[str]


def fetch(
    name: str, entry: Corpus, pair: list[str], mirror: Path | None, cache: Path, seed: int
) -> tuple[Iterator[bytes], Provenance]:
    """The records of a corpus as blocks of TSV, and its provenance, complete once they are read. Raises UserError.

    pair: source and target language, also for monolingual text.
    """
    source = source_of(name, entry, pair)
    text = source.text(mirror, cache, seed)
    corpus = CountedCorpus(name, entry)
    lines = _verified(text, corpus.lines(text))
    return lines, Provenance(source.origins(), corpus.dropped, text.checksums, text.unread.samples, corpus.remarks)


def _verified(text: Text, lines: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from lines
    except Unreadable:
        raise
    except UserError:
        text.verify()  # a wrong file explains the error better
        raise
    text.verify()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="name of the corpus")
    languages = ("SOURCE", "TARGET")
    parser.add_argument("--languages", nargs=2, required=True, metavar=languages, help="of monolingual text too")
    spec = "the corpus's entry as JSON, as python -m study.config FILE --corpus NAME prints it"
    parser.add_argument("--spec", type=argument(Corpus), required=True, help=spec)
    parser.add_argument("--mirror", help=f"folder of copies; the environment variable {MIRROR} goes before it")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of downloads (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the built-in grammar (default: %(default)s)")
    parser.add_argument("--output", required=True, help="records, X.tsv.zst; X.json is written beside it")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    entry: Corpus = arguments.spec
    name, mirror = arguments.name, mirror_folder(arguments.mirror)
    blocks, provenance = fetch(name, entry, arguments.languages, mirror, arguments.cache, arguments.seed)
    shown = progress(blocks, f"fetch {name}", entry.lines, size=lambda block: block.count(b"\n"))
    lines, checksum = records.write_blocks(arguments.output, shown)
    if unknown := unknown_checksums(entry.sha256, provenance.checksums):
        checksums = json.dumps({code: provenance.checksums[code] for code in unknown})
        print(f"{name}: sha256 of the text, not checked; for its configuration: {checksums}", file=sys.stderr)
    description: Fetched = {
        "name": name,
        "role": entry.role,
        "origin": provenance.origins,
        "licence": entry.licence,
        "lines": lines,
        "sha256": checksum,
        "text_sha256": provenance.checksums,
        "dropped": dict(provenance.dropped),
    }
    if provenance.remarks:
        print(*provenance.remarks, sep="\n", file=sys.stderr)
        description["remarks"] = provenance.remarks
    if samples := {why: shown for why, shown in provenance.samples.items() if provenance.dropped.get(why)}:
        description["samples"] = samples
    write_json(records.info(arguments.output), description)


if __name__ == "__main__":
    command(main)
