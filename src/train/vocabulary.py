"""Train one joint SentencePiece model for both languages of a study.

Characters outside the scripts of both languages are removed first (WNGT 2020, section 2.3), so that no piece is spent
on the Cyrillic or Chinese in web corpora. With byte fallback each of the 256 bytes is a piece, and a character that no
other piece has is written in the bytes of its UTF-8.
"""

import argparse
import io
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import regex
import sentencepiece

from corpora.language_codes import scripts
from formats import opennmt_tf, records
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, write_text
from nmt_frontier.progress import progress


def foreign_characters(languages: Iterable[str]) -> regex.Pattern:
    """A pattern of the characters outside the scripts of these languages; digits, marks and signs belong to all."""
    names = {"Common", "Inherited"}.union(*map(scripts, languages))
    return regex.compile("[^" + "".join(rf"\p{{Script={name}}}" for name in sorted(names)) + "]+")


def reservoir(lines: Iterable[str], size: int, seed: int) -> list[str]:
    """A uniform random sample of at most ``size`` lines in one pass, in their order (Vitter 1985, algorithm R)."""
    generator = random.Random(seed)
    sample: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < size:
            sample.append((number, line))
        elif (slot := generator.randrange(number + 1)) < size:
            sample[slot] = (number, line)
    return [line for _, line in sorted(sample)]


def train(
    lines: list[str],
    kind: str,
    pieces: int,
    character_coverage: float,
    threads: int,
    normalization: str = "nmt_nfkc",
    byte_fallback: bool = False,
    split_digits: bool = False,
    symbols: Sequence[str] = (),
) -> bytes:
    """Train a SentencePiece model and serialize it.

    kind: ``unigram`` or ``bpe``. pieces: size of the vocabulary with bytes and symbols; a tiny corpus gives fewer.
    character_coverage: share of the text's characters, 0 to 1, that pieces must cover. symbols: pieces that are never
    split. Raises UserError without text, and for more characters, bytes and symbols than pieces.
    """
    if not lines:
        raise UserError("the training corpora have no text left; see the counts in corpora/clean/*.json")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type=kind,
            vocab_size=pieces,
            hard_vocab_limit=False,  # fewer pieces from a tiny corpus instead of an error
            character_coverage=character_coverage,
            normalization_rule_name=normalization,
            byte_fallback=byte_fallback,
            split_digits=split_digits,
            user_defined_symbols=[*symbols],
            num_threads=threads,
            minloglevel=1,
        )
    except RuntimeError as error:
        advice = "give more vocabulary.pieces, or a lower vocabulary.character_coverage, such as 0.9995"
        raise UserError(f"SentencePiece learns no {pieces:,} pieces from this text: {error}; {advice}") from None
    return model.getvalue()


def entries(model: bytes) -> Iterator[str]:
    """The lines of OpenNMT-tf's vocabulary file: control tokens, then pieces; OpenNMT-tf adds unk itself."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    yield from opennmt_tf.CONTROL
    for number in range(processor.get_piece_size()):
        if not (processor.is_control(number) or processor.is_unknown(number)):
            yield processor.id_to_piece(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", required=True, help="records; the score of distilled ones is left out")
    parser.add_argument("--languages", nargs="+", required=True, help="codes of the languages whose scripts are kept")
    parser.add_argument("--type", choices=["unigram", "bpe"], default="unigram", help="type of the SentencePiece model")
    parser.add_argument("--pieces", type=int, required=True, help="size of the vocabulary")
    parser.add_argument("--character-coverage", type=float, default=1.0, help="share of the text's characters to cover")
    parser.add_argument("--normalization", choices=["nmt_nfkc", "identity"], default="nmt_nfkc", help="of characters")
    parser.add_argument("--byte-fallback", action="store_true", help="write characters without a piece in bytes")
    parser.add_argument("--split-digits", action="store_true", help="every digit is a piece of its own")
    parser.add_argument("--symbols", nargs="+", default=[], help="pieces that are never split")
    parser.add_argument("--sentences", type=int, default=2_000_000, help="size of the random sample to train on")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads of SentencePiece (default: %(default)s)")
    parser.add_argument("--model", type=Path, required=True, help="SentencePiece model to write")
    parser.add_argument("--vocabulary", type=Path, required=True, help="OpenNMT-tf's vocabulary file to write")
    args = parser.parse_args()

    foreign = foreign_characters(args.languages)
    pairs = (record[:2] for path in args.corpora for record in records.read(path))
    lines = itertools.chain.from_iterable(pairs)
    native = (foreign.sub("", line) for line in progress(lines, "sampling text for the vocabulary", unit="sentence"))
    sample = reservoir(native, args.sentences, args.seed)
    model = train(
        sample,
        args.type,
        args.pieces,
        args.character_coverage,
        args.threads,
        args.normalization,
        args.byte_fallback,
        args.split_digits,
        args.symbols,
    )
    with atomic_path(args.model) as part:
        part.write_bytes(model)
    write_text(args.vocabulary, "".join(f"{entry}\n" for entry in entries(model)))


if __name__ == "__main__":
    command(main)
