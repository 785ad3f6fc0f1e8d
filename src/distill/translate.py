"""Sequence-level distillation: the teacher translates the source side of a shard (Kim and Rush 2016).

Reads records (their first column is the source), writes records ``source<TAB>translation``. A shard is the unit of
resuming: it appears whole or not at all. Sentences for which the teacher has no words are dropped and counted.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import ctranslate2
import sentencepiece

from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress

BATCH_TOKENS = 2048  # CTranslate2 reads a window of 16 batches and sorts it by length
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


def distill(
    shard: Path, hypotheses: Iterable[str], counts: Counter[str], lines: int | None = None
) -> Iterator[records.Record]:
    """Join sources and translations, in order; count what is dropped."""
    sources = (record[0] for record in records.read(shard))
    pairs = zip(sources, hypotheses, strict=True)  # a shift between the sides is an error here, not noise later
    for source, hypothesis in progress(pairs, f"translating {shard.name}", total=lines, unit="sentence"):
        counts["lines_in"] += 1
        if translation := records.sentence(hypothesis):
            yield source, translation
        else:
            counts["empty_translation"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records; the first column is translated")
    parser.add_argument("--model", type=Path, required=True, help="the teacher as a CTranslate2 folder")
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="single-threaded translators")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a .json beside it")
    args = parser.parse_args()

    processor = sentencepiece.SentencePieceProcessor(model_file=str(args.sentencepiece))
    sources = (record[0] for record in records.read(args.input))
    hypotheses = translate(sources, args.model, processor, args.beam_size, args.threads)
    counts: Counter[str] = Counter()
    lines_out, checksum = records.write(args.output, distill(args.input, hypotheses, counts))
    write_json(
        args.output.with_name(args.output.name.removesuffix(".tsv.zst") + ".json"),
        {
            "lines_in": counts["lines_in"],
            "lines_out": lines_out,
            "dropped": {"empty_translation": counts["empty_translation"]},
            "sha256": checksum,
        },
    )


if __name__ == "__main__":
    command(main)
