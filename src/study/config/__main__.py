"""The program of ``study.config``."""

import argparse
import json

import yaml

from nmt_frontier.errors import UserError, command
from study.config import read


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the effective configuration of a study.")
    parser.add_argument("config", help="a file of configs/")
    parser.add_argument("--corpus", help="print its entry alone, as JSON, as corpora.fetch takes it")
    args = parser.parse_args()
    config = read(args.config)
    if args.corpus is None:
        print(yaml.safe_dump(config.document, sort_keys=False, allow_unicode=True, width=120), end="")
    elif args.corpus in config.corpora:
        print(json.dumps(config.corpora[args.corpus].document, ensure_ascii=False))
    else:
        raise UserError(f"{args.config}: corpora: no {args.corpus}; it has {', '.join(config.corpora)}")


if __name__ == "__main__":
    command(main)
