"""Checks of back-translation: the backward teacher, its corpora, and the mixtures of its pairs."""

from collections.abc import Iterator

from corpora.settings import TARGET_ONLY
from distill.settings import BLANK
from study.configuration import StudyConfiguration
from study.systems import ORIGINAL, all_teachers, back_translated, mixture, students, teacher_key, weights

PATH = "back_translation"


def problems(config: StudyConfiguration) -> Iterator[str]:
    """A line for each problem."""
    names = [name for name, corpus in config.corpora.items() if corpus.role == TARGET_ONLY]
    if not (back := config.back_translation):
        yield from (f"corpora.{name}.role: {TARGET_ONLY} is for {PATH}, which is not there" for name in names)
    elif not names:
        yield f"{PATH}: no corpus has the role {TARGET_ONLY}"
    else:
        if back.teacher.http:
            yield f"{PATH}.teacher.http: a backward teacher is trained here, or a model in files"
        if back.tag == BLANK:
            yield f"{PATH}.tag: {BLANK} is what noise writes for a word; choose another"
        yield from _mixture_problems(config, back.symbols)
    yield from _learning_problems(config, names)


def _mixture_problems(config: StudyConfiguration, symbols: list[str]) -> Iterator[str]:
    """What mixtures do with back-translations. symbols: the pieces that only these have."""
    drawing = [name for name in config.mixtures if back_translated(config, name)]
    if not drawing:
        yield f"{PATH}: no mixture has such a corpus among its weights, so nothing learns from it"
    for name in drawing:
        if symbols and config.mixtures[name].augmentation:
            yield f"mixtures.{name}.augmentation: would change {' and '.join(symbols)}, too; leave one of both out"


def warnings(config: StudyConfiguration) -> Iterator[str]:
    """A line where no model learns from back-translations, which are then not made."""
    drawing = [name for name in config.mixtures if back_translated(config, name)]
    learned = {*(each.mixture for each in students(config)), *(each.mixture for each in all_teachers(config).values())}
    if drawing and not learned.intersection(drawing):
        yield f"{PATH}: no teacher and no student has the mixture {' or '.join(drawing)}, so nothing is translated"


def _learning_problems(config: StudyConfiguration, names: list[str]) -> Iterator[str]:
    """What teachers learn from. names: the corpora to translate."""
    for name, teacher in all_teachers(config).items():
        path, learned = f"{teacher_key(config, name)}.mixture", teacher.mixture or ORIGINAL
        if learned not in (ORIGINAL, *config.mixtures):
            yield f"{path}: {learned!r} is not one of the mixtures {', '.join(config.mixtures)}"
        elif learned != ORIGINAL and (targets := mixture(config, learned).targets) != "original":
            yield f"{path}: {learned} has {targets} targets; a teacher learns from original ones"
        elif name not in config.teachers and (own := [one for one in names if one in weights(config, learned)]):
            yield f"{path}: {learned} has {own[0]}, which this teacher translates; name a mixture without it"
