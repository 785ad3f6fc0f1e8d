"""Dev and test sets from the training text, where the user has none.

The training text stays as it is: cleaning drops every line of it that has a side of a held-out one, and counts them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.files import write_text
from formats.records import Record
from study.new.contents import identifier
from study.new.look import Look

PAIRS = 1000  # of a set: more say little more of BLEU, and take time in every measurement
SHARE = 0.05  # of the training pairs, at most
FEWEST = 50  # pairs below which a set says nothing
RELIABLE = 0.85  # share of a side that langid.py must take for its language before it judges single lines of it


@dataclass(frozen=True)
class HeldOut:
    """A set made of training lines. role: dev or test; origin: the corpora that the pairs are from."""

    role: str
    pairs: list[Record]
    origin: list[str]

    def write(self, folder: Path, pair: list[str]) -> None:
        """One file a language, ``<role>.<code>``, one sentence a line."""
        for side, code in enumerate(pair):
            write_text(folder / f"{self.role}.{code}", "".join(f"{record[side]}\n" for record in self.pairs))


def held_out(looks: Iterable[Look], roles: list[str], pair: list[str]) -> list[HeldOut]:
    """Sets of these roles, drawn from the training corpora by their sizes.

    A pair is eligible if each of its sides occurs once in its corpus, so that little is lost by leaving it out of the
    training, and if both look like their languages. Raises UserError if there are too few such pairs.
    """
    looks = [look for look in looks if look.corpus.role == "train"]
    kept = sum(look.kept for look in looks)
    size = min(PAIRS, int(SHARE * kept))
    sets: dict[str, list[Record]] = {role: [] for role in roles}
    used: set[str] = set()  # sides: corpora may overlap
    for look in looks:
        eligible = [record for record in _eligible(look, pair) if used.isdisjoint(record)]
        share = round(size * look.kept / kept)
        used.update(*eligible[: share * len(roles)])
        for number, role in enumerate(roles):
            sets[role] += eligible[number * share : (number + 1) * share]
    for role, pairs in sets.items():
        if len(pairs) < FEWEST:
            raise UserError(
                f"no {role} set among the files, and only {len(pairs)} of {kept:,} training pairs can be one"
                f"{_unread(looks)}; add more text, or files {role}.{pair[0]} and {role}.{pair[1]} of your own"
            )
    return [HeldOut(role, pairs, [look.corpus.name for look in looks]) for role, pairs in sets.items()]


def _unread(looks: Iterable[Look]) -> str:
    """What was lost when the texts were read, if anything."""
    lost = sum((Counter(look.read_errors) for look in looks), Counter())
    return "".join(f"; {count:,} lines were dropped ({reason})" for reason, count in lost.items())


def _eligible(look: Look, pair: list[str]) -> list[Record]:
    once = [record for record, counts in zip(look.sample, look.occurrences, strict=True) if (counts == 1).all()]
    if not all(identifies(look, side, code) for side, code in enumerate(pair)):
        return once
    labels = [identifier().labels([record[side] for record in once]) for side in (0, 1)]
    return [record for record, *found in zip(once, *labels, strict=True) if found == pair]


def identifies(look: Look, side: int, code: str) -> bool:
    """Whether langid.py knows a side well enough to judge its lines one by one."""
    return look.share(side, code) >= RELIABLE
