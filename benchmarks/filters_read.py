"""Print the pairs of a corpus that a score finds worst, and the last ones that a bound keeps, to be read by eye."""

import argparse

from formats import records
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=there, required=True, help="records, corpora/unfiltered/...")
    parser.add_argument("--scores", type=there, nargs="+", required=True, help="of its shards, in order")
    parser.add_argument("--bound", type=float, required=True, help="the worst score that is kept")
    parser.add_argument("--number", type=positive, default=30, help="pairs (default: %(default)s)")
    args = parser.parse_args()
    scores = [float(record[0]) for path in args.scores for record in records.read(path)]
    scored = sorted(zip(scores, records.read(args.corpus), strict=True), key=lambda pair: pair[0])
    first = next((place for place, (score, _) in enumerate(scored) if score >= args.bound), len(scored))
    print(f"{first:,} of {len(scored):,} pairs are below {args.bound}")
    for title, some in (("worst", scored[: args.number]), ("last kept", scored[first : first + args.number])):
        print(f"\n{title}")
        for score, (source, target, *_) in some:
            print(f"{score:.3f}\t{source}\t{target}")


if __name__ == "__main__":
    command(main)
