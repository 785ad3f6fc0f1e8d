"""Make model folders of a model that was trained elsewhere: say what it is, and write it for the native engine.

It recognises Marian's weights, also those of Firefox and Bergamot, CTranslate2's folders, Argos' packages, and from
Hugging Face OPUS-MT, M2M100, NLLB, BART, mBART-50, T5, mT5 and MADLAD-400. Runs of OpenNMT-tf are read where
nmt-frontier-pipeline is installed. Each type of weights becomes a folder ``<output>/native-<type>``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.model import export
from nmt_frontier.model import native_weights


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="nmt-frontier import", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=there, help="file or folder of the model")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model folders; its name is theirs")
    parser.add_argument("--types", nargs="+", choices=native_weights.TYPES, default=["int8"], help="(default: int8)")
    parser.add_argument("--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="codes, where no file tells them")
    parser.add_argument(
        "--tokenizer", type=there, nargs="+", default=[], help="SentencePiece model, one a side, or BPE"
    )
    parser.add_argument("--spaces", action="store_true", help="lines are pieces with spaces between them")
    parser.add_argument("--source-prefix", metavar="PIECES", help="before every source, where no file tells them")
    parser.add_argument("--source-suffix", metavar="PIECES", help="after every source, often </s>")
    parser.add_argument("--target-prefix", metavar="PIECES", help="what every translation begins with")
    parser.add_argument("--vocabularies", type=there, nargs="+", default=[], help="of Marian's, one or one a side")
    parser.add_argument("--shortlist", type=there, help="lexical shortlist of Marian's, a text or its binary file")
    args = parser.parse_args(arguments)
    if len(args.tokenizer) > 2 or len(args.vocabularies) > 2:
        parser.error("--tokenizer and --vocabularies take one file, or one for each side")
    languages = tuple(args.languages) if args.languages else None
    given = {"prefix": args.source_prefix, "suffix": args.source_suffix, "target_prefix": args.target_prefix}
    frame = {name: pieces.split() for name, pieces in given.items() if pieces is not None}
    options = ImportOptions(args.vocabularies, args.tokenizer, args.spaces, args.shortlist, languages, frame)
    export(args.source, args.output, args.types, options)
