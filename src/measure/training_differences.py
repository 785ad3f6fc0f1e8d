"""How two trainings differ, in words: in their data, or in one setting.

Twins learned from the same sentences: the same corpora with the same weights, no pair dropped for its score. They
measure the effect of distillation, or of a kind of targets. Other differences are named with the numbers of sentences
that only one training saw.
"""

from pathlib import Path

from formats.gap import Settings
from formats.learning import Learned
from nmt_frontier.files import read_json, typed

DEFAULTS = {"decoder": "self-attention"}  # if a shape does not name it
COUNTED = ("encoder_layers", "decoder_layers", "units", "ffn_units", "heads", "embedding_units")

WORDS = {"best": "best", "interpolated": "interpolated", "mbr": "MBR", "all": "n-best"}  # before "targets"

FEW = 0.01  # share of sentences


def setting_difference(settings: Settings, other: Settings) -> tuple[str, str] | None:
    """The one setting in which two students differ, with both values: ``("5,000 updates", "2,000")``.

    None if they differ in several, or in a list. With the number of updates the interval of checkpoints may change;
    both are named, as the interval changes the average of the last ones.
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
        case "words":
            return f"word-level distillation {own}", instead
    words = name.replace("_", " ")
    return (f"{own} {words}" if name in COUNTED else f"{words} {own}"), instead


def setting_text(value: str | float | bool | None) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def read(paths: list[Path]) -> dict[str, Learned]:
    """Training data by the name of the system. Raises UserError for a file not made by train.training_record."""
    by_system = {}
    for path in paths:
        learned = typed(read_json(path), Learned, f"{path}: not made by train.training_record")
        by_system[learned.system] = learned
    return by_system


def same_sentences(first: Learned, other: Learned) -> bool:
    """Whether both learned from the same sentences, but for a few, and began alike.

    Numbers are not compared for n-best targets.
    """
    alike = (first.augmentation, first.started) == (other.augmentation, other.started)
    return alike and _same_drawn(first, other)


def _same_drawn(first: Learned, other: Learned) -> bool:
    if first.shares != other.shares or first.drop_worst or other.drop_worst:
        return False
    fewer, more = sorted(sum(one.sentences.values()) for one in (first, other))
    several = any(one.targets == "all" or "keep" in one.chosen for one in (first, other))
    return several or fewer >= (1 - FEW) * more


def difference(first: Learned, other: Learned) -> str:
    """How the first training differs from the other: ``distillation and 21,120 more sentences``."""
    drawn = [] if _same_drawn(first, other) else corpora(first, other)
    ways = (targets, words, start, augmentation)
    parts = [part for part in (*(way(first, other) for way in ways), *drawn) if part]
    *front, last = parts or ["chance"]
    return f"{', '.join(front)} and {last}" if front else last


def targets(first: Learned, other: Learned) -> str:
    """The difference in the target sentences, empty if there is no difference."""
    if not first.teachers and not other.teachers:
        return ""
    if not other.teachers:
        return "distillation" + ("" if _kind(first) == "best" else f" with {_kind(first)} targets")
    if not first.teachers:
        return "no distillation"
    if _kind(first) != _kind(other):
        return f"{_kind(first)} against {_kind(other)} targets"
    if (first.teachers, first.ensemble) != (other.teachers, other.ensemble):
        return f"translations by {_translators(first)} against {_translators(other)}"
    return ""


def _kind(learned: Learned) -> str:
    """How the targets of a training were chosen: ``MBR (samples64, chrf)``."""
    return WORDS[learned.targets] + f" ({learned.chosen})" * bool(learned.chosen)


def _translators(learned: Learned) -> str:
    """The teachers of a training, and whether they translated together."""
    together = {"token_by_token": " token by token", "union": " united"}
    return ", ".join(learned.teachers) + together.get(learned.ensemble, "")


def words(first: Learned, other: Learned) -> str:
    """The difference in what was learned from probabilities of pieces, empty if there is no difference."""
    if first.words == other.words:
        return ""
    if not (first.words and other.words):
        return f"{'' if first.words else 'no '}word-level distillation"
    return f"words with a weight of {first.words:g} against {other.words:g}"


def augmentation(first: Learned, other: Learned) -> str:
    """The difference in the rules that changed pairs, empty if there is no difference."""
    if first.augmentation == other.augmentation:
        return ""
    if not first.augmentation:
        return "no augmentation"
    return "other augmentation" if other.augmentation else "augmentation"


def start(first: Learned, other: Learned) -> str:
    """The difference in the weights that two trainings began with, empty if there is no difference."""
    if first.started == other.started:
        return ""
    return "weights of another model to begin with" if first.started else "random weights to begin with"


def corpora(first: Learned, other: Learned) -> list[str]:
    """The differences in the source sentences of two trainings that are no twins."""
    names = first.sentences | other.sentences
    changes = [first.sentences.get(name, 0) - other.sentences.get(name, 0) for name in names]
    more, fewer = (sum(max(sign * change, 0) for change in changes) for sign in (1, -1))
    if "all" in (first.targets, other.targets):  # several pairs of a sentence were counted
        more = fewer = 0
    parts = [counted(more, "more")] if more else []
    parts += [counted(fewer, "fewer")] if fewer else []
    if first.shares.keys() == other.shares.keys() and first.shares != other.shares:
        parts.append("other weights")
    return parts or ["other sentences"]


def counted(number: int, kind: str) -> str:
    return f"{number:,} {kind} sentence{'' if number == 1 else 's'}"
