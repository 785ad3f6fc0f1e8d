"""Decode a corpus greedily without a vocabulary map, in pieces, so that export.coverage can check maps against it.

Writes records ``source pieces<TAB>output pieces<TAB>reference pieces``.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from common.errors import command
from common.progress import progress
from formats import records
from formats.decoding import MAXIMUM_OUTPUT
from formats.loading import pieces, translator

BATCH_TOKENS = 2048


def outputs(
    corpus: Path, weights: Path, model: Path, threads: int, longest: int = MAXIMUM_OUTPUT
) -> Iterator[records.Record]:
    """Decode a corpus of pairs with the CTranslate2 model in ``weights`` and yield the records.

    model: the SentencePiece model; longest: pieces at which an output is cut off. The corpus is held in memory: it is
    a test or dev set.
    """
    processor = pieces(model)
    sources, references = (
        processor.encode(list(side), out_type=str) for side in zip(*(r[:2] for r in records.read(corpus)), strict=True)
    )
    results = translator(weights, inter_threads=threads, intra_threads=1).translate_iterable(
        iter(sources),
        max_batch_size=BATCH_TOKENS,
        batch_type="tokens",
        beam_size=1,
        max_input_length=0,
        min_decoding_length=0,
        max_decoding_length=longest,
    )
    for source, result, reference in zip(sources, results, references, strict=True):
        yield " ".join(source), " ".join(result.hypotheses[0]), " ".join(reference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="records of pairs")
    parser.add_argument("--weights", type=Path, required=True, help="folder of export.convert")
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-decoding-length", type=int, default=MAXIMUM_OUTPUT, help="pieces (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="records to write")
    args = parser.parse_args()

    decoded = outputs(args.corpus, args.weights, args.sentencepiece, args.threads, args.max_decoding_length)
    records.write(args.output, progress(decoded, "decoding", unit="sentence"))


if __name__ == "__main__":
    command(main)
