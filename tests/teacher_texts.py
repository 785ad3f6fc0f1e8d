"""Text that the tests of teachers learn from and translate, and teachers."""

from models import folders

from distill.teacher import Teacher
from distill.tokenization import tokenizers
from train.vocabulary import train

PAIRS = [(f"a dog runs past {n} houses", f"ein Hund läuft an {n} Häusern vorbei") for n in range(60)]
SOURCES = ["ab", "cab dab", "fed had", "head bag gaff", "ab"]


def vocabulary(folder):
    """A SentencePiece model of PAIRS."""
    path = folder / "sentencepiece.model"
    path.write_bytes(train([side for pair in PAIRS for side in pair], "unigram", 100, 1.0, 1))
    return path


def teacher(folder=None, **options):
    """A teacher with the tokenization of the tests' models. folder: by default that of the float32 model."""
    sides = tokenizers(None, folders()["float32"] / "sentencepiece.model", ["en", "de"])
    return Teacher(folder or folders()["float32"], sides, **options)
