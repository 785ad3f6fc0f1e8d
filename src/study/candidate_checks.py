"""Checks of the translations that mixtures choose from, and of how they choose."""

from collections.abc import Iterator

from nmt_frontier.search.sampling import MOST_SAMPLES
from study.candidates import hypotheses, set_keys
from study.configuration import StudyConfiguration
from study.configuration.systems import CandidatesSection, DistillationSection, MixtureSection
from study.systems import asked, mixture, translated_by, weights

SEVERAL = ("interpolated", "mbr", "all")  # targets that are chosen from several hypotheses


def problems(config: StudyConfiguration) -> Iterator[str]:
    beam_size = config.distillation.beam_size
    yield from _number_problems("distillation", config.distillation, beam_size)
    for name, entry in config.mixtures.items():
        path = f"mixtures.{name}"
        if entry.candidates:
            yield from _number_problems(f"{path}.candidates", entry.candidates, beam_size)
            if (teacher := translated_by(config, name)) is None or teacher in asked(config):
                own = f"{teacher} answers over HTTP (http.candidates)" if teacher else "original targets have none"
                yield f"{path}.candidates: {own}; leave them out"
        yield from _choice_problems(path, entry)
        if (entry.keep or 0) > (most := hypotheses(config, name)) > 1:
            yield f"{path}.keep: {entry.keep:,} of {most:,} hypotheses; keep fewer, or give {_number_key(config, name)}"
        if entry.ensemble == "union":
            yield from _union_problems(path, entry, len(config.teachers))
            yield from _original_problems(path, name, config)
        if entry.targets in SEVERAL and hypotheses(config, name) < 2:
            key = _number_key(config, name)
            yield f"{path}.targets: {entry.targets} needs several hypotheses; {key} is 1 (papers have 8)"


def _number_key(config: StudyConfiguration, name: str) -> str:
    """The key that says how many hypotheses a mixture chooses from."""
    if (teacher := translated_by(config, name)) in asked(config):
        return f"teachers.{teacher}.http.candidates"
    return f"mixtures.{name}.candidates.n_best" if mixture(config, name).candidates else "distillation.n_best"


def _number_problems(path: str, made: CandidatesSection | DistillationSection, beam_size: int) -> Iterator[str]:
    if made.sampling and isinstance(made, CandidatesSection) and made.beam_size:
        yield f"{path}.beam_size: samples are drawn without a beam; leave one of both out"
    if made.sampling and made.n_best > MOST_SAMPLES:
        yield f"{path}.n_best: {made.n_best:,} samples of a sentence; the engine draws {MOST_SAMPLES:,}"
    if not made.sampling and made.n_best > (beam := made.beam_size or beam_size):
        yield f"{path}.n_best: {made.n_best} hypotheses need a beam as wide; beam_size is {beam}"


def _choice_problems(path: str, entry: MixtureSection) -> Iterator[str]:
    """Keys that mean nothing together."""
    users = {"metric": ("mbr",), "aggregate": ("mbr",), "keep": ("mbr", "all"), "different": ("all",)}
    users |= {"metric": ("mbr", "all")} if entry.different else {}
    for key in set_keys(entry):
        if entry.targets not in users[key]:
            yield f"{path}.{key}: is for the targets {' and '.join(users[key])}, not for {entry.targets}"
    if entry.scores and (entry.targets != "mbr" or entry.metric != "bleu" or entry.aggregate):
        yield f"{path}.scores: choose for mbr in place of a metric; leave out one of them"
    if entry.aggregate and entry.metric != "chrf":
        yield f"{path}.aggregate: is for the metric chrf, whose n-grams are counted together"
    if entry.different and not entry.keep:
        yield f"{path}.different: of how many? give keep, or leave it out"


def _union_problems(path: str, entry: MixtureSection, teachers: int) -> Iterator[str]:
    """What scores of several teachers, which do not compare, cannot decide."""
    if entry.targets == "original" or entry.teacher or teachers < 2:
        yield f"{path}.ensemble: union is for translations by several teachers (teacher: null)"
    elif entry.targets == "best" or (entry.targets == "all" and entry.keep):
        yield f"{path}.ensemble: scores of several teachers do not compare, so none is the best; take mbr, or rescoring"
    elif entry.drop_worst:
        yield f"{path}.drop_worst: scores of several teachers do not compare, so none is the worst; take rescoring"


def _original_problems(path: str, name: str, config: StudyConfiguration) -> Iterator[str]:
    """Text without originals, near which interpolated translations are, gets the best ones, which a union lacks."""
    entry = mixture(config, name)
    if entry.targets == "interpolated":
        corpora = {corpus: config.corpora.get(corpus) for corpus in weights(config, name)}
        alone = [corpus for corpus, each in corpora.items() if each and each.role == "monolingual"]
        alone += ["augmentation.source"] if entry.augmentation and entry.augmentation.source else []
        if alone:
            yield f"{path}.ensemble: {alone[0]} has no originals, and a union has no best; leave it out, or take mbr"
