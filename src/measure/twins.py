"""What sets two trainings of one student apart, in words.

Twins learned from the same sentences: the same corpora, mixed in the same way, with no pair left out for its score.
Their difference is what distillation is worth, or one kind of targets against another. Any other difference is named
with the number of sentences that one training saw and the other did not.
"""

from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json

WORDS = {"best": "best", "interpolated": "interpolated", "mbr": "MBR", "all": "n-best"}  # before "targets"

FEW = 0.01  # of the sentences

Learned = dict[str, Any]  # a JSON of train.learned


def read(paths: list[Path]) -> dict[str, Learned]:
    """What each system learned from, by its name. Raises UserError for a file that does not say it."""
    by_system = {}
    for path in paths:
        learned = read_json(path)
        if not isinstance(learned, dict) or not {"system", "shares", "sentences"} <= set(learned):
            raise UserError(f"{path}: not made by train.learned")
        by_system[learned["system"]] = learned
    return by_system


def same_sentences(first: Learned, other: Learned) -> bool:
    """Whether both learned from the same sentences, but for a few, whose translation is empty.

    Of n-best targets each translation counts as one, so that their number says nothing.
    """
    if first["shares"] != other["shares"] or first["drop_worst"] or other["drop_worst"]:
        return False
    fewer, more = sorted(sum(one["sentences"].values()) for one in (first, other))
    return "all" in (first["targets"], other["targets"]) or fewer >= (1 - FEW) * more


def difference(first: Learned, other: Learned) -> str:
    """All that sets the first training apart from the other: ``distillation and 21,120 more sentences``."""
    same = same_sentences(first, other)
    parts = [part for part in (targets(first, other), *([] if same else corpora(first, other))) if part]
    *front, last = parts or ["chance"]
    return f"{', '.join(front)} and {last}" if front else last


def targets(first: Learned, other: Learned) -> str:
    """What differs in the target sentences, if anything does."""
    if not first["teachers"] and not other["teachers"]:
        return ""
    if not other["teachers"]:
        return "distillation" + ("" if first["targets"] == "best" else f" with {WORDS[first['targets']]} targets")
    if not first["teachers"]:
        return "no distillation"
    if first["targets"] != other["targets"]:
        return f"{WORDS[first['targets']]} against {WORDS[other['targets']]} targets"
    if first["teachers"] != other["teachers"]:
        return f"translations by {', '.join(first['teachers'])} against {', '.join(other['teachers'])}"
    return ""


def corpora(first: Learned, other: Learned) -> list[str]:
    """What differs in the source sentences of two trainings that are no twins."""
    names = first["sentences"] | other["sentences"]
    changes = [first["sentences"].get(name, 0) - other["sentences"].get(name, 0) for name in names]
    more, fewer = (sum(max(sign * change, 0) for change in changes) for sign in (1, -1))
    if "all" in (first["targets"], other["targets"]):  # pairs were counted, several of a sentence
        more = fewer = 0
    parts = [counted(more, "more")] if more else []
    parts += [counted(fewer, "fewer")] if fewer else []
    if first["shares"].keys() == other["shares"].keys() and first["shares"] != other["shares"]:
        parts.append("other weights")
    return parts or ["other sentences"]


def counted(number: int, kind: str) -> str:
    return f"{number:,} {kind} sentence{'' if number == 1 else 's'}"
