"""The program of ``corpora.alignment``."""

import argparse
from pathlib import Path

from corpora.alignment import ALIGNERS, apply, encoded, in_lines, train, write_links
from corpora.alignment import __doc__ as about
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import command


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "apply", "links"):
        options = commands.add_parser(name)
        options.add_argument("--aligner", choices=ALIGNERS, default="fast_align")
        if name == "links":
            options.add_argument("--source", type=there, required=True, help="pieces, one sentence per line")
            options.add_argument("--target", type=there, required=True, help="their translations, in pieces")
        else:
            options.add_argument("--corpus", type=there, required=True, help="records of pairs")
            options.add_argument("--sentencepiece", type=there, required=True, help="model that cuts them into pieces")
        if name == "train":
            options.add_argument("--pairs", type=int, default=1_000_000)
        else:
            options.add_argument("--probabilities", type=there, required=True, help="folder that train wrote")
            options.add_argument("--shard", type=records.shard, help="K/N: only this part of the corpus")
        options.add_argument("--output", type=Path, required=True, help="train: folder, apply: records, links: text")
    args = parser.parse_args()

    aligner = ALIGNERS[args.aligner]
    if args.command == "links":
        write_links(aligner(args.probabilities), in_lines(args.source, args.target, args.shard), args.output)
        return
    if args.command == "train":
        train(aligner, encoded(args.corpus, args.sentencepiece, most=args.pairs), args.output)
    else:
        apply(aligner(args.probabilities), encoded(args.corpus, args.sentencepiece, args.shard), args.output)


if __name__ == "__main__":
    command(main)
