"""The n-best lists of a study, and how mixtures choose from them.

Names of both are parts of paths. They say all that differs from what distillation says, so that equal ones are made
once, whatever other mixtures a study has.
"""

import hashlib
from typing import NamedTuple

from msgspec.structs import replace

from common.document import Document, short
from distill.settings import Scores
from study.configuration import StudyConfiguration
from study.configuration.systems import CandidatesSection, MixtureSection
from study.systems import BACKWARD, ENSEMBLE, UNION, mixture, translated_by

CHOOSING = ("metric", "aggregate", "keep", "different")  # keys of a mixture, and options of distill.select
MADE = "~"  # no part of a name: <teacher>~<what> are its lists that are made in another way than distillation says

# Seconds of a core for a hypothesis that is compared with the original (EPYC of Zen 4, Multi30k), or by a metric with
# some 50 others of 13 words (Emerald Rapids, roughly, beside other work).
COMPARED = {"original": 75e-6, "bleu": 60e-6, "chrf": 12e-6}


class Lists(NamedTuple):
    """N-best lists. teacher: whose they are, or the name of all together. candidates: how they are made."""

    name: str
    teacher: str
    candidates: CandidatesSection

    @property
    def width(self) -> int:
        """Hypotheses of a sentence that a teacher extends at each step: its beam, or its samples."""
        made = self.candidates
        return made.n_best if made.sampling or not made.beam_size else made.beam_size


def default(config: StudyConfiguration, teacher: str) -> Lists:
    """The lists of a teacher that distillation asks for, or its server."""
    if (back := config.back_translation) and teacher == BACKWARD:
        own = CandidatesSection(n_best=1, beam_size=back.beam_size, sampling=back.sampling)
        return Lists(teacher, teacher, own)
    made, entry = config.distillation, config.teachers.get(teacher)
    number = entry.http.candidates if entry and entry.http else made.n_best
    return Lists(teacher, teacher, CandidatesSection(n_best=number, beam_size=made.beam_size, sampling=made.sampling))


def parts(config: StudyConfiguration, made: Lists) -> list[Lists]:
    """The lists that others are made of: those of each teacher for all together, else themselves.

    A teacher behind HTTP has the same answers for all.
    """
    if made.teacher not in (ENSEMBLE, UNION):
        return [made]
    how = made.name.split(MADE)[1:]
    return [
        Lists(MADE.join([name, *how]), name, made.candidates) if how and not entry.http else default(config, name)
        for name, entry in config.teachers.items()
    ]


def lists(config: StudyConfiguration, name: str) -> Lists | None:
    """The lists that a mixture chooses from; None for original text."""
    if (teacher := translated_by(config, name)) is None:
        return None
    usual, own = default(config, teacher), mixture(config, name).candidates
    if own is None:
        return usual
    own = replace(own, beam_size=own.beam_size or config.distillation.beam_size)
    made = _made(own)
    return usual if made == _made(usual.candidates) else Lists(f"{teacher}{MADE}{made}", teacher, own)


def _made(candidates: CandidatesSection) -> str:
    if not (sampling := candidates.sampling):
        return f"beam{candidates.beam_size}-best{candidates.n_best}"
    options = (f"{key}{value}" for key, value in short(sampling).items())
    return "-".join([f"samples{candidates.n_best}", *options])


class Choice(NamedTuple):
    """How a mixture chooses. name: a part of a path. targets, options: of distill.select. keep: pairs of a sentence at
    most, None for all. compares: with what hypotheses are compared here, None if they are not. scorer: the name of
    scores from elsewhere."""

    name: str
    targets: str
    options: str
    keep: int | None
    compares: str | None
    scorer: str | None

    @property
    def seconds(self) -> float:
        """Seconds of a core for each hypothesis."""
        return COMPARED[self.compares] if self.compares else 0.0


def choice(config: StudyConfiguration, name: str) -> Choice:
    entry = mixture(config, name)
    own = scorer(entry.scores) if entry.scores else None
    words, options = [entry.targets, *filter(None, [own])], []
    for key, value in set_keys(entry).items():
        words.append(key if value is True else f"{key}{value}".removeprefix("metric"))
        options.append(f"--{key}" if value is True else f"--{key} {value}")
    keep = entry.keep or (None if entry.targets == "all" else 1)
    compares = {"interpolated": "original", "mbr": None if entry.scores else entry.metric}.get(entry.targets)
    compares = entry.metric if entry.different else compares
    return Choice("-".join(words), entry.targets, " ".join(options), keep, compares, own)


def hypotheses(config: StudyConfiguration, name: str) -> int:
    """The most hypotheses of a sentence that a mixture chooses from; 1 for original text."""
    found = lists(config, name)
    return number(config, found) if found else 1


def number(config: StudyConfiguration, made: Lists) -> int:
    """The most hypotheses of a sentence in lists, in those of all teachers if they are united."""
    each = parts(config, made) if made.teacher == UNION else [made]
    return sum(part.candidates.n_best for part in each)


def pairs(config: StudyConfiguration, name: str) -> int:
    """The most pairs of a sentence that a mixture has."""
    most = hypotheses(config, name)
    return min(most, choice(config, name).keep or most)


def scorer(scores: Scores) -> str:
    """The name of scores, a part of a path."""
    return f"scores{hashlib.sha256(f'{scores.references} {scores.command}'.encode()).hexdigest()[:8]}"


def chosen(config: StudyConfiguration, name: str) -> Document:
    """What ``learned.json`` says of both; nothing if they are as usual."""
    if not (found := lists(config, name)):
        return {}
    words = [*found.name.split(MADE)[1:], *choice(config, name).name.split("-")[1:]]
    return {"chosen": ", ".join(words)} if words else {}


def set_keys(entry: MixtureSection) -> Document:
    """The keys that say how a mixture chooses, without those at their defaults."""
    return {key: value for key, value in short(entry).items() if key in CHOOSING}
