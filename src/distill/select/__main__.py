"""The program of ``distill.select``."""

import argparse
from pathlib import Path

from distill import least_risk
from distill.least_risk import METRICS, Metric
from distill.select import TARGETS, Selector
from distill.select import __doc__ as about
from formats import records
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made = "made by distill.translate or distill.rescore; several are united"
    parser.add_argument("--n-best-lists", type=there, nargs="+", required=True, help=made)
    parser.add_argument("--targets", choices=TARGETS, required=True, help="what students learn, see above")
    parser.add_argument("--corpus", type=there, help="records that were translated; interpolated needs their targets")
    parser.add_argument("--target-language", default="", help="chooses the tokens of BLEU (default: 13a)")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    parser.add_argument("--metric", choices=METRICS, default="bleu", help="how alike hypotheses are (default: bleu)")
    parser.add_argument("--aggregate", action="store_true", help="compare with the mean of all n-gram counts (chrf)")
    parser.add_argument("--scores", type=there, help="made by distill.score, for mbr instead of a metric")
    parser.add_argument("--keep", type=positive, metavar="K", help="hypotheses of a sentence, of mbr and all")
    parser.add_argument("--different", action="store_true", help="those of all that are least like each other")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    language = args.target_language
    selection = Selector(language, Metric(args.metric, language, args.aggregate), args.keep)
    paths, what = args.n_best_lists, f"select {records.name(args.output)}"
    lists = progress(least_risk.united(paths), what, records.count(paths[0]), "sentence")
    if args.scores:
        pairs = selection.scored(lists, least_risk.read_scores(args.scores))
    elif args.targets != "interpolated":
        pairs = getattr(selection, "different" if args.different else args.targets)(lists)
    elif args.corpus:
        pairs = selection.interpolated(lists, records.read(args.corpus, args.shard))
    else:
        raise UserError("--targets interpolated needs --corpus")
    _, checksum = records.write(args.output, pairs)
    named = "score" if args.scores else f"sentence_{args.metric if args.targets == 'mbr' else 'bleu'}"
    counts = selection.counts(args.targets, named)
    write_json(records.info(args.output), counts | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
