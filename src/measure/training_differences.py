"""What sets two trainings apart, in words: the data of two students, or their one setting.

Twins learned from the same sentences: the same corpora, mixed in the same way, with no pair left out for its score.
Their difference is what distillation is worth, or one kind of targets against another. Any other difference is named
with the number of sentences that one training saw and the other did not.
"""

from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json

Settings = dict[str, Any]  # by the names of the configuration

DEFAULTS = {"decoder": "self-attention"}  # of a shape that does not name it
COUNTED = ("encoder_layers", "decoder_layers", "units", "ffn_units", "heads", "embedding_units")

WORDS = {"best": "best", "interpolated": "interpolated", "mbr": "MBR", "all": "n-best"}  # before "targets"

FEW = 0.01  # of the sentences

Learned = dict[str, Any]  # a JSON of train.training_record


def setting_difference(settings: Settings, other: Settings) -> tuple[str, str] | None:
    """What the first student has, and the other in its place: ``("5,000 updates", "2,000")``.

    None unless they differ in exactly one setting, whose values are no lists. Longer trainings may keep checkpoints at
    larger distances; that is named, too, as it changes the average of the last ones.
    """
    both = [DEFAULTS | settings, DEFAULTS | other]
    differing = {name for name in {**settings, **other} if both[0].get(name) != both[1].get(name)}
    if differing == {"steps", "checkpoint_steps"}:
        own, instead = (f"{one['steps']:,}{{}}, a checkpoint every {one['checkpoint_steps']:,}" for one in both)
        return own.format(" updates"), instead.format("")
    if len(differing) != 1:
        return None
    (name,) = differing
    values = [one.get(name) for one in both]
    if any(isinstance(value, list | dict) for value in values):
        return None
    own, instead = map(setting_text, values)
    match name:
        case "steps":
            return f"{own} updates", instead
        case "cell":
            return own.upper(), instead.upper()
        case "decoder":
            return f"{own} decoder", instead
    words = name.replace("_", " ")
    return (f"{own} {words}" if name in COUNTED else f"{words} {own}"), instead


def setting_text(value: str | float | bool | None) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def read(paths: list[Path]) -> dict[str, Learned]:
    """What each system learned from, by its name. Raises UserError for a file that does not say it."""
    by_system = {}
    for path in paths:
        learned = read_json(path)
        if not isinstance(learned, dict) or not {"system", "shares", "sentences"} <= set(learned):
            raise UserError(f"{path}: not made by train.training_record")
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
