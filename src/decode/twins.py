"""What sets two trainings of one student apart, in words.

Twins learned from the same sentences: the same corpora, mixed in the same way, with no pair left out for its score.
Their difference is what distillation is worth, or one kind of targets against another. Any other difference is named
with the number of sentences that one training saw and the other did not.
"""

from pathlib import Path
from typing import Any

from formats.errors import UserError
from formats.files import read_json

Learned = dict[str, Any]  # a JSON of distill.learned


def read(paths: list[Path]) -> dict[str, Learned]:
    """What each system learned from, by its name. Raises UserError for a file that does not say it."""
    found = {}
    for path in paths:
        learned = read_json(path)
        if not isinstance(learned, dict) or not {"system", "shares", "sentences"} <= set(learned):
            raise UserError(f"{path}: not made by distill.learned")
        found[learned["system"]] = learned
    return found


def same_sentences(one: Learned, other: Learned) -> bool:
    """Whether both learned from the same sentences."""
    return one["shares"] == other["shares"] and not (one["drop_worst"] or other["drop_worst"])


def difference(one: Learned, other: Learned) -> str:
    """All that the first one has and the other one has not: ``distillation and 21,120 more sentences``."""
    same = same_sentences(one, other)
    parts = [part for part in (targets(one, other), *([] if same else corpora(one, other))) if part]
    *first, last = parts or ["chance"]
    return f"{', '.join(first)} and {last}" if first else last


def targets(one: Learned, other: Learned) -> str:
    """What differs in the target sentences, if anything does."""
    if not one["teachers"] and not other["teachers"]:
        return ""
    if not other["teachers"]:
        return "distillation" + (" with interpolated targets" if one["targets"] == "interpolated" else "")
    if not one["teachers"]:
        return "no distillation"
    if one["targets"] != other["targets"]:
        return f"{one['targets']} against {other['targets']} targets"
    if one["teachers"] != other["teachers"]:
        return f"translations by {', '.join(one['teachers'])} against {', '.join(other['teachers'])}"
    return ""


def corpora(one: Learned, other: Learned) -> list[str]:
    """What differs in the source sentences of two that are no twins."""
    names = one["sentences"] | other["sentences"]
    changes = [one["sentences"].get(name, 0) - other["sentences"].get(name, 0) for name in names]
    more, fewer = (sum(max(sign * change, 0) for change in changes) for sign in (1, -1))
    parts = [counted(more, "more")] if more else []
    parts += [counted(fewer, "fewer")] if fewer else []
    if one["shares"].keys() == other["shares"].keys() and one["shares"] != other["shares"]:
        parts.append("other weights")
    return parts or ["other sentences"]


def counted(number: int, kind: str) -> str:
    return f"{number:,} {kind} sentence{'' if number == 1 else 's'}"
