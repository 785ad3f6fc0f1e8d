"""The options of commands that decode with one model folder, and the translator that they ask for."""

import argparse
import os
from pathlib import Path
from typing import Any

from common.command_line import positive
from common.errors import UserError
from decode import engines
from decode.pipeline import GPU, MANY_CORES, ONE_CORE
from decode.translator import Translator
from formats.decoding import MAXIMUM_INPUT

# What makes decoding fast, by the option that switches it off, and what happens without it
SWITCHED_OFF = {
    "sorting": "fill batches in the order of the text",
    "overlap": "run one stage after the other",
    "packed": "lay weights out for every matrix product anew",
    "map_per_sentence": "candidates of the vocabulary map are those of all sentences of a batch together",
    "remove_finished": "decode finished sentences until their batch ends, in greedy search",
    "shared_cache": "copy the encoder's keys and values to every beam",
    "parallel_scan": "look for blocked n-grams one place after the other",
    "piece_products": "compute the products of every piece with a recurrent first layer",
    "source_products": "compute the attention's products of the source at each step, with layers on top",
    "equal_states": "compute the products of a state for each hypothesis that has it, with layers on top",
    "polynomials": "compute sigmoid and tanh by the C library",
}


def decoding_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that decodes with one model folder; ``loaded`` takes them."""
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--beam-size", type=positive, default=1, help="1 is greedy search")
    parser.add_argument("--no-vocabulary-map", dest="vocabulary_map", action="store_false")
    parser.add_argument("--workers", type=positive, help="batches decoded at a time, a thread each (default: cores)")
    parser.add_argument(
        "--batch-tokens",
        type=positive,
        help=f"largest batch, with padding (default: {ONE_CORE}; {MANY_CORES} if many workers; {GPU} on a GPU)",
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-checksums", dest="checksums", action="store_false", help="load damaged files, too")
    parser.add_argument("--long-lines", choices=["cut", "split"], default="cut", help=f"of over {MAXIMUM_INPUT} pieces")
    group = parser.add_argument_group("switches", "to see what each of them is worth; not every engine has all")
    group.add_argument("--threads", type=positive, default=1, help="of each worker, which share its batch")
    group.add_argument("--isa", metavar="SET", help="instruction set that the engine is to use, in the engine's words")
    group.add_argument("--blocked-ngram", type=positive, default=0, metavar="N", help="no n-gram of N pieces twice")
    for name, text in SWITCHED_OFF.items():
        group.add_argument(f"--no-{name.replace('_', '-')}", dest=name, action="store_false", help=text)


def loaded(args: argparse.Namespace, **options: Any) -> Translator:
    """The translator of ``decoding_options``; options: arguments of Translator that go before them.

    Raises UserError for a folder that cannot be decoded in this way.
    """
    if args.isa:
        if not (variable := engines.of(args.model).isa_variable):
            raise UserError(f"{args.model}: {engines.of(args.model).label} cannot be told --isa; leave it out")
        os.environ[variable] = args.isa  # an engine reads it when it loads its first model
    names = ("beam_size", "vocabulary_map", "workers", "batch_tokens", "long_lines", "device", "checksums", "threads")
    told = {name: getattr(args, name) for name in (*names, "blocked_ngram", *SWITCHED_OFF)}
    return Translator(args.model, **{**told, **options})
