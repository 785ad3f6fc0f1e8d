"""The models that score text, in the native engine, by forced decoding."""

import argparse
import os
from pathlib import Path

from distill.teacher import Teacher
from distill.tokenization import SentencePiece
from nmt_frontier.command_line import there
from nmt_frontier.text.tokenizers import Tokenizer, of_folder
from scores import shards

NO_TEXT = "."  # what a language model translates from, whatever it has to score


class _Processor:
    """One of two SentencePiece models of a folder."""

    def __init__(self, folder: Path, side: int):
        self._folder, self._processors, self._side = of_folder(folder), of_folder(folder).processors, side

    def encode(self, line: str) -> list[str]:
        if self._processors is None:
            return self._folder.encode(line)
        pieces: list[str] = self._processors[self._side].encode(line, out_type=str)
        return pieces

    def decode(self, pieces: list[str]) -> str:
        return self._folder.decode(pieces)


def options(description: str | None) -> argparse.ArgumentParser:
    """Those of shards, and those of two models."""
    parser = shards.options(description)
    parser.add_argument("--models", type=there, nargs=2, required=True, help="folders of the native engine's weights")
    own = "model of the pieces of both (default: each has its own tokenization in its folder)"
    parser.add_argument("--sentencepiece", type=there, help=own)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="workers (default: one per core)")
    return parser


def loaded(args: argparse.Namespace) -> list[Teacher]:
    """Both models. Raises UserError."""
    return [Teacher(model, tokenizers(model, args.sentencepiece), args.threads) for model in args.models]


def tokenizers(model: Path, sentencepiece: Path | None) -> list[Tokenizer]:
    """Those of both sides of a model."""
    return [SentencePiece(sentencepiece)] * 2 if sentencepiece else [_Processor(model, side) for side in (0, 1)]
