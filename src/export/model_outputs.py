"""Decode a corpus greedily without a vocabulary map, in pieces, so that export.coverage can check maps against it.

Writes records ``source pieces<TAB>output pieces<TAB>reference pieces``.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from decode.engines import ENGINES
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.limits import MAXIMUM_OUTPUT
from nmt_frontier.model.model_folder import Description
from nmt_frontier.progress import progress
from nmt_frontier.search.batching import batches, by_sentence, in_order
from nmt_frontier.search.engine import Engine, Search
from nmt_frontier.text.tokenizers import pieces

BATCH = 64  # sentences


def loaded(weights: Path, quantization: str, threads: int, longest: int) -> Engine:
    """The engine of weights that are no model folder yet. Raises UserError for weights of no engine."""
    for engine in ENGINES.values():
        if (weights / engine.weights).exists():
            description = Description(
                engine=engine.name, quantization=quantization, vocabulary_map=False, max_decoding_length=longest
            )
            return engine(weights, description, Search(workers=threads))
    raise UserError(f"{weights}: no weights of an engine in it; convert the model again")


def outputs(
    corpus: Path, weights: Path, quantization: str, model: Path, threads: int, longest: int = MAXIMUM_OUTPUT
) -> Iterator[records.Record]:
    """Decode a corpus of pairs with the weights of an engine in a type and yield the records.

    model: the SentencePiece model; longest: pieces at which an output is cut off. The corpus is held in memory: it is
    a test or dev set. Raises UserError as ``loaded``, and for an empty one.
    """
    processor = pieces(model)
    sources, references = (
        processor.encode(list(side), out_type=str) for side in zip(*records.pairs(corpus), strict=True)
    )
    engine = loaded(weights, quantization, threads, longest)
    with ThreadPoolExecutor(threads) as workers:
        cut = partial(batches, most=BATCH, weigh=by_sentence)
        ((_, found),) = in_order([sources], list, cut, engine.translate, workers, threads)
    for source, output, reference in zip(sources, found, references, strict=True):
        yield " ".join(source), " ".join(output or []), " ".join(reference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=there, required=True, help="records of pairs")
    parser.add_argument("--weights", type=there, required=True, help="folder of export.convert or export.native")
    parser.add_argument("--quantization", required=True, help="the type of the weights")
    parser.add_argument("--sentencepiece", type=there, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-decoding-length", type=int, default=MAXIMUM_OUTPUT, help="pieces (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="records to write")
    args = parser.parse_args()

    decoded = outputs(
        args.corpus, args.weights, args.quantization, args.sentencepiece, args.threads, args.max_decoding_length
    )
    records.write(args.output, progress(decoded, "decoding", unit="sentence"))


if __name__ == "__main__":
    command(main)
