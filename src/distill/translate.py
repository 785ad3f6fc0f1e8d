"""Sequence-level distillation: the teacher translates the source side of a shard (Kim and Rush 2016).

Reads records (their first column is the source), writes records ``source<TAB>translation``. A shard is the unit of
resuming: it appears whole or not at all. Sentences for which the teacher has no words are dropped and counted.
"""

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import ctranslate2
import sentencepiece

from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

BATCH_TOKENS = 2048  # CTranslate2 reads a window of 16 batches and sorts it by length
SAMPLES = 20  # sources without a translation that are kept to be looked at
MAXIMUM_PIECES = 150  # the limit of the WNGT 2020 submission


def translate(
    sources: Iterable[str], model: Path, processor: sentencepiece.SentencePieceProcessor, beam_size: int, threads: int
) -> Iterator[str]:
    """Yield one translation a source sentence, in order, reading ahead one window only."""
    try:
        engine = ctranslate2.Translator(str(model), inter_threads=threads, intra_threads=1)
    except (RuntimeError, ValueError) as error:
        raise UserError(f"{model}: CTranslate2 cannot load this model: {error}") from error
    results = engine.translate_iterable(
        (processor.encode(source, out_type=str) for source in sources),
        max_batch_size=BATCH_TOKENS,
        batch_type="tokens",
        beam_size=beam_size,
        max_input_length=MAXIMUM_PIECES,
        max_decoding_length=MAXIMUM_PIECES,
    )
    for result in results:
        yield processor.decode(result.hypotheses[0])


def translated(pairs: Iterable[records.Record], empty: list[tuple[int, records.Record]]) -> Iterator[records.Record]:
    """Pass on the pairs that have a translation; the others are added to ``empty`` with their numbers."""
    for number, pair in enumerate(pairs, 1):
        if pair[1]:
            yield pair
        else:
            empty.append((number, pair))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records; the first column is translated")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts (default: all)")
    parser.add_argument("--model", type=Path, required=True, help="the teacher as a CTranslate2 folder")
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="single-threaded translators")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a .json beside it")
    args = parser.parse_args()

    processor = sentencepiece.SentencePieceProcessor(model_file=str(args.sentencepiece))
    sources = (record[0] for record in records.read(args.input, args.shard))
    hypotheses = translate(sources, args.model, processor, args.beam_size, args.threads)
    # strict: a shift between the sides is an error here, not noise later.
    again = (record[0] for record in records.read(args.input, args.shard))
    pairs = zip(again, map(records.sentence, hypotheses), strict=True)
    empty: list[tuple[int, records.Record]] = []
    shown = progress(pairs, f"translate {records.name(args.output)}", unit="sentence")
    kept, checksum = records.write(args.output, translated(shown, empty))
    counts = {"lines_in": kept + len(empty), "lines_out": kept, "dropped": {"empty_translation": len(empty)}}
    samples = {"samples": {"empty_translation": empty[:SAMPLES]}}
    write_json(records.info(args.output), counts | samples | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
