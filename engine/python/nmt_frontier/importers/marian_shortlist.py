"""A lexical shortlist of Marian's as a vocabulary map."""

import zlib
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.importers import marian_binary
from nmt_frontier.importers.marian_binary import BEST, FIRST


def candidates(shortlist: Path, source: list[str], target: list[str]) -> tuple[int, dict[str, set[str]]]:
    """How many entries of the vocabulary are always candidates, and those of each source piece.

    These are its best translations in the shortlist, which may be a text or Marian's binary file, and, as in Marian,
    itself where both sides share a vocabulary. Of equally probable ones Marian takes those that come later in the
    vocabulary; it ignores lines with NULL. Raises UserError for a line that is not ``target source probability`` with
    pieces of the vocabulary, and for a damaged file.
    """
    own = [{piece} if source == target else set() for piece in source]
    try:
        binary = marian_binary.is_shortlist(shortlist)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{shortlist}: missing or damaged ({error})") from None
    if binary:
        first, numbers = marian_binary.read_shortlist(shortlist, len(source), len(target))
        listed = [{target[number] for number in of_piece} for of_piece in numbers]
        return first, {piece: ours | found for piece, ours, found in zip(source, own, listed, strict=False)}
    try:
        found = _listed(shortlist, source, target)
    except UnicodeDecodeError as error:
        raise UserError(f"{shortlist}: neither a text nor a binary shortlist of Marian's ({error})") from None
    return FIRST, {piece: ours | found[piece] for piece, ours in zip(source, own, strict=True)}


def _listed(shortlist: Path, source_pieces: list[str], pieces: list[str]) -> dict[str, set[str]]:
    """The best translations of each source piece in a text."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    translations: dict[str, list[tuple[float, int]]] = {piece: [] for piece in source_pieces}
    with open(shortlist, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                target, source, probability = line.rstrip("\n").split(" ")
                if "NULL" not in (source, target):
                    translations[source].append((float(probability), numbers[target]))
            except (ValueError, KeyError):
                wrong = f"line {number} is not `target source probability` with pieces of this model"
                raise UserError(f"{shortlist}: {wrong}") from None
    return {source: {pieces[target] for _, target in sorted(ranked)[-BEST:]} for source, ranked in translations.items()}


def vocabulary_map(shortlist: Path, source: list[str], target: list[str]) -> str:
    """The shortlist in the format of CTranslate2's vocabulary maps."""
    first, found = candidates(shortlist, source, target)
    lines = (f"{piece}\t{' '.join(sorted(targets))}\n" for piece, targets in found.items() if targets)
    return "".join(["\t" + " ".join(target[:first]) + "\n", *lines])
