"""One joint SentencePiece model for both languages of a study.

Characters outside the scripts of the pair are removed first (WNGT 2020, section 2.3), so that no piece is
spent on the Cyrillic and Chinese that web corpora carry.
"""

import argparse
import io
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import langcodes
import regex
import sentencepiece

from formats import records
from formats.errors import UserError, command
from formats.files import whole, write_text
from formats.progress import progress

# CLDR's composite scripts, in Unicode's own.
_COMPOSITE = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}
_CONTROL = ("<blank>", "<s>", "</s>")  # the first entries of every OpenNMT-tf vocabulary


def foreign_characters(languages: Iterable[str]) -> regex.Pattern:
    """A pattern of the characters that no script of these languages has (digits, marks and signs are common)."""
    scripts = {langcodes.Language.get(language).maximize().script for language in languages}
    names = {"Common", "Inherited"}.union(*(_COMPOSITE.get(script, (script,)) for script in scripts))
    return regex.compile("[^" + "".join(rf"\p{{Script={name}}}" for name in sorted(names)) + "]+")


def reservoir(lines: Iterable[str], size: int, seed: int) -> list[str]:
    """A uniform random sample of at most ``size`` lines in one pass, in the order of the text (algorithm R)."""
    generator = random.Random(seed)
    chosen: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < size:
            chosen.append((number, line))
        elif (place := generator.randrange(number + 1)) < size:
            chosen[place] = (number, line)
    return [line for _, line in sorted(chosen)]


def train(lines: list[str], kind: str, pieces: int, character_coverage: float, threads: int) -> bytes:
    """Train a model, ``unigram`` or ``bpe``. Raises UserError where the text is too small to give one piece."""
    if not lines:
        raise UserError("the training corpora have no text left; see the counts in corpora/clean/*.json")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=pieces,
        hard_vocab_limit=False,  # a tiny corpus gives fewer pieces instead of an error
        character_coverage=character_coverage,
        num_threads=threads,
        minloglevel=1,
    )
    return model.getvalue()


def entries(model: bytes) -> Iterator[str]:
    """The vocabulary file's lines: OpenNMT-tf's control tokens, then the pieces; OpenNMT-tf adds unk itself."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    yield from _CONTROL
    for number in range(processor.get_piece_size()):
        if not (processor.is_control(number) or processor.is_unknown(number)):
            yield processor.id_to_piece(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", required=True, help="records; all columns are used")
    parser.add_argument("--languages", nargs="+", required=True, help="language codes whose scripts are kept")
    parser.add_argument("--type", choices=["unigram", "bpe"], default="unigram", help="of the SentencePiece model")
    parser.add_argument("--pieces", type=int, required=True)
    parser.add_argument("--character-coverage", type=float, default=1.0)
    parser.add_argument("--sentences", type=int, default=2_000_000, help="train on a random sample of this many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", type=Path, required=True, help="the SentencePiece model to write")
    parser.add_argument("--vocabulary", type=Path, required=True, help="OpenNMT-tf's vocabulary file to write")
    args = parser.parse_args()

    foreign = foreign_characters(args.languages)
    lines = itertools.chain.from_iterable(itertools.chain.from_iterable(map(records.read, args.corpora)))
    kept = (foreign.sub("", line) for line in progress(lines, "sampling text for the vocabulary", unit="sentence"))
    sample = reservoir(kept, args.sentences, args.seed)
    model = train(sample, args.type, args.pieces, args.character_coverage, args.threads)
    with whole(args.model) as part:
        part.write_bytes(model)
    write_text(args.vocabulary, "".join(f"{entry}\n" for entry in entries(model)))


if __name__ == "__main__":
    command(main)
