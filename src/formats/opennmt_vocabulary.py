"""OpenNMT-tf's vocabulary file, ``vocabulary.txt``: an entry a line, control tokens first."""

from os import PathLike
from pathlib import Path

_, START, END = CONTROL = ("<blank>", "<s>", "</s>")  # the first entries of every file
UNKNOWN = "<unk>"  # not in the file: OpenNMT-tf adds it as the last entry


def read(path: str | PathLike) -> list[str]:
    """The entries of a file. Only a line feed ends one: a piece may have other line separators in it."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]
