"""The options of commands that decode with model folders, and their Translator."""

import argparse
import os
from typing import Any

from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import loading, sampling, switches
from nmt_frontier.search.pipeline import GPU, MANY_CORES
from nmt_frontier.text import options as text
from nmt_frontier.translator import Translator


class _Models(argparse.Action):
    """Stores the first value, and those behind it as ``others``."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        namespace.model, *namespace.others = values


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that decode with a model folder, or several; ``translator`` takes them."""
    models = "model folder; several of one vocabulary are an ensemble, which averages probabilities at every step"
    parser.add_argument("--model", action=_Models, nargs="+", type=there, required=True, help=models)
    parser.set_defaults(others=[])
    parser.add_argument("--beam-size", type=positive, default=1, help="1 is greedy search")
    parser.add_argument("--source-prefix", metavar="PIECES", help="or text, before every source")
    parser.add_argument("--target-prefix", metavar="PIECES", help="what every translation begins with")
    parser.add_argument("--no-vocabulary-map", dest="vocabulary_map", action="store_false")
    parser.add_argument("--workers", type=positive, help="batches decoded at a time, a thread each (default: cores)")
    parser.add_argument(
        "--batch-tokens",
        type=positive,
        help=f"largest batch, with padding (default: {ONE_CORE}; {MANY_CORES} if many workers; {GPU} on a GPU)",
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-checksums", dest="checksums", action="store_false", help="load damaged files, too")
    text.add(parser)
    sampling.add(parser)
    group = parser.add_argument_group("switches", "for ablation; an engine refuses those it lacks")
    group.add_argument("--threads", type=positive, default=1, help="per worker, sharing its batch")
    group.add_argument("--isa", metavar="SET", help="instruction set, by the engine's name")
    for name in switches.numbers():
        group.add_argument(
            switches.option(name), type=positive, default=0, metavar="N", help=switches.SWITCHES[name].help
        )
    for name in switches.flags():
        about = switches.SWITCHES[name].help
        group.add_argument(
            switches.option(name), dest="without", action="append_const", const=name, default=[], help=about
        )


def translator(args: argparse.Namespace) -> Translator:
    """The translator of these options. Raises UserError for a folder that cannot be decoded with these."""
    if args.isa:
        if not (variable := loading.of(args.model).isa_variable):
            raise UserError(f"{args.model}: {loading.of(args.model).label} has no --isa; leave it out")
        os.environ[variable] = args.isa  # engines read it when they load their first model
    names = ("beam_size", "vocabulary_map", "workers", "batch_tokens", "device", "checksums", "threads",
             "source_prefix", "target_prefix", "others", "without", "samples", *switches.numbers(),
             *text.OPTIONS)  # fmt: skip
    options = {name: getattr(args, name) for name in names}
    return Translator(args.model, **options, sampling=sampling.chosen(vars(args)))
