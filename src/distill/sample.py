"""Mix corpora: a random sample of so many pairs, drawn with the weights of the corpora, in random order.

A corpus that is smaller than its share is taken as often as it fits, and the rest of the share is drawn without
replacement. Memory is bounded: pairs are dealt to random buckets on disk, and each bucket is shuffled on its own,
which is a uniform shuffle of the whole. Equal corpora, weights and seed give equal bytes.
"""

import argparse
import math
import random
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

BUCKET_PAIRS = 500_000  # a bucket is held in memory, about 300 bytes a pair


def shares(pairs: int, weights: list[float]) -> list[int]:
    """Whole numbers in the proportion of the weights that sum up to ``pairs`` (largest remainders)."""
    exact = [pairs * weight / sum(weights) for weight in weights]
    parts = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: pairs - sum(parts)]:
        parts[i] += 1
    return parts


def drawn(corpus: Iterable[records.Record], size: int, share: int, source: random.Random) -> Iterator[records.Record]:
    """``share`` records of a corpus of ``size``: full passes, and a random rest by selection sampling.

    Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S.
    """
    passes, wanted = divmod(share, size)
    for left, record in zip(range(size, 0, -1), corpus, strict=True):
        chosen = source.random() * left < wanted
        wanted -= chosen
        for _ in range(passes + chosen):
            yield record


def shuffled(
    corpus: Iterable[records.Record], size: int, source: random.Random, folder: Path, bucket: int = BUCKET_PAIRS
) -> Iterator[records.Record]:
    """The records in random order; ``folder`` takes them all once more, uncompressed."""
    paths = [folder / str(number) for number in range(math.ceil(size / bucket))]
    with ExitStack() as stack:
        buckets = [stack.enter_context(open(path, "wb")) for path in paths]
        for record in corpus:
            source.choice(buckets).write(records.line(record))
    for path in paths:
        lines = path.read_bytes().split(b"\n")[:-1]
        path.unlink()
        source.shuffle(lines)
        yield from (tuple(line.decode().split("\t")) for line in lines)


def mix(corpora: list[Path], weights: list[float], pairs: int | None, seed: int, output: Path) -> None:
    """Write the mixture and the JSON beside it: what was drawn of which corpus.

    Without a number of ``pairs`` it is as large as the corpora together.
    """
    sizes = [sum(1 for _ in records.read(path)) for path in corpora]
    pairs = sum(sizes) if pairs is None else pairs
    parts = shares(pairs, weights)
    source = random.Random(seed)
    sampled = (
        record
        for path, size, share in zip(corpora, sizes, parts, strict=True)
        for record in drawn(progress(records.read(path), f"draw {records.name(path)}", size), size, share, source)
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as folder:
        lines, checksum = records.write(output, shuffled(sampled, pairs, source, Path(folder)))
    rows = zip(corpora, sizes, weights, parts, strict=True)
    mixture = [{"name": records.name(c), "lines": n, "weight": weight, "drawn": part} for c, n, weight, part in rows]
    write_json(records.info(output), {"lines": lines, "sha256": checksum, "seed": seed, "corpora": mixture})


def _check(corpora: list[Path], weights: list[float], pairs: int | None) -> None:
    if len(weights) != len(corpora):
        raise UserError(f"{len(corpora)} corpora need as many weights, not {len(weights)}")
    for path, weight in zip(corpora, weights, strict=True):
        if not (weight > 0 and math.isfinite(weight)):
            raise UserError(f"{path}: weight {weight:g} is not above zero; leave the corpus out instead")
        if corpora.count(path) > 1:
            raise UserError(f"{path}: is there twice; give it one weight")
    if pairs is not None and pairs < 1:
        raise UserError(f"--pairs {pairs}: needs at least one")
    firsts = [next(records.read(path), None) for path in corpora]
    if None in firsts:
        raise UserError(f"{corpora[firsts.index(None)]}: there is nothing to draw from an empty corpus")
    if len({len(record) for record in firsts}) > 1:
        raise UserError(f"pairs and monolingual text do not mix: {' '.join(map(str, corpora))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, nargs="+", required=True, help="records, X.tsv.zst")
    parser.add_argument("--weights", type=float, nargs="+", required=True, help="one a corpus, relative to each other")
    parser.add_argument("--pairs", type=int, help="size of the mixture (default: that of the corpora together)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, required=True, help="records; what was drawn goes to the JSON beside them"
    )
    args = parser.parse_args()
    _check(args.corpora, args.weights, args.pairs)
    mix(args.corpora, args.weights, args.pairs, args.seed, args.output)


if __name__ == "__main__":
    command(main)
